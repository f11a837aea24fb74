"""Whether deleting a file loses nothing: the commit that one stands on has its content, under this very name.

Nothing is taken on trust from times and sizes, nor from the index, which a commit that was begun and given up has
written as one that was made: the content itself is hashed and looked for in the history. What is checked:

1. the nearest `.git` above is a plain directory, or the file of a linked working tree or of a submodule;
2. the tree of the commit that `HEAD` names has the file, and the SHA-1 of its content (git's blob) is the one that
   stands there;
3. the object is there: a loose one that unpacks to that content, or one that the index of a pack names.

What a line writes before it deletes is not seen here: a rule that grants anything for it asks that nothing is written.
"""

import hashlib
import posixpath
import struct
import zlib
from collections.abc import Iterator

from shield.facts.beneath import Look, holds_name, look_beneath
from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.guards import inside
from shield.facts.place import Place
from shield.facts.programs.git.ignored import Ignored
from shield.facts.programs.git.index import read_index
from shield.facts.programs.git.objects import Objects
from shield.facts.repositories import Repository, linked
from shield.facts.snapshot import Snapshot

__all__ = ["is_committed", "is_ignored"]

_MAX_INDEX = 2_097_152
_MAX_FILE = 1_048_576
_MAX_BYTES = 8_388_608  # hashed for one action
_MAX_ENTRIES = 1_000
_MAX_NAMES = 1_000  # in one directory
_MAX_LEVELS = 64
_INSTALLED = frozenset(("node_modules", ".venv"))  # what is in these is fetched
_LINK_MODE, _FILE_MODES = 0o120000, frozenset((0o100644, 0o100755))


def is_committed(path: str | None, stat: Stat | None, place: Place, roots: tuple[str, ...], *, recursive: bool) -> bool:
    """Whether git keeps the file or link at the resolved `path`; of a directory all beneath, if it is `recursive`.

    Its repository lies in one of the `roots`. Never raises: what cannot be told is not kept.
    """
    if path is None or stat is None:
        return False
    try:
        repository = _repository(path, place, roots)
        return repository is not None and repository.keeps(path, stat, recursive=recursive)
    except (FileSystemUnknownError, zlib.error, struct.error, IndexError, ValueError):
        return False


def is_ignored(path: str | None, place: Place, roots: tuple[str, ...]) -> bool:
    """Whether git is told to leave out what stands at the resolved `path`, and keeps nothing of it. Never raises: what
    cannot be told is not ignored."""
    if path is None:
        return False
    try:
        repository = _repository(path, place, roots)
        return repository is not None and repository.ignores(path)
    except FileSystemUnknownError:
        return False


class _Kept:
    """One repository for as long as an action's facts are taken."""

    def __init__(self, where: Repository, place: Place) -> None:
        self._where = where
        self._top = where.top
        self._place = place
        self._files = place.files
        self._objects = Objects(where, place.files)
        self._left = _MAX_BYTES
        self._tracked: frozenset[bytes] | None = None

    def keeps(self, path: str, stat: Stat, *, recursive: bool) -> bool:
        """Whether all that stands at `path` is kept; a directory at least in part."""
        if stat.kind is not FileKind.DIRECTORY:
            return self._keeps(path, stat)
        if not recursive or path == self._top:
            return False
        found = False
        for inner, entry in self._beneath(path):
            if not self._keeps(inner, entry):
                return False
            found = True
        return found

    def ignores(self, path: str) -> bool:
        """Whether nothing at or beneath `path` is kept, and nothing would be."""
        name = path[len(self._top.rstrip("/")) + 1 :]
        raw = name.encode("utf-8", "surrogateescape")
        if not name or any(kept == raw or kept.startswith(raw + b"/") for kept in self._names()):
            return False
        stat = self._files.lstat(path)
        ignored = Ignored(self._where, self._place)
        if stat is None or stat.kind is not FileKind.DIRECTORY:
            return ignored.holds(name)
        if ignored.holds_all(name):
            return posixpath.basename(name) in _INSTALLED or self._is_plain(path)
        # what is in it is, file by file
        prefix = len(self._top.rstrip("/")) + 1
        inner = [each for each, _ in self._beneath(path)]
        return all(ignored.holds(each[prefix:]) for each in inner or [f"{path}/x"]) and self._is_plain(path)

    def _is_plain(self, path: str) -> bool:
        """Whether the directory holds no other repository and no secret, of which nobody else has a copy."""
        met = look_beneath(path, self._place, Look())
        return met.complete and not met.entries and not holds_name(path, self._place, _is_repository)

    def _beneath(self, top: str) -> Iterator[tuple[str, Stat]]:
        waiting, seen = [top], 0
        while waiting:
            folder = waiting.pop()
            names = self._files.listdir(folder, _MAX_NAMES)
            if posixpath.basename(folder) == "__pycache__" and all(name.endswith(".pyc") for name in names):
                continue  # made again by the next run
            for name in names:
                seen += 1
                path = posixpath.join(folder, name)
                stat = self._files.lstat(path)
                if seen > _MAX_ENTRIES or stat is None or name == ".git":
                    raise FileSystemUnknownError(f"`{top}` is too large, or another repository")
                if stat.kind is FileKind.DIRECTORY:
                    waiting.append(path)
                else:
                    yield path, stat

    def _names(self) -> frozenset[bytes]:
        """What the index names."""
        if self._tracked is None:
            stat = self._files.lstat(self._where.index)
            content = b"" if stat is None else self._files.read(self._where.index, _MAX_INDEX)
            index = None if stat is None else read_index(content or b"")
            if index is None and stat is not None:  # where there is none, nothing has been added yet
                raise FileSystemUnknownError("what the index names is not known")
            self._tracked = frozenset() if index is None else frozenset(entry.name for entry in index.entries)
        return self._tracked

    def _keeps(self, path: str, stat: Stat) -> bool:
        entry = self._objects.committed(path[len(self._top.rstrip("/")) + 1 :])
        content = None if entry is None else self._content(path, stat, entry.mode)
        if entry is None or content is None:
            return False
        whole = b"blob %d\0%b" % (len(content), content)
        found = hashlib.sha1(whole, usedforsecurity=False).digest() == entry.name
        return found and self._objects.has(entry.name, whole)

    def _content(self, path: str, stat: Stat, mode: int) -> bytes | None:
        if stat.kind is FileKind.LINK:
            return self._files.readlink(path).encode("utf-8", "surrogateescape") if mode == _LINK_MODE else None
        if stat.kind is not FileKind.FILE or mode not in _FILE_MODES or stat.size > min(_MAX_FILE, self._left):
            return None
        self._left -= stat.size
        return self._files.read(path, _MAX_FILE)


def _is_repository(path: str) -> bool:
    return posixpath.basename(path) in (".git", "HEAD")  # a bare one has no other name


def _repository(path: str, place: Place, roots: tuple[str, ...]) -> _Kept | None:
    """The repository that the directory of `path` belongs to, read once for an action."""
    files = place.files
    at = posixpath.dirname(path)
    for _ in range(_MAX_LEVELS):
        entry = files.lstat(posixpath.join(at, ".git"))
        if entry is not None or at == "/":
            break
        at = posixpath.dirname(at)
    if entry is None or not inside(at, roots):
        return None
    key = (at, "committed")
    if isinstance(files, Snapshot):
        known = files.looked.get(key)
        if isinstance(known, _Kept):
            return known
    inner = posixpath.join(at, ".git")
    where = Repository(at, inner, inner) if entry.kind is FileKind.DIRECTORY else linked(at, place)
    found = None if where is None else _Kept(where, place)
    if isinstance(files, Snapshot) and found is not None:
        files.looked[key] = found
    return found
