"""Two calls that Python does not offer: openat2(2) and the renames that replace nothing or swap two names.

Every function raises OSError as the kernel means it; ENOSYS where this system has no such call.
"""

import ctypes
import errno
import os
import sys
from functools import lru_cache
from typing import Any, Final

__all__ = ["exchange", "open_without_links", "rename_to_free"]

_OPENAT2: Final = 437  # the same number on every Linux architecture but alpha
_AT_FDCWD: Final = -100
_NO_MAGICLINKS: Final = 0x02  # linux/openat2.h
_NO_SYMLINKS: Final = 0x04
_NOREPLACE: Final = 1  # linux/fs.h
_EXCHANGE: Final = 2
_DARWIN_SWAP: Final = 2  # sys/stdio.h
_DARWIN_EXCL: Final = 4


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_without_links(path: str, flags: int) -> int:
    """openat2(2): a descriptor of the absolute `path`, ELOOP if any part of it is a link."""
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    how = _OpenHow(flags=flags, mode=0, resolve=_NO_SYMLINKS | _NO_MAGICLINKS)
    raw = os.fsencode(path)
    while True:
        descriptor: int = _libc().syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_long(_AT_FDCWD),
            ctypes.c_char_p(raw),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number), path)


def rename_to_free(source: str, destination: str, *, source_folder: int, folder: int) -> None:
    """Rename only if nothing stands at `destination`, in one step; else FileExistsError. EINVAL: not on this disk."""
    _rename(source, destination, source_folder, folder, _NOREPLACE, _DARWIN_EXCL)


def exchange(one: str, other: str, *, folder: int) -> None:
    """Swap two names of one directory in one step; both must be there. EINVAL: not on this file system."""
    _rename(one, other, folder, folder, _EXCHANGE, _DARWIN_SWAP)


def _rename(source: str, destination: str, source_folder: int, folder: int, linux: int, darwin: int) -> None:
    libc = _libc()
    mac = sys.platform == "darwin"
    call = getattr(libc, "renameatx_np" if mac else "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    failed = call(
        ctypes.c_int(source_folder),
        ctypes.c_char_p(os.fsencode(source)),
        ctypes.c_int(folder),
        ctypes.c_char_p(os.fsencode(destination)),
        ctypes.c_uint(darwin if mac else linux),
    )
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), destination)


@lru_cache(maxsize=1)
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
