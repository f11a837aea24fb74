"""How facts look at the settings that `shield.led` reads: in the snapshot of an action."""

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import MAX_SETTINGS

__all__ = ["Looked"]


class Looked:
    """Implements Look over a place. `names`: those in the resolved workspace `root`, so that what it does not hold is
    not looked for; None where they cannot be told."""

    def __init__(self, place: Place, root: str, names: tuple[str, ...] | None) -> None:
        self._place = place
        self._inside = f"{root}/"
        folded = frozenset(name.casefold() for name in names) if names is not None else frozenset()
        # INVARIANT: beyond ASCII file systems differ in what they take for the same name: nothing is ruled out there
        self._known = folded if names is not None and all(map(str.isascii, folded)) else None

    @property
    def home(self) -> str:
        return self._place.home

    def text(self, path: str) -> str:
        if self._kind(path) is not FileKind.FILE:
            return ""
        try:
            content = self._place.files.read(path, MAX_SETTINGS)
        except FileSystemUnknownError:
            return ""
        return (content or b"").decode("utf-8", "surrogateescape")

    def is_file(self, path: str) -> bool:
        return self._kind(path) is FileKind.FILE

    def is_folder(self, path: str) -> bool:
        return self._kind(path) is FileKind.DIRECTORY

    def is_there(self, path: str) -> bool:
        return self._kind(path) is not None

    def names(self, folder: str, most: int) -> tuple[str, ...]:
        try:
            return self._place.files.listdir(folder, most) if self._kind(folder) is not None else ()
        except FileSystemUnknownError:
            return ()

    def _kind(self, path: str) -> FileKind | None:
        """What stands there, links not followed; None where nothing does or that cannot be told."""
        if not self._may_hold(path):
            return None
        try:
            entry = self._place.files.lstat(path)
        except FileSystemUnknownError:
            return None
        return entry.kind if entry is not None else None

    def _may_hold(self, path: str) -> bool:
        if self._known is None or not path.startswith(self._inside):
            return True
        first = path[len(self._inside) :].partition("/")[0]
        return first in ("", ".", "..") or not first.isascii() or first.casefold() in self._known
