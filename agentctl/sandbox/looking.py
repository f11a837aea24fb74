"""How the sandbox looks at the settings that `shield.led` reads: on the disk, links followed but for a file's text."""

import os

from agentctl.linked import text
from agentctl.sandbox.places import listed

__all__ = ["Disk"]


class Disk:
    """Implements Look."""

    def __init__(self) -> None:
        self.home = os.path.expanduser("~")

    def text(self, path: str) -> str:
        return text(path) or ""

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def is_there(self, path: str) -> bool:
        return os.path.lexists(path)

    def names(self, folder: str, most: int) -> tuple[str, ...]:
        return tuple(sorted(listed(folder))[:most])
