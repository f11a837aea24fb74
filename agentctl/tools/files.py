"""The file tools. Each acts through descriptors of what was judged; a write puts a new file in the old one's place."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.descriptors import READ_DIRECTORY, parent, read_judged, regular, same_directory
from agentctl.tools.output import MAX_CONTENT, Capture, Digest, Output, of_bytes
from agentctl.tools.placement import create, entry, os_errors, remove, rename_free, replace, settle
from agentctl.tools.warrant import Warrant
from shield.types import FileIdentity, FileRole

__all__ = [
    "copy_file",
    "create_directory",
    "delete_directory",
    "delete_file",
    "edit_file",
    "move_file",
    "pinned",
    "put",
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
    with pinned(judged) as (folder, name, old):
        put(folder, name, content, old, judged.path)
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
            now = entry(folder, name)
            if now is None or (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino):
                raise ChangedError(f"`{base.path}` changed while it was edited; nothing was done")
            replace(folder, name, result, now, base.path, unchanged=lambda: _holds(descriptor, content))
    times = "once" if found == 1 else f"{found} times"
    return of_bytes("content", b"", note=f"replaced {times} in {base.path}, now {len(result)} bytes")


def create_directory(warrant: Warrant) -> Output:
    """Payload: path. One directory; its parent must exist."""
    judged = warrant.file(FileRole.TARGET)
    with pinned(judged, kind=stat.S_ISDIR) as (folder, name, old):
        if old is not None:
            return of_bytes("content", b"", note=f"{judged.path} already exists")
        with os_errors(judged.path):
            os.mkdir(name, 0o777, dir_fd=folder)
    return of_bytes("content", b"", note=f"made the directory {judged.path}")


def delete_file(warrant: Warrant) -> Output:
    """Payload: path. A link is deleted itself, never what it points to."""
    judged = warrant.file(FileRole.TARGET)
    with _existing(warrant, judged) as (folder, name, found):
        if stat.S_ISDIR(found.st_mode):
            raise ToolError(f"`{judged.path}` is a directory; use delete_directory")
        with os_errors(judged.path):
            remove(folder, name, found, judged.path)
    return of_bytes("content", b"", note=f"deleted {judged.path}")


def delete_directory(warrant: Warrant) -> Output:
    """Payload: path. Only an empty directory: what a recursive delete would meet was not judged file by file."""
    if warrant.flag("recursive"):
        raise ToolError("a directory is only deleted when it is empty; delete its files first")
    judged = warrant.file(FileRole.TARGET)
    with _existing(warrant, judged) as (folder, name, found):
        if not stat.S_ISDIR(found.st_mode):
            raise ToolError(f"`{judged.path}` is no directory; use delete_file")
        if not _is_empty(folder, name):
            raise ToolError(f"`{judged.path}` is not empty; delete its files first")
        with os_errors(judged.path):
            remove(folder, name, found, judged.path)
    return of_bytes("content", b"", note=f"deleted the directory {judged.path}")


def copy_file(warrant: Warrant) -> Output:
    """Payload: source, destination (the new file's own path). Only regular files."""
    source = warrant.file(*_READ_ROLES)
    target = warrant.file(FileRole.TARGET)
    with regular(source) as descriptor:
        content = read_judged(source, descriptor)
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777
        with pinned(target) as (folder, name, old):
            put(folder, name, content, old, target.path, mode=mode)
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
    with _existing(warrant, source) as (from_folder, from_name, found), pinned(target) as (folder, name, old):
        if old is not None:
            raise ToolError(f"`{target.path}` already exists; delete it first or choose another name")
        with os_errors(target.path):
            rename_free(from_name, name, source_folder=from_folder, folder=folder)
            moved = entry(folder, name)
            if moved is None or (moved.st_dev, moved.st_ino) != (found.st_dev, found.st_ino):
                rename_free(name, from_name, source_folder=folder, folder=from_folder)
                raise ChangedError(f"`{source.path}` is not what was judged; nothing was done")
        settle(folder)
        settle(from_folder)
    return of_bytes("content", b"", note=f"moved to {target.path}")


# --- targets ---------------------------------------------------------------------------------------------------------


@contextmanager
def pinned(judged: FileIdentity, *, kind: object = stat.S_ISREG) -> Iterator[tuple[int, str, os.stat_result | None]]:
    """The pinned parent of something to write, its name, and what stands there now (None: nothing, as judged)."""
    if judged.dev is None or judged.ino is None:
        raise ToolError(f"the directory of `{judged.path}` does not exist; make it first")
    with parent(judged.path) as (folder, name):
        same_directory(judged, folder)
        found = entry(folder, name)
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
        found = entry(folder, name)
        if found is None or not things or any((e.dev, e.ino) != (found.st_dev, found.st_ino) for e in things):
            raise ChangedError(f"`{judged.path}` is not what was judged; nothing was done")
        yield folder, name, found


def _holds(descriptor: int, content: bytes) -> bool:
    """Whether an open file still holds exactly this."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    left = memoryview(content)
    while piece := os.read(descriptor, _CHUNK):
        if left[: len(piece)] != piece:
            return False
        left = left[len(piece) :]
    return not left


def _is_empty(folder: int, name: str) -> bool:
    """Whether there is nothing in a directory; also where that cannot be seen, as deleting it will tell."""
    try:
        descriptor = os.open(name, READ_DIRECTORY, dir_fd=folder)
    except OSError:
        return True
    try:
        with os.scandir(descriptor) as entries:
            return next(entries, None) is None
    finally:
        os.close(descriptor)


def _check_parents(warrant: Warrant, path: str, folder: int) -> None:
    for named in warrant.receipt.files:
        if named.role is FileRole.TARGET and named.path == path:
            same_directory(named, folder)


def put(folder: int, name: str, content: bytes, old: os.stat_result | None, path: str, *, mode: int = 0o666) -> None:
    """A new file with `mode` less the umask, or new content for `old`, which keeps its own. See `placement`."""
    if old is None:
        create(folder, name, content, path, mode=mode)
        settle(folder)
    else:
        replace(folder, name, content, old, path)
