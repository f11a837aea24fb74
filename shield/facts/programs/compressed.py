"""Compressed data: what gzip, bzip2 and xz would make of it, up to a limit.

Only streams that follow each other without anything between or behind them, which every program reads alike. Sources:
RFC 1952, the file formats of bzip2(1) and xz(1).
"""

import bz2
import lzma
import zlib
from enum import Enum

__all__ = ["Compression", "expanded"]

_MAX_STREAMS = 64
_MAX_DICTIONARY = 134_217_728  # bytes of memory that an xz stream may ask for
# Names and comments; a part of a whole, and what is encrypted, only some programs know.
_GZIP_FLAGS = 0x1C


class Compression(Enum):
    """By the bytes that a stream begins with."""

    GZIP = b"\x1f\x8b\x08"
    BZIP2 = b"BZh"
    XZ = b"\xfd7zXZ\0"

    @staticmethod
    def of(content: bytes) -> "Compression | None":
        return next((each for each in Compression if content.startswith(each.value)), None)


def expanded(content: bytes, form: Compression, limit: int) -> bytes | None:
    """What the streams hold; None where they are broken, not all of one form, or hold more than `limit` bytes."""
    found = bytearray()
    rest = content
    streams = 0
    try:
        while rest:
            streams += 1
            if (
                streams > _MAX_STREAMS
                or not rest.startswith(form.value)
                or (form is Compression.GZIP and _strange(rest))
            ):
                return None
            part, rest = _stream(rest, form, limit + 1 - len(found))
            found += part
            if len(found) > limit:
                return None
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return None
    return bytes(found)


def _strange(content: bytes) -> bool:
    return len(content) < 4 or bool(content[3] & ~_GZIP_FLAGS)


def _stream(content: bytes, form: Compression, limit: int) -> tuple[bytes, bytes]:
    """At most `limit` bytes of the first stream, and what follows it.

    Raises:
        EOFError: it does not end, within the limit or at all. Others as the decompressors do.
    """
    if form is Compression.GZIP:
        reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        return _ended(reader.decompress(content, limit), limit, reader.eof), reader.unused_data
    other: bz2.BZ2Decompressor | lzma.LZMADecompressor
    if form is Compression.BZIP2:
        other = bz2.BZ2Decompressor()
    else:
        other = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_DICTIONARY)
    return _ended(other.decompress(content, limit), limit, other.eof), other.unused_data


def _ended(part: bytes, limit: int, eof: bool) -> bytes:
    if not eof and len(part) < limit:
        raise EOFError
    return part
