"""Files of a workspace that are obeyed under another name: what settings name, and what links lead to.

`AGENTS.md` may be a link to a page of the documentation. The sandbox keeps code from writing these; who writes one by a
tool changes what programs outside do, as if it were written by the name that they know.
"""

from collections.abc import Callable, Iterator
from typing import Final

from shield.facts.committing import hook_names
from shield.facts.entering import shell_names
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold, guards, inside
from shield.facts.homed import home_names, kept_names
from shield.facts.hosting import host_names, told_names
from shield.facts.naming import Led, git_names
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot
from shield.facts.table import table

__all__ = ["Led", "kept", "names_beneath", "names_of", "obeyed"]

_Resolve = Callable[[str], str | None]

_KEY: Final = "obeyed"
_KEPT: Final = "kept"
_MAX_NAMES: Final = 2_000  # in one directory
_MAX_DEPTH: Final = 3  # of hidden folders


def obeyed(place: Place, roots: tuple[str, ...], resolve: _Resolve) -> tuple[Led, ...]:
    """All of them in the resolved workspace `roots`, found once for an action. `resolve` follows links.

    Never raises; what cannot be examined adds nothing.
    """
    found_by = (git_names, hook_names, shell_names, host_names, told_names, home_names)

    def find() -> Iterator[Led]:
        for root in roots:
            yield from (led for names in found_by for led in names(root, place))
            yield from _linked(root, place, _MAX_DEPTH)

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


def _linked(folder: str, place: Place, depth: int) -> Iterator[Led]:
    """Links in a workspace by whose names something is obeyed, at its top and in hidden folders."""
    places, own = table(), guards(place.protected).files
    try:
        names = place.files.listdir(folder, _MAX_NAMES)
        for name in names:
            folded, path = fold(name), f"{folder}/{name}"
            leads = places.leads(folded) or folded == ".git" or depth < _MAX_DEPTH
            known = any(folded in each for each in (places.sequences, places.top, own))
            if not (leads or known or places.named(folded)):
                continue
            entry = place.files.lstat(path)
            if entry is not None and entry.kind is FileKind.LINK:
                yield path, path
            elif entry is not None and entry.kind is FileKind.DIRECTORY and depth:
                if folded == ".git":
                    yield from _linked_hooks(path, place)
                elif places.leads(folded) or depth < _MAX_DEPTH:
                    yield from _linked(path, place, depth - 1)
    except FileSystemUnknownError:
        return


def _linked_hooks(git: str, place: Place) -> Iterator[Led]:
    """The hooks of a repository that are links, and the folder of them."""
    folder = f"{git}/hooks"
    entry = place.files.lstat(folder)
    if entry is None:
        return
    yield folder, folder
    if entry.kind is FileKind.DIRECTORY:
        yield from ((f"{folder}/{name}", f"{folder}/{name}") for name in place.files.listdir(folder, _MAX_NAMES))
