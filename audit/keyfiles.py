"""Files that hold keys: read only where nobody else could have read or written them, written durably."""

import os
import stat
from pathlib import Path
from typing import Final

from audit.errors import KeyFileError

_MAX_FILE: Final = 16 * 1024


def make_directory(directory: Path) -> None:
    """Make a directory of mode 0700, or find that it is one. Raises KeyFileError, OSError."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    check_directory(directory)


def check_directory(directory: Path) -> None:
    """Raise KeyFileError unless it is a directory of this user alone. Raises OSError too."""
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise KeyFileError(f"`{directory}` must be your own directory of mode 0700; `chmod 700` it")


def read_file(path: Path, *, private: bool) -> bytes:
    """The content of a small file; a `private` one must be no link and closed to others. Raises KeyFileError."""
    try:
        # O_NONBLOCK: a FIFO put in the file's place must not hang the start.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if private else 0)
        descriptor = os.open(path, flags)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise KeyFileError(f"`{path}` is not a regular file")
            if private and (found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077):
                raise KeyFileError(f"`{path}` must be your own file of mode 0600; `chmod 600` it")
            return file.read(_MAX_FILE)
    except OSError as error:
        raise KeyFileError(f"cannot read `{path}`: {error.strerror}") from error


def write_file(path: Path, content: bytes) -> None:
    """Make a file of mode 0600 that was not there, and sync it; its directory is the caller's. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    _write(os.open(path, flags, 0o600), content)


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` in a file's place, whole or not at all, durably. Raises OSError."""
    draft = Path(f"{path}.new")
    draft.unlink(missing_ok=True)  # left by a crash
    write_file(draft, content)
    os.rename(draft, path)
    sync_directory(path.parent)


def wipe_file(path: Path) -> None:
    """Overwrite what a file holds with zeros, where it lies. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    _write(descriptor, bytes(os.fstat(descriptor).st_size))


def sync_directory(directory: Path) -> None:
    """Make names that were made, moved or removed in a directory durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    from audit.durable import sync  # a verifier reads keys, and needs nothing of what writes

    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        sync(file.fileno())
