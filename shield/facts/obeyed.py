"""Files of a workspace that are obeyed under another name: what settings name, and what links lead to.

`AGENTS.md` may be a link to a page of the documentation. The sandbox keeps code from writing these; who writes one by a
tool changes what programs outside do, as if it were written by the name that they know.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold, guards, inside
from shield.facts.homed import home_names, kept_names
from shield.facts.looking import Looked
from shield.facts.naming import Led, named
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot
from shield.facts.table import table

__all__ = ["Led", "kept", "names_beneath", "names_of", "obeyed"]

_Resolve = Callable[[str], str | None]

_KEY: Final = "obeyed"
_KEPT: Final = "kept"
_MAX_NAMES: Final = 2_000  # in one directory
_MAX_MEANINGS: Final = 4_096
_MAX_DEPTH: Final = 3  # of hidden folders


def obeyed(place: Place, roots: tuple[str, ...], resolve: _Resolve) -> tuple[Led, ...]:
    """All of them in the resolved workspace `roots`, found once for an action. `resolve` follows links.

    Never raises; what cannot be examined adds nothing.
    """

    def find() -> Iterator[Led]:
        home = _listed(place.home, place)
        for root in roots:
            names = _listed(root, place)
            yield from named(root, place, Looked(place, {root: names, place.home: home}))
            yield from home_names(root, place)
            yield from _linked(root, names or (), place, _MAX_DEPTH)

    return _once((_KEY, roots), place, roots, resolve, find)


def kept(place: Place, roots: tuple[str, ...], resolve: _Resolve) -> tuple[Led, ...]:
    """What lies in the workspace `roots` and is, by links of the user's home, where secrets are kept; as `obeyed`."""
    return _once((_KEPT, roots), place, roots, resolve, lambda: kept_names(place))


def _once(
    key: tuple[str, object], place: Place, roots: tuple[str, ...], resolve: _Resolve, find: Callable[[], Iterator[Led]]
) -> tuple[Led, ...]:
    files = place.files
    known = files.looked.get(key) if isinstance(files, Snapshot) else None
    if isinstance(known, tuple):
        return known
    found: dict[Led, None] = {}
    for real, name in find():
        end = resolve(real)
        if end is not None and end != name and end not in roots and inside(end, roots):
            found[end, name] = None
    every = tuple(found)
    if isinstance(files, Snapshot):
        files.looked[key] = every
    return every


def names_of(path: str, led: tuple[Led, ...]) -> list[str]:
    """The names by which the resolved `path` is obeyed, too."""
    folded = fold(path)
    return [name + path[len(real) :] for real, name in led if inside(folded, (fold(real),))]


def names_beneath(path: str, led: tuple[Led, ...]) -> list[str]:
    """The names of what is obeyed beneath the resolved directory `path`."""
    folded = fold(path)
    return [name for real, name in led if inside(fold(real), (folded,))]


def _listed(folder: str, place: Place) -> tuple[str, ...] | None:
    """The names in a directory; None where that cannot be told."""
    try:
        return place.files.listdir(folder, _MAX_NAMES)
    except FileSystemUnknownError:
        return None


def _kind(path: str, place: Place) -> FileKind | None:
    """What stands there; None where nothing does or that cannot be told."""
    try:
        entry = place.files.lstat(path)
    except FileSystemUnknownError:
        return None
    return entry.kind if entry is not None else None


def _linked(folder: str, names: tuple[str, ...], place: Place, depth: int) -> Iterator[Led]:
    """Links in a workspace by whose names something is obeyed, at its top and in hidden folders. `folder`: one that is
    reached without any, `names`: what is in it."""
    own = guards(place.protected).files
    for name in names:
        leads, known = _meaning(name)
        if not (leads or known or depth < _MAX_DEPTH or fold(name) in own):
            continue
        path = f"{folder}/{name}"
        kind = _kind(path, place)
        if kind is FileKind.LINK:
            yield path, path
        elif kind is FileKind.DIRECTORY and depth:
            if fold(name) == ".git":
                yield from _linked_hooks(f"{path}/hooks", place)
            elif leads or depth < _MAX_DEPTH:
                yield from _linked(path, _listed(path, place) or (), place, depth - 1)


@lru_cache(maxsize=_MAX_MEANINGS)
def _meaning(name: str) -> tuple[bool, bool]:
    """Whether a folder of this name leads to what has a meaning, and whether the name has one itself."""
    folded, places = fold(name), table()
    known = folded in places.sequences or folded in places.top or bool(places.named(folded))
    return places.leads(folded) or folded == ".git", known


def _linked_hooks(folder: str, place: Place) -> Iterator[Led]:
    """The hooks of a repository that are links, or the folder of them if that is one."""
    kind = _kind(folder, place)
    paths = [f"{folder}/{name}" for name in _listed(folder, place) or ()] if kind is FileKind.DIRECTORY else [folder]
    yield from ((path, path) for path in paths if _kind(path, place) is FileKind.LINK)
