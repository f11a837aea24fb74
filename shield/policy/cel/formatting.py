"""`format` and `strings.quote` of the strings extension.

Source: cel-go `ext/strings.go` documentation; the conformance file `string_ext`.
"""

import math
from decimal import Decimal
from typing import Any

from shield.policy.cel.convert import TypeName
from shield.policy.cel.runtime import STEP, fail, spend
from shield.policy.cel.times import Duration, Timestamp
from shield.regex import regex

__all__ = ["format_", "quote"]

MAX_PRECISION = 100
_CLAUSE = regex(r"%(?:%|(?:\.([0-9]{1,3}))?([sdfebxXo]))")
_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip
_ESCAPED = str.maketrans(_ESCAPES)


def quote(budget: list[int], s: Any) -> str:
    """The text as a string literal of CEL."""
    if not isinstance(s, str):
        fail()
    spend(budget, 2 * len(s))
    return f'"{s.translate(_ESCAPED)}"'


def format_(budget: list[int], pattern: Any, items: Any) -> str:
    """The pattern with its clauses replaced: %s %d %f %e %b %x %X %o, %% for a percent sign."""
    if not isinstance(pattern, str) or type(items) not in (list, tuple):
        fail()
    spend(budget, len(pattern))
    out: list[str] = []
    at = used = 0
    while (percent := pattern.find("%", at)) >= 0:
        found = _CLAUSE.match(pattern, percent)
        if found is None:
            fail("unknown formatting clause")
        out.append(pattern[at:percent])
        at = found.end()
        digits, kind = found.groups()
        if kind is None:
            out.append("%")
            continue
        if used == len(items):
            fail("the format has more clauses than values")
        out.append(_clause(kind, digits, items[used], budget))
        used += 1
    return "".join([*out, pattern[at:]])


def _clause(kind: str, digits: str | None, value: Any, budget: list[int]) -> str:
    precision = 6 if digits is None else int(digits)
    if (digits is not None and kind not in "fe") or precision > MAX_PRECISION:
        fail("unknown formatting clause")
    if kind == "s":
        shown = _shown(value, budget)
    elif type(value) is float and not math.isfinite(value) and kind in "dfe":
        shown = _double(value)
    elif kind in "fe" and type(value) in (int, float):
        shown = f"{float(value):.{precision}{kind}}"
    elif kind in "xX" and (isinstance(value, str) or type(value) is bytes):
        shown = (value.encode() if isinstance(value, str) else value).hex()
        shown = shown.upper() if kind == "X" else shown
    elif type(value) is int and kind in "dbxXo":
        shown = f"{value:{kind}}"
    elif type(value) is bool and kind == "b":
        shown = str(int(value))
    else:
        fail()
    spend(budget, len(shown))
    return shown


def _shown(value: Any, budget: list[int]) -> str:
    spend(budget, STEP)
    kind = type(value)
    if isinstance(value, str):
        return value
    if kind is bytes:
        return value.decode("utf-8")  # type: ignore[no-any-return]  # bytes by the test
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return _double(value)
    if isinstance(value, TypeName):
        return value.name
    if isinstance(value, Timestamp | Duration):
        return value.text()
    if kind in (list, tuple):
        return "[" + ", ".join(_shown(item, budget) for item in value) + "]"
    if isinstance(value, dict):
        entries = [(_shown(key, budget), _shown(item, budget)) for key, item in value.items()]
        return "{" + ", ".join(f"{key}: {item}" for key, item in sorted(entries)) + "}"
    return fail()


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")
