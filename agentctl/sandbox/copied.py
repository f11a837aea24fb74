"""Temporary files that a call names, for a command that has another folder in the place of the temporary one: copies,
which it may replace as it likes.

INVARIANT: the command's own folder holds whatever code that nobody read has put there, and changes while such code
runs. Nothing in it is reached through a link, and only a regular file is read or replaced.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import Any, Final

from agentctl.errors import ToolError
from agentctl.sandbox.lent import Known, Lent, Print, each, fingerprint
from agentctl.sandbox.mounts import View
from agentctl.sandbox.temporary import (
    CREATE,
    Named,
    beneath,
    check,
    check_folder,
    check_writable,
    file,
    holding,
    make_folder,
    named,
)
from agentctl.tools.descriptors import READ_DIRECTORY
from shield.types import FileIdentity

__all__ = ["MAX_LENT", "Copied"]

MAX_LENT: Final = 256 << 20  # bytes of all files of a call that are brought one way
_CHUNK: Final = 1 << 20
_OVERWRITE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NO_RESERVE: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_NO_FILE: Final = "what the command made there is no file, and only sandboxed commands see it"


class Copied:
    """The copies of one call."""

    def __init__(self, view: View, files: Iterable[FileIdentity], lent: Lent | None = None) -> None:
        self._named = named(view, files)
        self._folders = holding(self._named)
        self._lent = lent or Lent()
        self._brought: dict[Named, Known] = {}
        self._left = MAX_LENT

    def bring(self) -> list[str]:
        """Have each file inside as it is outside. What could not be, in words."""
        with self._lent.lock:
            return each(self._named, self._bring)

    def take_back(self) -> list[str]:
        """Have each file that is written outside as it is inside. What could not be, in words."""
        self._left = MAX_LENT
        with self._lent.lock:
            return each(self._brought, self._take_back)

    # --- into the sandbox ---------------------------------------------------------------------------------------------

    def _bring(self, one: Named) -> None:
        known = self._lent.known.get(one.path)
        if known is None or not known.users:
            known = self._as_outside(one, known)
        if known is not None:
            known.users += 1
            self._brought[one] = known

    def _as_outside(self, one: Named, known: Known | None) -> Known | None:
        """What is there, now inside as well; None where it is nothing that is shared."""
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (outer, name):
            if one.target is not None:
                check_folder(one.target, outer)
            with file(outer, name) as source:
                if source is not None:
                    return self._lent.remember(one.path, self._lay_in(one, source))
            return None if one.target is None else self._folder_inside(one, outer, name)
        copy = None if known is None else known.inside
        if one.target is None and copy is None:
            return None  # what a command left among the sandboxed ones, if anything
        make = _own_folder if one.target is not None and one.target.dev is not None else None
        with suppress(FileNotFoundError), beneath(one.own, one.names, make=make) as (inner, name):
            if one.target is not None or fingerprint(os.stat(name, dir_fd=inner, follow_symlinks=False)) == copy:
                _clear(inner, name)
        return None if one.target is None else self._lent.remember(one.path, Known())

    def _folder_inside(self, one: Named, outer: int, name: str) -> Known:
        if not stat.S_ISDIR(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode):
            raise ToolError("it is no file, and stays as it is")
        with beneath(one.own, (*one.names, ""), make=_own_folder):
            return self._lent.remember(one.path, Known(folder=True))

    def _lay_in(self, one: Named, source: int) -> Known:
        entry = os.fstat(source)
        if one.judged is not None:
            check(one.judged, entry)
        digest = None if one.judged is None else one.judged.sha256
        content = None if digest is None else hashlib.sha256()
        with beneath(one.own, one.names, make=_own_folder) as (inner, name):
            _clear(inner, name)
            inside = self._copy(source, inner, name, modes=0o777, content=content)
            if content is not None and digest != f"sha256:{content.hexdigest()}":
                os.unlink(name, dir_fd=inner)
                raise ToolError("it does not hold what was judged")
        return Known(outside=fingerprint(entry), inside=inside)

    # --- out of it ----------------------------------------------------------------------------------------------------

    def _take_back(self, one: Named) -> None:
        known = self._brought[one]
        known.users -= 1
        if one.target is None:
            return
        if self._lent.closed:
            raise ToolError("the session has ended")
        with ExitStack() as stack:
            try:
                inner, name = stack.enter_context(beneath(one.own, one.names))
                source = stack.enter_context(file(inner, name))
            except FileNotFoundError:
                _drop(one, one.target, known)
                return
            if not one.written:
                return
            if source is None:
                self._make_folder(one, one.target, inner)
                return
            inside = fingerprint(os.fstat(source))
            if inside != known.inside:
                known.outside = self._replace(one, one.target, known, source)
                known.inside = inside

    def _replace(self, one: Named, target: FileIdentity, known: Known, source: int) -> Print:
        self._room(source)
        with beneath(one.folder, one.names, make=make_folder if target.dev is None else None) as (outer, name):
            check_folder(target, outer)
            if known.outside is None:
                return self._copy(source, outer, name, modes=0o755)
            written = os.open(name, _OVERWRITE, dir_fd=outer)
            try:
                found = os.fstat(written)
                _same(found, known)
                _check_owner(found, os.fstat(outer))
                check_writable(found)
                self._fill(written, source)
                _carry_mode(written, found.st_mode, os.fstat(source).st_mode)
                return fingerprint(os.fstat(written))
            finally:
                os.close(written)

    def _make_folder(self, one: Named, target: FileIdentity, inner: int) -> None:
        """The command made a folder there: one is made outside, for what else the line names in it."""
        try:
            made = os.open(one.names[-1], READ_DIRECTORY, dir_fd=inner)
        except OSError:
            raise ToolError(_NO_FILE) from None
        try:
            with beneath(one.folder, one.names, make=make_folder if target.dev is None else None) as (outer, name):
                check_folder(target, outer)
                make_folder(outer, name)
                if not stat.S_ISDIR(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode):
                    raise ToolError(_NO_FILE)
            shared = self._folders.get(one.path, ())
            with os.scandir(made) as entries:
                if any(entry.name not in shared for entry in entries):
                    raise ToolError("of this folder only what the line names in it is shared")
        finally:
            os.close(made)

    # --- content ------------------------------------------------------------------------------------------------------

    def _copy(self, source: int, folder: int, name: str, *, modes: int, content: Any = None) -> Print:
        """A new file of the same content and time, and the same mode within `modes`."""
        made = os.open(name, CREATE, 0o600, dir_fd=folder)
        try:
            self._fill(made, source, content)
            entry = os.fstat(source)
            os.fchmod(made, entry.st_mode & modes)
            os.utime(made, ns=(entry.st_atime_ns, entry.st_mtime_ns))
            return fingerprint(os.fstat(made))
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(made)

    def _room(self, source: int) -> int:
        size = os.fstat(source).st_size
        if size > self._left:
            raise ToolError(f"a call shares {MAX_LENT >> 20} MB of temporary files at most")
        return size

    def _fill(self, target: int, source: int, content: Any = None) -> None:
        size = self._room(source)
        self._left -= size
        _reserve(target, size)
        while size > 0 and (chunk := os.read(source, min(size, _CHUNK))):
            size -= len(chunk)
            if content is not None:
                content.update(chunk)
            while chunk:
                chunk = chunk[os.write(target, chunk) :]
        os.ftruncate(target, os.lseek(target, 0, os.SEEK_CUR))


def _drop(one: Named, target: FileIdentity, known: Known) -> None:
    """The command has deleted what was brought."""
    if known.outside is not None or known.folder:
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (outer, name):
            check_folder(target, outer)
            if known.folder:
                _drop_folder(outer, name)
                return
            _same(os.stat(name, dir_fd=outer, follow_symlinks=False), known)
            os.unlink(name, dir_fd=outer)
    known.outside = known.inside = None


def _drop_folder(folder: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise ToolError("it holds what is not shared, and stays as it is") from None


def _clear(folder: int, name: str) -> None:
    """Have nothing stand there. A folder with something in it may hold without end: it is only called otherwise."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            os.rename(name, f".gone-{os.urandom(4).hex()}", src_dir_fd=folder, dst_dir_fd=folder)


def _own_folder(folder: int, name: str) -> None:
    """One on the way to a copy, whatever a command has put there."""
    make_folder(folder, name)
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        _clear(folder, name)
        make_folder(folder, name)


def _reserve(target: int, size: int) -> None:
    """Have room for what is to be written before anything is lost of what was there."""
    before = os.fstat(target).st_size
    if size > before:
        try:
            os.posix_fallocate(target, 0, size)
        except OSError as error:
            if error.errno not in _NO_RESERVE:
                os.ftruncate(target, before)
                raise


def _carry_mode(target: int, old: int, new: int) -> None:
    """What a command did to the mode: more than before nobody may but run it, and that only who may read it."""
    mode = new & (old | (old & 0o444) >> 2) & 0o777
    if mode != old & 0o777:
        with suppress(PermissionError):  # it is another user's
            os.fchmod(target, mode)


def _same(found: os.stat_result, known: Known) -> None:
    """Raise ToolError unless this is the file that was brought, as it was."""
    if not stat.S_ISREG(found.st_mode) or fingerprint(found) != known.outside:
        raise ToolError("it has changed outside meanwhile, and stays as it is there")


def _check_owner(found: os.stat_result, folder: os.stat_result) -> None:
    """Where everybody may put a file, somebody may have put one to be given what is meant for another: as the kernel
    does with fs.protected_regular, whatever that is set to."""
    if folder.st_mode & stat.S_ISVTX and found.st_uid not in (os.geteuid(), folder.st_uid):
        raise ToolError("it belongs to another user")
