"""Arithmetic as CEL defines it: 64 bits or an error, doubles, durations, and what is joined by `+`."""

import math
from typing import Any

from shield.policy.cel.runtime import SEQ, fail, i64, spend
from shield.policy.cel.times import Duration, Timestamp

__all__ = ["add", "div", "mod", "mul", "neg", "sub"]


def add(a: Any, b: Any, budget: list[int]) -> Any:
    ta, tb = type(a), type(b)
    if ta is tb:
        if ta is int:
            return i64(a + b)
        if ta is float:
            return a + b
        if ta is Duration:
            return Duration(a.ns + b.ns)
    if (isinstance(a, str) and isinstance(b, str)) or (ta is bytes and tb is bytes):
        spend(budget, len(a) + len(b))
        return a + b
    if ta in SEQ and tb in SEQ:
        spend(budget, len(a) + len(b))
        return [*a, *b]
    if (ta is Timestamp and tb is Duration) or (ta is Duration and tb is Timestamp):
        return Timestamp(a.ns + b.ns)
    return fail()


def sub(a: Any, b: Any) -> Any:
    ta, tb = type(a), type(b)
    if ta is tb:
        if ta is int:
            return i64(a - b)
        if ta is float:
            return a - b
        if ta is Duration or ta is Timestamp:
            return _between(a, b)
    if ta is Timestamp and tb is Duration:
        return Timestamp(a.ns - b.ns)
    return fail()


def _between(a: Any, b: Any) -> Duration:
    ns = a.ns - b.ns
    # cel-go and cel-java hold a difference of timestamps in 64 bits of nanoseconds, so the specification's tests do too
    return Duration(ns) if type(a) is Duration or -(2**63) <= ns < 2**63 else fail("duration out of range")


def mul(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        return i64(a * b)
    return a * b if type(a) is float and type(b) is float else fail()


def div(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        return i64(_quotient(a, b))
    if type(a) is float and type(b) is float:
        if b:
            return a / b
        return math.nan if a != a or a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)
    return fail()


def _quotient(a: int, b: int) -> int:
    if b == 0:
        fail("division by zero")
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def mod(a: Any, b: Any) -> int:
    return a - b * _quotient(a, b) if type(a) is int and type(b) is int else fail()


def neg(a: Any) -> Any:
    return i64(-a) if type(a) is int else -a if type(a) is float else fail()
