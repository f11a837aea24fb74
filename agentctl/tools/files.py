"""The file tools. Each acts through descriptors of what was judged; a write is a new file moved over the old one."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.descriptors import parent, read_judged, regular, same_directory
from agentctl.tools.output import MAX_CONTENT, Capture, Digest, Output, of_bytes
from agentctl.tools.warrant import Warrant
from shield.types import FileIdentity, FileRole

__all__ = [
    "copy_file",
    "create_directory",
    "delete_directory",
    "delete_file",
    "edit_file",
    "move_file",
    "read_file",
    "write_file",
]

_CHUNK: Final = 1 << 16
_SNIFF: Final = 8192  # bytes looked at for a NUL, as git and grep do
_MAX_LINE: Final = 1_000_000_000
_READ_ROLES: Final = (FileRole.READ, FileRole.CONTENT, FileRole.LARGE)


def read_file(warrant: Warrant) -> Output:
    """Payload: path; optionally `offset` (first line, from 1) and `limit` (number of lines)."""
    judged = warrant.file(*_READ_ROLES, FileRole.DIRECTORY)
    if judged.role is FileRole.DIRECTORY:
        raise ToolError(f"`{judged.path}` is a directory; use list_directory")
    first = warrant.whole("offset", 1, least=0, most=_MAX_LINE)
    count = warrant.whole("limit", _MAX_LINE, least=1, most=_MAX_LINE)
    digest = Digest()
    capture = Capture("content", MAX_CONTENT, digest)
    more = False
    with regular(judged) as descriptor:
        if judged.sha256 is not None:
            read_judged(judged, descriptor)
            os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(os.dup(descriptor), "rb", buffering=_CHUNK) as file:
            if b"\0" in os.pread(descriptor, _SNIFF, 0):
                raise ToolError(f"`{judged.path}` is not text; use a command that understands its format")
            if "offset" not in warrant.payload and "limit" not in warrant.payload:
                while chunk := file.read(_CHUNK):
                    capture.add(chunk)
            else:
                last = max(first, 1) + count
                for number, line in enumerate(file, start=1):
                    if number >= last:
                        more = True
                        break
                    if number >= first:
                        capture.add(line)
    part, cut = capture.part()
    return Output(parts=(part,), bytes=digest.bytes, sha256=digest.sha256, truncated=cut or more)


def write_file(warrant: Warrant) -> Output:
    """Payload: path, content."""
    content = warrant.text("content").encode("utf-8")
    judged = warrant.file(FileRole.TARGET)
    with _target(judged) as (folder, name, old):
        _replace(folder, name, content, old, judged.path)
    return of_bytes("content", b"", note=f"wrote {len(content)} bytes to {judged.path}")


def edit_file(warrant: Warrant) -> Output:
    """Payload: path, old, new; `all` to replace every occurrence, otherwise `old` must occur exactly once."""
    old, new = warrant.text("old").encode("utf-8"), warrant.text("new").encode("utf-8")
    every = warrant.flag("all")
    if not old:
        raise ToolError("`old` is empty; give the text to replace, or use write_file")
    base = warrant.file(FileRole.CONTENT, FileRole.LARGE, FileRole.READ)
    with regular(base) as descriptor:
        before = os.fstat(descriptor)
        content = read_judged(base, descriptor)
        found = content.count(old)
        if found == 0:
            raise ToolError(f"`old` does not occur in `{base.path}`; read the file and copy the text exactly")
        if found > 1 and not every:
            raise ToolError(f"`old` occurs {found} times in `{base.path}`; give more of its surroundings, or set `all`")
        result = content.replace(old, new)
        with parent(base.path) as (folder, name):
            _check_parents(warrant, base.path, folder)
            now = _entry(folder, name)
            if now is None or _version(now) != _version(before):
                raise ChangedError(f"`{base.path}` changed while it was edited; nothing was done")
            _replace(folder, name, result, now, base.path)
    times = "once" if found == 1 else f"{found} times"
    return of_bytes("content", b"", note=f"replaced {times} in {base.path}, now {len(result)} bytes")


def create_directory(warrant: Warrant) -> Output:
    """Payload: path. One directory; its parent must exist."""
    judged = warrant.file(FileRole.TARGET)
    with _target(judged, kind=stat.S_ISDIR) as (folder, name, old):
        if old is not None:
            return of_bytes("content", b"", note=f"{judged.path} already exists")
        with _os_errors(judged.path):
            os.mkdir(name, 0o777, dir_fd=folder)
    return of_bytes("content", b"", note=f"made the directory {judged.path}")


def delete_file(warrant: Warrant) -> Output:
    """Payload: path. A link is deleted itself, never what it points to."""
    judged = warrant.file(FileRole.TARGET)
    with _existing(warrant, judged) as (folder, name, found):
        if stat.S_ISDIR(found.st_mode):
            raise ToolError(f"`{judged.path}` is a directory; use delete_directory")
        with _os_errors(judged.path):
            os.unlink(name, dir_fd=folder)
    return of_bytes("content", b"", note=f"deleted {judged.path}")


def delete_directory(warrant: Warrant) -> Output:
    """Payload: path. Only an empty directory: what a recursive delete would meet was not judged file by file."""
    if warrant.flag("recursive"):
        raise ToolError("a directory is only deleted when it is empty; delete its files first")
    judged = warrant.file(FileRole.TARGET)
    with _existing(warrant, judged) as (folder, name, found):
        if not stat.S_ISDIR(found.st_mode):
            raise ToolError(f"`{judged.path}` is no directory; use delete_file")
        with _os_errors(judged.path):
            os.rmdir(name, dir_fd=folder)
    return of_bytes("content", b"", note=f"deleted the directory {judged.path}")


def copy_file(warrant: Warrant) -> Output:
    """Payload: source, destination (the new file's own path). Only regular files."""
    source = warrant.file(*_READ_ROLES)
    target = warrant.file(FileRole.TARGET)
    with regular(source) as descriptor:
        content = read_judged(source, descriptor)
        with _target(target) as (folder, name, old):
            _replace(folder, name, content, old, target.path)
    return of_bytes("content", b"", note=f"copied {len(content)} bytes to {target.path}")


def move_file(warrant: Warrant) -> Output:
    """Payload: source, destination (the new path itself), on one file system. Nothing that exists is replaced."""
    ends = [entry for entry in warrant.receipt.files if entry.role is FileRole.TARGET]
    things = {entry.path for entry in warrant.receipt.files if entry.role in (FileRole.READ, FileRole.DIRECTORY)}
    sources = [entry for entry in ends if entry.path in things]
    targets = [entry for entry in ends if entry.path not in things]
    if len(sources) != 1 or len(targets) != 1:
        raise ToolError("a move needs one thing that exists and one place that is free, and they must differ")
    source, target = sources[0], targets[0]
    with _existing(warrant, source) as (from_folder, from_name, found), _target(target) as (folder, name, old):
        if old is not None:
            raise ToolError(f"`{target.path}` already exists; delete it first or choose another name")
        with _os_errors(target.path):
            if stat.S_ISREG(found.st_mode):
                os.link(from_name, name, src_dir_fd=from_folder, dst_dir_fd=folder, follow_symlinks=False)
                os.unlink(from_name, dir_fd=from_folder)
            else:  # a directory or link: rename would only replace an empty directory
                os.rename(from_name, name, src_dir_fd=from_folder, dst_dir_fd=folder)
    return of_bytes("content", b"", note=f"moved to {target.path}")


# --- targets ---------------------------------------------------------------------------------------------------------


@contextmanager
def _target(judged: FileIdentity, *, kind: object = stat.S_ISREG) -> Iterator[tuple[int, str, os.stat_result | None]]:
    """The pinned parent of something to write, its name, and what stands there now (None: nothing, as judged)."""
    if judged.dev is None or judged.ino is None:
        raise ToolError(f"the directory of `{judged.path}` does not exist; make it first")
    with parent(judged.path) as (folder, name):
        same_directory(judged, folder)
        found = _entry(folder, name)
        if (found is None) != judged.absent:
            raise ChangedError(f"`{judged.path}` came or went since it was judged; nothing was done")
        fits = stat.S_ISDIR if kind is stat.S_ISDIR else stat.S_ISREG
        if found is not None and not fits(found.st_mode):
            raise ChangedError(f"`{judged.path}` is a link, device or another kind of file; nothing was done")
        yield folder, name, found


@contextmanager
def _existing(warrant: Warrant, judged: FileIdentity) -> Iterator[tuple[int, str, os.stat_result]]:
    """The pinned parent of something to delete or move, its name and what stands there: the very thing judged."""
    if judged.absent:
        raise ToolError(f"`{judged.path}` does not exist; list its folder to see what is there")
    things = [
        entry
        for entry in warrant.receipt.files
        if entry.path == judged.path and entry.role in (FileRole.READ, FileRole.DIRECTORY)
    ]
    with parent(judged.path) as (folder, name):
        same_directory(judged, folder)
        found = _entry(folder, name)
        if found is None or not things or any((e.dev, e.ino) != (found.st_dev, found.st_ino) for e in things):
            raise ChangedError(f"`{judged.path}` is not what was judged; nothing was done")
        yield folder, name, found


def _check_parents(warrant: Warrant, path: str, folder: int) -> None:
    for entry in warrant.receipt.files:
        if entry.role is FileRole.TARGET and entry.path == path:
            same_directory(entry, folder)


def _entry(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(f"`{name}` cannot be examined: {error.strerror}") from None


def _version(entry: os.stat_result) -> tuple[int, int, int, int, int]:
    return entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns


def _replace(folder: int, name: str, content: bytes, old: os.stat_result | None, path: str) -> None:
    """Write beside, make it durable, move it into place: a reader sees the old file or the new one, never a half."""
    beside = f".{secrets.token_hex(8)}.tmp"  # CVE-2026-46406: a name that cannot be foreseen, O_EXCL
    with _os_errors(path):
        descriptor = os.open(
            beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder
        )
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) :]
                if old is not None:
                    _keep(descriptor, old)
                os.fsync(descriptor)
            if old is None:
                # INVARIANT: what was judged as new replaces nothing, not even a file made this very moment
                os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                os.unlink(beside, dir_fd=folder)
            else:
                os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            try:
                os.unlink(beside, dir_fd=folder)
            except FileNotFoundError:
                pass  # already moved into place
            raise
    _settle(folder)


def _keep(descriptor: int, old: os.stat_result) -> None:
    """Owner, group and permission bits of the file that is replaced; never a set-id bit."""
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)


def _settle(folder: int) -> None:
    """Make the new name durable; some file systems cannot, and the write stands all the same."""
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
def _os_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise ChangedError(f"`{path}` was made by someone else just now; nothing was done") from None
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise ToolError(f"`{path}` is on another file system; copy it instead") from None
        raise ToolError(f"`{path}` cannot be written: {error.strerror}") from None
