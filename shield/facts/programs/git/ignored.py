"""What git is told to ignore (gitignore(5)), as far as that is certain."""

import posixpath
from fnmatch import fnmatchcase
from typing import NamedTuple

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import Repository

__all__ = ["Ignored"]

_MAX_FILE = 65_536
_MAX_LINES = 2_000
_INSTALLED = frozenset(("node_modules", "site-packages", ".venv", "venv", "__pycache__"))
_HARD = frozenset("[\\")  # patterns that are not understood


class _Line(NamedTuple):
    """`parts`: the pattern's components; several stand where they are written, a single one anywhere beneath."""

    parts: tuple[str, ...]
    anchored: bool
    folder: bool
    negated: bool
    hard: bool


# Where it cannot be read, whatever stood before may be taken back.
_UNKNOWN = _Line(parts=("*",), anchored=False, folder=False, negated=True, hard=True)


class Ignored:
    """The patterns of a repository, read where they are needed."""

    def __init__(self, repository: Repository, place: Place) -> None:
        self._top = repository.top
        self._place = place
        self._lines: dict[str, tuple[_Line, ...]] = {}
        # The user's own list may be another file, as settings say; it is left out.
        self._further = self._read(posixpath.join(repository.common, "info/exclude"))

    def holds(self, name: str) -> bool:
        """Whether the file `name` (from the top) is ignored for certain: it, or a directory on its way."""
        parts = tuple(name.split("/"))
        return any(self._ignored(parts[:end], folder=end < len(parts)) for end in range(1, len(parts) + 1))

    def holds_all(self, name: str) -> bool:
        """Whether the directory `name` (from the top) is ignored itself for certain: no line brings back what is in it
        (gitignore(5))."""
        parts = tuple(name.split("/"))
        return any(self._ignored(parts[:end], folder=True) for end in range(1, len(parts) + 1))

    def everywhere(self) -> tuple[str, ...]:
        """Names of directories that need not be looked into: what is installed, and ignored at the top. A list
        beneath may bring back all else."""
        lines = (*self._further, *self._at(()))
        if any(line.negated for line in lines):
            return ()
        plain = (line.parts[0] for line in lines if not (line.anchored or line.hard))
        return tuple(name for name in plain if name in _INSTALLED)

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
            entry = self._place.files.lstat(path)
            there = entry is not None and entry.kind is not FileKind.LINK  # which git does not follow
            content = self._place.files.read(path, _MAX_FILE) if there else b""
        except FileSystemUnknownError:
            content = None
        texts = (content or b"").decode("utf-8", "surrogateescape").split("\n")
        if content is None or len(texts) > _MAX_LINES:
            return (_UNKNOWN,)
        ended = (text.removesuffix("\r") for text in texts[:-1])
        return tuple(line for line in map(_line, (*ended, texts[-1])) if line is not None)


def _line(text: str) -> _Line | None:
    text = text.rstrip(" ")
    negated = text.startswith("!")
    pattern = text.removeprefix("!")
    bare = pattern.removeprefix("/").removesuffix("/")
    if not bare or pattern.startswith("#"):
        return None
    parts = tuple(bare.split("/"))
    return _Line(
        parts=parts,
        anchored="/" in pattern.removesuffix("/"),
        folder=pattern.endswith("/"),
        negated=negated,
        hard=bool(_HARD & set(bare)) or "**" in bare or "" in parts,
    )


def _after(line: _Line, parts: tuple[str, ...], found: bool, *, folder: bool) -> bool:
    """Whether the entry is ignored when this line has been read, as well; `found`: whether it was before."""
    if line.hard:
        return found and not line.negated
    if line.negated:  # settings may make letters of both cases one
        parts, line = tuple(map(str.lower, parts)), line._replace(parts=tuple(map(str.lower, line.parts)))
    fits = (
        len(parts) == len(line.parts) and all(map(fnmatchcase, parts, line.parts))
        if line.anchored
        else (fnmatchcase(parts[-1], line.parts[0]))
    )
    if not fits or (line.folder and not folder):
        return found
    return not line.negated
