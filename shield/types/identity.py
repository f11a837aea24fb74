"""The files that a permit is bound to: what must still be the same when the action runs."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["FileIdentity", "FileRole"]


class FileRole(StrEnum):
    """How a permit's `state` binds a file, see `shield.facts.files`."""

    CONTENT = "content"
    LARGE = "large"
    DIRECTORY = "directory"
    TARGET = "target"
    GLOB = "glob"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentity:
    """One entry of a permit's `files[]`: what must still be the same when the action runs.

    `sha256` is set for role `content` and for `glob` (digest of its matches); `dev`/`ino` are of the file, or of the
    parent directory for role `target`. `absent` says that the file did not exist, `deleted` of a `target` of a command
    that it is one to delete and not to write.
    """

    role: FileRole
    path: str
    dev: int | None = None
    ino: int | None = None
    size: int | None = None
    ctime_ns: int | None = None
    kind: str | None = None
    sha256: str | None = None
    absent: bool = False
    deleted: bool = False
