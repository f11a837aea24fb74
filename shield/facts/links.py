"""What a file with several names is by the others of them: those that stand in a home's places with a meaning."""

from collections import deque
from collections.abc import Mapping
from functools import lru_cache

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.homes import HOME, OWN
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot

__all__ = ["linked_places"]

# Entries of a home that are looked at, nearest first. Whoever has more secrets than this has most of them in there.
_MAX_ENTRIES = 2_000
_MAX_NAMES = 500  # in one directory
_KEY = "hard links"


def linked_places(stat: Stat, place: Place) -> frozenset[str]:
    """The categories that the file of `stat`, which has several names, has by one that is known to stand in the home.

    Found by device and inode, never by content. Never raises; what cannot be examined adds nothing.
    """
    try:
        home = place.files.lstat(place.home)
    except FileSystemUnknownError:
        return frozenset()
    if home is None or home.dev != stat.dev:
        return frozenset()  # no link leaves its file system
    return _identities(place).get(stat.ino, frozenset())


def _identities(place: Place) -> Mapping[int, frozenset[str]]:
    """Categories by inode of the files in the home's places that have several names, found once for an action."""
    files = place.files
    key = (place.home, _KEY)
    if isinstance(files, Snapshot):
        known = files.looked.get(key)
        if isinstance(known, dict):
            return known
    found = _walk(place)
    if isinstance(files, Snapshot):
        files.looked[key] = found
    return found


def _walk(place: Place) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    waiting = deque((f"{place.home}/{name}", category) for name, category in _literal())
    seen = 0
    while waiting and seen < _MAX_ENTRIES:
        path, category = waiting.popleft()
        seen += 1
        try:
            stat = place.files.lstat(path)
            if stat is not None and stat.kind is FileKind.DIRECTORY:
                waiting.extend((f"{path}/{name}", category) for name in place.files.listdir(path, _MAX_NAMES))
        except FileSystemUnknownError:
            continue
        if stat is not None and stat.kind is FileKind.FILE and stat.links > 1:
            found[stat.ino] = found.get(stat.ino, frozenset()) | {category}
    return found


@lru_cache(maxsize=1)
def _literal() -> tuple[tuple[str, str], ...]:
    places = ((name, category) for table in (HOME, OWN) for category, names in table.items() for name in names)
    return tuple(sorted((name, category) for name, category in places if "*" not in name))
