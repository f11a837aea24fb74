"""Repositories within a working tree that its index calls submodules: git obeys their settings at a plain `git status`.

Source: gitformat-index(5), versions 2 to 4.
"""

import os
import stat
from collections.abc import Iterator
from typing import Final

__all__ = ["gitlinks", "indices"]

_MODE: Final = b"\0\0\xe0\0"  # 160000: a commit of another repository
_BEFORE: Final = 24  # bytes of an entry before its mode
_FIXED: Final = 40  # before its object's name
_WIDTHS: Final = (20, 32)  # of that: SHA-1, SHA-256
_EXTENDED: Final = 0x4000
_LENGTH: Final = 0xFFF  # a name as long as this, or longer
_MAX: Final = 1 << 28


def indices(git: str) -> list[str]:
    """The files that hold the index of the repository in `git`, also where it is split."""
    try:
        names = os.listdir(git)
    except OSError:
        return []
    return [os.path.join(git, name) for name in sorted(names) if name == "index" or name.startswith("sharedindex.")]


def gitlinks(index: str) -> list[str] | None:
    """The paths in the index that stand for other repositories. One too many is no harm. None where that is not known:
    it is a link or too large."""
    try:
        descriptor = os.open(index, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(_MAX)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if _MODE not in raw:
        return []
    listed = (name for width in _WIDTHS for name in (_packed if raw[7:8] == b"\4" else _plain)(raw, width))
    return [os.fsdecode(name) for name in dict.fromkeys(listed)]


def _plain(raw: bytes, width: int) -> Iterator[bytes]:
    """Version 2 and 3: every name stands there whole, so only entries with such a mode are looked at."""
    at = raw.find(_MODE, 12 + _BEFORE)
    while at >= 0:
        flags, name = _name(raw, at - _BEFORE + _FIXED + width)
        if (name and len(name) == flags & _LENGTH) or flags & _LENGTH == _LENGTH:
            yield name
        at = raw.find(_MODE, at + 1)


def _packed(raw: bytes, width: int) -> Iterator[bytes]:
    """Version 4: a name says how much of the one before it is kept."""
    at, before = 12, b""
    for _ in range(int.from_bytes(raw[8:12])):
        flags_at = at + _FIXED + width
        start = flags_at + (4 if int.from_bytes(raw[flags_at : flags_at + 2]) & _EXTENDED else 2)
        if start >= len(raw):
            return
        dropped = raw[start] & 0x7F
        while start + 1 < len(raw) and raw[start] & 0x80:
            start += 1
            dropped = ((dropped + 1) << 7) | (raw[start] & 0x7F)
        end = raw.find(b"\0", start + 1)
        if end < 0 or dropped > len(before):
            return
        before = before[: len(before) - dropped] + raw[start + 1 : end]
        if raw[at + _BEFORE : at + _BEFORE + 4] == _MODE:
            yield before
        at = end + 1


def _name(raw: bytes, flags_at: int) -> tuple[int, bytes]:
    flags = int.from_bytes(raw[flags_at : flags_at + 2])
    start = flags_at + (4 if flags & _EXTENDED else 2)
    end = raw.find(b"\0", start)
    return flags, raw[start:end] if end >= 0 else b""
