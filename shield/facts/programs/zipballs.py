"""Zip archives: the members of one, where every program that unpacks it reads it in the same way.

The central directory and the headers in front of the members must say the same, one after the other, with nothing
between them: then it is of no account which of them a program goes by. Only plain files and directories with names of
ASCII. Sources: PKWARE's APPNOTE.TXT 6.3; unzip(1); tried with Info-ZIP's UnZip 6.00.
"""

import struct
from typing import NamedTuple

from shield.facts.programs.members import MAX_MEMBERS, Member, UnclearArchiveError, member

__all__ = ["zip_members"]

_END, _CENTRAL, _LOCAL = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
_END_FORM, _CENTRAL_FORM, _LOCAL_FORM = (struct.Struct(form) for form in ("<4s4H2LH", "<4s6H3L5H2L", "<4s5H3L2H"))
_DESCRIBED, _UTF8, _LEVEL = 0x8, 0x800, 0x6
_STORED, _DEFLATED = 0, 8
_HOSTS = (0, 3, 10, 19)  # MS-DOS, Unix, Windows, macOS: whose attributes are understood
# Times, owners, and the mark of a Java archive. What gives another name is not here (0x7075).
_ASIDE = frozenset((0x000A, 0x5455, 0x5855, 0x7855, 0x7875, 0xCAFE))
_TYPE, _FILE, _DIRECTORY, _SPECIAL_BITS = 0o170000, 0o100000, 0o040000, 0o7000
_LARGE = 0xFFFF
# UnZip takes it for the beginning of a version.
_CUT = b";"


class _Entry(NamedTuple):
    """What both headers of a member say alike."""

    name: bytes
    flags: int
    method: int
    checksum: int
    packed: int
    size: int


def zip_members(content: bytes) -> tuple[Member, ...]:
    """The members.

    Raises:
        UnclearArchiveError: it is no such archive, or there is nothing in it.
    """
    try:
        return _members(content)
    except struct.error:
        raise UnclearArchiveError from None


def _members(content: bytes) -> tuple[Member, ...]:
    end = content.rfind(_END)
    if end < 0:
        raise UnclearArchiveError
    _, disk, first, here, count, length, start, remark = _END_FORM.unpack_from(content, end)
    if disk or first or here != count or not 0 < count <= MAX_MEMBERS or start + length != end:
        raise UnclearArchiveError
    if end + _END_FORM.size + remark != len(content) or not content[end + _END_FORM.size :].isascii():
        raise UnclearArchiveError
    found: list[Member] = []
    at, header = 0, start
    for _ in range(count):
        entry, offset, header = _central(content, header)
        if offset != at:
            raise UnclearArchiveError
        at = _behind(content, at, entry)
        found.append(_as_member(entry))
    if at != start or header != end:
        raise UnclearArchiveError
    return tuple(dict.fromkeys(found))


def _central(content: bytes, at: int) -> tuple[_Entry, int, int]:
    """An entry of the central directory, where its member begins, and where the next entry does."""
    mark, made, _, flags, method, _, _, *rest = _CENTRAL_FORM.unpack_from(content, at)
    checksum, packed, size, name, extra, remark, disk, _, outer, offset = rest
    begins = at + _CENTRAL_FORM.size
    behind = begins + name + extra
    if mark != _CENTRAL or made >> 8 not in _HOSTS or disk or remark > _LARGE // 2:
        raise UnclearArchiveError
    mode = outer >> 16
    if mode & _TYPE not in (0, _FILE, _DIRECTORY) or mode & _SPECIAL_BITS:
        raise UnclearArchiveError
    named = content[begins : begins + name]
    if mode & _TYPE == _DIRECTORY and not named.endswith(b"/"):
        raise UnclearArchiveError
    _aside(content[begins + name : behind])
    return _Entry(named, flags, method, checksum, packed, size), offset, behind + remark


def _behind(content: bytes, at: int, entry: _Entry) -> int:
    """Where the member ends whose own header begins there.

    Raises:
        UnclearArchiveError: that says otherwise than the central directory does.
    """
    mark, _, flags, method, _, _, checksum, packed, size, name, extra = _LOCAL_FORM.unpack_from(content, at)
    begins = at + _LOCAL_FORM.size
    named = content[begins : begins + name]
    if mark != _LOCAL or (named, flags, method) != (entry.name, entry.flags, entry.method):
        raise UnclearArchiveError
    if flags & ~(_DESCRIBED | _UTF8 | _LEVEL) or method not in (_STORED, _DEFLATED):
        raise UnclearArchiveError
    _aside(content[begins + name : begins + name + extra])
    ends: int = begins + name + extra + entry.packed
    said, known = (checksum, packed, size), (entry.checksum, entry.packed, entry.size)
    if not flags & _DESCRIBED:
        if said != known:
            raise UnclearArchiveError
        return ends
    described = struct.pack("<3L", *known)
    if any(said) or method != _DEFLATED or content[ends : ends + 16] != b"PK\x07\x08" + described:
        raise UnclearArchiveError
    return ends + 16


def _aside(extra: bytes) -> None:
    """Whether extra fields change nothing but times and owners."""
    at = 0
    while at < len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        at += 4 + length
        if kind not in _ASIDE or at > len(extra):
            raise UnclearArchiveError


def _as_member(entry: _Entry) -> Member:
    if not entry.name.isascii() or _CUT in entry.name:
        raise UnclearArchiveError
    found = member(entry.name, directory=False)
    if found.directory and entry.size:
        raise UnclearArchiveError
    return found
