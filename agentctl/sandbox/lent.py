"""Temporary files that a call names, lent to a command that is confined.

A confined command has no part in the temporary folders of the machine. But what was judged of a file there, was judged
of the one outside. So the command finds a file that its receipt names as it is outside, and what it leaves under a name
that it may write is outside when it has ended, where the next call finds it. Nothing else gets in or out.
"""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from agentctl.errors import ToolError
from agentctl.sandbox.mounts import View
from agentctl.sandbox.places import is_within
from agentctl.sandbox.temporary import Named, beneath, file, named
from agentctl.tools.descriptors import same_directory
from shield.types import FileIdentity

__all__ = ["MAX_LENT", "Copied", "Opened", "unseen"]

MAX_LENT: Final = 256 << 20  # bytes of all files of a call that are brought one way
_CHUNK: Final = 1 << 20
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_OVERWRITE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_Print = tuple[int, int, int, int]  # device, inode, size, when its content changed


@dataclass(frozen=True, slots=True)
class _Brought:
    """What there was outside, and the copy of it inside."""

    outside: _Print | None = None
    inside: _Print | None = None


class Copied:
    """For a command that has another folder in the place of a temporary one: copies, which it may replace as it likes.

    INVARIANT: the command's own folder holds whatever code that nobody read has put there. Nothing in it is reached
    through a link, and only a regular file is read or replaced.
    """

    def __init__(self, view: View, files: Iterable[FileIdentity]) -> None:
        self._named = named(view, files)
        self._brought: dict[Named, _Brought] = {}
        self._left = MAX_LENT

    def bring(self) -> list[str]:
        """Have each file inside as it is outside. What could not be, in words."""
        return _each(self._named, self._bring)

    def take_back(self) -> list[str]:
        """Have each file that is written outside as it is inside. What could not be, in words."""
        self._left = MAX_LENT
        return _each(self._brought, self._take_back)

    def _bring(self, one: Named) -> None:
        with suppress(FileNotFoundError):
            with beneath(one.folder, one.names) as (outer, name), file(outer, name) as source:
                if source is not None:  # else a folder, say: there is nothing to copy
                    self._lay_in(one, source)
            return
        if one.target is None:
            return
        with suppress(FileNotFoundError), beneath(one.own, one.names, make=one.target.dev is not None) as found:
            _clear(*found)
        self._brought[one] = _Brought()

    def _lay_in(self, one: Named, source: int) -> None:
        seen = _print(os.fstat(source))
        with beneath(one.own, one.names, make=True) as (inner, name):
            _clear(inner, name)
            self._brought[one] = _Brought(seen, self._copy(source, inner, name))

    def _take_back(self, one: Named) -> None:
        if one.target is None:
            return
        brought = self._brought[one]
        with ExitStack() as stack:
            try:
                source = stack.enter_context(file(*stack.enter_context(beneath(one.own, one.names))))
            except FileNotFoundError:
                _drop(one, brought)
                return
            if not one.written:
                return
            if source is None:
                raise ToolError("what the command made there is no file, and only sandboxed commands see it")
            if _print(os.fstat(source)) != brought.inside:
                self._replace(one, one.target, brought, source)

    def _replace(self, one: Named, target: FileIdentity, brought: _Brought, source: int) -> None:
        with beneath(one.folder, one.names, make=target.dev is None) as (outer, name):
            if target.dev is not None:
                same_directory(target, outer)
            if brought.outside is None:
                self._copy(source, outer, name)
                return
            written = os.open(name, _OVERWRITE, dir_fd=outer)
            try:
                found = os.fstat(written)
                _same(found, brought)
                if found.st_nlink > 1:
                    raise ToolError("it has other names, and would change under those, too")
                self._fill(written, source)
            finally:
                os.close(written)

    def _copy(self, source: int, folder: int, name: str) -> _Print:
        """A new file of the same content, mode and time."""
        made = os.open(name, _CREATE, 0o600, dir_fd=folder)
        try:
            self._fill(made, source)
            entry = os.fstat(source)
            os.fchmod(made, entry.st_mode & 0o777)
            os.utime(made, ns=(entry.st_atime_ns, entry.st_mtime_ns))
            return _print(os.fstat(made))
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(made)

    def _fill(self, target: int, source: int) -> None:
        size = os.fstat(source).st_size
        if size > self._left:
            raise ToolError(f"a call shares {MAX_LENT >> 20} MB of temporary files at most")
        self._left -= size
        os.ftruncate(target, 0)
        while size > 0 and (chunk := os.read(source, min(size, _CHUNK))):
            size -= len(chunk)
            while chunk:
                chunk = chunk[os.write(target, chunk) :]


class Opened:
    """For a command to which nothing can be shown in another's place: rights on the files themselves. One that is to be
    written is made if it is not there, and taken away again if the command made nothing of it."""

    def __init__(self, view: View, files: Iterable[FileIdentity]) -> None:
        self._named = [one for one in named(view, files) if not is_within(one.path, one.own)]
        self._made: dict[Named, _Print] = {}
        self.rights: dict[str, bool] = {}  # of each path, whether it may be written

    def bring(self) -> list[str]:
        """Make what is to be written. What could not be, in words."""
        return _each(self._named, self._bring)

    def take_back(self) -> list[str]:
        """Take away what was made in vain. What could not be, in words."""
        return _each(self._made, self._take_back)

    def _bring(self, one: Named) -> None:
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (folder, name):
            try:
                with file(folder, name) as source:
                    if source is not None:
                        self.rights[one.path] = one.written
            except FileNotFoundError:
                if one.target is None or one.target.dev is None or not one.written:
                    return
                same_directory(one.target, folder)
                made = os.open(name, _CREATE, 0o644, dir_fd=folder)
                self._made[one] = _print(os.fstat(made))
                os.close(made)
                self.rights[one.path] = True

    def _take_back(self, one: Named) -> None:
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (folder, name):
            if _print(os.stat(name, dir_fd=folder, follow_symlinks=False)) == self._made[one]:
                os.unlink(name, dir_fd=folder)


def unseen(view: View, files: Iterable[FileIdentity]) -> list[str]:
    """For a command that sees the machine's temporary folders, in words: files that it names and does not find, where
    confined ones, which see what `view` shows, have left a file of that name among themselves."""
    return [
        f"`{one.path}` is not there: a command in the sandbox has left one, which only commands in the sandbox see;"
        " have it written into the workspace, or by a command that names it"
        for one in named(view, files)
        if _is_file(one.own, one.names) and not _is_file(one.folder, one.names)
    ]


def _each(named: Iterable[Named], step: Callable[[Named], None]) -> list[str]:
    """Do one after the other. What went wrong, in words."""
    notes = []
    for one in list(named):
        try:
            step(one)
        except (ToolError, OSError) as error:
            reason = error.detail if isinstance(error, ToolError) else (error.strerror or "it cannot be opened").lower()
            notes.append(f"`{one.path}` is not shared with the sandbox: {reason}")
    return notes


def _is_file(root: str, names: Sequence[str]) -> bool:
    with suppress(OSError, ToolError), beneath(root, names) as found, file(*found) as source:
        return source is not None
    return False


def _drop(one: Named, brought: _Brought) -> None:
    """The command has deleted what was brought."""
    if brought.outside is not None:
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (outer, name):
            _same(os.stat(name, dir_fd=outer, follow_symlinks=False), brought)
            os.unlink(name, dir_fd=outer)


def _clear(folder: int, name: str) -> None:
    with suppress(FileNotFoundError, IsADirectoryError):
        os.unlink(name, dir_fd=folder)


def _same(found: os.stat_result, brought: _Brought) -> None:
    """Raise ToolError unless this is the file that was brought, as it was."""
    if not stat.S_ISREG(found.st_mode) or _print(found) != brought.outside:
        raise ToolError("it has changed outside meanwhile, and stays as it is there")


def _print(entry: os.stat_result) -> _Print:
    return entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns
