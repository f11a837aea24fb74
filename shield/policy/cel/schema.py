"""What a condition may name: the declared types of the values it is asked about.

At run time `Object` values are frozen dataclasses (an absent optional field is None), `ListOf` a tuple or list, `SetOf`
a frozenset, `MapOf` a mapping, `MapObject` a JSON object whose optional keys may be missing, `EnumOf` a `StrEnum`
member or a plain string, `TIMESTAMP` and `DURATION` the values of `shield.policy.cel.times`, `DYN` any JSON value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

__all__ = [
    "BOOL",
    "BYTES",
    "CIDR",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "IP",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "EnumOf",
    "Field",
    "Kind",
    "ListOf",
    "MapObject",
    "MapOf",
    "Object",
    "Position",
    "Scalar",
    "Schema",
    "SetOf",
    "Type",
    "describe",
    "join",
    "opaque",
]


class Kind(StrEnum):
    """The scalar types of CEL that are supported; `uint` is not."""

    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    IP = "net.IP"
    CIDR = "net.CIDR"
    NULL = "null"
    TYPE = "type"
    DYN = "dyn"


@dataclass(frozen=True, slots=True)
class Scalar:
    kind: Kind


@dataclass(frozen=True, slots=True)
class EnumOf:
    """A string out of a closed set: comparing it with any other literal is refused at load."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "Type"


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set of strings: `in`, `size`, macros; no index, no `+`, no `==`. `item` is `STRING` or an `EnumOf`."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class MapOf:
    """With a `default` every key has a value. `keys`: the constant keys that there are, but for those with a `:`."""

    key: "Type"
    value: "Type"
    default: int | None = None
    keys: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    type: "Type"
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """A value with declared attributes. Two objects are the same type only if they are the same declaration."""

    name: str
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True, eq=False)
class MapObject:
    """A JSON object with declared keys. Declared types are claims of whoever sent it and checked at every read:
    a field is `DYN`, a scalar or a list of scalars. `without` says why there are none, where there are none."""

    name: str
    fields: Mapping[str, Field]
    without: str = ""


Type = Scalar | EnumOf | ListOf | SetOf | MapOf | Object | MapObject

BOOL = Scalar(Kind.BOOL)
INT = Scalar(Kind.INT)
DOUBLE = Scalar(Kind.DOUBLE)
STRING = Scalar(Kind.STRING)
BYTES = Scalar(Kind.BYTES)
TIMESTAMP = Scalar(Kind.TIMESTAMP)
DURATION = Scalar(Kind.DURATION)
IP = Scalar(Kind.IP)
CIDR = Scalar(Kind.CIDR)
NULL = Scalar(Kind.NULL)
TYPE = Scalar(Kind.TYPE)
DYN = Scalar(Kind.DYN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a condition's first character stands in its file, from 1. `indent` columns precede each later line."""

    line: int = 1
    column: int = 1
    indent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The names of a condition. `roots` are in the order of the tuple that `Condition.test` takes; `lists` are the
    constants that `lists.NAME` names."""

    roots: Mapping[str, Type]
    lists: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))

    def bind(self, values: Mapping[str, object]) -> tuple[object, ...]:
        """The tuple that `Condition.test` takes. Raises ValueError where a root has no value."""
        missing = [name for name in self.roots if name not in values]
        if missing:
            raise ValueError(f"no value for `{missing[0]}`")
        return tuple(values[name] for name in self.roots)


def describe(kind: Type) -> str:
    """The type as a person reads it in a message."""
    match kind:
        case Scalar():
            return kind.kind.value
        case EnumOf():
            return "string"
        case ListOf():
            return f"list({describe(kind.item)})"
        case SetOf():
            return f"set({describe(kind.item)})"
        case MapOf():
            return f"map({describe(kind.key)}, {describe(kind.value)})"
        case Object() | MapObject():
            return kind.name


def opaque(kind: Type) -> bool:
    """Whether values of this type are no ordinary CEL values: they can be read from and iterated, not compared."""
    match kind:
        case Object() | MapObject() | SetOf():
            return True
        case ListOf():
            return opaque(kind.item)
        case MapOf():
            return opaque(kind.value)
    return False


def join(kinds: Sequence[Type]) -> Type:
    """The type of values that stand side by side; `dyn` where they differ."""
    kinds = [STRING if isinstance(kind, EnumOf) else kind for kind in kinds]
    return kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else DYN
