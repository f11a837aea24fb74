"""The operations that generated code calls where Python's own operator is not CEL's.

Values are plain: str, int, float, bool, None, bytes, list or tuple, dict, Timestamp, Duration, TypeName. INVARIANT:
each function checks the kinds of what it is given; a wrong kind is CEL's error, never a Python coercion.
Source: CEL language definition, "Runtime Errors", "Logical Operators", "Numeric Values", "Equality".
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Never

from shield.policy.cel import times
from shield.policy.cel.errors import CelError
from shield.policy.cel.times import Duration, Timestamp

__all__ = ["ABSORBED", "BUDGET"]

BUDGET = (
    1_000_000  # characters and elements that one evaluation may make, and STEP for each element it visits in macros
)
STEP = 4
# What an operand of && or || may raise and the other operand may absorb.
ABSORBED = (CelError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)

SEQ = (list, tuple)
_MAP = (dict, MappingProxyType)
_NUMBER = (int, float)
_ORDERED = (int, float, bool, bytes, Timestamp, Duration)


def fail(text: str = "no such overload") -> Never:
    raise CelError(text)


def spend(budget: list[int], amount: int) -> None:
    budget[0] -= amount
    if budget[0] < 0:
        fail("the condition costs too much on these facts")


# --- checked reads ---


def b_(x: Any) -> bool:
    return x if x is True or x is False else fail()


def i64(x: int) -> int:
    return x if -(2**63) <= x < 2**63 else fail("integer overflow")


def need(x: Any) -> Any:
    return x if x is not None else fail("no such field")


def chk_bool(x: Any) -> Any:
    return x if type(x) is bool else fail()


def chk_int(x: Any) -> Any:
    return x if type(x) is int and -(2**63) <= x < 2**63 else fail()


def chk_double(x: Any) -> Any:
    return x if type(x) is float else float(x) if type(x) is int else fail()


def chk_string(x: Any) -> Any:
    return x if isinstance(x, str) else fail()


def chk_any(x: Any) -> Any:
    return x


def chk_list(x: Any, check: Callable[[Any], Any]) -> list[Any]:
    return [check(item) for item in x] if type(x) in SEQ else fail()


def has(m: Any, k: str) -> bool:
    return k in m if type(m) in _MAP else fail()


def sel(m: Any, k: str) -> Any:
    return m[k] if type(m) in _MAP else fail()


def idx(c: Any, i: Any) -> Any:
    kind = type(c)
    if kind in _MAP:
        if isinstance(i, str):
            return c[i]
        if type(i) in (int, float, bool):
            for k, v in c.items():
                if eq(k, i):
                    return v
            fail("no such key")
        fail()
    if kind in SEQ:
        if type(i) is float and i == i // 1:
            i = int(i)
        if type(i) is int:
            return c[i] if 0 <= i < len(c) else fail("index out of range")
    fail()


def it(x: Any, budget: list[int]) -> Any:
    if type(x) not in SEQ and type(x) not in _MAP:
        fail()
    spend(budget, len(x) * STEP)
    return x


def it_n(x: Any, budget: list[int]) -> Any:
    spend(budget, len(x) * STEP)
    return x


def glance(x: Any, budget: list[int]) -> Any:
    if type(x) in (str, bytes):
        spend(budget, len(x) >> 8)
    return x


# --- equality, order, membership ---


def eq(a: Any, b: Any) -> bool:
    ta, tb = type(a), type(b)
    if ta is bool or tb is bool:
        return a is b
    if ta in SEQ:
        return tb in SEQ and len(a) == len(b) and all(map(eq, a, b))
    if ta in _MAP:
        if tb not in _MAP or len(a) != len(b):
            return False
        return all(_holds(b, k, v) for k, v in a.items())
    if ta is not tb and ta in _NUMBER and tb in _NUMBER:
        return float(a) == float(b)
    return bool(a == b)


def _holds(m: Mapping[Any, Any], key: Any, value: Any) -> bool:
    if isinstance(key, str):
        return key in m and eq(m[key], value)
    # Python's dict takes 1, 1.0 and True for one key
    return any(eq(k, key) and eq(v, value) for k, v in m.items())


def eq_b(a: Any, b: Any, budget: list[int]) -> bool:
    """`eq` inside a macro, where a long comparison may be made many times: every element compared is paid for."""
    ta, tb = type(a), type(b)
    if ta in SEQ and tb in SEQ and len(a) == len(b):
        spend(budget, len(a) * STEP)
        return all(eq_b(x, y, budget) for x, y in zip(a, b, strict=True))
    if ta in _MAP and tb in _MAP:
        spend(budget, (len(a) + _leaves(a)) * STEP)
    return eq(glance(a, budget), b)


def _leaves(value: Any) -> int:
    if type(value) in _MAP:
        return len(value) + sum(_leaves(part) for part in value.values())
    return len(value) + sum(_leaves(part) for part in value) if type(value) in SEQ else 0


def _order(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def ordered(a: Any, b: Any) -> bool:
        ta, tb = type(a), type(b)
        if ta is tb and ta in _ORDERED:
            return bool(compare(a, b))
        if ta in _NUMBER and tb in _NUMBER:
            return bool(compare(float(a), float(b)))  # as the specification's tests want, not exactly
        if isinstance(a, str) and isinstance(b, str):
            return bool(compare(a, b))
        fail()

    return ordered


def in_(x: Any, c: Any) -> bool:
    kind = type(c)
    if kind in SEQ:
        return any(eq(x, y) for y in c)
    if kind in _MAP:
        if isinstance(x, str):
            return x in c
        if type(x) in (int, float, bool):
            return any(eq(x, k) for k in c)
    fail()


def in_b(x: Any, c: Any, budget: list[int]) -> bool:
    if type(c) in SEQ:
        spend(budget, len(c) * STEP)
        return any(eq_b(x, y, budget) for y in c)
    return in_(x, c)


def in_set(x: Any, c: frozenset[str]) -> bool:
    return isinstance(x, str) and x in c


# --- && || and the macros that absorb errors ---


def and_(*operands: Callable[[], Any]) -> bool:
    error: Exception | None = None
    for operand in operands:
        try:
            if not b_(operand()):
                return False
        except ABSORBED as caught:
            error = caught
    if error is not None:
        raise error
    return True


def or_(*operands: Callable[[], Any]) -> bool:
    error: Exception | None = None
    for operand in operands:
        try:
            if b_(operand()):
                return True
        except ABSORBED as caught:
            error = caught
    if error is not None:
        raise error
    return False


def exists(items: Iterable[Any], test: Callable[[Any], Any]) -> bool:
    return or_(*[lambda x=x: test(x) for x in items])


def every(items: Iterable[Any], test: Callable[[Any], Any]) -> bool:
    return and_(*[lambda x=x: test(x) for x in items])


# --- the rest ---


def size(x: Any) -> int:
    return len(x) if isinstance(x, str) or type(x) in (bytes, *SEQ, *_MAP) else fail()


def make_map(*entries: tuple[Any, Any]) -> dict[Any, Any]:
    made = dict(entries)
    return made if len(made) == len(entries) else fail("repeated key")


def timed(x: Any, get: Callable[..., int], *place: Any) -> int:
    """A field of a timestamp, or, without a time zone, of a duration that has it."""
    if type(x) is Timestamp or (type(x) is Duration and not place and get in _OF_DURATION):
        return get(x, *place)
    fail()


_OF_DURATION = (times.get_hours, times.get_minutes, times.get_seconds, times.get_milliseconds)

lt, le, gt, ge = (_order(op) for op in (operator.lt, operator.le, operator.gt, operator.ge))
