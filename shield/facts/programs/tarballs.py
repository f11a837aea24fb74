"""Tar archives: the members of one, where every program that unpacks it reads it in the same way.

Only the formats that carry a magic number (POSIX ustar and pax, old GNU), and in them plain files and directories:
a link, a device or a hole makes an archive unclear, and so does whatever stands behind its end. Sources: pax(1),
"ustar Interchange Format" and "pax Interchange Format"; tar(5); tried with GNU tar 1.34.
"""

from shield.facts.programs.members import MAX_MEMBERS, Member, UnclearArchiveError, member
from shield.regex import regex

__all__ = ["tar_members"]

_BLOCK = 512
_ZERO = bytes(_BLOCK)
_USTAR, _GNU = b"ustar\00000", b"ustar  \0"
_NUMBER = regex(rb"[0-7]{0,12}[ \0]*")
_RECORD = regex(rb"([1-9][0-9]{0,5}) ([A-Za-z0-9_.]+)=")
# What is said of a file besides its name, its size and what it is.
_ASIDE_TEXT = "mtime atime ctime uid gid uname gname comment LIBARCHIVE.creationtime SCHILY.dev SCHILY.ino SCHILY.nlink"
_ASIDE = frozenset(_ASIDE_TEXT.encode().split())
_SPECIAL_BITS = 0o7000  # set-user-ID, set-group-ID, sticky
_MAX_EXTENSION = 65_536


def tar_members(content: bytes) -> tuple[Member, ...]:
    """The members, each under every name that it has.

    Raises:
        UnclearArchiveError: it is no such archive, or there is nothing in it.
    """
    found: dict[Member, None] = {}
    longer: list[bytes] = []  # the name that stands before the member
    instead = False  # every program takes it
    at = 0
    while at < len(content):
        header = content[at : at + _BLOCK]
        if len(header) < _BLOCK:
            raise UnclearArchiveError
        if header == _ZERO:
            if longer or content.count(0, at) != len(content) - at:
                raise UnclearArchiveError
            break
        name, kind, size = _read(header)
        at += _BLOCK
        if at + size > len(content):
            raise UnclearArchiveError
        begins = at
        at += -(-size // _BLOCK) * _BLOCK
        if kind in b"xgL":
            _extend(kind, content[begins : begins + size], longer)
            instead = kind == b"L"
            continue
        if len(found) > MAX_MEMBERS:
            raise UnclearArchiveError
        # busybox takes no notice of what a pax header says
        for each in longer if longer and instead else (name, *longer):
            entry = member(each, directory=kind == b"5")
            if entry.directory and size:
                raise UnclearArchiveError
            found[entry] = None
        longer.clear()
    if longer or not found:
        raise UnclearArchiveError
    return tuple(found)


def _read(header: bytes) -> tuple[bytes, bytes, int]:
    """Name, type and size of what the header begins."""
    magic, kind = header[257:265], header[156:157]
    if magic not in (_USTAR, _GNU) or kind not in (b"0", b"\0", b"5", b"x", b"g", b"L"):
        raise UnclearArchiveError
    if sum(header) - sum(header[148:156]) + 8 * 0x20 != _number(header[148:156]):
        raise UnclearArchiveError
    # A plain file with the name of another, some programs take for a link (busybox).
    if kind not in b"xgL" and (_number(header[100:108]) & _SPECIAL_BITS or any(header[157:257])):
        raise UnclearArchiveError
    # Old GNU archives have times and holes where others have the beginning of a name.
    if any(header[345 if magic == _GNU else 500 :]):
        raise UnclearArchiveError
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0] if magic == _USTAR else b""
    return (prefix + b"/" + name if prefix else name), kind, _number(header[124:136])


def _number(field: bytes) -> int:
    if _NUMBER.fullmatch(field) is None:
        raise UnclearArchiveError
    return int(field.rstrip(b" \0") or b"0", 8)


def _extend(kind: bytes, data: bytes, longer: list[bytes]) -> None:
    """Take the name that an extension gives to the member behind it."""
    if longer or len(data) > _MAX_EXTENSION:
        raise UnclearArchiveError
    if kind == b"L":
        name, nul, rest = data.partition(b"\0")
        if not nul or rest.strip(b"\0"):
            raise UnclearArchiveError
        longer.append(name)
        return
    for key, value in _records(data):
        if key == b"path" and kind == b"x":
            longer.append(value)
        elif key not in _ASIDE or (kind == b"g" and key != b"comment"):
            raise UnclearArchiveError


def _records(data: bytes) -> list[tuple[bytes, bytes]]:
    """The records of a pax header; none may come twice."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        head = _RECORD.match(data, at)
        end = at + int(head[1]) if head is not None else 0
        if head is None or end <= head.end() or end > len(data) or data[end - 1] != 0x0A or head[2] in found:
            raise UnclearArchiveError
        found[head[2]] = data[head.end() : end - 1]
        at = end
    return list(found.items())
