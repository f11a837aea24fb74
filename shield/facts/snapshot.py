"""One action's view of the disk: each entry is examined once, so that all of an action's facts agree with each other.

Made new for every action and dropped with it: nothing here can be stale, and what changes later is caught by the
`state` of a permit.
"""

from enum import Enum
from typing import Final

from shield.facts.filesystem import FileSystem, Stat

__all__ = ["Snapshot"]


class _Unseen(Enum):
    UNSEEN = "unseen"


_UNSEEN: Final = _Unseen.UNSEEN


class Snapshot:
    """A FileSystem that remembers `lstat` and `readlink` for as long as it lives. What is unknown is asked again."""

    __slots__ = ("_files", "_links", "_stats", "looked", "resolved", "walked")

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._stats: dict[str, Stat | None] = {}
        self._links: dict[str, str] = {}
        # What `shield.facts.paths` resolved, by raw path, base and home.
        self.resolved: dict[tuple[str, str | None, str | None], object] = {}
        # What was looked at once for the action, by path and who looks (trees, links, mounts, scripts); how many
        # entries of trees there were.
        self.looked: dict[tuple[str, object], object] = {}
        self.walked = 0

    def lstat(self, path: str) -> Stat | None:
        """The entry itself, links not followed; None if there is none."""
        found = self._stats.get(path, _UNSEEN)
        if found is _UNSEEN:
            found = self._stats[path] = self._files.lstat(path)
        return found

    def readlink(self, path: str) -> str:
        """Where a link points, as it is written."""
        try:
            return self._links[path]
        except KeyError:
            found = self._links[path] = self._files.readlink(path)
            return found

    def listdir(self, path: str, limit: int) -> tuple[str, ...]:
        """Names in a directory, sorted; more than `limit` of them is unknown."""
        return self._files.listdir(path, limit)

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file; None if it is larger than `limit` bytes."""
        return self._files.read(path, limit)

    def folds(self, parent: str, folder: Stat | None, name: str, stat: Stat) -> bool:
        """Whether another spelling of `name` leads to the same entry, too."""
        return self._files.folds(parent, folder, name, stat)
