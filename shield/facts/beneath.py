"""What a command that works on a whole tree meets there: files with a meaning, and links that lead away.

A walk is bounded and breadth first. One that was cut short says so (`Met.complete`): then what the command would reach
is not known.
"""

import posixpath
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from shield.facts.categories import has_meaning, leads_on, may_have_meaning
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.logins import SETTINGS, holds_login
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot

__all__ = ["Look", "Met", "holds_name", "look_beneath", "may_touch"]

_MAX_ENTRIES = 20_000
_MAX_IN_ALL = 40_000  # of one action, after which no further tree is walked
_MAX_NAMES = 10_000  # in one directory
_MAX_MET = 64
# What package managers put there is public, whatever it is called: test keys, settings of other projects. It lies in
# folders of theirs.
_DEPENDENCIES = frozenset(("node_modules", "site-packages"))
_ENVIRONMENTS = frozenset((".venv", "venv"))
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which entries beneath a directory a command touches.

    `hidden`: those that begin with a dot, too. `follows`: links are followed. `only`: no entries but those of these
    patterns and what is beneath them; `without`: no entries of these. `names`: these files, by their names from the
    directory, and no others; `besides`: these are left alone, and the directories above them. `ignores`: files
    of the tree itself may bring hidden entries back. `secrets`: of names with a meaning only those of secrets matter,
    as they do to a reader. `shown`: the names themselves are all that is taken, and only links matter. `through`: links
    to directories are gone through, whatever their own names, but for hidden ones and those that stay in the tree.
    """

    hidden: bool = True
    follows: bool = False
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    besides: tuple[str, ...] = ()
    ignores: bool = False
    secrets: bool = True
    shown: bool = False
    through: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Absolute paths of links that are followed and of entries whose name may have a meaning."""

    links: tuple[str, ...]
    entries: tuple[str, ...]
    complete: bool


def look_beneath(top: str, place: Place, look: Look) -> Met:
    """Walk the tree at `top`, a resolved directory. Never raises; what cannot be listed makes it incomplete."""
    files = place.files
    if not isinstance(files, Snapshot):
        return _look(top, place, look)[0]
    known = files.looked.get((top, look))
    if isinstance(known, Met):
        return known
    if files.walked > _MAX_IN_ALL:
        return Met(links=(), entries=(), complete=False)
    met, seen = _look(top, place, look)
    files.looked[top, look] = met
    files.walked += seen
    return met


def may_touch(look: Look, top: str, path: str) -> bool:
    """Whether what stands at `path` beneath the directory `top` may be among what a command touches there; of a
    directory, what it holds."""
    name = path[len(top.rstrip("/")) + 1 :]
    parts = name.split("/")
    if look.names is not None:
        return any(each == name or each.startswith(f"{name}/") for each in look.names)
    if name in look.besides or any(fnmatchcase(part, pattern) for part in parts for pattern in look.without):
        return False
    return not look.only or any(fnmatchcase(part, pattern) for part in parts for pattern in look.only)


def holds_name(top: str, place: Place, matches: Callable[[str], bool]) -> bool:
    """Whether the path of an entry beneath the resolved directory `top` matches, or that is not known."""
    files = place.files
    key = (top, matches.__qualname__)
    known = files.looked.get(key) if isinstance(files, Snapshot) else None
    if isinstance(known, bool):
        return known
    if isinstance(files, Snapshot) and files.walked > _MAX_IN_ALL:
        return True
    walk = _Walk(place, Look(follows=True, secrets=False))
    found = walk.kind(top) is FileKind.DIRECTORY and any(matches(entry[0]) for entry in walk.entries(top))
    found |= walk.short
    if isinstance(files, Snapshot):
        files.looked[key] = found
        files.walked += walk.seen
    return found


def _look(top: str, place: Place, look: Look) -> tuple[Met, int]:
    if look.names is not None:
        return _named(top, place, look, look.names)
    links: list[str] = []
    entries: list[str] = []
    hidden: list[str] = []
    brought_back = False
    complete = True
    walk = _Walk(place, look)
    spared = frozenset(posixpath.join(top, name) for name in look.besides)
    on_the_way = _above_all(top, look.besides)
    inner = leads_on(top, place)
    if walk.kind(top) is not FileKind.DIRECTORY:
        return Met(links=(), entries=(), complete=not walk.short), 0
    for path, name, kind, dotted, within, chosen in walk.entries(top):
        if look.ignores and name in _IGNORE_FILES:
            brought_back |= _brings_back(path, place)
        taken = chosen or (look.through and kind is FileKind.LINK and not dotted and walk.leads_out(path, top))
        if not taken or path in spared or (path in on_the_way and kind is FileKind.DIRECTORY):
            continue
        if kind is FileKind.LINK and look.follows:
            links.append(path)
        elif look.shown or (kind is FileKind.LINK and name in _ENVIRONMENTS):
            continue  # what stands behind a link that is not followed is none of the environment's here
        elif (
            may_have_meaning(name, place, secret=look.secrets)
            or (within and (look.only or spared))
            or (inner and has_meaning(path, place, secret=look.secrets))
            or (name in SETTINGS and ".git" in path and kind is FileKind.FILE and holds_login(path, place))
        ):
            (hidden if dotted and not look.hidden else entries).append(path)
        if len(links) + len(entries) + len(hidden) > _MAX_MET:
            complete = False
            break
    if brought_back or look.hidden:
        entries += hidden
    return Met(links=tuple(links), entries=tuple(entries), complete=complete and not walk.short), walk.seen


def _above_all(top: str, names: tuple[str, ...]) -> frozenset[str]:
    """The paths of the directories above `names`."""
    waiting = [name.rpartition("/")[0] for name in names]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name and name not in found:
            found.add(name)
            waiting.append(name.rpartition("/")[0])
    return frozenset(posixpath.join(top, name) for name in found)


def _named(top: str, place: Place, look: Look, names: tuple[str, ...]) -> tuple[Met, int]:
    """What stands under these names: to open one is to follow every link on its way."""
    walk = _Walk(place, look)
    links: dict[str, None] = {}
    entries: dict[str, None] = {}
    above: dict[str, bool | None] = {"": False}
    complete = len(names) <= _MAX_ENTRIES
    inner = leads_on(top, place)
    for name in names[:_MAX_ENTRIES]:
        folder, _, last = name.rpartition("/")
        within = _above(top, folder, walk, above, links)
        if within is None:
            continue
        path = posixpath.join(top, name)
        kind = walk.kind(path)
        if kind is FileKind.LINK:
            links[path] = None
        elif kind is FileKind.DIRECTORY:
            complete = False  # where git has a file, there is a tree now
        elif kind is not None and (
            within or walk.means(last) or (inner and has_meaning(path, place, secret=look.secrets))
        ):
            entries[path] = None
        if len(links) + len(entries) > _MAX_MET:
            complete = False
            break
    return Met(links=tuple(links), entries=tuple(entries), complete=complete and not walk.short), len(names)


def _above(top: str, folder: str, walk: "_Walk", known: dict[str, bool | None], links: dict[str, None]) -> bool | None:
    """Whether one of the directories on the way may have a meaning; None where one is a link, which is put down."""
    if folder in known:
        return known[folder]
    outer, _, last = folder.rpartition("/")
    found = _above(top, outer, walk, known, links)
    if found is not None:
        path = posixpath.join(top, folder)
        if walk.kind(path) is FileKind.LINK:
            found = None
            links[path] = None
        else:
            found = found or walk.means(last)
    known[folder] = found
    return found


class _Walk:
    """The entries of a tree, and whether there were more than are looked at (`short`)."""

    def __init__(self, place: Place, look: Look) -> None:
        self._place = place
        self._files = place.files
        self._look = look
        self.short = False
        self.seen = 0

    def entries(self, top: str) -> Iterator[tuple[str, str, FileKind, bool, bool, bool]]:
        """Path, name, kind; whether it or a directory above begins with a dot; whether one above may have a meaning;
        whether it or one above is among those that the command works on."""
        look = self._look
        waiting = deque([(top, False, False, not look.only, False)])
        while waiting:
            folder, dotted, within, taken, last = waiting.popleft()
            for name in self._names(folder):
                if any(fnmatchcase(name, pattern) for pattern in look.without):
                    continue
                self.seen += 1
                if self.seen > _MAX_ENTRIES:
                    self.short = True
                    return
                path = posixpath.join(folder, name)
                kind = self.kind(path)
                if kind is None:
                    continue
                inner = dotted or name.startswith(".")
                chosen = taken or any(fnmatchcase(name, pattern) for pattern in look.only)
                yield path, name, kind, inner, within, chosen
                if kind is FileKind.DIRECTORY and not last and not path.endswith("/.git/objects"):
                    meant = within or may_have_meaning(name, self._place, secret=look.secrets)
                    ends = name in _DEPENDENCIES and look.secrets and not look.follows
                    waiting.append((path, inner, meant, chosen, ends))

    def _names(self, folder: str) -> tuple[str, ...]:
        try:
            return self._files.listdir(folder, _MAX_NAMES)
        except FileSystemUnknownError:
            self.short = True
            return ()

    def means(self, name: str) -> bool:
        """Whether an entry of this name may have a meaning to whoever looks."""
        return may_have_meaning(name, self._place, secret=self._look.secrets)

    def kind(self, path: str) -> FileKind | None:
        """What stands there, links not followed; None where nothing does or that is not known."""
        try:
            stat = self._files.lstat(path)
        except FileSystemUnknownError:
            self.short = True
            return None
        return None if stat is None else stat.kind

    def leads_out(self, path: str, top: str) -> bool:
        """Whether the link may lead to a directory that is not beneath `top`: one that is, is walked for itself."""
        try:
            target = self._files.readlink(path)
        except FileSystemUnknownError:
            self.short = True
            return True
        where = posixpath.normpath(posixpath.join(posixpath.dirname(path), target or ""))
        beneath = where.startswith(top.rstrip("/") + "/")
        return not beneath and self.kind(where) is not FileKind.FILE


def _brings_back(path: str, place: Place) -> bool:
    """Whether a file of ignored names takes some out again (`!.env`), hidden ones included (gitignore(5))."""
    try:
        content = place.files.read(path, 65_536)
    except FileSystemUnknownError:
        return True
    return content is None or any(line.lstrip().startswith(b"!") for line in content.splitlines())
