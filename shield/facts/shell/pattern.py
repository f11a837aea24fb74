"""Patterns as bash matches them against a text, for `${x#…}` and `${x/…}` (bash(1) Pattern Matching)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shield.regex import regex

__all__ = ["cut", "replaced"]

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": " \\t\\n\\r\\f\\v",
    "blank": " \\t",
    "xdigit": "0-9a-fA-F",
}
# `[!]…]` is not among them: bash takes a text for too short for it in `${x/…}` (umatchlen in its lib/glob/gmisc.c)
_BRACKET = regex(r"\[(?![!^]\])([!^]?)(\]?(?:\[:[a-z]+:\]|[^\]\[])*)\]")
_CLASS = regex(r"\[:([a-z]+):\]")
_LITERAL = ("[\\]", "[[]", "[*]", "[?]")
_MAX_PATTERN = 256
_MAX_TEXT = 2_048


@dataclass(frozen=True, slots=True)
class _Matcher:
    """A pattern put to one text. Each element is the set of places whose character it takes, as bits; None is a star.

    Every match is found without backtracking: the work is the pattern's length times the text's.
    """

    size: int
    elements: tuple[int | None, ...]

    def ends(self, start: int) -> int:
        """Where a match that begins at `start` may end, as bits."""
        reached = 1 << start
        everywhere = (1 << (self.size + 1)) - 1
        for element in self.elements:
            if not reached:
                break
            if element is None:
                lowest = reached & -reached
                reached = everywhere & ~(lowest - 1)
            else:
                reached = (reached & element) << 1
        return reached


def _matcher(text: str, pattern: str, *, backwards: bool = False) -> _Matcher | None:
    # what one character is beyond ASCII, and of which class, the locale says
    told = text.isascii() or not ("[" in pattern or "?" in pattern)
    parts = _elements(pattern) if told and len(pattern) <= _MAX_PATTERN and len(text) <= _MAX_TEXT else None
    if parts is None:
        return None
    places: dict[str, int] = {}
    seen = text[::-1] if backwards else text
    for part in parts:
        if part and part not in places:
            single = re.compile(part, re.DOTALL)
            places[part] = sum(1 << index for index, char in enumerate(seen) if single.fullmatch(char))
    order: Iterable[str] = reversed(parts) if backwards else parts
    return _Matcher(len(text), tuple(places[part] if part else None for part in order))


def _elements(pattern: str) -> list[str] | None:
    """For each element an expression for one character, empty for a star; None for what is not translated."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            out.append("")
        elif char == "?":
            out.append(".")
        elif char == "\\":
            return None
        elif char == "[":
            if pattern.startswith(_LITERAL, at - 1):
                out.append(re.escape(pattern[at]))
                at += 2
                continue
            found = _BRACKET.match(pattern, at - 1)
            inner = None if found is None else _set(found[2])
            if found is None or not inner:
                return None
            out.append(f"[{'^' if found[1] else ''}{inner}]")
            at = found.end()
        else:
            out.append(re.escape(char))
    return out


def _set(inner: str) -> str | None:
    """The inside of a bracket expression; None for a class or a range that is not of ASCII letters and digits."""
    out: list[str] = []
    at = 0
    while at < len(inner):
        named = _CLASS.match(inner, at)
        if named is not None:
            if named[1] not in _CLASSES:
                return None
            out.append(_CLASSES[named[1]])
            at = named.end()
            continue
        if inner.startswith("-", at + 1) and at + 2 < len(inner):
            low, high = inner[at], inner[at + 2]
            if not (f"{low}{high}".isascii() and f"{low}{high}".isalnum() and low <= high):
                return None
            out.append(f"{low}-{high}")
            at += 3
            continue
        if not inner[at].isascii():
            return None
        out.append(re.escape(inner[at]))
        at += 1
    return "".join(out)


def cut(text: str, pattern: str, operator: str) -> str | None:
    """`${text#pattern}` and its kin: the text without the shortest or longest match at an end.

    In `pattern` a literal `*`, `?`, `[` or backslash stands in brackets. None where it is not understood, or too long.
    """
    backwards = operator.startswith("%")
    matcher = _matcher(text, pattern, backwards=backwards)
    if matcher is None:
        return None
    ends = matcher.ends(0)
    if not ends:
        return text
    count = (ends & -ends).bit_length() - 1 if len(operator) == 1 else ends.bit_length() - 1
    return text[: len(text) - count] if backwards else text[count:]


def replaced(text: str, pattern: str, operator: str, by: str) -> str | None:
    """`${text/pattern/by}`: the longest match, the first or all, or only at the beginning or the end."""
    if not pattern and operator in ("/", "//"):
        return text
    matcher = _matcher(text, pattern, backwards=operator == "/%")
    if matcher is None:
        return None
    if operator in ("/#", "/%"):
        ends = matcher.ends(0)
        if not ends:
            return text
        count = ends.bit_length() - 1
        return by + text[count:] if operator == "/#" else text[: len(text) - count] + by
    if not text:
        return by if matcher.ends(0) else text  # a star matches nothing only where there is nothing else
    out: list[str] = []
    at = 0
    while at < len(text):
        end = matcher.ends(at).bit_length() - 1
        if end <= at:
            out.append(text[at])
            at += 1
            continue
        out.append(by)
        at = end
        if operator == "/":
            break
    return "".join(out) + text[at:]
