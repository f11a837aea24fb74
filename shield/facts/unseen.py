"""The disk of an agent that Shield cannot see (`facts.filesystem = "none"`): every question is unknown."""

from typing import NoReturn

from shield.facts.filesystem import FileSystemUnknownError, Stat

__all__ = ["UnknownFiles"]


class UnknownFiles:
    """A FileSystem without answers."""

    __slots__ = ()

    def lstat(self, path: str) -> NoReturn:
        """Unknown."""
        raise FileSystemUnknownError(f"the file system of `{path}` is not visible here")

    def readlink(self, path: str) -> NoReturn:
        """Unknown."""
        self.lstat(path)

    def listdir(self, path: str, limit: int) -> NoReturn:  # noqa: ARG002 - the Protocol's signature
        """Unknown."""
        self.lstat(path)

    def read(self, path: str, limit: int) -> NoReturn:  # noqa: ARG002 - the Protocol's signature
        """Unknown."""
        self.lstat(path)

    def piece(self, path: str, start: int, size: int) -> NoReturn:  # noqa: ARG002 - the Protocol's signature
        """Unknown."""
        self.lstat(path)

    def folds(self, parent: str, folder: Stat | None, name: str, stat: Stat) -> NoReturn:  # noqa: ARG002 - the Protocol's signature
        """Unknown."""
        self.lstat(parent)
