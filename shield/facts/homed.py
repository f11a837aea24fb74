"""What of a workspace the user's own home leads to: a folder of dotfiles is obeyed by the names of its links there,
and PATH may hold a folder of it.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold
from shield.facts.naming import Led
from shield.facts.place import Place
from shield.facts.table import table
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
_MAX_MEANINGS: Final = 4_096


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
        yield from _Links(place, kept=True).below(place.home, (), _MAX_DEPTH - 1)


class _Links:
    """A look for links at the places of a home that have a meaning; `kept`: at those where secrets are kept alone."""

    def __init__(self, place: Place, *, kept: bool = False) -> None:
        self._place = place
        self._kept = kept
        self._looks = 0

    def below(self, folder: str, parts: tuple[str, ...], depth: int) -> Iterator[Led]:
        """Those in a folder, which stands at `parts` in the home, and in folders of it."""
        files = self._place.files
        for name in files.listdir(folder, _MAX_INNER if parts else _MAX_NAMES):
            inner = (*parts, fold(name))
            means = _meaning(inner, kept=self._kept)
            if self._looks >= _MAX_LOOKS or not means.something:
                continue
            self._looks += 1
            path = f"{folder}/{name}"
            entry = files.lstat(path)
            if entry is not None and entry.kind is FileKind.LINK:
                yield path, path
            elif entry is not None and entry.kind is FileKind.DIRECTORY and depth > 1 and means.further:
                try:
                    yield from self.below(path, inner, depth - 1)
                except FileSystemUnknownError:
                    continue


class _Meaning(NamedTuple):
    """Whether a name in a home means something, and whether names in a folder of that name may."""

    something: bool
    further: bool


@lru_cache(maxsize=_MAX_MEANINGS)
def _meaning(parts: tuple[str, ...], *, kept: bool) -> _Meaning:
    categories = {
        place.category
        for place in table().fixed.first.get(parts[0], ())
        if place.heads(parts, 0) or place.beneath(parts, 0)
    }
    # in a place of secrets nothing further is obeyed
    leads = parts[0] in _WITHIN or not _OBEYED.isdisjoint(categories)
    return _Meaning(not _KEPT.isdisjoint(categories), True) if kept else _Meaning(bool(categories), leads)
