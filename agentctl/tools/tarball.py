"""Reading tar archives from memory, packed or not: POSIX.1-1988 ustar, POSIX.1-2001 pax, and GNU long names.

A reader of our own: every length is checked before it is used, no header can send it back or make it wait, and packed
data is unpacked only up to a limit. Sparse files and multi-volume archives are refused.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from agentctl.errors import ToolError
from agentctl.tools.members import MAX_ENTRIES, Kind, Member, most

__all__ = ["is_tar", "tar_members", "unpacked"]

_BLOCK: Final = 512
_CHUNK: Final = 1 << 16
_MAX_STREAMS: Final = 4_096  # pbzip2 and pigz write many, one after the other
_XZ_MEMORY: Final = 96 * 1024 * 1024  # `xz -9` asks for 65 MiB
_MAX_EXTRA: Final = 1 << 20  # bytes of one pax header or long name
_HEADERS: Final = MAX_ENTRIES * 4 * _BLOCK  # of all entries, with the padding of each to a block
_FILES: Final = frozenset((b"0", b"\0", b"7"))
_LEFT_OUT: Final = {b"1": Kind.LINK, b"2": Kind.LINK, b"3": Kind.SPECIAL, b"4": Kind.SPECIAL, b"6": Kind.SPECIAL}
_EXECUTABLE: Final = 0o100


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib as bz2 and lzma are used."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


def _xz() -> _Decompressor:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


_PACKED: Final[tuple[tuple[bytes, Callable[[], _Decompressor]], ...]] = (
    (b"\x1f\x8b", _Gzip),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\x00", _xz),
)


def is_tar(data: bytes) -> bool:
    """Whether this begins as a tar archive does: the first header's checksum is right."""
    return len(data) >= _BLOCK and (_checked(data[:_BLOCK]) or not any(data[:_BLOCK]))


def unpacked(raw: bytes, check: Callable[[], None]) -> bytes:
    """What gzip, bzip2 or xz data unpacks to; other data as it is. `check` is called now and then, to stop.

    Raises ToolError beyond what an archive of this size may come to, and for damaged data.
    """
    make = next((make for magic, make in _PACKED if raw.startswith(magic)), None)
    if make is None:
        return raw
    limit = most(len(raw)) + _HEADERS
    pieces: list[bytes] = []
    size = at = streams = 0
    try:
        while at < len(raw) and any(raw[at : at + _CHUNK]):  # zeros behind the last stream are padding
            streams += 1
            if streams > _MAX_STREAMS:
                raise ToolError("it is packed in too many pieces; unpack it with a command")
            stream = make()
            while not stream.eof:
                check()
                chunk = raw[at : at + _CHUNK] if stream.needs_input else b""
                if stream.needs_input and not chunk:
                    raise ToolError("the archive is cut off; get it again")
                at += len(chunk)
                piece = stream.decompress(chunk, _CHUNK * 16)
                size += len(piece)
                if size > limit:
                    raise ToolError(f"it would unpack to more than {limit} bytes; look into it with a command")
                pieces.append(piece)
            at -= len(stream.unused_data)
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, MemoryError):
        raise ToolError("the archive is damaged, or asks for too much memory; look into it with a command") from None
    return b"".join(pieces)


@dataclass(slots=True)
class _Extra:
    """What headers before an entry's own say of it."""

    name: bytes | None = None
    size: int | None = None
    mtime: int | None = None
    records: dict[bytes, bytes] = field(default_factory=dict)


def tar_members(data: bytes, check: Callable[[], None]) -> Iterator[Member]:
    """The entries in order. Raises ToolError where the archive is damaged or uses what is not read here.

    INVARIANT: each round begins at least one block further on.
    """
    at = 0
    extra = _Extra()
    while True:
        check()
        header = data[at : at + _BLOCK]
        if len(header) < _BLOCK or not any(header):
            if at == 0 and len(header) < _BLOCK:
                raise _damaged()
            return
        if not _checked(header):
            raise _damaged()
        at += _BLOCK
        kind, size = header[156:157], _number(header[124:136])
        if kind in (b"L", b"K", b"x", b"X", b"g"):
            content, at = _content(data, at, size, _MAX_EXTRA)
            _note(extra, kind, content)
            continue
        size = size if extra.size is None else extra.size
        name = _name(header) if extra.name is None else extra.name
        directory = kind == b"5" or (kind in _FILES and name.endswith(b"/"))
        if not (directory or kind in _FILES or kind in _LEFT_OUT):
            raise ToolError("it holds sparse files or parts of a larger archive; unpack it with a command")
        text = _text(name)
        if directory or kind in _LEFT_OUT:
            yield Member(name=text, kind=Kind.DIRECTORY if directory else _LEFT_OUT[kind])
        else:
            start = at
            at = _end(data, at, size)
            yield Member(
                name=text,
                kind=Kind.FILE,
                size=size,
                executable=bool(_number(header[100:108]) & _EXECUTABLE),
                mtime=_number(header[136:148]) if extra.mtime is None else extra.mtime,
                read=partial(_slice, data, start, size),
            )
        extra = _Extra()


def _note(extra: _Extra, kind: bytes, content: bytes) -> None:
    if kind == b"L":
        extra.name = content.rstrip(b"\0")
    elif kind in (b"x", b"X"):
        for key, value in _records(content):
            if key.startswith(b"GNU.sparse"):
                raise ToolError("it holds sparse files; unpack it with a command")
            if key == b"path":
                extra.name = value
            elif key == b"size":
                extra.size = _decimal(value)
            elif key == b"mtime":
                extra.mtime = _decimal(value.partition(b".")[0])
    # `K` names where a link leads, which is not made; `g` says things of all entries that mean nothing here


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """pax records, `LENGTH KEY=VALUE\\n` each (POSIX.1-2017, pax, "pax Extended Header")."""
    at = 0
    while at < len(content) and content[at : at + 1] != b"\0":
        space = content.find(b" ", at, at + 20)
        length = _decimal(content[at:space]) if space > 0 else 0
        end = at + length
        if space < 0 or length <= space - at + 1 or end > len(content) or content[end - 1 : end] != b"\n":
            raise _damaged()
        key, equals, value = content[space + 1 : end - 1].partition(b"=")
        if not equals:
            raise _damaged()
        yield key, value
        at = end


def _checked(header: bytes) -> bool:
    """Whether the header's checksum is right, counted with signed or unsigned bytes as some old archives are."""
    try:
        stated = _number(header[148:156])
    except ToolError:
        return False
    rest = header[:148] + b" " * 8 + header[156:]
    return stated in (sum(rest), sum(byte - 256 if byte > 127 else byte for byte in rest))


def _number(raw: bytes) -> int:
    """Octal digits, or base 256 with the first bit set (GNU). Raises ToolError, also for a negative one."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.split(b"\0")[0].strip()
    if not digits:
        return 0
    if not all(0x30 <= byte <= 0x37 for byte in digits):
        raise _damaged()
    return int(digits, 8)


def _decimal(raw: bytes) -> int:
    if not raw.isdigit() or len(raw) > 20:
        raise _damaged()
    return int(raw)


def _name(header: bytes) -> bytes:
    name = header[:100].split(b"\0")[0]
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _text(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"nothing was unpacked: the entry {name[:120]!r} is not UTF-8") from None


def _content(data: bytes, at: int, size: int, most: int) -> tuple[bytes, int]:
    if size > most:
        raise _damaged()
    return _slice(data, at, size), _end(data, at, size)


def _slice(data: bytes, at: int, size: int) -> bytes:
    return data[at : at + size]


def _end(data: bytes, at: int, size: int) -> int:
    """Where the block after `size` bytes begins."""
    if at + size > len(data):
        raise ToolError("the archive is cut off; get it again")
    return at + -(-size // _BLOCK) * _BLOCK


def _damaged() -> ToolError:
    return ToolError("this is no archive that can be read here, or it is damaged; look into it with a command")
