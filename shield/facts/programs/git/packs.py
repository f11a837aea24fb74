"""The bytes of a pack and of its index (gitformat-pack(5)).

Every function may raise IndexError or struct.error, where they are not as git would have them.
"""

import struct

__all__ = ["NAME", "distance_of", "length_of", "offset_of", "position_of", "sized"]

_PACK_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = 8 + 256 * 4
_WORD, _LONG = struct.Struct(">I"), struct.Struct(">Q")
NAME = 20  # bytes of an object's name


def sized(head: bytes) -> tuple[int, int, int]:
    """Of what kind an entry of a pack is, how long what it holds, and where that begins."""
    byte = head[0]
    kind, size, at, shift = byte >> 4 & 7, byte & 15, 1, 4
    while byte & 0x80:
        byte = head[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return kind, size, at


def distance_of(head: bytes, at: int) -> tuple[int, int]:
    """How far in front of an entry its base begins, and where that number ends."""
    byte = head[at]
    at += 1
    value = byte & 0x7F
    while byte & 0x80:
        byte = head[at]
        at += 1
        value = (value + 1 << 7) + (byte & 0x7F)
    return value, at


def length_of(delta: bytes, at: int) -> tuple[int, int]:
    """A length at the beginning of a delta, and where it ends."""
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def position_of(index: bytes, name: bytes) -> int | None:
    """Where among its names a pack's index (version 2) has the object."""
    if not index.startswith(_PACK_MAGIC) or len(index) < _FANOUT:
        return None
    first = name[0]
    low = _WORD.unpack_from(index, 8 + 4 * (first - 1))[0] if first else 0
    high = _WORD.unpack_from(index, 8 + 4 * first)[0]
    while low < high:
        middle = (low + high) // 2
        at = _FANOUT + NAME * middle
        found = index[at : at + NAME]
        if found == name:
            return int(middle)
        low, high = (middle + 1, high) if found < name else (low, middle)
    return None


def offset_of(index: bytes, position: int) -> int:
    """Where in its pack the object at this place of the index begins."""
    count = _WORD.unpack_from(index, _FANOUT - 4)[0]
    offsets = _FANOUT + (NAME + 4) * count  # behind names and check sums
    near = _WORD.unpack_from(index, offsets + 4 * position)[0]
    if not near & 0x8000_0000:
        return int(near)
    return int(_LONG.unpack_from(index, offsets + 4 * count + 8 * (near & 0x7FFF_FFFF))[0])
