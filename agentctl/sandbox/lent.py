"""Temporary files that a call names, lent to a command that is confined.

A confined command has no part in the temporary folders of the machine. But what was judged of a file there, was judged
of the one outside. So the command finds a file that its receipt names as it is outside, and what it leaves under a name
that it may write is outside when it has ended, where the next call finds it. Nothing else gets in or out.
"""

import os
import stat
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from agentctl.errors import ToolError
from agentctl.sandbox.mounts import View
from agentctl.sandbox.places import is_within
from agentctl.sandbox.temporary import CREATE, Named, beneath, check, check_folder, check_writable, file, holding, named
from agentctl.tools.process import UMASK
from shield.types import FileIdentity

__all__ = ["Known", "Lent", "Opened", "Print", "each", "fingerprint", "unseen"]

Print = tuple[int, int, int, int, int]  # device, inode, size, when its content and when anything of it changed
_MAX_KNOWN: Final = 4_096  # names that are remembered though no call has them
_AGO_NS: Final = 1_000_000_000
_HOLD: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Known:
    """What there was outside and inside when both were the same, and how many of the calls that run have it. Of a
    folder only that there is one."""

    outside: Print | None = None
    inside: Print | None = None
    folder: bool = False
    users: int = 0


class Lent:
    """What the calls of one session share of the temporary files.

    Calls side by side have one file of a name, as they would outside: while one has it, it is not brought anew to
    another one. INVARIANT: with `lock` one call at a time brings or takes back, and none takes back once `closed`: that
    a file is gone inside means from then on that the session's folder is being removed.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.closed = False
        self.known: dict[str, Known] = {}

    def close(self) -> None:
        """Wait for a call that is just taking back; no other one does."""
        with self.lock:
            self.closed = True

    def remember(self, path: str, known: Known) -> Known:
        """Put it in the place of what was known of that path."""
        if len(self.known) >= _MAX_KNOWN:
            self.known = {name: each for name, each in self.known.items() if each.users}
        self.known[path] = known
        return known


class Opened:
    """For a command to which nothing can be shown in another's place: rights on the files themselves. One that is to be
    written is made if it is not there, and taken away again if the command made nothing of it."""

    def __init__(self, view: View, files: Iterable[FileIdentity], lent: Lent | None = None) -> None:
        self._named = [one for one in named(view, files) if not is_within(one.path, one.own)]
        self._folders = holding(self._named)
        self._lent = lent or Lent()
        self._made: dict[Named, Known] = {}
        self.rights: dict[int, bool] = {}  # of each open file, whether it may be written

    def bring(self) -> list[str]:
        """Make what is to be written. What could not be, in words."""
        with self._lent.lock:
            return each(self._named, self._bring)

    def take_back(self) -> list[str]:
        """Take away what was made in vain. What could not be, in words."""
        for descriptor in self.rights:
            os.close(descriptor)
        self.rights = {}
        with self._lent.lock:
            return each(self._made, self._take_back)

    def _bring(self, one: Named) -> None:
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (folder, name):
            if one.target is not None:
                check_folder(one.target, folder)
            known = self._lent.known.get(one.path)
            try:
                descriptor = os.open(name, _HOLD, dir_fd=folder)
            except FileNotFoundError:
                if not one.written or one.path in self._folders:
                    return
                known = self._lent.remember(one.path, Known(outside=_made(folder, name)))
                descriptor = os.open(name, _HOLD, dir_fd=folder)
            if known is not None:
                known.users += 1
                self._made[one] = known
            self._hold(one, descriptor, judged=known is None)

    def _hold(self, one: Named, descriptor: int, *, judged: bool) -> None:
        """Give rights on what is open, if it is the regular file that was judged."""
        try:
            entry = os.fstat(descriptor)
            if judged and one.judged is not None:
                check(one.judged, entry)
        except BaseException:
            os.close(descriptor)
            raise
        if not stat.S_ISREG(entry.st_mode):
            os.close(descriptor)
            return
        self.rights[descriptor] = False
        if one.written:
            check_writable(entry)
            self.rights[descriptor] = True

    def _take_back(self, one: Named) -> None:
        known = self._made[one]
        known.users -= 1
        if known.users:
            return
        self._lent.known.pop(one.path, None)
        with suppress(FileNotFoundError), beneath(one.folder, one.names) as (folder, name):
            if fingerprint(os.stat(name, dir_fd=folder, follow_symlinks=False)) == known.outside:
                os.unlink(name, dir_fd=folder)


def unseen(view: View, files: Iterable[FileIdentity]) -> list[str]:
    """For a command that sees the machine's temporary folders, in words: files that it names and does not find, where
    confined ones, which see what `view` shows, have left a file of that name among themselves."""
    return [
        f"`{_shown(one.path)}` is not there: a command in the sandbox has left one, which only commands in the sandbox"
        " see; have it written into the workspace, or by a command that names it"
        for one in named(view, files)
        if not one.written and not one.listens and _is_file(one.own, one.names) and not _is_file(one.folder, one.names)
    ]


def each(named: Iterable[Named], step: Callable[[Named], None]) -> list[str]:
    """Do one after the other, but for what is never shared. What went wrong, in words."""
    notes = []
    for one in list(named):
        try:
            if not one.listens:
                step(one)
            elif one.written:
                raise ToolError("by names like this one programs listen for others")
        except ToolError as error:
            notes.append(f"`{_shown(one.path)}` is not shared with the sandbox: {error.detail}")
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            reason = (isinstance(error, OSError) and error.strerror) or "it cannot be opened"
            notes.append(f"`{_shown(one.path)}` is not shared with the sandbox: {reason.lower()}")
    return notes


def fingerprint(entry: os.stat_result) -> Print:
    """Which file this is, and which state of it."""
    return entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns


def _made(folder: int, name: str) -> Print:
    """An empty file of a time before now, so that it shows whether somebody has written it, even nothing."""
    made = os.open(name, CREATE, 0o600, dir_fd=folder)
    try:
        os.fchmod(made, 0o666 & ~UMASK)
        ago = os.fstat(made).st_mtime_ns - _AGO_NS
        os.utime(made, ns=(ago, ago))
        return fingerprint(os.fstat(made))
    finally:
        os.close(made)


def _is_file(root: str, names: Sequence[str]) -> bool:
    with suppress(OSError, ToolError, ValueError), beneath(root, names) as found, file(*found) as source:
        return source is not None
    return False


def _shown(path: str) -> str:
    """On one line, and text: a name may be any bytes."""
    return path if path.isprintable() else ascii(path)[1:-1]
