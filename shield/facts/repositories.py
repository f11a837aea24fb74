"""Repositories whose directory isn't called `.git`: git takes every directory for one that has `HEAD`, `objects` and
`refs` in it, and runs what its settings and hooks name as soon as somebody stands in it, or a `.git` file points to it.
"""

from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.place import Place

__all__ = ["HEAD", "part_of_repository"]

HEAD: Final = "HEAD"
_SETTINGS: Final = frozenset(("config", "config.worktree", "commondir", "info", "hooks"))
_BENEATH: Final = {"hooks": None, "info": "attributes"}  # directories of it, and which of their files matters
_HOOK: Final = frozenset(("vcs_hook", "vcs_config"))
_CONFIG: Final = frozenset(("vcs_config",))
_NONE: Final = frozenset[str]()


def part_of_repository(name: str, stat: Stat | None, place: Place) -> frozenset[str]:
    """The categories that the absolute path `name`, of which `stat` is the entry, has as a part of such a directory.

    `HEAD` has them everywhere: of the three it is the one that nothing else is called, and no order of making them
    goes without it.
    """
    parent, _, last = name.rpartition("/")
    if last == HEAD or (place.platform == "darwin" and last.upper() == HEAD):
        return _NONE if stat is not None and stat.kind is FileKind.DIRECTORY else _CONFIG
    inner = last.lower()
    above, _, holder = parent.rpartition("/")
    holder = holder.lower()
    if holder in _BENEATH and _BENEATH[holder] in (None, inner) and _is_repository(above, place):
        return _HOOK if holder == "hooks" else _CONFIG
    if inner in _SETTINGS and _is_repository(parent, place):
        return _HOOK if inner == "hooks" else _CONFIG
    return _NONE


def _is_repository(folder: str, place: Place) -> bool:
    """Whether it may be one, also that of a working tree which `git worktree` has added."""
    try:
        if place.files.lstat(f"{folder}/{HEAD}") is None:
            return False
        return any(place.files.lstat(f"{folder}/{name}") is not None for name in ("objects", "refs", "commondir"))
    except FileSystemUnknownError:
        return True
