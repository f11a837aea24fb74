"""What of a workspace the user's own home leads to: a folder of dotfiles is obeyed by the names of its links there,
and PATH may hold a folder of it.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold
from shield.facts.naming import Led
from shield.facts.place import Place
from shield.facts.table import Pattern, table
from shield.led.started import is_made

__all__ = ["home_names", "kept_names"]

_KEPT: Final = frozenset(("credential", "secret_store"))
_OBEYED: Final = frozenset(("host_config", "scheduler", "shell_startup", "tool_config", "vcs_config", "vcs_hook"))
# Of places of secrets these hold settings, too; in the others nothing further is looked for.
_WITHIN: Final = frozenset((".ssh",))
_BINS: Final = ("bin", ".local/bin")  # which a profile puts on PATH where they are
_MAX_NAMES: Final = 2_000  # in a home
_MAX_INNER: Final = 200  # in a folder there; of one that holds more, nothing is looked at
_MAX_LOOKS: Final = 400  # in all
_MAX_DEPTH: Final = 3


def home_names(root: str, place: Place) -> Iterator[Led]:
    """What lies in the resolved workspace `root` that links and PATH of the user's own lead to."""
    with suppress(FileSystemUnknownError):
        yield from _Links(place).below(place.home, (), _MAX_DEPTH)
    for folder in (*place.env.get("PATH", "").split(":"), *(f"{place.home}/{name}" for name in _BINS)):
        if folder.startswith("/") and not is_made(folder.removeprefix(f"{root}/")):
            yield folder, f"{place.home}/.venv/bin"


def kept_names(place: Place) -> Iterator[Led]:
    """What links lead to that stand in a home where secrets are kept, each by its name there."""
    with suppress(FileSystemUnknownError):
        yield from _Links(place, _KEPT).below(place.home, (), _MAX_DEPTH - 1)


class _Links:
    """A look for links at the places of a home that have a meaning; `kept`: at those of these categories alone."""

    def __init__(self, place: Place, kept: frozenset[str] = frozenset()) -> None:
        self._place = place
        self._kept = kept
        self._first = table().fixed.first
        self._looks = 0

    def below(self, folder: str, parts: tuple[str, ...], depth: int) -> Iterator[Led]:
        """Those in a folder, which stands at `parts` in the home, and in folders of it."""
        files = self._place.files
        for name in files.listdir(folder, _MAX_INNER if parts else _MAX_NAMES):
            inner = (*parts, fold(name))
            places = [each for each in self._first.get(inner[0], ()) if each.heads(inner, 0) or each.beneath(inner, 0)]
            places = [each for each in places if not self._kept or each.category in self._kept]
            if self._looks >= _MAX_LOOKS or not places:
                continue
            self._looks += 1
            path = f"{folder}/{name}"
            entry = files.lstat(path)
            if entry is not None and entry.kind is FileKind.LINK:
                yield path, path
            elif (
                entry is not None
                and entry.kind is FileKind.DIRECTORY
                and depth > 1
                and (self._kept or _may_lead(places, inner))
            ):
                try:
                    yield from self.below(path, inner, depth - 1)
                except FileSystemUnknownError:
                    continue


def _may_lead(places: list[Pattern], parts: tuple[str, ...]) -> bool:
    """Whether further in something is obeyed, and not only kept secret."""
    return parts[0] in _WITHIN or any(place.category in _OBEYED for place in places)
