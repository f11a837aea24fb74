"""Where repositories are, and which files are a part of one.

git takes every directory for one that has `HEAD`, `objects` and `refs` in it, whatever it is called, and runs what its
settings and hooks name as soon as somebody stands in it, or a `.git` file points to it.
"""

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.place import Place
from shield.regex import regex

__all__ = ["HEAD", "MAX_SETTINGS", "WORK_TREE", "Repository", "linked", "may_be_part", "part_of_repository"]

HEAD: Final = "HEAD"
_SETTINGS: Final = frozenset(("config", "config.worktree", "commondir", "info", "hooks"))
_PARTS: Final = _SETTINGS | {HEAD.lower()}
_BENEATH: Final = {"hooks": None, "info": "attributes"}  # directories of it, and which of their files matters
_HOOK: Final = frozenset(("vcs_hook", "vcs_config"))
_CONFIG: Final = frozenset(("vcs_config",))
_NONE: Final = frozenset[str]()
_POINTER: Final = "gitdir: "
_MAX_POINTER: Final = 4_096
MAX_SETTINGS: Final = 65_536
_LINKED: Final = regex(r"(?P<common>/.*/\.git)/worktrees/[^/]+")
_MODULE: Final = regex(r"/.*/\.git/modules/.+")
# As `git submodule` writes it.
WORK_TREE: Final = regex(r"^[ \t]*worktree = ([A-Za-z0-9_./+@-]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Repository:
    """A working tree's repository, by absolute paths: `own` holds `HEAD` and index, `common` settings, hooks and
    objects, which all its working trees share. Mostly both are the directory `.git` in `top`, of a bare one `top`."""

    top: str
    own: str
    common: str

    @property
    def index(self) -> str:
        return f"{self.own}/index"

    @property
    def bare(self) -> bool:
        return self.own == self.top

    @property
    def module(self) -> bool:
        """Whether it is a submodule's, beneath the `.git` of the repository that holds it."""
        return self.own == self.common not in (self.top, f"{self.top}/.git")


def linked(top: str, place: Place) -> Repository | None:
    """The repository that the file `.git` in the resolved directory `top` names, where it lies in another `.git` and
    names this very `top`: of a working tree that `git worktree add` made, or of a submodule. None for any other.

    A project can bring along a `.git` that points anywhere (CVE-2026-40068); that the other side points back it cannot.

    Raises:
        FileSystemUnknownError: a directory on the way cannot be examined.
    """
    pointer = posixpath.join(top, ".git")
    said = _line(pointer, place)
    if not said.startswith(_POINTER):
        return None
    own = posixpath.normpath(posixpath.join(top, said.removeprefix(_POINTER)))
    if not _straight(own, place):
        return None
    tree, module = _LINKED.fullmatch(own), _MODULE.fullmatch(own)
    if tree is not None and _line(f"{own}/commondir", place) == "../..":
        back, common = _line(f"{own}/gitdir", place), tree["common"]
    elif module is not None and place.files.lstat(f"{own}/commondir") is None:
        back, common = posixpath.join(_work_tree(f"{own}/config", place), ".git"), own
    else:
        return None
    return Repository(top, own, common) if posixpath.normpath(posixpath.join(own, back)) == pointer else None


def _work_tree(config: str, place: Place) -> str:
    """The one `core.worktree` of a submodule's settings; empty for any other."""
    found = WORK_TREE.findall(_text(config, MAX_SETTINGS, place))
    return found[0] if len(found) == 1 else ""


def _line(path: str, place: Place) -> str:
    """What a file of one line says, links not followed; empty for any other."""
    text = _text(path, _MAX_POINTER, place).rstrip("\r\n")
    return text if text.isprintable() else ""


def _text(path: str, limit: int, place: Place) -> str:
    entry = place.files.lstat(path)
    content = place.files.read(path, limit) if entry is not None and entry.kind is FileKind.FILE else None
    return (content or b"").decode("utf-8", "surrogateescape")


def _straight(folder: str, place: Place) -> bool:
    """Whether no directory on the way is a link, so that `..` leads where it seems to."""
    while folder != "/":
        entry = place.files.lstat(folder)
        if entry is None or entry.kind is not FileKind.DIRECTORY:
            return False
        folder = posixpath.dirname(folder)
    return True


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


def may_be_part(name: str) -> bool:
    """Whether a relative name could have such a category, where a repository stands. False is certain."""
    return not _PARTS.isdisjoint(name.lower().split("/"))


def _is_repository(folder: str, place: Place) -> bool:
    """Whether it may be one, also that of a working tree which `git worktree` has added."""
    try:
        if place.files.lstat(f"{folder}/{HEAD}") is None:
            return False
        return any(place.files.lstat(f"{folder}/{name}") is not None for name in ("objects", "refs", "commondir"))
    except FileSystemUnknownError:
        return True
