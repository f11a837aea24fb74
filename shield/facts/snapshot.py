"""One action's view of the disk: each entry is examined once, so that all of an action's facts agree with each other.

Made new for every action and dropped with it: nothing here can be stale, and what changes later is caught by the
`state` of a permit.
"""

from collections.abc import Callable

from shield.facts.filesystem import FileSystem, Stat

__all__ = ["Snapshot"]


class _Stats(dict[str, Stat | None]):
    """What was examined, by path. What is missing is examined; nothing is kept of what could not be."""

    __slots__ = ("_lstat",)

    def __init__(self, lstat: Callable[[str], Stat | None]) -> None:
        super().__init__()
        self._lstat = lstat

    def __missing__(self, path: str) -> Stat | None:
        found = self[path] = self._lstat(path)
        return found


class Snapshot:
    """A FileSystem that remembers `lstat` and `readlink` for as long as it lives. What is unknown is asked again."""

    __slots__ = ("_files", "_links", "folds", "looked", "lstat", "resolved", "unpacked", "walked")

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        # Both are asked at every component of every path, and so are no methods here.
        self.lstat: Callable[[str], Stat | None] = _Stats(files.lstat).__getitem__
        self.folds: Callable[[str, Stat | None, str, Stat], bool] = files.folds
        self._links: dict[str, str] = {}
        # What `shield.facts.paths` resolved, by raw path, base and home.
        self.resolved: dict[tuple[str, str | None, str | None], object] = {}
        # What was looked at once for the action, by path and who looks (trees, links, mounts, scripts); how many
        # entries of trees there were.
        self.looked: dict[tuple[str, object], object] = {}
        self.walked = 0
        # What was spent on archives, in bytes.
        self.unpacked = 0

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

    def piece(self, path: str, start: int, size: int) -> bytes:
        """Of such a file no more than `size` bytes, from byte `start` on; fewer where it ends."""
        return self._files.piece(path, start, size)
