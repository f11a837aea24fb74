"""`matches()`: RE2 at load, plain string operations where the pattern is a plain string.

Source: RE2 syntax; `^` and `$` without flags are the ends of the whole text.
"""

from collections.abc import Callable
from dataclasses import dataclass

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from shield.regex import regex

__all__ = ["Pattern", "RegexError", "pattern"]

MAX_PATTERN = 2048
_META = frozenset("\\.+*?()[]{}|^$")
_CLASSES = frozenset("dDwWsS")
_REPEAT = regex(r"(?:[*?+]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*?+{])")


class RegexError(Exception):
    """The pattern is refused; the text says why."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """How to run it. `test` is one of `in`, `startswith`, `endswith`, `==`, `search`; `literal` is what must occur (for
    `search` possibly empty); `search` is set for `search` only and takes UTF-8."""

    test: str
    literal: str
    search: Callable[[bytes], object] | None = None


def pattern(text: str) -> Pattern:
    """Compile `text`. Raises RegexError for what RE2 does not take or what is too large."""
    if len(text) > MAX_PATTERN:
        raise RegexError(f"the pattern is longer than {MAX_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        regex = re2.compile(text, options)
    except (re2.error, UnicodeError) as error:
        raise RegexError(f"not a regular expression as RE2 takes it: {_reason(error)}") from None
    plain = _plain(text)
    return plain if plain is not None else Pattern("search", _required(text), regex.search)


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args and not isinstance(error, UnicodeError) else "not text"
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _plain(text: str) -> Pattern | None:
    body = text.removeprefix("^")
    start, body, end = len(body) < len(text), body.removesuffix("$"), body.endswith("$")
    if not end and body.endswith(".*"):
        body = body[:-2]
    if any(char in _META for char in body):
        return None
    if start and end:
        return Pattern("==", body)
    return Pattern("startswith" if start else "endswith" if end else "in", body)


def _required(text: str) -> str:
    """A string that occurs in whatever matches; empty where none is known. Reads only the plainest syntax."""
    if "|" in text or "(?" in text or ("\\" in text and not _known_escapes(text)):
        return ""
    runs: list[str] = [""]
    at = depth = 0
    while at < len(text):
        char = text[at]
        width = 1
        if char == "\\":
            char, width = text[at + 1], 2
            literal = char not in _CLASSES and char not in "bB"
        else:
            literal = char not in _META
        if char == "[" and width == 1:
            width = _class_end(text, at) - at
        if width == 1 and char in "()":
            depth += 1 if char == "(" else -1
        if literal and depth == 0:
            runs[-1] += char
        elif width == 1 and char in "*?{+":
            repeat = _REPEAT.match(text, at)
            if repeat is None:
                return ""
            if char != "+":
                runs[-1] = runs[-1][:-1]
            runs.append("")
            width = len(repeat.group())
        else:
            runs.append("")
        at += width
    return max(runs, key=len)


def _known_escapes(text: str) -> bool:
    at = 0
    while (at := text.find("\\", at)) >= 0:
        escaped = text[at + 1 : at + 2]
        if escaped.isalnum() and escaped not in _CLASSES and escaped not in "bB":
            return False
        at += 2
    return True


def _class_end(text: str, at: int) -> int:
    """The offset behind the bracket expression opening at `at`; a `]` that comes first in it does not close it."""
    end = at + 1
    end += text.startswith("^", end)
    end += text.startswith("]", end)
    while end < len(text) and text[end] != "]":
        if text.startswith("[:", end):
            end = max(text.find(":]", end) + 1, end)
        end += 2 if text[end] == "\\" else 1
    return end + 1
