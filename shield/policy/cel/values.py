"""Literals, lists, maps and what is read out of them, from their parts that are translated already."""

import math
from collections.abc import Sequence

from shield.policy.cel.functions import accepts
from shield.policy.cel.schema import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    ListOf,
    MapObject,
    MapOf,
    Object,
    Scalar,
    SetOf,
    Type,
    describe,
    join,
    opaque,
)
from shield.policy.cel.scope import NOTHING, Code, Scope
from shield.policy.cel.syntax import Entries, Index, Items, Literal

__all__ = ["entries", "index", "items", "literal"]

_KINDS: dict[type, Type] = {bool: BOOL, int: INT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL}


def literal(node: Literal) -> Code:
    """A value that is written out."""
    value = node.value
    text = ascii(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"({text})"
    assert not isinstance(value, float) or math.isfinite(value)
    return Code(fast=text, exact=text, type=_KINDS[type(value)], total=True, value=value)


def index(node: Index, base: Code, key: Code, scope: Scope) -> Code:
    """`base[key]`: a field of an object, an item of a list, an entry of a map."""
    if isinstance(key.value, str) and not isinstance(base.type, ListOf | SetOf):
        return scope.field(base, key.value, node)
    match base.type:
        case ListOf() if not scope.policy and (key.type in (INT, DOUBLE) or key.type == DYN) and not opaque(base.type):
            return Code.of("idx({0}, {1})", base.type.item, [base, key])
        case MapOf() if base.type.default is not None and accepts(STRING, key.type):
            text = "{1}" if key.type != DYN else "chk_string({1})"
            read = f"{{0}}.get({text}, {base.type.default})"
            return Code.of(read, base.type.value, [base, key], total=key.type != DYN)
        case MapOf() if accepts(base.type.key, key.type):
            return Code.of("idx({0}, {1})", base.type.value, [base, key])
        case Scalar() if base.type == DYN and not (scope.policy and key.type in (INT, DOUBLE, DYN)):
            return Code.of("idx({0}, {1})", DYN, [base, key])
    if scope.policy and not isinstance(base.type, MapObject | Object):
        raise scope.error("a list has no fixed place for anything: write `.exists(x, …)` in place of an index", node)
    raise scope.error(f"{describe(base.type)} cannot be indexed by {describe(key.type)}", node)


def items(node: Items, parts: Sequence[Code], scope: Scope) -> Code:
    """A list of `parts`; a constant where all of them are literals."""
    kind = ListOf(join([part.type for part in parts]))
    if parts and all(
        part.value is not NOTHING and isinstance(item, Literal) for part, item in zip(parts, node.items, strict=True)
    ):
        value = tuple(part.value for part in parts)
        text = scope.constant(value)
        return Code(fast=text, exact=text, type=kind, total=True, value=value)
    return Code.of("[" + ", ".join(f"{{{place}}}" for place in range(len(parts))) + "]", kind, parts, total=True)


def entries(node: Entries, parts: Sequence[Code], scope: Scope) -> Code:
    """A map of `parts`, keys and values in turn."""
    keys, values = parts[::2], parts[1::2]
    kind = join([key.type for key in keys])
    if keys and kind not in (BOOL, INT, STRING):
        raise scope.error("the keys of a map must all be strings, all be ints or all be bools", node)
    if all(key.value is not NOTHING for key in keys) and len({key.value for key in keys}) != len(keys):
        raise scope.error("the map names a key twice", node)
    text = "make_map(" + ", ".join(f"({{{at}}}, {{{at + 1}}})" for at in range(0, len(parts), 2)) + ")"
    return Code.of(text, MapOf(kind, join([value.type for value in values])), parts)
