"""The real disk.

Nothing is opened before `lstat` said that it is a regular file or a directory, and then with O_NONBLOCK|O_NOFOLLOW and
checked again on the descriptor: no FIFO is waited for, no device is touched, no link is followed.
"""

import errno
import os
import stat as modes
from itertools import islice

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat

__all__ = ["LocalFiles"]

_KINDS = {
    modes.S_IFREG: FileKind.FILE,
    modes.S_IFDIR: FileKind.DIRECTORY,
    modes.S_IFLNK: FileKind.LINK,
    modes.S_IFSOCK: FileKind.SOCKET,
    modes.S_IFIFO: FileKind.FIFO,
    modes.S_IFBLK: FileKind.DEVICE,
    modes.S_IFCHR: FileKind.DEVICE,
}
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_PROBES = 64


class LocalFiles:
    """The file system that this process sees. It keeps nothing between calls."""

    __slots__ = ()

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
        return _stat(found)

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
        try:
            if not modes.S_ISREG(os.lstat(path).st_mode):
                raise FileSystemUnknownError(f"`{path!r}` is no regular file")
            descriptor = os.open(path, _OPEN)
        except (OSError, ValueError) as error:
            raise FileSystemUnknownError(f"`{path!r}` cannot be opened") from error
        try:
            with open(descriptor, "rb", buffering=0) as file:
                if not modes.S_ISREG(os.fstat(descriptor).st_mode):
                    raise FileSystemUnknownError(f"`{path!r}` is no regular file")
                content = bytearray()
                # One more byte than asked for tells a file that is too large; it may grow while it is read.
                while len(content) <= limit:
                    piece = file.read(limit + 1 - len(content))
                    if piece is None:
                        raise FileSystemUnknownError(f"`{path!r}` cannot be read without waiting")
                    if not piece:
                        return bytes(content)
                    content += piece
        except OSError as error:
            raise FileSystemUnknownError(f"`{path!r}` cannot be read") from error
        return None

    def folds_case(self, path: str) -> bool:
        """Whether two names in this directory that differ only in case are one file, asked of the names it holds.

        A directory without any name that has a case answers False: there is nothing in it to be mistaken for.
        """
        try:
            with os.scandir(path) as entries:
                for entry in islice(entries, _PROBES):
                    twin = entry.name.swapcase()
                    if twin == entry.name:
                        continue
                    try:
                        other = os.lstat(f"{path}/{twin}")
                    except FileNotFoundError:
                        return False
                    return other.st_ino == os.lstat(f"{path}/{entry.name}").st_ino
        except (OSError, ValueError) as error:
            raise FileSystemUnknownError(f"`{path!r}` cannot be listed") from error
        return False


def _stat(found: os.stat_result) -> Stat:
    return Stat(
        kind=_KINDS.get(modes.S_IFMT(found.st_mode), FileKind.DEVICE),
        mode=modes.S_IMODE(found.st_mode),
        dev=found.st_dev,
        ino=found.st_ino,
        size=found.st_size,
        ctime_ns=found.st_ctime_ns,
        uid=found.st_uid,
        links=found.st_nlink,
    )
