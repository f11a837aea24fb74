"""Packages of a project that holds several: which directories beneath it have a package.json of their own.

Where they lie is said by `workspaces` of package.json (npm, Yarn, Bun), `packages` of pnpm-workspace.yaml and of
lerna.json, as patterns of directories; to Nx one with a project.json is one, too. What a pattern leaves out (`!x`)
counts as one of them.
"""

import json
import posixpath
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.place import Place
from shield.facts.programs.plain_yaml import plain_yaml
from shield.facts.programs.scripts import script_text

__all__ = ["Packages", "packages"]

_MAX_PACKAGES = 100
_MAX_LISTED = 1_000
_MAX_NAMES = 2_000  # in one directory
_MAX_DEEP = 8  # of `**`
_MAX_PATTERNS = 64
_FILES = ("package.json", "pnpm-workspace.yaml", "lerna.json")


class Packages:
    """`roots`: the directories that name packages, from the innermost on; `members`: those of the packages. `complete`
    is False where there may be more."""

    __slots__ = ("complete", "listed", "members", "roots")

    def __init__(self) -> None:
        self.roots: list[str] = []
        self.members: list[str] = []
        self.complete = True
        self.listed = 0


def packages(place: Place, bases: Sequence[str | None], *, beneath: bool = False, every: bool = False) -> Packages:
    """The packages of the projects that hold `bases`. `beneath`: where none is named every directory beneath may be
    one, as to pnpm; `every`: it may be whatever is named, as to Nx. Never raises."""
    found = Packages()
    roots = resolved_roots(place)
    for base in bases:
        folder = base
        if folder is None:
            found.complete = False
        while folder is not None and inside(folder, roots):
            patterns = _patterns(folder, place, found)
            if patterns:
                found.roots.append(folder)
                _add(folder, patterns, place, found)
            folder = posixpath.dirname(folder)
        if base is not None and (every or (beneath and not found.roots)):
            _add(base, ["**"], place, found)
    found.members = list(dict.fromkeys(found.members))
    found.complete &= len(found.members) <= _MAX_PACKAGES
    found.members = found.members[:_MAX_PACKAGES]
    return found


def _patterns(folder: str, place: Place, found: Packages) -> list[str]:
    patterns: list[str] = []
    for name in _FILES:
        where = resolve_path(posixpath.join(folder, name), place, base=None, expand_tilde=False)
        if where.path is None or where.stat is None or where.stat.kind is not FileKind.FILE:
            continue
        text = script_text(where.path, place)
        said = None if text is None else plain_yaml(text) if name.endswith(".yaml") else _object(text)
        if said is None:
            found.complete = False
            continue
        listed = said.get("workspaces") if name == "package.json" else said.get("packages")
        if isinstance(listed, dict):
            listed = listed.get("packages")
        patterns += [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    found.complete &= len(patterns) <= _MAX_PATTERNS
    return patterns[:_MAX_PATTERNS]


def _object(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _add(root: str, patterns: Sequence[str], place: Place, found: Packages) -> None:
    for pattern in patterns:
        parts = [part for part in pattern.lstrip("!").split("/") if part not in ("", ".")]
        if set(pattern.lstrip("!")) & set("[]{}()!\\") or ".." in parts:
            found.complete = False
            continue
        found.members += [folder for folder in _matching(root, parts, place, found) if _holds(folder, place)]


def _matching(folder: str, parts: Sequence[str], place: Place, found: Packages, deep: int = 0) -> Iterator[str]:
    if not parts:
        yield folder
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _matching(folder, rest, place, found)
        found.complete &= deep < _MAX_DEEP
        for name in _folders(folder, place, found) if deep < _MAX_DEEP else ():
            yield from _matching(posixpath.join(folder, name), parts, place, found, deep + 1)
    elif "*" in part or "?" in part:
        for name in _folders(folder, place, found):
            if fnmatchcase(name, part):
                yield from _matching(posixpath.join(folder, name), rest, place, found)
    else:
        yield from _matching(posixpath.join(folder, part), rest, place, found)


def _folders(folder: str, place: Place, found: Packages) -> list[str]:
    where = resolve_path(folder, place, base=None, expand_tilde=False)
    found.listed += 1
    if where.path is None or where.stat is None or where.stat.kind is not FileKind.DIRECTORY:
        return []
    try:
        names = place.files.listdir(where.path, _MAX_NAMES) if found.listed <= _MAX_LISTED else None
    except FileSystemUnknownError:
        names = None
    if names is None:
        found.complete = False
        return []
    return [name for name in names if name != "node_modules" and not name.startswith(".")]


def _holds(folder: str, place: Place) -> bool:
    found = (
        resolve_path(posixpath.join(folder, name), place, base=None, expand_tilde=False)
        for name in ("package.json", "project.json")
    )
    return any(each.path is None or each.exists for each in found)
