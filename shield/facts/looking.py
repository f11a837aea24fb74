"""How facts look at the settings that `shield.led` reads: in the snapshot of an action."""

from collections.abc import Mapping

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import MAX_SETTINGS

__all__ = ["Looked"]


class Looked:
    """Implements Look over a place. `listed`: folders and the names in each, so that what one does not hold is not
    looked for; None where they cannot be told."""

    def __init__(self, place: Place, listed: Mapping[str, tuple[str, ...] | None]) -> None:
        self._place = place
        self._known = [
            (f"{folder}/", known) for folder, names in listed.items() if (known := _comparable(names)) is not None
        ]

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
        for folder, known in self._known:
            if path.startswith(folder):
                first = path[len(folder) :].partition("/")[0]
                if first.isascii() and first not in ("", ".", "..") and first.casefold() not in known:
                    return False
        return True


def _comparable(names: tuple[str, ...] | None) -> frozenset[str] | None:
    """The names without case. INVARIANT: beyond ASCII file systems differ in what they take for the same name: where
    there is one, nothing is ruled out."""
    folded = frozenset(map(str.casefold, names or ()))
    return folded if names is not None and all(map(str.isascii, folded)) else None
