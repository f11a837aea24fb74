"""What a command that works on a whole tree meets there: files with a meaning, and links that lead away.

A walk is bounded and breadth first, so that what stands near the top is met first. Where it follows links it must be
complete, else what it would reach is not known; where it does not, what lies deeper than the bound is not met: the
names of a huge tree are not worth a minute of every judgement, and the fixed places are known without looking.
"""

import posixpath
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from shield.facts.categories import may_have_meaning
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place

__all__ = ["Look", "Met", "look_beneath"]

_MAX_ENTRIES = 8_000
_MAX_NAMES = 4_096  # in one directory
_MAX_MET = 64
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which entries beneath a directory a command touches.

    `hidden`: those that begin with a dot, too. `follows`: links are followed. `only`: no entries but those of these
    patterns and what is beneath them; `without`: no entries of these. `ignores`: files of the tree itself may bring
    hidden entries back.
    """

    hidden: bool = True
    follows: bool = False
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    ignores: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Absolute paths of links that are followed and of entries whose name may have a meaning."""

    links: tuple[str, ...]
    entries: tuple[str, ...]
    complete: bool


def look_beneath(top: str, place: Place, look: Look) -> Met:
    """Walk the tree at `top`, a resolved directory. Never raises; what cannot be listed makes it incomplete."""
    links: list[str] = []
    entries: list[str] = []
    hidden: list[str] = []
    brought_back = False
    complete = True
    walk = _Walk(place, look)
    for path, name, kind, dotted, within, chosen in walk.entries(top):
        if look.ignores and name in _IGNORE_FILES:
            brought_back |= _brings_back(path, place)
        if not chosen:
            continue
        if kind is FileKind.LINK and look.follows:
            links.append(path)
        elif may_have_meaning(name, place) or (within and look.only):
            (hidden if dotted and not look.hidden else entries).append(path)
        if len(links) + len(entries) + len(hidden) > _MAX_MET:
            complete = False
            break
    if brought_back or look.hidden:
        entries += hidden
    return Met(links=tuple(links), entries=tuple(entries), complete=complete and not walk.short)


class _Walk:
    """The entries of a tree, and whether there were more than are looked at (`short`)."""

    def __init__(self, place: Place, look: Look) -> None:
        self._place = place
        self._files = place.files
        self._look = look
        self.short = False

    def entries(self, top: str) -> Iterator[tuple[str, str, FileKind, bool, bool, bool]]:
        """Path, name, kind; whether it or a directory above begins with a dot; whether one above may have a meaning;
        whether it or one above is among those that the command works on."""
        look = self._look
        waiting = deque([(top, False, False, not look.only)])
        seen = 0
        while waiting:
            folder, dotted, within, taken = waiting.popleft()
            for name in self._names(folder):
                if any(fnmatchcase(name, pattern) for pattern in look.without):
                    continue
                seen += 1
                if seen > _MAX_ENTRIES:
                    self.short = True
                    return
                path = posixpath.join(folder, name)
                kind = self._kind(path)
                if kind is None:
                    continue
                inner = dotted or name.startswith(".")
                chosen = taken or any(fnmatchcase(name, pattern) for pattern in look.only)
                yield path, name, kind, inner, within, chosen
                if kind is FileKind.DIRECTORY and not path.endswith("/.git/objects"):
                    waiting.append((path, inner, within or may_have_meaning(name, self._place), chosen))

    def _names(self, folder: str) -> tuple[str, ...]:
        try:
            return self._files.listdir(folder, _MAX_NAMES)
        except FileSystemUnknownError:
            self.short = True
            return ()

    def _kind(self, path: str) -> FileKind | None:
        try:
            stat = self._files.lstat(path)
        except FileSystemUnknownError:
            self.short = True
            return None
        return None if stat is None else stat.kind


def _brings_back(path: str, place: Place) -> bool:
    """Whether a file of ignored names takes some out again (`!.env`), hidden ones included (gitignore(5))."""
    try:
        content = place.files.read(path, 65_536)
    except FileSystemUnknownError:
        return True
    return content is None or any(line.lstrip().startswith(b"!") for line in content.splitlines())
