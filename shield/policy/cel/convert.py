"""Conversions between CEL's types, and types as values.

Source: CEL language definition, "List of Standard Definitions", type conversions. Texts that implementations read
differently (`int(' 5')`, `double('0x10')`, `bool('T')`) are errors.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from shield.policy.cel import times
from shield.policy.cel.network import Cidr, Ip
from shield.policy.cel.runtime import fail, i64
from shield.policy.cel.times import Duration, Timestamp
from shield.regex import regex

__all__ = ["TypeName"]


@dataclass(frozen=True, slots=True)
class TypeName:
    """A CEL type as a value: what `type(x)` gives."""

    name: str


_INTEGER = regex(r"[-+]?[0-9]{1,19}")
_DECIMAL = regex(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,5})?")
_NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
_TRUE = frozenset({"1", "t", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "false", "FALSE", "False"})


def to_int(x: Any) -> int:
    kind = type(x)
    if kind is int:
        return i64(x)
    if kind is float:
        return int(x) if -(2.0**63) < x < 2.0**63 else fail("integer overflow")
    if kind is Timestamp:
        return x.ns // times.SECOND  # type: ignore[no-any-return]  # a Timestamp by the test
    if isinstance(x, str) and _INTEGER.fullmatch(x):
        return i64(int(x))
    return fail("no integer")


def to_double(x: Any) -> float:
    if type(x) in (int, float):
        return float(x)
    if isinstance(x, str) and (_DECIMAL.fullmatch(x) or x in _NO_NUMBERS):
        return float(x)
    return fail("no number")


def to_string(x: Any) -> str:
    kind = type(x)
    if isinstance(x, str):
        return x
    if kind is bool:
        return "true" if x else "false"
    if kind is int:
        return str(x)
    if kind is float:
        return _double_text(x)
    if kind is bytes:
        return x.decode("utf-8")  # type: ignore[no-any-return]  # bytes by the test
    if kind in (Timestamp, Duration, Ip, Cidr):
        return x.text()  # type: ignore[no-any-return]  # one of these by the test
    return fail()


def _double_text(x: float) -> str:
    """The shortest digits that read back as `x`, with an exponent below 1e-4 and from 1e6 on."""
    if not math.isfinite(x):
        fail("this double has no text")
    sign, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits))
    point = len(digits) + exponent  # digits before the decimal point
    if not x:
        body = "0"
    elif not -4 < point <= 6:
        body = f"{shown[0]}{'.' * (len(shown) > 1)}{shown[1:]}e{point - 1:+03}"
    elif point <= 0:
        body = "0." + "0" * -point + shown
    else:
        body = shown.ljust(point, "0")
        body = body[:point] + "." * (len(body) > point) + body[point:]
    return "-" * sign + body


def to_bytes(x: Any) -> bytes:
    if type(x) is bytes:
        return x
    return x.encode("utf-8") if isinstance(x, str) else fail()


def to_bool(x: Any) -> bool:
    if type(x) is bool:
        return x
    if isinstance(x, str):
        if x in _TRUE:
            return True
        if x in _FALSE:
            return False
    return fail("no bool")


def to_timestamp(x: Any) -> Timestamp:
    if type(x) is Timestamp:
        return x
    if type(x) is int:
        return Timestamp(x * times.SECOND)
    return times.timestamp(x) if isinstance(x, str) else fail()


def to_duration(x: Any) -> Duration:
    if type(x) is Duration:
        return x
    return times.duration(x) if isinstance(x, str) else fail()


_NAMES: Mapping[type, str] = MappingProxyType(
    {
        bool: "bool",
        int: "int",
        float: "double",
        str: "string",
        bytes: "bytes",
        list: "list",
        tuple: "list",
        dict: "map",
        MappingProxyType: "map",
        type(None): "null_type",
        TypeName: "type",
        Timestamp: "google.protobuf.Timestamp",
        Duration: "google.protobuf.Duration",
        Ip: "net.IP",
        Cidr: "net.CIDR",
    }
)


def type_of(x: Any) -> TypeName:
    if isinstance(x, str):
        return TypeName("string")
    name = _NAMES.get(type(x))
    return TypeName(name) if name is not None else fail()
