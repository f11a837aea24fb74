"""The strings extension of CEL, as far as it is supported. Offsets count code points.

Source: cel-go `ext/strings.go` documentation; the conformance file `string_ext`.
"""

import string
from typing import Any

from shield.policy.cel.runtime import fail, spend

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
# Unicode's White_Space; Python's own strip() also takes U+001C to U+001F
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _text(x: Any) -> str:
    return x if isinstance(x, str) else fail()


def _whole(x: Any) -> int:
    return x if type(x) is int else fail()


def contains(s: Any, part: Any) -> bool:
    return _text(part) in _text(s)


def starts_with(s: Any, part: Any) -> bool:
    return _text(s).startswith(_text(part))


def ends_with(s: Any, part: Any) -> bool:
    return _text(s).endswith(_text(part))


def lower_ascii(s: Any) -> str:
    return _text(s).translate(_LOWER)


def upper_ascii(s: Any) -> str:
    return _text(s).translate(_UPPER)


def trim(s: Any) -> str:
    return _text(s).strip(_SPACE)


def reverse(s: Any) -> str:
    return _text(s)[::-1]


def char_at(s: Any, at: Any) -> str:
    return _text(s)[at : at + 1] if 0 <= _whole(at) <= len(_text(s)) else fail("index out of range")


def index_of(s: Any, part: Any, start: Any = 0) -> int:
    if not 0 <= _whole(start) <= len(_text(s)):
        fail("index out of range")
    return _text(s).find(_text(part), start)


def last_index_of(s: Any, part: Any, start: Any = None) -> int:
    if start is None:
        return _text(s).rfind(_text(part))
    if not 0 <= _whole(start) <= len(_text(s)):
        fail("index out of range")
    return _text(s).rfind(_text(part), 0, start + len(_text(part)))


def substring(s: Any, start: Any, end: Any = None) -> str:
    end = len(_text(s)) if end is None else _whole(end)
    return _text(s)[start:end] if 0 <= _whole(start) <= end <= len(s) else fail("index out of range")


def replace(budget: list[int], s: Any, old: Any, new: Any, limit: Any = -1) -> str:
    places = _text(s).count(_text(old))
    if _whole(limit) >= 0:
        places = min(places, limit)
    spend(budget, len(s) + places * len(_text(new)))
    return _text(s).replace(old, new, limit)


def split(budget: list[int], s: Any, separator: Any, limit: Any = -1) -> list[str]:
    spend(budget, len(_text(s)))
    if _whole(limit) == 0:
        return []
    if not _text(separator):
        return list(s) if limit < 0 else [*s[: limit - 1], *([s[limit - 1 :]] if len(s) >= limit else [])]
    return _text(s).split(separator, limit - 1 if limit > 0 else -1)


def join(budget: list[int], items: Any, separator: Any = "") -> str:
    if type(items) not in (list, tuple):
        fail()
    spend(budget, sum(len(_text(item)) for item in items) + len(items) * len(_text(separator)))
    return _text(separator).join(items)
