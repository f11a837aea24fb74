"""Names in the temporary folders of the machine, and what a confined command has in their place."""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from agentctl.errors import ToolError
from agentctl.sandbox.hidden import is_agents
from agentctl.sandbox.mounts import Show, View
from agentctl.sandbox.places import TEMPORARY, is_private_tmp, nearest
from agentctl.tools.descriptors import READ_DIRECTORY, READ_FILE, WALK, directory
from agentctl.tools.process import UMASK
from shield.types import FileIdentity, FileRole

__all__ = [
    "CREATE",
    "Named",
    "beneath",
    "check",
    "check_folder",
    "file",
    "holding",
    "in_temporary",
    "make_folder",
    "named",
]

CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENXIO})  # a link, a socket
_ROLES: Final = frozenset({FileRole.CONTENT, FileRole.LARGE, FileRole.READ, FileRole.TARGET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A file by its names beneath a temporary folder, and beneath what stands for that. `target`: it is written, or
    deleted, in the folder that this identifies. `judged`: which file it was that is read, run or deleted. `listens`: by
    such a name programs listen for others, so that it is not shared."""

    folder: str
    names: tuple[str, ...]
    own: str
    target: FileIdentity | None = None
    judged: FileIdentity | None = None
    listens: bool = False

    @property
    def written(self) -> bool:
        return self.target is not None and not self.target.deleted

    @property
    def path(self) -> str:
        return "/".join((self.folder, *self.names))


def holding(named: Iterable[Named]) -> dict[str, set[str]]:
    """The paths of all folders on the way to these, each with the names in it that lead there."""
    found: dict[str, set[str]] = {}
    for one in named:
        path = one.folder
        for name in one.names:
            found.setdefault(path, set()).add(name)
            path = f"{path}/{name}"
    return found


def in_temporary(files: Iterable[FileIdentity]) -> list[FileIdentity]:
    """Those of the files that lie in a temporary folder of the machine."""
    folders = tuple(f"{folder}/" for folder in _folders())
    return [file for file in files if file.path.startswith(folders)]


def named(view: View, files: Iterable[FileIdentity]) -> list[Named]:
    """The temporary files among these that the command does not see by themselves."""
    found: dict[str, Named] = {}
    folders = _folders()
    for file in sorted(in_temporary(files), key=lambda file: file.path):
        place = nearest(file.path, view.places)
        if file.role not in _ROLES or place not in folders or view.places[place] is not Show.PRIVATE:
            continue
        names = tuple(file.path[len(place) :].split("/")[1:])
        if not names or any(name in ("", ".", "..") for name in names):
            continue
        if is_private_tmp(names[0]):
            continue
        one = found.get(file.path)
        if one is None:
            one = Named(folder=place, names=names, own=view.sources[place], listens=is_agents(names[0]))
        if file.role is not FileRole.TARGET:
            one = replace(one, judged=one.judged or file)
        elif one.target is None or not file.deleted:
            one = replace(one, target=file)
        found[file.path] = one
    return list(found.values())


def check(judged: FileIdentity, found: os.stat_result) -> None:
    """Raise ToolError unless this is the file that was judged; what it holds is not looked at."""
    expected = (judged.dev, judged.ino, judged.size, judged.ctime_ns)
    got = (found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns)
    if judged.absent or any(one is not None and one != other for one, other in zip(expected, got, strict=True)):
        raise ToolError("it is not the file that was judged")


def check_writable(entry: os.stat_result) -> None:
    """Raise ToolError where more than this file would change."""
    if entry.st_nlink > 1:
        raise ToolError("it has other names, and would change under those, too; it can only be read")
    if entry.st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise ToolError("it is a program with rights of its own; it can only be read")


def check_folder(target: FileIdentity, folder: int) -> None:
    """Raise ToolError unless this is the folder that was judged: one that was not there then is ours."""
    found = os.fstat(folder)
    if target.dev is None:
        if found.st_uid != os.geteuid():
            raise ToolError("its folder was made meanwhile, by another user")
    elif (target.dev, target.ino) != (found.st_dev, found.st_ino):
        raise ToolError("its folder is not the one that was judged")


def _folders() -> set[str]:
    return {os.path.realpath(name) for name in TEMPORARY}


@contextmanager
def beneath(
    root: str, names: Sequence[str], *, make: Callable[[int, str], None] | None = None
) -> Iterator[tuple[int, str]]:
    """The folder of the last of `names` beneath `root`, reached without a link; `make` makes one on the way."""
    with ExitStack() as stack:
        folder = stack.enter_context(directory(root))
        for name in names[:-1]:
            if make is not None:
                make(folder, name)
            folder = os.open(name, WALK, dir_fd=folder)
            stack.callback(os.close, folder)
        yield folder, names[-1]


def make_folder(folder: int, name: str) -> None:
    """A folder, of the mode that a command would give it, unless something stands there."""
    try:
        os.mkdir(name, 0o777 & ~UMASK, dir_fd=folder)
    except FileExistsError:
        return
    above = os.fstat(folder)
    if above.st_uid == os.geteuid() or above.st_mode & stat.S_ISVTX:  # else another may stand there by now
        made = os.open(name, READ_DIRECTORY, dir_fd=folder)
        try:
            os.fchmod(made, 0o777 & ~UMASK)
        finally:
            os.close(made)


@contextmanager
def file(folder: int, name: str) -> Iterator[int | None]:
    """A regular file, open for reading; None where something else stands there. Raises FileNotFoundError."""
    try:
        descriptor = os.open(name, READ_FILE, dir_fd=folder)
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        yield None
        return
    try:
        yield descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)
