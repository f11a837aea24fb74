"""Arithmetic, order, equality and `in`: which types take them, and as what Python."""

from collections.abc import Sequence
from dataclasses import replace

from shield.policy.cel.errors import CelLoadError
from shield.policy.cel.functions import accepts
from shield.policy.cel.schema import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    EnumOf,
    ListOf,
    MapObject,
    MapOf,
    Scalar,
    SetOf,
    Type,
    describe,
    join,
    opaque,
)
from shield.policy.cel.scope import NOTHING, Code, Path, Scope, nearest
from shield.policy.cel.syntax import Binary, Node

__all__ = ["binary"]

_NUMBERS = (INT, DOUBLE)
_ORDERED = frozenset({BOOL, INT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION})
_SAME = frozenset(
    {BOOL, INT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION, IP, CIDR, TYPE, NULL}
)  # Python's == is CEL's on two of these
_ORDER = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_ARITHMETIC: dict[str, tuple[str, tuple[tuple[Type, Type, Type], ...]]] = {
    "+": (
        "add({0}, {1}, B)",
        (
            (INT, INT, INT),
            (DOUBLE, DOUBLE, DOUBLE),
            (STRING, STRING, STRING),
            (BYTES, BYTES, BYTES),
            (TIMESTAMP, DURATION, TIMESTAMP),
            (DURATION, TIMESTAMP, TIMESTAMP),
            (DURATION, DURATION, DURATION),
            (ListOf(DYN), ListOf(DYN), ListOf(DYN)),
        ),
    ),
    "-": (
        "sub({0}, {1})",
        (
            (INT, INT, INT),
            (DOUBLE, DOUBLE, DOUBLE),
            (TIMESTAMP, TIMESTAMP, DURATION),
            (TIMESTAMP, DURATION, TIMESTAMP),
            (DURATION, DURATION, DURATION),
        ),
    ),
    "*": ("mul({0}, {1})", ((INT, INT, INT), (DOUBLE, DOUBLE, DOUBLE))),
    "/": ("div({0}, {1})", ((INT, INT, INT), (DOUBLE, DOUBLE, DOUBLE))),
    "%": ("mod({0}, {1})", ((INT, INT, INT),)),
}
_NONE: frozenset[Path] = frozenset()


def binary(node: Binary, left: Code, right: Code, scope: Scope) -> Code:
    """`left op right`. Raises CelLoadError where no value of these types has the operator."""
    if node.op == "in":
        return _membership(node, left, right, scope)
    if node.op in ("==", "!="):
        return _equality(node, left, right, scope)
    a, b = (STRING if isinstance(side.type, EnumOf) else side.type for side in (left, right))
    if node.op in _ORDER:
        if a == b and a in _ORDERED:
            return Code.of(f"({{0}} {node.op} {{1}})", BOOL, [left, right], total=True)
        numbers = a in _NUMBERS and b in _NUMBERS
        if numbers or (DYN in (a, b) and (a in _ORDERED or a == DYN) and (b in _ORDERED or b == DYN)):
            return Code.of(f"{_ORDER[node.op]}({{0}}, {{1}})", BOOL, [left, right])
        raise _mismatch(node, left, right, scope)
    text, table = _ARITHMETIC[node.op]
    found = [result for want_a, want_b, result in table if accepts(want_a, a) and accepts(want_b, b)]
    if not found:
        raise _mismatch(node, left, right, scope)
    result = found[0] if len(set(found)) == 1 else DYN
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        result = ListOf(join([a.item, b.item]))
    if node.op == "+":
        if a == b == INT:
            return Code.of("i64({0} + {1})", INT, [left, right])
        scope.spends()
    return Code.of(text, result, [left, right])


def _mismatch(node: Binary, left: Code, right: Code, scope: Scope) -> CelLoadError:
    return scope.error(f"no `{node.op}` for {describe(left.type)} and {describe(right.type)}", node)


def _equality(node: Binary, left: Code, right: Code, scope: Scope) -> Code:
    for one, other in ((left, right), (right, left)):
        if isinstance(one.type, EnumOf):
            _member(one.type, [other.value], node, scope)
    a, b = (STRING if isinstance(side.type, EnumOf) else side.type for side in (left, right))
    sign = "==" if node.op == "==" else "!="
    short = a not in (STRING, BYTES) or left.value is not NOTHING or right.value is not NOTHING
    if a == b and a in _SAME and (short or not (scope.repeated(left) or scope.repeated(right))):
        return Code.of(f"({{0}} {sign} {{1}})", BOOL, [left, right], total=True)
    if not (accepts(a, b) or accepts(b, a) or (a in _NUMBERS and b in _NUMBERS)):
        hint = ": an absent field is tested with has()" if NULL in (a, b) else ""
        raise scope.error(f"{describe(a)} and {describe(b)} are never equal{hint}", node)
    constants = [side.value for side in (left, right) if isinstance(side.value, str)]
    if constants:
        return Code.of(f"({{0}} {sign} {{1}})", BOOL, [left, right], total=True)
    text = f"eq_b({{0}}, {{1}}, {scope.spends()})" if scope.locals else "eq({0}, {1})"
    # comparing deep values may overflow Python's stack, so this is not total
    return Code.of(text if sign == "==" else f"(not {text})", BOOL, [left, right])


def _member(kind: EnumOf, values: Sequence[object], node: Node, scope: Scope) -> None:
    for value in values:
        if isinstance(value, str) and value not in kind.values:
            raise scope.error(f"`{value}` is never a value here", node, nearest(value, kind.values))


def _membership(node: Binary, item: Code, group: Code, scope: Scope) -> Code:
    kind = group.type
    text = isinstance(item.type, EnumOf) or item.type == STRING
    match kind:
        case SetOf() if text or item.type == DYN:
            if isinstance(kind.item, EnumOf):
                _member(kind.item, [item.value], node, scope)
            return Code.of("({0} in {1})" if text else "in_set({0}, {1})", BOOL, [item, group], total=True)
        case ListOf() if not opaque(kind) and (accepts(kind.item, item.type) or accepts(item.type, kind.item)):
            return _in_list(node, item, group, text, scope)
        case MapOf() if accepts(kind.key, item.type):
            if text and kind.key == STRING:
                found = Code.of("({0} in {1})", BOOL, [item, group], total=True)
                here = frozenset({(*group.path, item.value)}) if group.path and isinstance(item.value, str) else _NONE
                return replace(found, yes=here)
            return Code.of("in_({0}, {1})", BOOL, [item, group])
        case MapObject() if isinstance(item.value, str):
            return scope.field(group, item.value, node, testing=True)
        case Scalar() if kind == DYN:
            call = f"in_b({{0}}, {{1}}, {scope.spends()})" if scope.locals else "in_({0}, {1})"
            here = frozenset({(*group.path, item.value)}) if group.path and isinstance(item.value, str) else _NONE
            # `"k" in x` is true of a list that holds "k" as well: reading x.k is then an error, never a wrong value
            return replace(Code.of(call, BOOL, [item, group]), yes=here)
    raise _mismatch(node, item, group, scope)


def _in_list(node: Binary, item: Code, group: Code, text: bool, scope: Scope) -> Code:
    kind = group.type
    assert isinstance(kind, ListOf)
    if isinstance(kind.item, EnumOf):
        _member(kind.item, [item.value], node, scope)
    if isinstance(group.value, tuple):
        if isinstance(item.type, EnumOf):
            _member(item.type, group.value, node.right, scope)
        if all(isinstance(value, str) for value in group.value) and (text or item.type == DYN):
            members = scope.constant(frozenset(group.value))
            # a value that cannot be hashed raises in the fast text and is simply not found by the exact one
            exact = f"({item.exact} in {members})" if text else f"in_({item.exact}, {group.exact})"
            return Code(fast=f"({item.fast} in {members})", exact=exact, type=BOOL, total=item.total and text)
    if scope.locals:
        return Code.of(f"in_b({{0}}, {{1}}, {scope.spends()})", BOOL, [item, group])
    if text and (kind.item == STRING or isinstance(kind.item, EnumOf)):
        return Code.of("({0} in {1})", BOOL, [item, group], total=True)
    return Code.of("in_({0}, {1})", BOOL, [item, group])
