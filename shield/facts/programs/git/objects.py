"""What a commit holds: git's objects, loose or in packs (gitformat-pack(5)), read as far as a name of a file leads.

Whoever wrote them may mean harm: what is read is hashed, and counts only if it is what it is called. Only SHA-1 names
are known. Objects that another repository lends (`objects/info/alternates`) are not.
"""

import hashlib
import posixpath
import re
import zlib
from typing import Final, NamedTuple

from shield.facts.filesystem import FileKind, FileSystem, FileSystemUnknownError
from shield.facts.programs.git.packs import NAME, distance_of, length_of, offset_of, position_of, sized
from shield.facts.repositories import HEAD, Repository
from shield.regex import regex

__all__ = ["Objects", "TreeEntry"]

_MAX_OBJECT = 2_097_152
_MAX_BYTES = 16_777_216  # unpacked for one action
# A step of a delta counts as so many bytes. What brings a byte at a time took 4 s for the bytes above; deltas of trees
# have a few dozen steps.
_STEP = 64
_MAX_DELTAS = 250  # what a delta is based on, one upon the other; git's own limit for `gc --aggressive`
_MAX_NAMES = 1_000  # in one directory
_MAX_PACK_FILES = 200
_MAX_PACK_INDEX = 33_554_432
_MAX_PACKED_REFS = 8_388_608
_COMMIT, _TREE, _OFFSET_DELTA, _NAME_DELTA = 1, 2, 6, 7
_KINDS: Final = {b"commit": _COMMIT, b"tree": _TREE}
_HEADER = 32  # bytes before what is packed: its size, and how far away its base is
_REF = regex(rb"ref: (refs/heads/[A-Za-z0-9_./@+,#%=-]+)\n?")
_HEX = regex(rb"([0-9a-f]{40})\n?")


class TreeEntry(NamedTuple):
    mode: int
    name: bytes


class _Pack(NamedTuple):
    path: str
    listed: bytes  # its index


class Objects:
    """The objects of one repository for as long as an action's facts are taken.

    Every method may raise FileSystemUnknownError, zlib.error, struct.error, IndexError or ValueError, where what stands
    there is not as git would have it.
    """

    def __init__(self, where: Repository, files: FileSystem) -> None:
        self._where = where
        self._files = files
        self._packs: list[_Pack] | None = None
        self._trees: dict[str, dict[bytes, TreeEntry]] = {}
        self._left = _MAX_BYTES

    def committed(self, name: str) -> TreeEntry | None:
        """The mode and the object of the file or link `name`, from the top, in the commit that `HEAD` names."""
        folder, _, last = name.rpartition("/")
        return self._tree(folder).get(last.encode("utf-8", "surrogateescape"))

    def has(self, blob: bytes, whole: bytes) -> bool:
        """Whether the object is in the repository itself; `whole`: its content behind its header."""
        loose = self._loose(blob)
        if loose is not None:
            return zlib.decompressobj().decompress(loose, len(whole) + 1) == whole
        return any(position_of(pack.listed, blob) is not None for pack in self._all_packs())

    def _tree(self, folder: str) -> dict[bytes, TreeEntry]:
        """What stands in a directory of that commit; nothing where it has no such directory."""
        known = self._trees.get(folder)
        if known is None:
            if folder:
                above, _, last = folder.rpartition("/")
                entry = self._tree(above).get(last.encode("utf-8", "surrogateescape"))
                name = entry.name if entry is not None and entry.mode == 0o40000 else None
            else:
                name = self._top()
            known = self._trees[folder] = {} if name is None else _entries(self._read(name, b"tree"))
        return known

    def _top(self) -> bytes | None:
        commit = self._head()
        if commit is None:
            return None
        first = self._read(commit, b"commit").split(b"\n", 1)[0]
        found = _HEX.fullmatch(first.removeprefix(b"tree "))
        return bytes.fromhex(found[1].decode()) if found is not None and first.startswith(b"tree ") else None

    def _head(self) -> bytes | None:
        """The commit that one stands on."""
        said = self._line(posixpath.join(self._where.own, HEAD))
        branch = _REF.fullmatch(said)
        if branch is not None:
            if b".." in branch[1]:
                return None
            loose = posixpath.join(self._where.common, branch[1].decode())
            said = self._line(loose) if self._files.lstat(loose) is not None else self._packed_ref(branch[1])
        found = _HEX.fullmatch(said)
        return bytes.fromhex(found[1].decode()) if found is not None else None

    def _line(self, path: str) -> bytes:
        entry = self._files.lstat(path)
        return (self._files.read(path, 4_096) or b"") if entry is not None and entry.kind is FileKind.FILE else b""

    def _packed_ref(self, name: bytes) -> bytes:
        path = posixpath.join(self._where.common, "packed-refs")
        entry = self._files.lstat(path)
        content = (
            self._files.read(path, _MAX_PACKED_REFS) if entry is not None and entry.kind is FileKind.FILE else None
        )
        found = re.search(rb"^([0-9a-f]{40}) %b$" % re.escape(name), content or b"", re.MULTILINE)
        return found[1] if found is not None else b""

    def _read(self, name: bytes, kind: bytes) -> bytes:
        """The content of an object of this kind.

        Raises:
            FileSystemUnknownError: it is not there, or not what its name says.
        """
        loose = self._loose(name)
        if loose is not None:
            whole = zlib.decompressobj().decompress(loose, _MAX_OBJECT)
            self._spend(len(whole))
            content = whole.partition(b"\0")[2]
        else:
            content = self._packed(name, _KINDS[kind])
        if hashlib.sha1(b"%b %d\0%b" % (kind, len(content), content), usedforsecurity=False).digest() != name:
            raise FileSystemUnknownError("an object is not what its name says")
        return content

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0 or size > _MAX_OBJECT:
            raise FileSystemUnknownError("more objects than are looked at")

    def _loose(self, name: bytes) -> bytes | None:
        """What is packed in the object's own file; None where it has none."""
        text = name.hex()
        path = f"{self._where.common}/objects/{text[:2]}/{text[2:]}"
        entry = self._files.lstat(path)
        if entry is None:
            return None
        content = self._files.read(path, _MAX_OBJECT) if entry.kind is FileKind.FILE else None
        if content is None:
            raise FileSystemUnknownError(f"the object `{path}` cannot be read")
        return content

    def _all_packs(self) -> list[_Pack]:
        if self._packs is None:
            self._packs = self._pack_indexes()
        return self._packs

    def _pack_indexes(self) -> list[_Pack]:
        folder = f"{self._where.common}/objects/pack"
        entry = self._files.lstat(folder)
        if entry is None or entry.kind is not FileKind.DIRECTORY:
            return []
        kept: list[_Pack] = []
        for name in self._files.listdir(folder, _MAX_NAMES)[:_MAX_PACK_FILES]:
            pack = f"{folder}/{name[:-4]}.pack"
            stat = self._files.lstat(pack) if name.endswith(".idx") else None
            if stat is not None and stat.kind is FileKind.FILE and stat.size:
                kept.append(_Pack(pack, self._files.read(f"{folder}/{name}", _MAX_PACK_INDEX) or b""))
        return kept

    def _packed(self, name: bytes, kind: int) -> bytes:
        for pack in self._all_packs():
            position = position_of(pack.listed, name)
            if position is not None:
                return self._unpacked(pack, offset_of(pack.listed, position), kind)
        raise FileSystemUnknownError(f"the object `{name.hex()}` is not there")

    def _unpacked(self, pack: _Pack, offset: int, kind: int) -> bytes:
        """What a pack holds at `offset`: deltas one upon the other, and at last what is none."""
        deltas: list[bytes] = []
        while len(deltas) <= _MAX_DELTAS:
            head = self._files.piece(pack.path, offset, _HEADER)
            found, size, at = sized(head)
            base = 0
            if found == _OFFSET_DELTA:
                distance, at = distance_of(head, at)
                base = offset - distance
            elif found == _NAME_DELTA:
                position = position_of(pack.listed, head[at : at + NAME])
                if position is None:
                    break  # of another pack
                base, at = offset_of(pack.listed, position), at + NAME
            self._spend(size)
            packed = self._files.piece(pack.path, offset + at, size + size // 1_000 + 64)
            content = zlib.decompressobj().decompress(packed, size + 1)
            if len(content) != size or (found in (_OFFSET_DELTA, _NAME_DELTA) and base <= 0):
                break
            if found in (_OFFSET_DELTA, _NAME_DELTA):
                deltas.append(content)
                offset = base
                continue
            if found != kind:
                break
            for delta in reversed(deltas):
                content = self._applied(content, delta)
            return content
        raise FileSystemUnknownError(f"`{pack.path}` is not as git would have it")

    def _applied(self, base: bytes, delta: bytes) -> bytes:
        """What a delta makes of its base: pieces of the base, and what it brings itself."""
        source, at = length_of(delta, 0)
        target, at = length_of(delta, at)
        self._spend(target)
        pieces: list[bytes] = []
        total = 0
        while at < len(delta):
            step = delta[at]
            at += 1
            self._spend(_STEP)
            if step & 0x80:
                start = size = 0
                for bit in range(7):
                    if step & 1 << bit:
                        if bit < 4:
                            start |= delta[at] << 8 * bit
                        else:
                            size |= delta[at] << 8 * (bit - 4)
                        at += 1
                size = size or 0x10000
                piece = base[start : start + size]
            else:
                size = step
                piece = delta[at : at + step]
                at += step
            total += size
            if not step or len(piece) != size or total > target:
                raise ValueError("a delta leads out of its base")
            pieces.append(piece)
        if source != len(base) or total != target:
            raise ValueError("a delta does not fit its base")
        return b"".join(pieces)


def _entries(tree: bytes) -> dict[bytes, TreeEntry]:
    found: dict[bytes, TreeEntry] = {}
    at = 0
    while at < len(tree):
        blank, end = tree.index(b" ", at), tree.index(b"\0", at)
        name = tree[end + 1 : end + 1 + NAME]
        if len(name) != NAME:
            raise ValueError("a tree ends in the middle of a name")
        found[tree[blank + 1 : end]] = TreeEntry(int(tree[at:blank], 8), name)
        at = end + 1 + NAME
    return found
