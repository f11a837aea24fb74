"""Patches: which files one would write and delete, whichever of its names patch(1) or git-apply(1) goes by.

Only unified diffs, git's among them, and only those that both programs can read in one way: whatever between two of
them either might take for the beginning of another, in whatever format, is not understood. Sources: patch(1) and
git-diff(1), "Generating patch text with -p"; tried with GNU patch 2.7.6 and git 2.39.5.
"""

from dataclasses import dataclass

from shield.regex import regex

__all__ = ["Change", "read_patch"]

_MAX_CHANGES = 500
_NONE = "/dev/null"
# Printable, without blanks, quotes and backslashes, which each program reads in its own way.
_NAME = r"[!#-\[\]-~]+"
_GIT = regex(rf"diff --git ({_NAME}) ({_NAME})")
# What follows a tab is a time.
_OLD = regex(rf"--- ({_NAME})(?:\t([ -~]*))?")
_NEW = regex(rf"\+\+\+ ({_NAME})(?:\t([ -~]*))?")
_INDEX = regex(rf"Index: ({_NAME})")
_HUNK = regex(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@(?: .*)?")
_MODE = regex(r"(?:old mode|new mode|deleted file mode|new file mode) 100(?:644|755)")
_SAME = regex(r"(?:dis)?similarity index \d{1,3}%|index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: 100(?:644|755))?")
_MOVED = regex(rf"(?:rename|copy) (?:from|to) ({_NAME})")
# Indented, or within a message that is sent on (RFC 934), a header is one all the same; so are those of other formats.
_SUSPICIOUS = regex(
    r"[-X\s]*(?:\*{3}|\+{3}|--- |@@|Index:|Prereq:|diff --git|GIT binary|(?:old|new|deleted) (?:file )?mode|"
    r"rename |copy |(?:dis)?similarity |index [0-9a-f]+\.\.|\d[\d,]*[acdis])"
)
# A file whose time is the first second of 1970, wherever on earth, is one that is not there (patch(1) `-E`).
_EPOCH = regex(r"19(?:69|70)-|.*\b19(?:69|70)\b")


@dataclass(frozen=True, slots=True)
class Change:
    """What is said of one file. `names`: all that it is called, as they are written; `bare`: those among them that have
    no `a/` or `b/` in front. `goes`: the file may be deleted."""

    names: frozenset[str]
    bare: frozenset[str] = frozenset()
    goes: bool = False

    def places(self, strip: int | None) -> frozenset[str]:
        """The paths that the names may stand for without their first `strip` parts; None: without any number of them.

        A name that has no more parts than that stands for no file, to either program.
        """
        if strip is None:
            found = {_stripped(name, count) for name in self.names for count in range(name.count("/") + 1)}
        else:
            found = {_stripped(name, strip) for name in self.names}
            found |= {_stripped(name, max(strip - 1, 0)) for name in self.bare}
        return frozenset(name for name in found if name is not None)


def _stripped(name: str, strip: int) -> str | None:
    for _ in range(strip):
        _, slash, name = name.partition("/")
        name = name.lstrip("/")
        if not slash:
            return None
    return name or None


def read_patch(text: str) -> tuple[Change, ...] | None:
    """What the patch changes, file by file; None where it is not understood or there is nothing in it."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    try:
        found = tuple(_Reader(lines).changes())
    except _OtherwiseError:
        return None
    return found or None


class _OtherwiseError(Exception):
    """It may be read in more ways than one."""


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def changes(self) -> list[Change]:
        found: list[Change] = []
        named: set[str] = set()  # by `Index:`, for the one that follows
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if (index := _INDEX.fullmatch(line)) is not None:
                named.add(index[1])
                self._at += 1
            elif (git := _GIT.fullmatch(line)) is not None:
                self._at += 1
                found.append(self._from_git({git[1], git[2]} | named))
                named = set()
            elif _OLD.fullmatch(line) is not None:
                found.append(self._unified(named, frozenset()))
                named = set()
            elif _SUSPICIOUS.match(line) is not None or "\0" in line or "\r" in line:
                raise _OtherwiseError
            else:
                self._at += 1
            if len(found) > _MAX_CHANGES:
                raise _OtherwiseError
        if named:
            raise _OtherwiseError
        return found

    def _from_git(self, names: set[str]) -> Change:
        """The headers of git, then mostly a unified diff."""
        bare: set[str] = set()
        goes = appears = deleted = False
        while self._at < len(self._lines):
            line = self._lines[self._at]
            moved = _MOVED.fullmatch(line)
            if moved is not None:
                bare.add(moved[1])
                goes |= line.startswith("rename from")
            elif _MODE.fullmatch(line) is None and _SAME.fullmatch(line) is None:
                break
            appears |= line.startswith("new file")
            deleted |= line.startswith("deleted")
            self._at += 1
        if self._at < len(self._lines) and _OLD.fullmatch(self._lines[self._at]) is not None:
            ends = [line.partition("\t")[0] for line in self._lines[self._at : self._at + 2]]
            # git takes `/dev/null` for a name where the headers do not say that there is no file
            if (f"--- {_NONE}" in ends and not appears) or (f"+++ {_NONE}" in ends and not deleted):
                raise _OtherwiseError
            change = self._unified(names, frozenset(bare))
            goes, names = goes or change.goes, set(change.names)
        return Change(frozenset(names | bare), frozenset(bare), goes or deleted)

    def _unified(self, names: set[str], bare: frozenset[str]) -> Change:
        old = _OLD.fullmatch(self._lines[self._at])
        new = _NEW.fullmatch(self._lines[self._at + 1]) if self._at + 1 < len(self._lines) else None
        if old is None or new is None:
            raise _OtherwiseError
        self._at += 2
        hunks = 0
        while self._at < len(self._lines) and self._lines[self._at].startswith("@@"):
            self._hunk()
            hunks += 1
        if not hunks:
            raise _OtherwiseError
        goes = new[1] == _NONE or bool(new[2] and _EPOCH.match(new[2]))
        return Change(frozenset((names | bare | {old[1], new[1]}) - {_NONE}), bare, goes)

    def _hunk(self) -> None:
        """One hunk: as many lines as its head says, each with its mark."""
        head = _HUNK.fullmatch(self._lines[self._at])
        if head is None:
            raise _OtherwiseError
        self._at += 1
        old, new = (int(count) if count is not None else 1 for count in head.groups())
        while old or new:
            line = self._lines[self._at] if self._at < len(self._lines) else "?"
            mark = line[:1]
            old -= mark in ("", " ", "-")
            new -= mark in ("", " ", "+")
            if (mark not in ("", " ", "-", "+") and not line.startswith("\\ ")) or old < 0 or new < 0:
                raise _OtherwiseError
            self._at += 1
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\ "):
            self._at += 1
