"""git's index: whether it names repositories inside the repository (gitformat-index(5), as git reads it).

Whoever wrote the index may mean harm: what git and this reader could understand differently counts as named.
"""

import struct
from itertools import pairwise

__all__ = ["holds_gitlinks"]

_HEADER = struct.Struct(">4sII")
_WORD = struct.Struct(">I")
_HALF = struct.Struct(">H")
_STAT = 40  # bytes before the object's name: times, device, inode, mode, owner, size
_MODE_TYPE = 24 + 2  # of the mode only the lower half counts, and of that the type
_NAME_MASK = 0xFFF
_EXTENDED = 0x4000
_GITLINK = 0xE000
_DIRECTORY = 0x4000
_TYPE = 0xF000
# Extensions that neither add entries nor replace any. Block offsets (IEOT) are compared with what was read here.
_PLAIN_EXTENSIONS = frozenset((b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"))
_MIN_ENTRY = 62


def holds_gitlinks(content: bytes) -> bool:
    """Whether the index `content` has an entry of mode 160000, or is not surely without one.

    The names of objects are taken for SHA-1: of a SHA-256 repository nothing fits, which answers True.
    """
    try:
        return _holds(content)
    except (struct.error, ValueError, IndexError):
        return True


def _holds(content: bytes) -> bool:
    signature, version, count = _HEADER.unpack_from(content)
    end = len(content) - 20
    if signature != b"DIRC" or version not in (2, 3, 4) or count > len(content) // 48:
        return True
    starts = _starts(content, version, count, end)
    if starts is None:
        return True
    return not _plain_extensions(content, starts, end)


def _starts(content: bytes, version: int, count: int, end: int) -> dict[int, int] | None:
    """Where each entry starts, and last where they end; how many bytes of the name before it are kept (version 4).

    None where an entry is a repository or a directory, or they do not fit.
    """
    at, before = _HEADER.size, 0
    starts: dict[int, int] = {}
    read_half = _HALF.unpack_from
    for _ in range(count):
        if at + _MIN_ENTRY > end:
            return None
        start = at
        if read_half(content, at + _MODE_TYPE)[0] & _TYPE in (_GITLINK, _DIRECTORY):
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
    if at > end:
        return None
    starts[at] = 0
    return starts


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
