"""Unpacking a plan: first into a directory of ours beside or in the destination, then by renaming, all or nothing.

INVARIANT: nothing that exists is replaced, no link is made or followed, and every directory that is written into is one
that was made here. Whoever puts another one in its place is found out by device and inode.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.descriptors import READ_DIRECTORY
from agentctl.tools.members import Member, Plan
from agentctl.tools.placement import entry, free_name, os_errors, rename_free, settle
from agentctl.tools.stop import Stop

__all__ = ["fill_new", "fill_old"]

_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LATEST: Final = 1 << 33  # unix seconds; beyond it some file systems wrap around


def fill_new(folder: int, name: str, plan: Plan, path: str, stop: Stop) -> None:
    """Make the directory `name`, which is not there, with all of the plan in it."""
    with _staged(folder, plan, path, stop) as stage, os_errors(path):
        rename_free(stage.name, name, source_folder=folder, folder=folder)
        stage.placed()
        if not stage.is_at(folder, name):
            raise ChangedError(f"`{path}` was swapped while it was unpacked; see what is there")
    settle(folder)


def fill_old(folder: int, plan: Plan, path: str, stop: Stop) -> None:
    """Put all of the plan into an open directory in which none of its names are taken."""
    taken = [name for name in plan.top if entry(folder, name) is not None]
    if taken:
        raise ToolError(
            f"nothing was unpacked: `{taken[0]}` exists in `{path}` already; choose another `destination`, one that"
            " does not exist yet is made"
        )
    with _staged(folder, plan, path, stop) as stage:
        stage.spread(folder, plan.top, path)
    settle(folder)


class _Stage:
    """A directory of ours that is being filled. `made` are device and inode of each directory in it, by path."""

    def __init__(self, folder: int, path: str) -> None:
        self.name = free_name()
        self._folder = folder
        self._path = path
        with os_errors(path):
            os.mkdir(self.name, 0o777, dir_fd=folder)
        self.descriptor = os.open(self.name, READ_DIRECTORY, dir_fd=folder)
        self._made: dict[tuple[str, ...], tuple[int, int]] = {(): _identity(os.fstat(self.descriptor))}
        self._files: dict[tuple[str, ...], tuple[int, int]] = {}
        self._here = True

    def directory(self, path: tuple[str, ...]) -> None:
        with self._within(path[:-1]) as folder:
            os.mkdir(path[-1], 0o777, dir_fd=folder)
            found = entry(folder, path[-1])
            if found is None or not stat.S_ISDIR(found.st_mode):
                raise self._swapped()
            self._made[path] = _identity(found)

    def file(self, path: tuple[str, ...], member: Member) -> None:
        content = member.read()
        with self._within(path[:-1]) as folder:
            descriptor = os.open(path[-1], _FILE, 0o777 if member.executable else 0o666, dir_fd=folder)
            try:
                self._files[path] = _identity(os.fstat(descriptor))
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                if member.mtime is not None and member.mtime < _LATEST:
                    os.utime(descriptor, (member.mtime, member.mtime))
            finally:
                os.close(descriptor)

    def spread(self, folder: int, names: tuple[str, ...], path: str) -> None:
        """Move what lies at the top into `folder`; if one of them cannot be, the others come back."""
        moved: list[str] = []
        try:
            for name in names:
                rename_free(name, name, source_folder=self.descriptor, folder=folder)
                moved.append(name)
                found = entry(folder, name)
                if found is None or _identity(found) != (self._made.get((name,)) or self._files.get((name,))):
                    raise self._swapped()
        except BaseException as error:
            self._take_back(folder, moved)
            if isinstance(error, FileExistsError):
                raise ToolError(f"`{error.filename}` came up in `{path}` just now; nothing was unpacked") from None
            if isinstance(error, OSError):
                raise ToolError(f"nothing was unpacked into `{path}`: {error.strerror}") from None
            raise
        self._files = {name: made for name, made in self._files.items() if name[0] not in names}
        self._made = {(): self._made[()]}

    def _take_back(self, folder: int, names: list[str]) -> None:
        for name in names:
            try:
                rename_free(name, name, source_folder=folder, folder=self.descriptor)
            except OSError:
                pass  # swapped away meanwhile: nothing of ours is left there

    def placed(self) -> None:
        """It is no longer ours to take away."""
        self._here = False

    def is_at(self, folder: int, name: str) -> bool:
        found = entry(folder, name)
        return found is not None and _identity(found) == self._made[()]

    def close(self) -> None:
        """Take away what was made and is still here; anything else that came in stays, and so does what holds it."""
        try:
            if self._here:
                self._clear()
        finally:
            os.close(self.descriptor)

    def _clear(self) -> None:
        for path, made in reversed(self._files.items()):
            self._remove(path, made)
        for path, made in reversed(self._made.items()):
            if path:
                self._remove(path, made)
        if self.is_at(self._folder, self.name):
            try:
                os.rmdir(self.name, dir_fd=self._folder)
            except OSError:
                pass  # somebody put something into it

    def _remove(self, path: tuple[str, ...], made: tuple[int, int]) -> None:
        try:
            with self._within(path[:-1]) as folder:
                found = entry(folder, path[-1])
                if found is None or _identity(found) != made:
                    return
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(path[-1], dir_fd=folder)
                else:
                    os.unlink(path[-1], dir_fd=folder)
        except (OSError, ToolError):
            pass  # gone, swapped or not empty: not ours any more

    @contextmanager
    def _within(self, path: tuple[str, ...]) -> Iterator[int]:
        """A directory of the stage, the very one that was made."""
        descriptor = os.dup(self.descriptor)
        try:
            for depth in range(len(path)):
                below = os.open(path[depth], READ_DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
                if _identity(os.fstat(descriptor)) != self._made.get(path[: depth + 1]):
                    raise self._swapped()
            yield descriptor
        finally:
            os.close(descriptor)

    def _swapped(self) -> ChangedError:
        return ChangedError(f"`{self._path}` was swapped while it was unpacked; nothing was unpacked")


@contextmanager
def _staged(folder: int, plan: Plan, path: str, stop: Stop) -> Iterator[_Stage]:
    stage = _Stage(folder, path)
    try:
        with os_errors(path):
            for directory in plan.directories:
                stop.check()
                stage.directory(directory)
            for file, member in plan.files:
                stop.check()
                stage.file(file, member)
        yield stage
    finally:
        stage.close()


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
