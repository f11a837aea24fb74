"""Paths that the words of a command mention, where what a word means to its program is not known in full.

A tool that runs the project's own code may use any word as a path: alone, joined to an option (`-I/x`, `--out=/x`), or
inside a value (`pythonpath=/x`, `a:/x`, `['/x']`). Everything that leads out of where the command runs is found; what
stays there is found where a word as a whole names it.
"""

import re

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Reading, Value
from shield.types import Access, RunsCode

__all__ = ["mention", "mention_within", "search_path"]

_MAX_WORD = 4_096
_PIECES = re.compile(r"[\s=,:;@|&<>!%+^\"'`()\[\]{}\\]+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/\s\"'\\][^\s\"'\\]*")
_FILE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/{3,}")
_RELATIVE_URL = re.compile(r"sqlite(?:\+[a-z0-9]+)?:///(?!/)")  # RFC 3986 has none; SQLAlchemy's are relative
_JOINED = re.compile(r"-[A-Za-z]+(/.*)", re.DOTALL)


def mention(call: Invocation, word: Value, *accesses: Access) -> None:
    """Add the paths in `word`. What lies outside is read at least; what the whole word names has all of `accesses`.

    A word of unknown value is a path of unknown end, or may be an option: then nothing is known of the invocation.
    """
    reading = call.reading
    if not word.fixed:
        if word.adrift or (word.pattern is None and word.roots is None and word.head.startswith("-")):
            reading.loose = True
        reading.path(word, *(accesses or (Access.READ,)))
        return
    text = word.text
    if len(text) > _MAX_WORD:
        reading.unknown.append("a word of the command is too long to be looked at")
        return
    if not text.startswith("-") or text == "-":
        if _is_path(call, text):
            reading.path(word, *(accesses or (Access.READ,)))
    else:
        for value in {text.partition("=")[2], "" if text.startswith("--") else text[2:]}:
            if _is_path(call, value):
                reading.path(Value(text=value, head=value), Access.READ)
    mention_within(reading, text, home=call.context.place.home)


def mention_within(reading: Reading, text: str, *, home: str) -> None:
    """Add every part of `text` that leads out of where the command runs."""
    for path in sorted(_leading_out(text)):
        if path != text:
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


def _is_path(call: Invocation, text: str) -> bool:
    """Whether the whole word is one path: it looks like one, or something of this name is there."""
    if not text or _URL.search(text) or "\0" in text:
        return False
    if text.startswith(("/", "~", "./", "../")) or text in (".", ".."):
        return True
    if any(mark in text for mark in "=:,;@ \n"):
        return False
    place = call.context.place
    return (
        "/" in text
        or call.reading.moved is not None
        or any(
            (found := resolve_path("./" + text, place, base=base, expand_tilde=False)).exists
            or found.symlink
            or found.path is None
            for base in call.context.bases
        )
    )


def _leading_out(text: str) -> set[str]:
    """Every piece of the word that is absolute, in a home, or climbs."""
    text = _FILE_URL.sub(" /", _URL.sub(" ", _RELATIVE_URL.sub(" ", text)))
    found = {piece for piece in _PIECES.split(text) if _leads_out(piece)}
    if text.startswith("-") and not text.startswith("--"):
        # `-I../x`, `-I/x`, `-isystem/x`: which letters are the option's is not known.
        rest = _PIECES.split(text[2:])[0] if len(text) > 2 else ""
        found |= {rest} if _leads_out(rest) else set()
        joined = _JOINED.match(text)
        found |= {_PIECES.split(joined[1])[0]} if joined else set()
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
