"""Opening what was judged, and nothing else: directory descriptors reached without following a link.

The kernel walks in one step where it has openat2(2) (Linux 5.6) or O_NOFOLLOW_ANY (macOS 11); elsewhere, and where a
seccomp filter hides the call, component by component: the outcome is the same.
A receipt names resolved paths, so an honest path holds no link. Whoever swaps a component for a link after the verdict
makes the walk fail; whoever swaps it for another directory or file is found out by device and inode of what was
*opened* (CVE-2026-25724, CVE-2026-39861: check one path, use another).
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.syscalls import open_without_links
from shield.types import FileIdentity, FileRole

__all__ = [
    "MAX_FILE",
    "READ_DIRECTORY",
    "READ_FILE",
    "WALK",
    "Walk",
    "by_component",
    "check_identity",
    "directory",
    "in_one_step",
    "parent",
    "read_judged",
    "regular",
    "same_directory",
    "walk_here",
]

# Opens a resolved absolute directory without following a link. Raises ChangedError, ToolError.
Walk = Callable[[str], int]

MAX_FILE: Final = 64 * 1024 * 1024  # bytes of a file that is read or edited as a whole
_CHUNK: Final = 1 << 20
# O_PATH asks for no read permission on the way down; macOS has no O_PATH
WALK: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO that took the file's place must not hang us before fstat unmasks it
READ_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# ESTALE: what stood there on a file server is gone
_SWAPPED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ESTALE})
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG})


def components(path: str) -> list[str]:
    """The names of a resolved absolute path. Raises ChangedError for a path that is not in that form."""
    names = [] if path == "/" else path.split("/")[1:]
    if not path.startswith("/") or "\0" in path or any(name in ("", ".", "..") for name in names):
        raise ChangedError(f"`{path}` is not a resolved path; nothing was opened")
    return names


@contextmanager
def directory(path: str, *, readable: bool = False, walk: Walk | None = None) -> Iterator[int]:
    """A descriptor of a directory, reached without following a link. Raises ChangedError, ToolError.

    Without `readable` it is good for what lies in the directory, not for listing it. `walk` is how it is reached.
    """
    descriptor = (walk or walk_here())(path)
    try:
        if readable:
            opened = _open(".", READ_DIRECTORY, descriptor, path)
            os.close(descriptor)
            descriptor = opened
        yield descriptor
    finally:
        os.close(descriptor)


def in_one_step(path: str) -> int:
    """A `Walk` that the kernel does, and `by_component` where it cannot."""
    components(path)
    try:
        return _at_once(path)
    except OSError as error:
        # PATH_MAX holds for one call, not for a path
        if error.errno in _NOT_HERE or error.errno == errno.ENAMETOOLONG:
            return by_component(path)
        raise _refused(error, path) from None


def by_component(path: str) -> int:
    """A `Walk` from `/` down, one directory after the other."""
    descriptor = _open("/", WALK, None, path)
    try:
        for name in components(path):
            below = _open(name, WALK, descriptor, path)
            os.close(descriptor)
            descriptor = below
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@lru_cache(maxsize=1)
def walk_here() -> Walk:
    """The better `Walk` of this system, found by trying once."""
    try:
        os.close(_at_once("/"))
    except OSError:
        return by_component
    return in_one_step


@contextmanager
def parent(path: str) -> Iterator[tuple[int, str]]:
    """The directory that holds `path`, and its name there."""
    names = components(path)
    if not names:
        raise ToolError("`/` is no file; name a file")
    with directory("/" + "/".join(names[:-1])) as descriptor:
        yield descriptor, names[-1]


@contextmanager
def regular(judged: FileIdentity) -> Iterator[int]:
    """The regular file that was judged, open for reading; its content is not yet compared, see `read_judged`."""
    if judged.absent:
        raise ToolError(f"`{judged.path}` does not exist; list its folder to see what is there")
    with parent(judged.path) as (folder, name):
        descriptor = _open(name, READ_FILE, folder, judged.path)
        try:
            check_identity(judged, os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)


def check_identity(judged: FileIdentity, found: os.stat_result) -> None:
    """Compare what was opened with what was judged. Raises ChangedError; ToolError for what is no regular file."""
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"`{judged.path}` is no regular file; only regular files are opened")
    if judged.role in (FileRole.TARGET, FileRole.GLOB):
        return  # these name the parent, or a set of files
    if judged.role is not FileRole.CONTENT and (judged.dev is None or judged.ino is None):
        raise ChangedError(f"nothing says which file `{judged.path}` was; nothing was done")
    if judged.role is FileRole.CONTENT and judged.sha256 is None:
        raise ChangedError(f"nothing says what `{judged.path}` held; nothing was done")
    for expected, got in (
        (judged.dev, found.st_dev),
        (judged.ino, found.st_ino),
        (judged.size, found.st_size),
        (judged.ctime_ns, found.st_ctime_ns),
    ):
        if expected is not None and expected != got:
            raise ChangedError(f"`{judged.path}` is not the file that was judged; nothing was done")


def read_judged(judged: FileIdentity, descriptor: int) -> bytes:
    """The whole content of an opened file, compared with the digest that was judged where there is one."""
    pieces: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, _CHUNK):
        size += len(chunk)
        if size > MAX_FILE:
            raise ToolError(f"`{judged.path}` has more than {MAX_FILE} bytes; use a command that reads a part of it")
        pieces.append(chunk)
    content = b"".join(pieces)
    if judged.sha256 is not None and judged.sha256 != "sha256:" + hashlib.sha256(content).hexdigest():
        raise ChangedError(f"`{judged.path}` does not hold what was judged; nothing was done")
    return content


def same_directory(judged: FileIdentity, descriptor: int) -> None:
    """Compare an opened directory with device and inode of an identity. Raises ChangedError."""
    found = os.fstat(descriptor)
    if (judged.dev, judged.ino) != (found.st_dev, found.st_ino):
        raise ChangedError(f"the folder of `{judged.path}` is not the one that was judged; nothing was done")


def _at_once(path: str) -> int:
    no_links = getattr(os, "O_NOFOLLOW_ANY", None)
    if no_links is None:
        return open_without_links(path, WALK)
    return os.open(path, (WALK & ~os.O_NOFOLLOW) | no_links)


def _open(name: str, flags: int, folder: int | None, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise _refused(error, path) from None


def _refused(error: OSError, path: str) -> ToolError:
    if isinstance(error, FileNotFoundError):
        return ChangedError(f"`{path}` is not there any more; nothing was done")
    if error.errno in _SWAPPED:
        return ChangedError(f"a part of `{path}` is not as judged ({error.strerror}); nothing was done")
    return ToolError(f"`{path}` cannot be opened: {error.strerror}")
