"""The files that a makefile sees where make runs."""

import posixpath

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.glob import matches
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.task_files import text_of

__all__ = ["Folder"]

_MAX_MATCHES = 500


class Folder:
    """By names from the directory `base`; of None nothing is known."""

    __slots__ = ("_place", "base", "system")

    def __init__(self, place: Place, base: str | None) -> None:
        self._place = place
        self.base = base
        self.system = "Darwin" if place.platform == "darwin" else "Linux"

    def path(self, name: str) -> str | None:
        """The resolved path of a file; None where there is none."""
        return text_of(self.base, name, self._place)[1]

    def text(self, name: str) -> str | None:
        return text_of(self.base, name, self._place)[0]

    def exists(self, name: str) -> bool:
        raw = name if name.startswith("/") else f"./{name}"
        return resolve_path(raw, self._place, base=self.base, expand_tilde=False).exists

    def matching(self, pattern: str) -> list[str] | None:
        """The names that match, as they would be written; None where that is not known."""
        if not set(pattern) & set("*?["):
            return [pattern] if self.exists(pattern) else []
        base = self.base
        if base is None or ".." in pattern.split("/") or pattern.startswith("/"):
            return None
        try:
            found = matches(posixpath.join(base, pattern.removeprefix("./")), self._place.files)
        except FileSystemUnknownError:
            return None
        lead = "./" if pattern.startswith("./") else ""
        return [lead + path[len(base.rstrip("/")) + 1 :] for path in found] if len(found) <= _MAX_MATCHES else None
