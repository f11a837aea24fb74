"""Conditions in CEL, the Common Expression Language, compiled to Python.

`compile_condition(text, schema)` parses with cel-python's grammar, checks names, fields, arity and types against the
schema and generates a function; `Condition.test(env)` is True, False or `CelError`. What is not supported is refused at
load, so that no condition is ever answered wrongly. Source: https://github.com/google/cel-spec, doc/langdef.md.
"""

from shield.policy.cel.condition import (
    Condition,
    Group,
    compile_condition,
    compile_expression,
    compile_tree,
    group,
)
from shield.policy.cel.errors import CelError, CelLoadError
from shield.policy.cel.expand import Macro, check_uses, free_names, read_macro
from shield.policy.cel.expression import Expression
from shield.policy.cel.keys import Key, Slot, Way, needed
from shield.policy.cel.schema import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    ListOf,
    MapObject,
    MapOf,
    Object,
    Position,
    Schema,
    SetOf,
    Type,
)
from shield.policy.cel.scope import nearest
from shield.policy.cel.syntax import Source
from shield.policy.cel.times import Duration, Timestamp

__all__ = [
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "CelError",
    "CelLoadError",
    "Condition",
    "Duration",
    "EnumOf",
    "Expression",
    "Field",
    "Group",
    "Key",
    "ListOf",
    "Macro",
    "MapObject",
    "MapOf",
    "Object",
    "Position",
    "Schema",
    "SetOf",
    "Slot",
    "Source",
    "Timestamp",
    "Type",
    "Way",
    "check_uses",
    "compile_condition",
    "compile_expression",
    "compile_tree",
    "free_names",
    "group",
    "nearest",
    "needed",
    "read_macro",
]
