"""The disk as facts see it: a Protocol with a real and a made implementation.

Nothing here follows a link, opens anything but a regular file, waits, or reads without a limit.
"""

import unicodedata
from enum import StrEnum
from typing import NamedTuple, Protocol

__all__ = ["FileKind", "FileSystem", "FileSystemUnknownError", "Stat", "twins"]


class FileKind(StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    DEVICE = "device"
    SOCKET = "socket"
    FIFO = "fifo"


class Stat(NamedTuple):
    """`lstat` of one entry. `mode` is the permission bits, `size` bytes, `links` the hard-link count.

    A tuple, as a judgement makes many.
    """

    kind: FileKind
    mode: int
    dev: int
    ino: int
    size: int
    ctime_ns: int
    uid: int
    links: int = 1

    @property
    def executable(self) -> bool:
        return bool(self.mode & 0o111)


class FileSystemUnknownError(Exception):
    """The answer cannot be established (permission, I/O error, `facts.filesystem = "none"`): never means absent."""


def twins(name: str) -> list[str]:
    """Other spellings that lead to the same entry only where the file system folds."""
    cased = name.lower() if name.lower() != name else name.upper()
    if name.isascii():
        return [cased] if cased != name else []
    forms = (cased, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))
    return [form for form in forms if form != name]


class FileSystem(Protocol):
    """What facts may ask. Paths are absolute. Every method raises FileSystemUnknownError where it cannot tell."""

    def lstat(self, path: str) -> Stat | None:
        """The entry itself, links not followed; None if there is none."""

    def readlink(self, path: str) -> str:
        """Where a link points, as it is written."""

    def listdir(self, path: str, limit: int) -> tuple[str, ...]:
        """Names in a directory, sorted; more than `limit` of them is unknown."""

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file (O_NONBLOCK|O_NOFOLLOW); None if it is larger than `limit` bytes."""

    def piece(self, path: str, start: int, size: int) -> bytes:
        """Of such a file no more than `size` bytes, from byte `start` on; fewer where it ends."""

    def folds(self, parent: str, folder: Stat | None, name: str, stat: Stat) -> bool:
        """Whether another spelling of `name` (case, Unicode form) in `parent` leads to the entry of `stat`, too.

        `folder` is what `lstat` says of `parent`.
        """
