"""Files of a workspace that are obeyed under another name: what a repository's settings name, and what links lead to.

`core.hooksPath = tools/hooks` makes hooks of files that nothing else tells from others, `[include] path = ../shared`
settings, and `AGENTS.md` may be a link to a page of the documentation. The sandbox keeps code from writing these; who
writes one by a tool changes what programs outside do, as if it were written by the name that they know.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold, guards, inside
from shield.facts.place import Place
from shield.facts.repositories import MAX_SETTINGS, linked
from shield.facts.snapshot import Snapshot
from shield.facts.table import table
from shield.regex import regex

__all__ = ["Led", "names_beneath", "names_of", "obeyed"]

# Where a file or folder truly lies, and the absolute name by which it is obeyed.
Led = tuple[str, str]
_Resolve = Callable[[str], str | None]

_KEY: Final = "obeyed"
_SETTING: Final = regex(
    r"^[ \t]*+(?:\[[^\]\n]*+\][ \t]*+)?(?P<key>hookspath|path|attributesfile)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)$",
    re.IGNORECASE | re.MULTILINE,
)
_VALUE: Final = regex(r'(?:"[^"]*+"|[^"#;])*+')
_MAX_LEVELS: Final = 20  # directories above a workspace
_MAX_INCLUDED: Final = 20  # files of settings
_MAX_NAMES: Final = 2_000  # in one directory
_MAX_DEPTH: Final = 3  # of hidden folders


def obeyed(place: Place, roots: tuple[str, ...], resolve: _Resolve) -> tuple[Led, ...]:
    """All of them in the resolved workspace `roots`, found once for an action. `resolve` follows links.

    Never raises; what cannot be examined adds nothing.
    """
    files = place.files
    known = files.looked.get((_KEY, roots)) if isinstance(files, Snapshot) else None
    if isinstance(known, tuple):
        return known
    found: list[Led] = []
    for root in roots:
        for real, name in (*_named(root, place), *_linked(root, place, _MAX_DEPTH)):
            end = resolve(real)
            if end is not None and end != name and end != root and inside(end, roots):
                found.append((end, name))
    every = tuple(dict.fromkeys(found))
    if isinstance(files, Snapshot):
        files.looked[_KEY, roots] = every
    return every


def names_of(path: str, led: tuple[Led, ...]) -> list[str]:
    """The names by which the resolved `path` is obeyed, too."""
    folded = fold(path)
    return [name + path[len(real) :] for real, name in led if inside(folded, (fold(real),))]


def names_beneath(path: str, led: tuple[Led, ...]) -> list[str]:
    """The names of what is obeyed beneath the resolved directory `path`."""
    folded = fold(path)
    return [name for real, name in led if inside(fold(real), (folded,))]


def _named(root: str, place: Place) -> Iterator[Led]:
    """What the settings of the repository name that the workspace is a part of."""
    try:
        found = _repository(root, place)
    except FileSystemUnknownError:
        return
    if found is None:
        return
    top, git = found
    waiting, seen = [f"{git}/config", f"{git}/config.worktree"], 0
    while waiting and seen < _MAX_INCLUDED:
        file = waiting.pop()
        seen += 1
        for key, value in _settings(file, place):
            if value.startswith("~/"):
                value = place.home + value[1:]  # noqa: PLW2901 - the same, spelled out
            if key == "hookspath":
                yield posixpath.join(top, value), f"{git}/hooks"
            elif key == "attributesfile":
                yield posixpath.join(top, value), f"{git}/info/attributes"
            else:
                included = posixpath.normpath(posixpath.join(posixpath.dirname(file), value))
                waiting.append(included)
                yield included, f"{git}/config"


def _repository(root: str, place: Place) -> tuple[str, str] | None:
    """The top of the working tree and the directory with its settings, of the nearest repository."""
    at = root
    for _ in range(_MAX_LEVELS):
        entry = place.files.lstat(posixpath.join(at, ".git"))
        if entry is not None and entry.kind is FileKind.DIRECTORY:
            return at, posixpath.join(at, ".git")
        if entry is not None:
            other = linked(at, place)
            return None if other is None else (at, other.common)
        if at == "/":
            break
        at = posixpath.dirname(at)
    return None


def _settings(file: str, place: Place) -> Iterator[tuple[str, str]]:
    """The settings of a file that name others, as git reads a value: quotes off, a comment cut, a line continued."""
    try:
        entry = place.files.lstat(file)
        content = place.files.read(file, MAX_SETTINGS) if entry is not None and entry.kind is FileKind.FILE else None
    except FileSystemUnknownError:
        return
    text = (content or b"").decode("utf-8", "surrogateescape").replace("\\\r\n", "").replace("\\\n", "")
    for match in _SETTING.finditer(text):
        said = _VALUE.match(match["value"])
        value = said[0].rstrip().replace('"', "").replace("\\\\", "\\") if said is not None else ""
        if value and "\0" not in value:
            yield match["key"].lower(), value


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
