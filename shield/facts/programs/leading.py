"""Paths inside words: everything in a text that leads out of where a command runs.

A tool that runs the project's own code may take a path from anywhere: joined to an option (`-I/x`, `--out=/x`), inside
a value (`pythonpath=/x`, `a:/x`, `['/x']`), or from a variable.
"""

import re

from shield.facts.programs.reading import Reading, Value
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["PIECES", "URL", "mention_value", "mention_within", "search_path"]

PIECES = regex(r"[\s=,:;@|&<>!%+^\"'`()\[\]{}\\]+")
# Of a longer scheme, which nobody has, the front counts as a piece: to look for its end from each letter takes minutes.
URL = regex(r"[A-Za-z][A-Za-z0-9+.\-]{0,40}://[^/\s\"'\\][^\s\"'\\]*")
_FILE_URL = regex(r"[A-Za-z][A-Za-z0-9+.\-]{0,40}:/{3,}")
_RELATIVE_URL = regex(r"sqlite(?:\+[a-z0-9]+)?:///(?!/)")  # RFC 3986 has none; SQLAlchemy's are relative
_JOINED = regex(r"-[A-Za-z]+(/.*)", re.DOTALL)


def mention_within(reading: Reading, text: str, *, home: str) -> None:
    """Add every part of `text` that leads out of where the command runs, but not the whole: that is for the caller."""
    for path in sorted(_leading_out(text)):
        # A tilde that is still there was not the shell's to expand: the program may.
        if path != text or path.startswith("~"):
            reading.path(_value(home, path), Access.READ)


def search_path(reading: Reading, text: str | None) -> None:
    """What a variable such as PYTHONPATH holds: directories from which the program takes code."""
    if text is None or any(mark in text for mark in "$`~"):
        reading.code = True
        reading.run(RunsCode.INLINE)
        return
    reading.run(RunsCode.WORKSPACE)
    for entry in text.split(":"):
        reading.path(Value(text=entry or ".", head=entry or "."), Access.READ)


def mention_value(reading: Reading, value: Value | None, *, home: str) -> None:
    """Add every part of an option's value that leads out, the whole of it too."""
    if value is not None and value.fixed:
        # The space keeps a value that is a path as a whole from being taken for a word that was looked at already.
        mention_within(reading, f" {value.text}", home=home)


def _leading_out(text: str) -> set[str]:
    """Every piece of the word that is absolute, in a home, or climbs."""
    text = _FILE_URL.sub(" /", URL.sub(" ", _RELATIVE_URL.sub(" ", text)))
    found = {piece for piece in PIECES.split(text) if _leads_out(piece)}
    if text.startswith("-") and not text.startswith("--"):
        # `-I../x`, `-I/x`, `-isystem/x`: which letters are the option's is not known.
        rest = PIECES.split(text[2:])[0] if len(text) > 2 else ""
        found |= {rest} if _leads_out(rest) else set()
        joined = _JOINED.match(text)
        found |= {PIECES.split(joined[1])[0]} if joined else set()
    return found


def _leads_out(piece: str) -> bool:
    return piece.startswith(("/", "~")) or ".." in piece.split("/")


def _value(home: str, path: str) -> Value:
    """A program may take a tilde for the home where the shell did not."""
    if path == "~" or path.startswith("~/"):
        return Value(text=home + path[1:], head="/", source=path)
    if path.startswith("~"):
        return Value(text=path, known=False, head="/", source=path)
    return Value(text=path, head=path)
