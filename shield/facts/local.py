"""The real disk.

Nothing is opened before `lstat` said that it is a regular file or a directory, and then with O_NONBLOCK|O_NOFOLLOW and
checked again on the descriptor: no FIFO is waited for, no device is touched, no link is followed.
"""

import errno
import os
import stat as modes
import time
from collections.abc import Callable
from itertools import islice
from typing import TypeVar

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat, twins

__all__ = ["LocalFiles"]

_T = TypeVar("_T")

_KINDS = {
    modes.S_IFREG: FileKind.FILE,
    modes.S_IFDIR: FileKind.DIRECTORY,
    modes.S_IFLNK: FileKind.LINK,
    modes.S_IFSOCK: FileKind.SOCKET,
    modes.S_IFIFO: FileKind.FIFO,
    modes.S_IFBLK: FileKind.DEVICE,
    modes.S_IFCHR: FileKind.DEVICE,
}
_DEVICE = FileKind.DEVICE
_TYPE, _BITS = 0o170000, 0o7777  # S_IFMT and the rest of a mode, inode(7)
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_PIECE = 1 << 16  # bytes read at once: what is asked for is set aside before it is known to be there
_REMEMBERED = 10_000
_NAME_MAX = 255  # bytes of one name, on every file system of Linux and on APFS
_SETTLED_NS = 2_000_000_000  # a directory that changed within the clock's own step may look as it did before


class LocalFiles:
    """The file system that this process sees. It keeps nothing between calls but which directories tell case apart."""

    __slots__ = ("_apart",)

    def __init__(self) -> None:
        self._apart: set[tuple[int, int, int] | None] = set()

    def lstat(self, path: str) -> Stat | None:
        """The entry itself, links not followed; None only where the kernel says that there is none."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            # A file where a directory should be: there is no such entry. All else (EACCES, EIO …) is not "absent".
            if isinstance(error, OSError) and error.errno == errno.ENOTDIR:
                return None
            raise FileSystemUnknownError(f"`{path!r}` cannot be examined") from error
        mode = found.st_mode
        return Stat(
            _KINDS.get(mode & _TYPE, _DEVICE),
            mode & _BITS,
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_ctime_ns,
            found.st_uid,
            found.st_nlink,
        )

    def readlink(self, path: str) -> str:
        """Where a link points, as it is written."""
        try:
            return os.readlink(path)
        except (OSError, ValueError) as error:
            raise FileSystemUnknownError(f"the link `{path!r}` cannot be read") from error

    def listdir(self, path: str, limit: int) -> tuple[str, ...]:
        """Names in a directory, sorted; more than `limit` of them is unknown."""
        try:
            with os.scandir(path) as entries:
                names = [entry.name for entry in islice(entries, limit + 1)]
        except (OSError, ValueError) as error:
            raise FileSystemUnknownError(f"`{path!r}` cannot be listed") from error
        if len(names) > limit:
            raise FileSystemUnknownError(f"`{path!r}` holds more than {limit} entries")
        return tuple(sorted(names))

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file; None if it is larger than `limit` bytes."""
        return _read(path, lambda descriptor: _content(descriptor, limit))

    def piece(self, path: str, start: int, size: int) -> bytes:
        """Of such a file no more than `size` bytes, from byte `start` on; fewer where it ends."""
        return _read(path, lambda descriptor: os.pread(descriptor, size, start))

    def folds(self, parent: str, folder: Stat | None, name: str, stat: Stat) -> bool:
        """Whether another spelling of `name` leads to the same entry, too.

        A directory that was once seen to tell two spellings apart is not asked again while it stays as it is: whether
        it folds can only be changed while it is empty (ext4) or never (APFS, NTFS), and both show in its ctime.
        """
        known = None if folder is None else (folder.dev, folder.ino, folder.ctime_ns)
        if known in self._apart:
            return False
        spellings = twins(name)
        if not spellings:
            return False
        for spelling in spellings:
            if len(os.fsencode(spelling)) > _NAME_MAX:
                continue  # no file system has such an entry
            other = self.lstat(f"{parent}/{spelling}")
            if other is not None and (other.dev, other.ino) == (stat.dev, stat.ino):
                return True
        if known is not None and time.time_ns() - known[2] > _SETTLED_NS:
            if len(self._apart) >= _REMEMBERED:
                self._apart.clear()
            self._apart.add(known)
        return False


def _read(path: str, take: Callable[[int], _T]) -> _T:
    """What is taken of a regular file that is open."""
    try:
        if not modes.S_ISREG(os.lstat(path).st_mode):
            raise FileSystemUnknownError(f"`{path!r}` is no regular file")
        descriptor = os.open(path, _OPEN)
    except (OSError, ValueError) as error:
        raise FileSystemUnknownError(f"`{path!r}` cannot be opened") from error
    try:
        if not modes.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileSystemUnknownError(f"`{path!r}` is no regular file")
        return take(descriptor)
    except (OSError, OverflowError) as error:  # also of one that cannot be read without waiting
        raise FileSystemUnknownError(f"`{path!r}` cannot be read") from error
    finally:
        os.close(descriptor)


def _content(descriptor: int, limit: int) -> bytes | None:
    """All that is left to read; None if that is more than `limit` bytes."""
    pieces: list[bytes] = []
    # One more byte than asked for tells a file that is too large; it may grow while it is read.
    left = limit + 1
    while left > 0:
        piece = os.read(descriptor, min(left, _PIECE))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
    return None
