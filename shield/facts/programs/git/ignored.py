"""What git is told to ignore (gitignore(5)), as far as that is certain."""

import posixpath
from fnmatch import fnmatchcase
from typing import NamedTuple

from shield.facts.categories import may_have_meaning
from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import Repository

__all__ = ["Ignored"]

_MAX_FILE = 65_536
_MAX_LINES = 2_000
_HARD = frozenset("[\\")  # patterns that are not understood


class _Line(NamedTuple):
    """`parts`: the pattern's components; several stand where they are written, a single one anywhere beneath."""

    parts: tuple[str, ...]
    anchored: bool
    folder: bool
    negated: bool
    hard: bool


class Ignored:
    """The patterns of a repository, read where they are needed."""

    def __init__(self, repository: Repository, place: Place) -> None:
        self._top = repository.top
        self._place = place
        self._lines: dict[str, tuple[_Line, ...]] = {}
        self._further = (
            *self._read(posixpath.join(place.home, ".config/git/ignore")),
            *self._read(posixpath.join(repository.common, "info/exclude")),
        )

    def holds(self, name: str) -> bool:
        """Whether the file `name` (from the top) is ignored for certain: it, or a directory on its way."""
        parts = tuple(name.split("/"))
        return any(self._ignored(parts[:end], folder=end < len(parts)) for end in range(1, len(parts) + 1))

    def everywhere(self) -> tuple[str, ...]:
        """Patterns of names that are ignored wherever they stand, where no later line can bring one back."""
        lines = (*self._further, *self._at(()))
        if any(line.negated for line in lines):
            return ()
        return tuple(line.parts[0] for line in lines if not (line.anchored or line.hard) and self._spares(line))

    def _spares(self, line: _Line) -> bool:
        """Whether no secret goes by a name that is ignored of directories only."""
        name = line.parts[0]
        return not line.folder or not (set(name) & set("*?") or may_have_meaning(name, self._place, secret=True))

    def _ignored(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        found = False
        for line in self._further:
            found = _after(line, parts, found, folder=folder)
        for depth in range(len(parts)):
            for line in self._at(parts[:depth]):
                found = _after(line, parts[depth:], found, folder=folder)
        return found

    def _at(self, folder: tuple[str, ...]) -> tuple[_Line, ...]:
        path = posixpath.join(self._top, *folder, ".gitignore")
        if path not in self._lines:
            self._lines[path] = self._read(path)
        return self._lines[path]

    def _read(self, path: str) -> tuple[_Line, ...]:
        try:
            content = self._place.files.read(path, _MAX_FILE) if self._place.files.lstat(path) is not None else None
        except FileSystemUnknownError:
            return ()
        texts = (content or b"").decode("utf-8", "replace").splitlines()[:_MAX_LINES]
        return tuple(line for line in map(_line, texts) if line is not None)


def _line(text: str) -> _Line | None:
    text = text.rstrip()
    negated = text.startswith("!")
    pattern = text.removeprefix("!")
    bare = pattern.strip("/")
    if not bare or pattern.startswith("#"):
        return None
    return _Line(
        parts=tuple(bare.split("/")),
        anchored="/" in pattern.rstrip("/"),
        folder=pattern.endswith("/"),
        negated=negated,
        hard=bool(_HARD & set(bare)) or "**" in bare,
    )


def _after(line: _Line, parts: tuple[str, ...], found: bool, *, folder: bool) -> bool:
    """Whether the entry is ignored when this line has been read, as well; `found`: whether it was before."""
    if line.hard:
        return found and not line.negated
    fits = (
        len(parts) == len(line.parts) and all(map(fnmatchcase, parts, line.parts))
        if line.anchored
        else (fnmatchcase(parts[-1], line.parts[0]))
    )
    if not fits or (line.folder and not folder):
        return found
    return not line.negated
