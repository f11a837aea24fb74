"""Whether deleting a file loses nothing: git has its content, under this very name, and has made a tree of it.

Nothing is taken on trust from times and sizes, which a repository's files and the index may be made to agree on: the
content itself is hashed and the object looked for. What is checked:

1. the nearest `.git` above is a plain directory, or the file of a linked working tree or of a submodule, and the index
   holds nothing but files and links;
2. the index names the file, without a conflict, and the SHA-1 of its content (git's blob) is the one that stands there;
3. the object is there: a loose one that unpacks to that content, or one that the index of a pack names;
4. the index says that a tree was written of the file's directory since anything in it was added, as commits do
   (gitformat-index(5), cache tree): what is only staged would be forgotten with the next `git add`.

What a line writes before it deletes is not seen here: a rule that grants anything for it asks that nothing is written.
"""

import hashlib
import posixpath
import struct
import zlib
from collections.abc import Iterator

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.guards import inside
from shield.facts.place import Place
from shield.facts.programs.git.ignored import Ignored
from shield.facts.programs.git.index import Entry, read_index
from shield.facts.repositories import Repository, linked
from shield.facts.snapshot import Snapshot

__all__ = ["is_committed", "is_ignored"]

_MAX_INDEX = 2_097_152
_MAX_FILE = 1_048_576
_MAX_BYTES = 8_388_608  # hashed for one action
_MAX_ENTRIES = 1_000
_MAX_NAMES = 1_000  # in one directory
_MAX_PACK_FILES = 200
_MAX_PACK_INDEX = 33_554_432
_MAX_LEVELS = 64
_LINK_MODE, _FILE_MODES = 0o120000, frozenset((0o100644, 0o100755))
_PACK_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = 8 + 256 * 4
_WORD = struct.Struct(">I")


def is_committed(path: str | None, stat: Stat | None, place: Place, roots: tuple[str, ...], *, recursive: bool) -> bool:
    """Whether git keeps the file or link at the resolved `path`; of a directory all beneath, if it is `recursive`.

    Its repository lies in one of the `roots`. Never raises: what cannot be told is not kept.
    """
    if path is None or stat is None:
        return False
    try:
        repository = _repository(path, place, roots)
        return repository is not None and repository.keeps(path, stat, recursive=recursive)
    except (FileSystemUnknownError, zlib.error, struct.error, ValueError):
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

    def __init__(self, where: Repository, place: Place, entries: dict[bytes, Entry], written: frozenset[bytes]) -> None:
        self._where = where
        self._top = where.top
        self._place = place
        self._files = place.files
        self._entries = entries
        self._written = written
        self._left = _MAX_BYTES
        self._packed: list[bytes] | None = None

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
        if not name or any(kept == raw or kept.startswith(raw + b"/") for kept in self._entries):
            return False
        stat = self._files.lstat(path)
        inner = f"{name}/x" if stat is not None and stat.kind is FileKind.DIRECTORY else name
        return Ignored(self._where, self._place).holds(inner)

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

    def _keeps(self, path: str, stat: Stat) -> bool:
        name = path[len(self._top.rstrip("/")) + 1 :].encode("utf-8", "surrogateescape")
        entry = self._entries.get(name)
        if entry is None or entry.blob is None or name.rpartition(b"/")[0] not in self._written:
            return False
        content = self._content(path, stat, entry.mode)
        if content is None:
            return False
        whole = b"blob %d\0%b" % (len(content), content)
        return hashlib.sha1(whole, usedforsecurity=False).digest() == entry.blob and self._has(entry.blob, whole)

    def _content(self, path: str, stat: Stat, mode: int) -> bytes | None:
        if stat.kind is FileKind.LINK:
            return self._files.readlink(path).encode("utf-8", "surrogateescape") if mode == _LINK_MODE else None
        if stat.kind is not FileKind.FILE or mode not in _FILE_MODES or stat.size > min(_MAX_FILE, self._left):
            return None
        self._left -= stat.size
        return self._files.read(path, _MAX_FILE)

    def _has(self, blob: bytes, whole: bytes) -> bool:
        """Whether the object is in the repository itself."""
        name = blob.hex()
        loose = f"{self._where.common}/objects/{name[:2]}/{name[2:]}"
        found = self._files.lstat(loose)
        if found is not None:
            packed = self._files.read(loose, 2 * _MAX_FILE) if found.kind is FileKind.FILE else None
            return packed is not None and _unpacked(packed, len(whole)) == whole
        if self._packed is None:
            self._packed = self._pack_indexes()
        return any(_names(index, blob) for index in self._packed)

    def _pack_indexes(self) -> list[bytes]:
        folder = f"{self._where.common}/objects/pack"
        entry = self._files.lstat(folder)
        if entry is None or entry.kind is not FileKind.DIRECTORY:
            return []
        kept: list[bytes] = []
        for name in self._files.listdir(folder, _MAX_NAMES)[:_MAX_PACK_FILES]:
            pack = f"{folder}/{name[:-4]}.pack"
            stat = self._files.lstat(pack) if name.endswith(".idx") else None
            if stat is not None and stat.kind is FileKind.FILE and stat.size:
                kept.append(self._files.read(f"{folder}/{name}", _MAX_PACK_INDEX) or b"")
        return kept


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
    found = None if where is None else _read(where, place)
    if isinstance(files, Snapshot) and found is not None:
        files.looked[key] = found
    return found


def _read(where: Repository, place: Place) -> _Kept | None:
    stat = place.files.lstat(where.index)
    if stat is None:  # nothing has been added yet
        return _Kept(where, place, {}, frozenset())
    if stat.kind is not FileKind.FILE or stat.size > _MAX_INDEX:
        return None
    index = read_index(place.files.read(where.index, _MAX_INDEX) or b"")
    if index is None:
        return None
    return _Kept(where, place, {entry.name: entry for entry in index.entries if entry.blob}, index.written)


def _unpacked(packed: bytes, size: int) -> bytes:
    """What a loose object holds; of one that grows beyond `size` no more than that and a byte."""
    return zlib.decompressobj().decompress(packed, size + 1)


def _names(index: bytes, blob: bytes) -> bool:
    """Whether a pack's index (version 2) names the object (gitformat-pack(5))."""
    if not index.startswith(_PACK_MAGIC) or len(index) < _FANOUT:
        return False
    first = blob[0]
    low = _WORD.unpack_from(index, 8 + 4 * (first - 1))[0] if first else 0
    high = _WORD.unpack_from(index, 8 + 4 * first)[0]
    while low < high:
        middle = (low + high) // 2
        at = _FANOUT + 20 * middle
        name = index[at : at + 20]
        if name == blob:
            return True
        low, high = (middle + 1, high) if name < blob else (low, middle)
    return False
