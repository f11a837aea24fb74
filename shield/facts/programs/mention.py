"""Paths that the words of a command mention, where what a word means to its program is not known in full.

A tool that runs the project's own code may use any word as a path: alone, joined to an option (`-I/x`, `--out=/x`), or
inside a value (`pythonpath=/x`, `a:/x`, `['/x']`). Everything that leads out of where the command runs is found; what
stays there is found where a word as a whole names it, or where it has a meaning of its own: a secret, a place that
others go by.
"""

from typing import Final

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.leading import URL, mention_within
from shield.facts.programs.meant import meant
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access

__all__ = ["MAX_WORD", "bases_of", "leaves_out", "mention"]

MAX_WORD: Final = 4_096
_LEAVES_OUT = regex(r"--?(?:[a-z]+-)*(?:exclude|ignore|omit|skip)s?(?:-(?:dir|glob|pattern)s?)?")


def mention(call: Invocation, word: Value, *accesses: Access, doubtful: bool = False) -> None:
    """Add the paths in `word`. What lies outside is read at least; what the whole word names has all of `accesses`.
    `doubtful`: it is, or follows, an option that is not known, and may name what is written.

    A word of unknown value is a path of unknown end, or may be an option: then nothing is known of the invocation.
    """
    reading = call.reading
    if not word.fixed:
        if word.adrift or (word.pattern is None and word.roots is None and word.head.startswith("-")):
            reading.loose = True
        reading.path(word, *(accesses or (Access.READ,)))
        return
    text = word.text
    if len(text) > MAX_WORD:
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
    if not leaves_out(text.partition("=")[0]):
        meant(reading, text, call.context.place, bases_of(call), doubtful=doubtful)


def leaves_out(name: str) -> bool:
    """Whether by its name an option says what a tool has nothing to do with: `--exclude .git,.env`."""
    return _LEAVES_OUT.fullmatch(name) is not None


def bases_of(call: Invocation) -> tuple[str | None, ...]:
    """The directories in which a command that it starts would stand, `-C` and kin included."""
    moved = call.reading.moved
    if moved is None:
        return call.context.bases
    if not moved.fixed:
        return (None,)
    place = call.context.place
    return tuple(resolve_path(moved.text, place, base=base, expand_tilde=False).path for base in call.context.bases)


def _is_path(call: Invocation, text: str) -> bool:
    """Whether the whole word is one path: it looks like one, or something of this name is there."""
    if not text or URL.search(text) or "\0" in text:
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
