"""Putting new content into a pinned directory: whole or not at all, and only in the place of what was judged.

Content is written to a file without a name (O_TMPFILE) where the file system has those, so that a process that is
killed leaves nothing behind; elsewhere under a name of `_BESIDE`, which cannot be foreseen (CVE-2026-46406). It is made
durable and then takes its place: where nothing was, only if nothing is; where a file was, by swapping the two names and
looking at what came out, so that a file saved by somebody else at that very moment is put back instead of lost.

A replaced file keeps owner, group, permission bits, access list and `user.` attributes; set-id bits and file
capabilities go. What would not be kept is refused: further hard links, a foreign owner, a read-only file.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.ownership import keep, replaceable
from agentctl.tools.syscalls import exchange, rename_to_free

__all__ = ["create", "entry", "free_name", "os_errors", "remove", "rename_free", "replace", "settle"]

_BESIDE: Final = ".agentctl-{}.tmp"  # what an interrupted write may leave; safe to delete when no agentctl runs
_WRITE: Final = os.O_WRONLY | os.O_CLOEXEC
_NO_NAMELESS: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS, errno.ENOENT})
_NO_SUCH_RENAME: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def create(folder: int, name: str, content: bytes, path: str, *, mode: int = 0o666) -> None:
    """A new file. INVARIANT: it replaces nothing, not even a file made this very moment (ChangedError)."""
    with os_errors(path), _filled(folder, content, mode) as (descriptor, beside):
        os.fsync(descriptor)
        if beside is None:
            _link(descriptor, folder, name)
        else:
            rename_free(beside, name, source_folder=folder, folder=folder)


def replace(
    folder: int,
    name: str,
    content: bytes,
    old: os.stat_result,
    path: str,
    *,
    unchanged: Callable[[], bool] = lambda: True,
) -> None:
    """New content in the place of the regular file `old`. `unchanged` is asked once `old` has lost its name.

    Raises ChangedError where something else stands there by now: it is left as it is. ToolError where the file's
    owner, access list or other names could not be kept.
    """
    replaceable(old, path)
    with os_errors(path), _filled(folder, content, 0o600) as (descriptor, made):
        if not keep(descriptor, folder, name, old, path):
            raise _changed(path)
        os.fsync(descriptor)
        beside = made
        if beside is None:
            beside = free_name()
            _link(descriptor, folder, beside)
        try:
            _swap(folder, beside, name, old, path, unchanged)
        except BaseException:
            _discard(folder, beside, descriptor)
            raise
    settle(folder)


def remove(folder: int, name: str, judged: os.stat_result, path: str) -> None:
    """Delete the very thing that was judged: a directory if it is empty, anything else without following it.

    It is first renamed so that nobody knows where it is, and looked at there. Raises ChangedError for another thing,
    ToolError where it cannot be deleted; it then has its name back.
    """
    aside = free_name()
    try:
        rename_free(name, aside, source_folder=folder, folder=folder)
    except FileNotFoundError:
        raise ChangedError(f"`{path}` is not there any more; nothing was done") from None
    except OSError as error:
        if error.errno != errno.EXDEV or not stat.S_ISDIR(judged.st_mode):
            raise
        os.rmdir(name, dir_fd=folder)  # overlayfs cannot rename a directory of its lower layer; this one is empty
        return
    found = entry(folder, aside)
    if found is None or (found.st_dev, found.st_ino) != (judged.st_dev, judged.st_ino):
        _back(folder, aside, name, path)
        raise ChangedError(f"`{path}` is not what was judged; nothing was done")
    try:
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(aside, dir_fd=folder)
        else:
            os.unlink(aside, dir_fd=folder)
    except OSError as error:
        _back(folder, aside, name, path)
        raise ToolError(f"`{path}` cannot be deleted: {error.strerror}") from None


def _back(folder: int, aside: str, name: str, path: str) -> None:
    try:
        rename_free(aside, name, source_folder=folder, folder=folder)
    except OSError as error:
        raise ToolError(f"`{path}` was swapped; what stood there is now `{aside}` ({error.strerror})") from None


def rename_free(source: str, destination: str, *, source_folder: int, folder: int) -> None:
    """Rename to a name that is free. Where the system cannot say so in one step, a file is linked, then unlinked."""
    try:
        rename_to_free(source, destination, source_folder=source_folder, folder=folder)
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
        found = os.stat(source, dir_fd=source_folder, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            os.link(source, destination, src_dir_fd=source_folder, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(source, dir_fd=source_folder)
        elif entry(folder, destination) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), destination) from None
        else:  # a directory or link: this replaces at most an empty directory or a link made this very moment
            os.rename(source, destination, src_dir_fd=source_folder, dst_dir_fd=folder)


def entry(folder: int, name: str) -> os.stat_result | None:
    """What stands at a name, links not followed; None if nothing does."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(f"`{name}` cannot be examined: {error.strerror}") from None


def settle(folder: int) -> None:
    """Make new names durable; some file systems cannot, and the write stands all the same."""
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """OSError as what the model is told."""
    try:
        yield
    except FileExistsError:
        raise ChangedError(f"`{path}` was made by someone else just now; nothing was done") from None
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise ToolError(f"`{path}` is on another file system; copy it instead") from None
        if error.errno in (errno.ENOENT, errno.ESTALE):
            raise ChangedError(f"`{path}` is not there any more; nothing was done") from None
        raise ToolError(f"`{path}` cannot be written: {error.strerror}") from None


# --- steps -----------------------------------------------------------------------------------------------------------


@contextmanager
def _filled(folder: int, content: bytes, mode: int) -> Iterator[tuple[int, str | None]]:
    """A new file with this content, and the name it has until it takes its place (None: it has none)."""
    descriptor, beside = _made(folder, mode)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        yield descriptor, beside
    except BaseException:
        if beside is not None:
            _discard(folder, beside, descriptor)
        raise
    finally:
        os.close(descriptor)


def _made(folder: int, mode: int) -> tuple[int, str | None]:
    nameless = getattr(os, "O_TMPFILE", None)
    if nameless is not None and os.path.isdir("/proc/self/fd"):  # by which the file is given its name
        try:
            return os.open(".", _WRITE | nameless, mode, dir_fd=folder), None
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
    beside = free_name()
    return os.open(beside, _WRITE | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder), beside


def free_name() -> str:
    """A name for what has not yet taken its place."""
    return _BESIDE.format(secrets.token_hex(8))


def _link(descriptor: int, folder: int, name: str) -> None:
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)


def _discard(folder: int, beside: str, descriptor: int) -> None:
    """Unlink what we made, and nothing that has taken its name since."""
    found, made = entry(folder, beside), os.fstat(descriptor)
    if found is not None and (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
        os.unlink(beside, dir_fd=folder)


def _swap(folder: int, beside: str, name: str, old: os.stat_result, path: str, unchanged: Callable[[], bool]) -> None:
    try:
        exchange(beside, name, folder=folder)
    except FileNotFoundError:
        raise ChangedError(f"`{path}` is not there any more; nothing was done") from None
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
        if not _same(entry(folder, name), old) or not unchanged():
            raise _changed(path) from None
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    # INVARIANT: what is unlinked is what was looked at; anything else gets its name back
    if _same(entry(folder, beside), old) and unchanged():
        os.unlink(beside, dir_fd=folder)
        return
    exchange(beside, name, folder=folder)
    raise _changed(path)


def _same(found: os.stat_result | None, old: os.stat_result) -> bool:
    # no ctime: renaming changes it
    return found is not None and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_nlink) == (
        old.st_dev,
        old.st_ino,
        old.st_size,
        old.st_mtime_ns,
        old.st_nlink,
    )


def _changed(path: str) -> ChangedError:
    return ChangedError(f"`{path}` was changed by someone else just now; nothing was done")
