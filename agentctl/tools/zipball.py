"""Reading zip archives from memory (PKWARE APPNOTE 6.3): stored and deflated entries.

A reader of our own: the central directory and each local header must say the same, no two entries share bytes (overlap
is how a small archive unpacks to petabytes), and nothing is unpacked beyond the size that it states. zip64, encrypted
and split archives are refused.
"""

import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from agentctl.errors import ToolError
from agentctl.tools.members import MAX_ENTRIES, Kind, Member

__all__ = ["is_zip", "zip_members"]

_END: Final = struct.Struct("<4s4H2LH")  # 4.3.16
_CENTRAL: Final = struct.Struct("<4s4B4HL2L5H2L")  # 4.3.12
_LOCAL: Final = struct.Struct("<4s2B4HL2L2H")  # 4.3.7
_MAX_COMMENT: Final = 0xFFFF
_STORED: Final = 0
_DEFLATED: Final = 8
_ENCRYPTED: Final = 0x0001 | 0x0040 | 0x2000  # 4.4.4, bits 0, 6 and 13
_UNIX: Final = 3  # 4.4.2, made on


def is_zip(raw: bytes) -> bool:
    """Whether this begins as a zip archive does."""
    return raw.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def zip_members(raw: bytes, check: Callable[[], None]) -> Iterator[Member]:
    """The entries in order of the central directory. Raises ToolError where the archive is damaged or not read here."""
    count, size, at = _end_record(raw)
    directory_at = at
    spans: list[tuple[int, int]] = []
    members: list[Member] = []
    for _ in range(count):
        check()
        member, span, at = _central(raw, at, directory_at)
        members.append(member)
        spans.append(span)
    if at != directory_at + size:
        raise _damaged()
    spans.sort()
    for (_, end), (begin, _) in pairwise(spans):
        if begin < end:
            raise ToolError("two of its entries share the same bytes, which honest archives never do")
    yield from members


def _end_record(raw: bytes) -> tuple[int, int, int]:
    """Number of entries, size and place of the central directory."""
    at = raw.rfind(b"PK\x05\x06", max(0, len(raw) - _END.size - _MAX_COMMENT))
    if at < 0 or at + _END.size > len(raw):
        raise _damaged()
    _, disk, first, here, count, size, start, comment = _END.unpack_from(raw, at)
    if at + _END.size + comment != len(raw):
        raise _damaged()
    if disk or first or here != count or count == 0xFFFF or 0xFFFFFFFF in (size, start):
        raise ToolError("it is split or larger than zip archives are read here; unpack it with a command")
    if count > MAX_ENTRIES:
        raise ToolError(f"it holds more than {MAX_ENTRIES} entries; unpack it with a command")
    if start + size > at:
        raise _damaged()
    return count, size, start


def _central(raw: bytes, at: int, limit: int) -> tuple[Member, tuple[int, int], int]:
    """One entry, the bytes that it takes up, and where the next one is told of."""
    if at + _CENTRAL.size > len(raw):
        raise _damaged()
    found = _CENTRAL.unpack_from(raw, at)
    signature, made_on, flags, method = found[0], found[2], found[5], found[6]
    crc, packed, size, length, extra, comment = found[9], found[10], found[11], found[12], found[13], found[14]
    attributes, local = found[17], found[18]
    name = raw[at + _CENTRAL.size : at + _CENTRAL.size + length]
    if signature != b"PK\x01\x02" or len(name) != length:
        raise _damaged()
    if flags & _ENCRYPTED:
        raise ToolError("it is encrypted; ask the user to unpack it")
    if 0xFFFFFFFF in (packed, size, local):
        raise ToolError("it is larger than zip archives are read here; unpack it with a command")
    start = _data_at(raw, local, name)
    if start + packed > limit:
        raise _damaged()
    text = _text(name)
    mode = attributes >> 16 if made_on == _UNIX else 0
    kind = _kind(text, mode)
    if kind is Kind.FILE and method not in (_STORED, _DEFLATED):
        raise ToolError("it is packed in a way that is not read here; unpack it with a command")
    member = Member(
        name=text,
        kind=kind,
        size=size if kind is Kind.FILE else 0,
        executable=bool(mode & stat.S_IXUSR),
        read=partial(_read, raw, start, packed, method, size, crc),
    )
    return member, (local, start + packed), at + _CENTRAL.size + length + extra + comment


def _data_at(raw: bytes, at: int, name: bytes) -> int:
    if at + _LOCAL.size > len(raw):
        raise _damaged()
    found = _LOCAL.unpack_from(raw, at)
    length, extra = int(found[10]), int(found[11])
    start = at + _LOCAL.size + length + extra
    if found[0] != b"PK\x03\x04" or raw[at + _LOCAL.size : at + _LOCAL.size + length] != name:
        raise _damaged()
    return start


def _kind(name: str, mode: int) -> Kind:
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        return Kind.LINK
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return Kind.SPECIAL
    return Kind.DIRECTORY if name.endswith("/") or kind == stat.S_IFDIR else Kind.FILE


def _read(raw: bytes, start: int, packed: int, method: int, size: int, crc: int) -> bytes:
    content = raw[start : start + packed]
    if method == _DEFLATED:
        inflate = zlib.decompressobj(wbits=-15)
        try:
            content = inflate.decompress(content, size + 1)
        except zlib.error:
            raise _damaged() from None
    if len(content) != size or zlib.crc32(content) != crc:
        raise _damaged()
    return content


def _text(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"nothing was unpacked: the entry {name[:120]!r} is not UTF-8") from None


def _damaged() -> ToolError:
    return ToolError("this is no archive that can be read here, or it is damaged; look into it with a command")
