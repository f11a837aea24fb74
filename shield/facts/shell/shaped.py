"""Words of which all is known but some digits: `"out-$(date +%F).csv"` is a file of that folder, whichever.

Such a word stands in paths as its `Value.sample`, with a zero for each digit that is not known. So do the files that
are there and may be meant, and the name that it is where nothing is printed.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from shield.facts.programs.reading import PathUse, Value
from shield.regex import regex
from shield.types import Access, CommandFact, PathFact

__all__ = ["Shapes", "form_of_date", "may_be", "pattern_of", "within_folder"]

# Names there are made by others: processes, open files, devices.
_ELSEWHERE = regex(r"/+(?:dev|proc|sys)(?:/|\Z)|/\.{1,2}/|\A\.\./")
_UNKNOWN = regex(r"0.*0|0", re.DOTALL)
_ACTIVE = regex(r"[*?\[\\]")
_CHANGING = (Access.WRITE, Access.DELETE)
# What date(1) prints for these is as long as this, but for years after 9999 and long numbers.
_DIGITS = {
    **dict.fromkeys("mdHMSyCUVWgeIkl", "00"),
    **dict.fromkeys("Nuw", "0"),
    **dict.fromkeys("YG", "0000"),
    "j": "000",
    "s": "0000000000",
    "F": "0000-00-00",
    "T": "00:00:00",
    "R": "00:00",
    "z": "+0000",
}
_FORMAT = regex(r"\+((?:%[-0]?[YmdHMSsNjuwyCUVWGgFTRz]|[A-Za-z0-9_.:,@+-])+)\Z")
_PART = regex(r"%[-0]?([A-Za-z])")


def form_of_date(words: Sequence[str]) -> str:
    """What date(1) prints in the one format among its words, zeros in place of the digits; empty where it may print
    anything but digits, the signs between them, and the letters of the format."""
    forms = [word for word in words if word.startswith("+")]
    found = _FORMAT.match(forms[0]) if len(forms) == 1 else None
    # INVARIANT: it begins with a digit, so that it is no name with a meaning of its own, as `..` is
    return _PART.sub(lambda part: _DIGITS[part[1]], found[1]) if found is not None and found[1][0] == "%" else ""


def within_folder(head: str, sample: str) -> str:
    """`sample` where what is not known of it lies in its last component, beneath a folder that `head` names."""
    plain = sample.startswith(head) and "/" not in sample[len(head) :] and not _ELSEWHERE.search(sample)
    return sample if plain and posixpath.basename(sample) else ""


def pattern_of(value: Value) -> str:
    """The pattern of all that the word may be."""
    folder, slash, name = value.sample.rpartition("/")
    known = [_ACTIVE.sub(r"[\g<0>]", text) for text in (folder, *_UNKNOWN.split(name, maxsplit=1))]
    return f"{known[0]}{slash}{'*'.join(known[1:])}"


def may_be(value: Value, path: str) -> bool:
    """Whether the word may be this one of those that its pattern fits: between what is known stand digits, and signs
    that its sample has there, or nothing."""
    name = value.sample.rpartition("/")[2]
    unknown = _UNKNOWN.search(name)
    if unknown is None:
        return True
    # a file system may take another spelling for the same
    start, end = name[: unknown.start()].casefold(), name[unknown.end() :].casefold()
    found = path.rpartition("/")[2].casefold()
    inner = found[len(start) : len(found) - len(end)]
    fits = found.startswith(start) and found.endswith(end) and len(found) >= len(start) + len(end)
    return fits and set(inner) <= {*"0123456789", *unknown[0].casefold()} and bool(inner or not value.digits)


class Shapes:
    """The words of this kind by which a line changes something."""

    def __init__(self) -> None:
        self._changed: list[tuple[str, str, str, str]] = []  # source, as it is written, folder, pattern
        self._same: set[tuple[str, str, str]] = set()  # source, path, and the word of which it is one

    def note(self, use: PathUse, facts: Iterable[PathFact], source: str) -> None:
        """Put down a use and its facts."""
        if not use.value.sample:
            return
        facts = list(facts)
        self._same.update((source, fact.raw, use.value.shown) for fact in facts)
        if use.access not in _CHANGING:
            return
        pattern = pattern_of(use.value).rpartition("/")[2]
        for fact in facts:
            if fact.raw == use.value.shown and fact.resolved is not None:
                self._changed.append((source, fact.raw, posixpath.dirname(fact.resolved), pattern))

    def clashes(self, paths: Iterable[PathFact], commands: Sequence[CommandFact]) -> list[str]:
        """Of each file that the line names, and that may be one of these: what it then is, is not known."""
        if not self._changed:
            return []
        named = [(fact.source, fact.raw, fact.resolved) for fact in paths if fact.resolved is not None]
        named += [(f"commands[{at}]", each.name, each.program) for at, each in enumerate(commands) if each.program]
        found = [
            f"`{raw[:80]}` may be what `{shown[:80]}` names"
            for source, raw, path in named
            for other, shown, folder, pattern in self._changed
            if source != other and (source, raw, shown) not in self._same and _is_one(f"{path}", folder, pattern)
        ]
        return list(dict.fromkeys(found))


def _is_one(path: str, folder: str, pattern: str) -> bool:
    """Whether the path is such a file, or lies beneath it."""
    lead = folder.rstrip("/") + "/"
    return path.startswith(lead) and fnmatchcase(path[len(lead) :].partition("/")[0], pattern)
