"""`${x…}`: what an operation makes of a text that is known (bash(1) Parameter Expansion)."""

from shield.facts.shell.pattern import cut, replaced
from shield.regex import regex

__all__ = ["cased", "part_of", "quoted_form", "trimmed", "with_replaced"]

_PLAIN = regex(r"[ -~]*\Z")


def trimmed(text: str, pattern: str | None, operator: str) -> str | None:
    """`#`, `##`, `%` and `%%`. `pattern` has its literal characters in brackets; None where it is not known."""
    return None if pattern is None else cut(text, pattern, operator)


def with_replaced(text: str, pattern: str | None, operator: str, by: str | None) -> str | None:
    """`/`, `//`, `/#` and `/%`."""
    return None if pattern is None or by is None else replaced(text, pattern, operator, by)


def cased(text: str, operator: str, pattern: str | None) -> str | None:
    """`^`, `^^`, `,` and `,,`, and `@U`, `@u`, `@L`; only for ASCII, whose cases every locale agrees on."""
    if not text.isascii() or pattern not in ("", "?"):
        return None
    match operator:
        case "^" | "@u":
            return text[:1].upper() + text[1:]
        case "^^" | "@U":
            return text.upper()
        case ",":
            return text[:1].lower() + text[1:]
        case ",," | "@L":
            return text.lower()
    return None


def part_of(text: str, offset: int, length: int | None) -> str | None:
    """`${x:offset:length}`; None where bash reports an error, or the characters are not certain to be counted alike."""
    if not text.isascii():
        return None
    start = offset if offset >= 0 else len(text) + offset
    if start < 0 or start > len(text):
        return ""
    if length is None:
        return text[start:]
    end = start + length if length >= 0 else len(text) + length
    return None if end < start else text[start:end]


def quoted_form(text: str) -> str | None:
    """`${x@Q}` of text that needs no more than single quotes."""
    return f"'{text}'" if _PLAIN.match(text) and "'" not in text else None
