"""Packing and unpacking: tar (plain, gzip, bzip2, xz) and zip, regular files and directories only.

What is packed is read through descriptors of what was judged; links, devices and files with further names are left out.
What is unpacked is read as a whole, compared with what was judged, planned, and only then written: see `members` for
what no archive may bring, `staging` for how it is put in place.
"""

import io
import os
import stat
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.descriptors import (
    MAX_FILE,
    READ_DIRECTORY,
    READ_FILE,
    directory,
    read_judged,
    regular,
    same_directory,
)
from agentctl.tools.files import pinned, put
from agentctl.tools.members import MAX_ENTRIES, MAX_TOTAL, guarded, planned
from agentctl.tools.output import Output, of_bytes
from agentctl.tools.search import own_file, walk
from agentctl.tools.staging import fill_new, fill_old
from agentctl.tools.stop import Stop
from agentctl.tools.tarball import is_tar, tar_members, unpacked
from agentctl.tools.warrant import Warrant
from agentctl.tools.zipball import is_zip, zip_members
from shield.types import FileIdentity, FileRole

__all__ = ["archive_create", "archive_extract"]

_SOURCES: Final = (FileRole.READ, FileRole.DIRECTORY, FileRole.CONTENT, FileRole.LARGE)
_TAR: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".tar": "w",
        ".tar.gz": "w:gz",
        ".tgz": "w:gz",
        ".tar.bz2": "w:bz2",
        ".tbz2": "w:bz2",
        ".tar.xz": "w:xz",
        ".txz": "w:xz",
    }
)
_ZIP: Final = ".zip"
_FIRST_YEAR: Final = 1980  # zip knows none before


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A file or directory that is packed. `content` is None for a directory."""

    name: str
    mode: int
    mtime: int
    content: bytes | None = None


def archive_create(warrant: Warrant, stop: Stop) -> Output:
    """Payload: path, whose ending is the format; sources, files and directories, the workspace if left out."""
    if "destination" in warrant.payload:
        raise ToolError("leave `destination` out: the archive is written to `path`")
    target = warrant.file(FileRole.TARGET)
    pack = _packer(target.path)
    sources = [named for named in warrant.receipt.files if named.role in _SOURCES]
    with pinned(target) as (folder, name, old):
        if not sources:
            raise ToolError("there is nothing to pack; name files or directories in `sources`")
        found = _Found(old, warrant.cwd, stop)
        content = pack(found.entries(sources))
        if len(content) > MAX_FILE:
            raise ToolError(f"the archive would have more than {MAX_FILE} bytes; pack less, or use a command")
        put(folder, name, content, old, target.path)
    note = f"packed {found.files} files, {len(content)} bytes, into {target.path}"
    if found.left_out:
        note += f"; {found.left_out} links, devices and files with further names were left out"
    return of_bytes("content", b"", note=note)


def archive_extract(warrant: Warrant, stop: Stop) -> Output:
    """Payload: path; destination, the workspace if left out, made if it does not exist. Nothing there is replaced."""
    if "sources" in warrant.payload:
        raise ToolError("leave `sources` out: everything in the archive is unpacked")
    judged = warrant.file(FileRole.CONTENT, FileRole.LARGE)
    target = warrant.file(FileRole.TARGET)
    with regular(judged) as descriptor:
        raw = read_judged(judged, descriptor)
        if judged.sha256 is None and _version(os.fstat(descriptor)) != (judged.size, judged.ctime_ns):
            raise ChangedError(f"`{judged.path}` changed while it was read; nothing was done")
    if is_zip(raw):
        members = zip_members(raw, stop.check)
    else:
        data = unpacked(raw, stop.check)
        if not is_tar(data):
            raise ToolError(f"`{judged.path}` is no tar or zip archive; use a command that understands its format")
        members = tar_members(data, stop.check)
    plan = planned(members, len(raw))
    if guarded(_below(target.path, warrant.cwd)):
        raise ToolError(f"nothing is unpacked into `{target.path}`, where it would steer programs; use a command")
    if not plan.top:
        raise ToolError(f"there is nothing in `{judged.path}` that could be unpacked")
    with pinned(target, kind=stat.S_ISDIR) as (folder, name, old):
        if old is None:
            fill_new(folder, name, plan, target.path, stop)
        else:
            with _destination(warrant, target, folder, name) as inside:
                fill_old(inside, plan, target.path, stop)
    size = sum(member.size for _, member in plan.files)
    note = f"unpacked {len(plan.files)} files, {size} bytes, into {target.path}"
    if plan.left_out:
        note += f"; left out: {plan.left_out}"
    names = "".join(f"{'/'.join(path)}\n" for path, _ in plan.files)
    return of_bytes("content", os.fsencode(names), note=note)


# --- unpacking -------------------------------------------------------------------------------------------------------


@contextmanager
def _destination(warrant: Warrant, target: FileIdentity, folder: int, name: str) -> Iterator[int]:
    """The directory that is filled, the very one that the receipt names."""
    named = [each for each in warrant.receipt.files if each.role is FileRole.DIRECTORY and each.path == target.path]
    if not named:
        raise ChangedError(f"the receipt does not say which directory `{target.path}` is; nothing was done")
    try:
        descriptor = os.open(name, READ_DIRECTORY, dir_fd=folder)
    except OSError as error:
        raise ChangedError(f"`{target.path}` is not the directory that was judged ({error.strerror})") from None
    try:
        for each in named:
            same_directory(each, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _below(path: str, cwd: str | None) -> tuple[str, ...]:
    """The components of `path` below the working directory; above it, a person placed the workspace as it is."""
    if cwd is not None and (path == cwd or path.startswith(cwd.rstrip("/") + "/")):
        return tuple(part for part in path[len(cwd) :].split("/") if part)
    return tuple(part for part in path.split("/") if part)


def _version(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_ctime_ns


# --- packing ---------------------------------------------------------------------------------------------------------


class _Found:
    """The entries of the judged sources, met one by one, and what was met."""

    def __init__(self, old: os.stat_result | None, cwd: str | None, stop: Stop) -> None:
        self.files = 0
        self.left_out = 0
        self._old = None if old is None else (old.st_dev, old.st_ino)
        self._cwd = cwd
        self._stop = stop
        self._room = MAX_TOTAL
        self._names: set[str] = set()

    def entries(self, sources: list[FileIdentity]) -> Iterator[_Entry]:
        for judged in sources:
            base = self._base(judged.path)
            if judged.absent:
                raise ToolError(f"`{judged.path}` does not exist; list its folder to see what is there")
            if judged.role is FileRole.DIRECTORY:
                yield from self._tree(judged, base)
            else:
                with regular(judged) as descriptor:
                    yield self._file(base, descriptor, read_judged(judged, descriptor))

    def _tree(self, judged: FileIdentity, base: str) -> Iterator[_Entry]:
        with directory(judged.path, readable=True) as root:
            same_directory(judged, root)
            if base:
                yield self._folder(base, os.fstat(root))
            for met in walk(root, self._stop, recursive=True, hidden=True):
                name = f"{base}/{met.path}" if base else met.path
                if stat.S_ISDIR(met.mode):
                    yield self._folder(name, os.stat(met.name, dir_fd=met.folder, follow_symlinks=False))
                elif not stat.S_ISREG(met.mode) or not _is_text(name):
                    self.left_out += 1
                else:
                    yield from self._open(met.folder, met.name, name)

    def _open(self, folder: int, inside: str, name: str) -> Iterator[_Entry]:
        try:
            descriptor = os.open(inside, READ_FILE, dir_fd=folder)
        except OSError as error:
            raise ToolError(f"`{name}` cannot be read: {error.strerror}; leave it out of `sources`") from None
        try:
            found = os.fstat(descriptor)
            if (found.st_dev, found.st_ino) == self._old:
                return  # the archive that is about to be replaced
            if not own_file(found):
                self.left_out += 1
                return
            judged = FileIdentity(role=FileRole.READ, path=name)
            yield self._file(name, descriptor, read_judged(judged, descriptor))
        finally:
            os.close(descriptor)

    def _file(self, name: str, descriptor: int, content: bytes) -> _Entry:
        self._count(name)
        self.files += 1
        self._room -= len(content)
        if self._room < 0:
            raise ToolError(f"the sources have more than {MAX_TOTAL} bytes; pack less, or use a command")
        found = os.fstat(descriptor)
        return _Entry(name=name, mode=stat.S_IMODE(found.st_mode), mtime=int(found.st_mtime), content=content)

    def _folder(self, name: str, found: os.stat_result) -> _Entry:
        self._count(name)
        return _Entry(name=name, mode=stat.S_IMODE(found.st_mode), mtime=int(found.st_mtime))

    def _count(self, name: str) -> None:
        self._stop.check()
        if name in self._names:
            raise ToolError(f"two of the sources would both be `{name}` in the archive; pack them one by one")
        self._names.add(name)
        if len(self._names) > MAX_ENTRIES:
            raise ToolError(f"the sources hold more than {MAX_ENTRIES} entries; pack less, or use a command")

    def _base(self, path: str) -> str:
        """The name in the archive: as seen from the working directory, else the last component."""
        parts = _below(path, self._cwd)
        inside = self._cwd is not None and (path == self._cwd or path.startswith(self._cwd.rstrip("/") + "/"))
        return "/".join(parts) if inside else os.path.basename(path)


def _is_text(name: str) -> bool:
    return os.fsencode(name).decode("utf-8", "replace") == name


def _packer(path: str) -> Callable[[Iterator[_Entry]], bytes]:
    last = os.path.basename(path).lower()
    if last.endswith(_ZIP):
        return _zip
    for ending in sorted(_TAR, key=len, reverse=True):
        if last.endswith(ending):
            return lambda entries: _tar(entries, _TAR[ending])
    raise ToolError(f"`{os.path.basename(path)}` names no format; end it in {', '.join(_TAR)} or {_ZIP}")


def _tar(entries: Iterator[_Entry], mode: str) -> bytes:
    buffer = io.BytesIO()
    # no owner and no group: who packed it is nobody's business
    with tarfile.open(fileobj=buffer, mode=mode, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]  # `mode` is one of `_TAR`
        for each in entries:
            info = tarfile.TarInfo(each.name)
            info.mode, info.mtime = each.mode & 0o777, each.mtime
            if each.content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(each.content)
                archive.addfile(info, io.BytesIO(each.content))
    return buffer.getvalue()


def _zip(entries: Iterator[_Entry]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in entries:
            when = time.localtime(max(each.mtime, 0))[:6]
            info = zipfile.ZipInfo(
                each.name if each.content is not None else f"{each.name}/",
                when if when[0] >= _FIRST_YEAR else (_FIRST_YEAR, 1, 1, 0, 0, 0),
            )
            kind = stat.S_IFREG if each.content is not None else stat.S_IFDIR
            info.external_attr = (kind | (each.mode & 0o777)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, each.content or b"")
    return buffer.getvalue()
