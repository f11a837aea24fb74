"""git's index: the files that it names, and whether it names repositories inside the repository (gitformat-index(5),
as git reads it).

Whoever wrote the index may mean harm: what git and this reader could understand differently is not understood.
"""

import struct
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Entry", "Index", "gitlinks", "holds_gitlinks", "read_index"]

_HEADER = struct.Struct(">4sII")
_WORD = struct.Struct(">I")
_HALF = struct.Struct(">H")
_MODE_TYPE = 24 + 2  # of the mode only the lower half counts, and of that the type
_NAME_MASK = 0xFFF
_EXTENDED = 0x4000
_GITLINK = 0xE000
_DIRECTORY = 0x4000
_TYPE = 0xF000
# Extensions that neither add entries nor replace any. Block offsets (IEOT) are compared with what was read here.
_PLAIN_EXTENSIONS = frozenset((b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"))
_MIN_ENTRY = 62
_ASSUMED = 0x8000  # of the flags: `git update-index --assume-unchanged`
_SKIPPED = 0x4000  # of the further ones: `--skip-worktree`


class Entry(NamedTuple):
    """A file by its name from the top of the repository. `assumed`: git is told not to look whether it has changed."""

    name: bytes
    assumed: bool


class Index(NamedTuple):
    entries: tuple[Entry, ...]


def holds_gitlinks(content: bytes) -> bool:
    """Whether the index `content` has an entry of mode 160000, or is not surely without one.

    The names of objects are taken for SHA-1: of a SHA-256 repository nothing fits, which answers True.
    """
    try:
        return _plain(content, None) is None
    except (struct.error, ValueError, IndexError):
        return True


def gitlinks(content: bytes) -> tuple[bytes, ...] | None:
    """The names of the repositories that the index `content` names; None where they are not surely all."""
    links: list[bytes] = []
    try:
        return None if _plain(content, None, links) is None else tuple(links)
    except (struct.error, ValueError, IndexError):
        return None


def read_index(content: bytes) -> Index | None:
    """The entries of an index that holds nothing but files and links; None for every other.

    Names are as they stand there, and may be such as git would never write.
    """
    entries: list[Entry] = []
    try:
        return None if _plain(content, entries) is None else Index(tuple(entries))
    except (struct.error, ValueError, IndexError):
        return None


def _plain(content: bytes, entries: list[Entry] | None, links: list[bytes] | None = None) -> int | None:
    """Where the entries end, if all are plain and what follows changes none; they are put into `entries`. With `links`
    names of repositories are no less plain, and are put there."""
    signature, version, count = _HEADER.unpack_from(content)
    end = len(content) - 20
    if signature != b"DIRC" or version not in (2, 3, 4) or count > len(content) // 48:
        return None
    starts = _starts(content, version, count, end, entries, links)
    if starts is None or not _plain_extensions(content, starts, end):
        return None
    return next(reversed(starts))


def _starts(
    content: bytes, version: int, count: int, end: int, entries: list[Entry] | None, links: list[bytes] | None
) -> dict[int, int] | None:
    """Where each entry starts, and last where they end; how many bytes of the name before it are kept (version 4).

    None where an entry is a directory, or a repository and there are no `links`, or its name leads out, or they do not
    fit.
    """
    whole = b""
    names: list[bytes] = []
    at, before = _HEADER.size, 0
    starts: dict[int, int] = {}
    read_half = _HALF.unpack_from
    for _ in range(count):
        if at + _MIN_ENTRY > end:
            return None
        start = at
        kind = read_half(content, at + _MODE_TYPE)[0] & _TYPE
        if kind == _DIRECTORY or (kind == _GITLINK and links is None):
            return None
        flags = read_half(content, at + 60)[0]
        name = at + _MIN_ENTRY
        if flags & _EXTENDED:
            name += 2
        length = flags & _NAME_MASK
        if version == 4:
            strip, name = _varint(content, name)
            kept = before - strip
            finish = content.index(b"\0", name, end)
            if kept < 0 or (length != _NAME_MASK and finish - name != length - kept):
                return None
            before = kept + finish - name
            at = finish + 1
        else:
            kept = 0
            finish = content.index(b"\0", name, end)
            if length != _NAME_MASK and finish - name != length:
                return None
            at = start + ((finish - start + 8) & ~7)
        starts[start] = kept
        whole = whole[:kept] + content[name:finish]
        names.append(whole)
        if entries is not None:
            entries.append(_entry(content, start, flags, whole))
        if links is not None and kind == _GITLINK:
            links.append(whole)
    if at > end or _lead_out(names):
        return None
    starts[at] = 0
    return starts


def _lead_out(names: list[bytes]) -> bool:
    """Whether one of the names is such as git itself never puts into an index (`verify_path` in its read-cache)."""
    parts = b"/".join((b"", *names, b"")).lower()
    return bool(names) and any(odd in parts for odd in (b"//", b"/./", b"/../", b"/.git/"))


def _entry(content: bytes, start: int, flags: int, name: bytes) -> Entry:
    further = _HALF.unpack_from(content, start + _MIN_ENTRY)[0] if flags & _EXTENDED else 0
    return Entry(name, bool(flags & _ASSUMED or further & _SKIPPED))


def _varint(content: bytes, at: int) -> tuple[int, int]:
    byte = content[at]
    at += 1
    value = byte & 127
    while byte & 128:
        byte = content[at]
        at += 1
        value = ((value + 1) << 7) + (byte & 127)
        if value > 1 << 20:
            raise ValueError("the length of a name is out of bounds")
    return value, at


def _plain_extensions(content: bytes, starts: dict[int, int], end: int) -> bool:
    places = list(starts)
    at = places[-1]
    listed = content[end - 32 : end - 28] == b"EOIE"  # where git looks for it, whatever stands before
    while at < end:
        name, size = content[at : at + 4], _WORD.unpack_from(content, at + 4)[0]
        body = at + 8
        if name not in _PLAIN_EXTENSIONS or body + size > end:
            return False
        if name == b"EOIE":
            if at != end - 32 or size != 24 or _WORD.unpack_from(content, body)[0] != places[-1]:
                return False
            listed = False
        elif name == b"IEOT" and not _blocks_fit(content[body : body + size], starts, places):
            return False
        at = body + size
    return at == end and not listed


def _blocks_fit(table: bytes, starts: dict[int, int], places: list[int]) -> bool:
    """Whether the blocks git may read side by side are the entries that stand there one after the other."""
    if len(table) < 12 or (len(table) - 4) % 8 or _WORD.unpack_from(table)[0] != 1:
        return False
    blocks = [struct.unpack_from(">II", table, at) for at in range(4, len(table), 8)]
    number = {place: index for index, place in enumerate(places)}
    firsts = [number.get(place, -1) for place, _ in blocks] + [len(places) - 1]
    return firsts[0] == 0 and all(
        0 <= first <= after and after - first == blocks[index][1] and starts[blocks[index][0]] == 0
        for index, (first, after) in enumerate(pairwise(firsts))
    )
