"""Names in the temporary folders of the machine, and what a confined command has in their place."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from agentctl.sandbox.hidden import is_agents
from agentctl.sandbox.mounts import Show, View
from agentctl.sandbox.places import TEMPORARY, nearest
from agentctl.tools.descriptors import READ_FILE, WALK, directory
from shield.types import FileIdentity, FileRole

__all__ = ["Named", "beneath", "file", "named"]

_NO_FILE: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENXIO})  # a link, a socket
_ROLES: Final = frozenset({FileRole.CONTENT, FileRole.LARGE, FileRole.READ, FileRole.TARGET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A file by its names beneath a temporary folder, and beneath what stands for that. `target`: it is written, or
    deleted, in the folder that this identifies."""

    folder: str
    names: tuple[str, ...]
    own: str
    target: FileIdentity | None = None

    @property
    def written(self) -> bool:
        return self.target is not None and not self.target.deleted

    @property
    def path(self) -> str:
        return "/".join((self.folder, *self.names))


def named(view: View, files: Iterable[FileIdentity]) -> list[Named]:
    """The temporary files among these that the command does not see by themselves."""
    found: dict[str, Named] = {}
    folders = {os.path.realpath(name) for name in TEMPORARY}
    for file in sorted(files, key=lambda file: file.path):
        place = nearest(file.path, view.places)
        if file.role not in _ROLES or place not in folders or view.places[place] is not Show.PRIVATE:
            continue
        names = tuple(file.path[len(place) :].split("/")[1:])
        if not names or any(name in ("", ".", "..") for name in names) or is_agents(names[0]):
            continue
        one = Named(folder=place, names=names, own=view.sources[place], target=_target(file))
        before = found.setdefault(file.path, one)
        if one.written or before.target is None:
            found[file.path] = one
    return list(found.values())


def _target(file: FileIdentity) -> FileIdentity | None:
    return file if file.role is FileRole.TARGET else None


@contextmanager
def beneath(root: str, names: Sequence[str], *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder of the last of `names` beneath `root`, reached without a link; `make`: made where it is missing."""
    with ExitStack() as stack:
        folder = stack.enter_context(directory(root))
        for name in names[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=folder)
            folder = os.open(name, WALK, dir_fd=folder)
            stack.callback(os.close, folder)
        yield folder, names[-1]


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
