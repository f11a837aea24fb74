"""How settings are looked at: by Shield in the snapshot of an action, by the sandbox on the disk."""

from typing import Protocol

__all__ = ["Look"]


class Look(Protocol):
    """Absolute paths, as `posixpath` joins them. What cannot be told is not there; nothing raises."""

    @property
    def home(self) -> str:
        """The user's home."""

    def text(self, path: str) -> str:
        """The text of a file of settings; empty where it is none, is too large or cannot be read."""

    def is_file(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def is_there(self, path: str) -> bool: ...

    def names(self, folder: str, most: int) -> tuple[str, ...]:
        """The names in a folder of which there are no more than `most`, else some of them or none."""
