"""What a path is, by the table of `shield.facts.fixed` and by what protection guards.

Suspicion looks at every name a path has (as written, as linked, as resolved); leave is given by the resolved one alone:
`temp`, `source` and `executable` never come from a name that a link could have made up.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from shield.facts.filesystem import FileKind, Stat
from shield.facts.fixed import ABSOLUTE, ANYWHERE, FIXED, HIDDEN, NAMES, SOURCE_SUFFIXES, TEMPORARY
from shield.facts.guards import fold, guarded_as, guarded_beneath, guards, identified_as, inside, linked_as
from shield.facts.homes import OWN
from shield.facts.links import linked_places
from shield.facts.mounts import other_names
from shield.facts.place import Place
from shield.facts.repositories import HEAD, part_of_repository
from shield.facts.table import Group, Pattern, components, table
from shield.regex import regex
from shield.types import PROTECTED_CATEGORIES

__all__ = ["CATEGORIES", "categorise", "covered", "has_meaning", "inside", "leads_on", "may_have_meaning"]

# Everything that a path can be.
CATEGORIES = frozenset(
    (
        *(*ABSOLUTE, *FIXED, *ANYWHERE, *HIDDEN, *NAMES, *OWN),
        *PROTECTED_CATEGORIES,
        *(
            "committed",
            "device",
            "executable",
            "filled",
            "fresh",
            "hard_link",
            "ignored",
            "socket",
            "source",
            "temp",
            "unmade",
        ),
    )
)

# Devices that are no more than a stream or nothing at all.
_HARMLESS_DEVICES = frozenset(
    ("dev", name) for name in ("null", "zero", "full", "tty", "stdin", "stdout", "stderr", "random", "urandom")
)
# Beneath /dev and yet no devices: memory as a file system, and the process's own open files.
_NO_DEVICES = (("dev", "shm"), ("dev", "fd"))
_TEMPORARY = tuple(f"{folder}/" for folder in TEMPORARY)
_BIN_NAMES = frozenset(("bin", "sbin"))
_ROOT = regex(r"/proc/[^/]+(?:/task/[^/]+)?/root(?=/)")
# What NTFS and SMB take for the same name: dots and blanks at the end, a stream, git's own short name.
_LOOSE = regex(r"[. ](?:/|$)|::\$|/git~[0-9]")


_SECRETS = frozenset(("credential", "secret_store"))
_PASSED = frozenset(("credential", "host_config"))
# Beside a job's tree Jenkins keeps secrets and scripts for it, and the libraries and pipelines that it runs itself.
_BESIDE_TREES = ("@tmp", "@script", "@libs")


def categorise(
    resolved: str | None, names: Sequence[str], stat: Stat | None, place: Place, *, inside_workspace: bool
) -> frozenset[str]:
    """The categories of a path: `resolved` (None if unknown) and the other absolute `names` it goes by."""
    found: set[str] = set()
    every = list(dict.fromkeys((resolved, *names) if resolved else names))
    # What lies behind `/proc/7/root` is looked for by the name that it has for everybody.
    every += [rest for name in every if name.startswith("/proc/") and (rest := _ROOT.sub("", name, count=1)) != name]
    directory = stat is not None and stat.kind is FileKind.DIRECTORY
    home = _home(place.home)
    guarded = guards(place.protected)
    within = None
    if resolved is not None and place.platform == "linux":
        mounted = other_names(resolved, place.files)
        every += [name for name in mounted.seen if name not in every]
        within = mounted.within
    for name in every:
        folded = fold(name)
        parts = components(folded)
        found |= _by_table(parts, home, directory)
        if _LOOSE.search(folded):
            found |= _by_table(_tightened(parts), home, directory)
        found |= guarded_as(folded, parts, guarded) | part_of_repository(name, stat, place)
    if within is not None:
        # Only by components: what the place of a volume is on the machine that lends it says nothing of its files.
        parts, standing = components(fold(within)), set[str]()
        _by_sequence(parts, standing, _ways_to_trees(parts))
        found |= standing - _public_half(parts)
    if "system" in found and (inside_workspace or all(_not_system(name, place) for name in every)):
        found.discard("system")
    if resolved is not None:
        found |= identified_as(resolved, guarded, place)
        _by_itself(resolved, stat, place, found)
        if inside_workspace:
            # a workspace is one wherever it lies: what holds of leftovers that anybody may write does not hold of it
            found.discard("temp")
    return frozenset(found)


def covered(names: Sequence[str], place: Place, roots: Sequence[str], *, filled: bool = False) -> frozenset[str]:
    """What recursive access to a directory reaches by the table's fixed places, without looking.

    `names` are its absolute names. In each of `roots` stand a workspace's own places (hooks, CI, agent files); to read
    or list them is nothing special, so the caller gives the roots only for access that changes something. `filled`: a
    tree of whatever content comes there, so that a hidden folder may hold all that one has a meaning for, however deep
    it stands; what is deleted is known by its names.
    """
    found: set[str] = set()
    places = table()
    home = _home(place.home)
    guarded = guards(place.protected)
    anchors = [components(fold(root)) for root in roots]
    for name in names:
        folded = fold(name)
        parts = components(folded)
        _anchored(parts, (), places.absolute, found)
        _anchored(parts, home, places.fixed, found)
        _anchored(parts, home, places.own, found)
        for anchor in anchors:
            _anchored(parts, anchor, places.rooted, found)
            if filled and parts[:-1][: len(anchor)] == anchor:
                found |= places.begun(parts)
            if anchor[: len(parts)] == parts:
                found.update(guarded.files.values())
        found |= guarded_beneath(folded, guarded)
    return frozenset(found)


def may_have_meaning(name: str, place: Place, *, secret: bool = False) -> bool:
    """Whether the last component of a path could give it a category, wherever it stands; with `secret`, one of those
    that hold secrets. False is certain."""
    places, folded = table(), fold(name)
    named = places.named(folded)
    if not named.isdisjoint(_SECRETS) if secret else named:
        return True
    if not secret and folded == HEAD.lower():
        return True  # a directory that has one may be a repository
    if secret:
        return any(pattern.category in _SECRETS for pattern in places.sequences.get(folded, ()))
    known = (places.sequences, places.top, guards(place.protected).files)
    return places.leads(folded) or any(folded in names for names in known)


def leads_on(path: str, place: Place) -> bool:
    """Whether a place with a meaning begins above `path`, which is absolute, and ends beneath it: `.github` of
    `.github/workflows`. Its inner names say nothing by themselves."""
    places, parts, home = table(), components(fold(path)), _home(place.home)
    if parts and places.leads(parts[-1]):
        return True
    begun = [(pattern, start) for start, part in enumerate(parts) for pattern in places.sequences.get(part, ())]
    if len(parts) > len(home) and parts[: len(home)] == home:
        begun += [(pattern, len(home)) for pattern in places.own.first.get(parts[len(home)], ())]
    return any(len(parts) - start < len(each.parts) and each.beneath(parts, start) for each, start in begun)


def has_meaning(path: str, place: Place, *, secret: bool = False) -> bool:
    """Whether an absolute path has a category by where it stands; with `secret`, one of those that hold secrets."""
    found = _by_table(components(fold(path)), _home(place.home), False)
    return not found.isdisjoint(_SECRETS) if secret else bool(found)


def _anchored(parts: tuple[str, ...], anchor: tuple[str, ...], group: Group, found: set[str]) -> None:
    """Add the categories of those places of `group`, standing in `anchor`, that are at or beneath `parts`."""
    common = min(len(parts), len(anchor))
    if parts[:common] != anchor[:common]:
        return
    if len(parts) == common:
        found |= group.categories
        return
    for pattern in group.first.get(parts[common], ()):
        if pattern.beneath(parts, common):
            found.add(pattern.category)


@lru_cache(maxsize=2048)
def _by_table(parts: tuple[str, ...], home: tuple[str, ...], directory: bool) -> frozenset[str]:
    """What a name, given as folded components, is by the table. The directories of a workspace come again and again."""
    places = table()
    if not parts:
        return frozenset()
    standing: set[str] = set()
    ways = _ways_to_trees(parts)
    for pattern in places.absolute.first.get(parts[0], ()):
        if pattern.heads(parts, 0) and not _on_the_way(pattern, 0, ways):
            standing.add(pattern.category)
    _by_sequence(parts, standing, ways)
    if "device" in standing and (parts in _HARMLESS_DEVICES or parts[:2] in _NO_DEVICES):
        standing.discard("device")
    if len(parts) > len(home) and parts[: len(home)] == home:
        for pattern in places.own.first.get(parts[len(home)], ()):
            if pattern.heads(parts, len(home)) and not _on_the_way(pattern, len(home), ways):
                standing.add(pattern.category)
    last = parts[-1]
    named = places.named(last)
    if ("credential" in standing or "credential" in named) and places.harmless.match(last):
        # A template is one only outside the directories that are credentials as a whole, a public half everywhere.
        named.discard("credential")
        standing -= _public_half(parts)
    if directory:
        # `src/credentials`, `.env` of a virtual environment: what holds a secret is a file
        named.discard("credential")
    return frozenset(standing | named)


def _ways_to_trees(parts: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where in a name the ways to working trees begin and end that lie among the settings of a program."""
    trees = table().trees
    # INVARIANT: a name that goes up again, for any file system, may leave the tree
    if any(not part.strip(". ") or part.endswith(_BESIDE_TREES) for part in parts):
        return []
    return [
        (start, start + len(pattern.parts))
        for start, part in enumerate(parts)
        for pattern in trees.get(part, ())
        if pattern.heads(parts, start)
    ]


def _on_the_way(pattern: Pattern, start: int, ways: Sequence[tuple[int, int]]) -> bool:
    """Whether a place, standing at `start`, is only passed on the way to a tree: what is in the tree is none of it, nor
    is what a tree is called."""
    end = start + len(pattern.parts)
    return pattern.category in _PASSED and any(first == start and end < last for first, last in ways)


def _by_sequence(parts: tuple[str, ...], found: set[str], ways: Sequence[tuple[int, int]]) -> None:
    places = table()
    sequences = places.sequences
    for start, part in enumerate(parts):
        if start and places.leads(parts[start - 1]):
            found.update(category for category, names in places.hidden if names.match(part))
        for pattern in sequences.get(part, ()):
            if pattern.heads(parts, start) and not _on_the_way(pattern, start, ways):
                found.add(pattern.category)
        if part.endswith(".git") and part != ".git":
            # a repository without a working tree
            inner = parts[start + 1 :]
            if inner[:1] == ("hooks",):
                found |= {"vcs_hook", "vcs_config"}
            elif inner == ("config",):
                found.add("vcs_config")


def _public_half(parts: Sequence[str]) -> frozenset[str]:
    """What the public half of a key is not, wherever it stands."""
    return frozenset(("credential",)) if parts and parts[-1].endswith(".pub") else frozenset()


def _tightened(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The components as Windows' file systems read them."""
    parts = tuple(part.partition("::$")[0].rstrip(". ") or part for part in parts)
    return tuple(".git" if re.fullmatch(r"git~[0-9]", part) else part for part in parts)


def _not_system(name: str, place: Place) -> bool:
    """Whether a path in a system directory belongs to the user all the same: the home or temporary files there."""
    if inside(name, (place.home, *TEMPORARY)):
        return True
    parts = components(fold(name))
    patterns = table().absolute.first.get(parts[0], ()) if parts else ()
    return not any(pattern.category == "system" and pattern.heads(parts, 0) for pattern in patterns)


def _by_itself(resolved: str, stat: Stat | None, place: Place, found: set[str]) -> None:
    if f"{resolved}/".startswith(_TEMPORARY) or ("TMPDIR" in place.env and inside(resolved, (place.env["TMPDIR"],))):
        found.add("temp")
    parent, _, last = resolved.rpartition("/")
    _, dot, suffix = last.rpartition(".")
    if dot and f".{suffix.lower()}" in SOURCE_SUFFIXES:
        found.add("source")
    if parent.rpartition("/")[2] in _BIN_NAMES or parent in place.env.get("PATH", "").split(":"):
        found.add("executable")
    if stat is None:
        return
    if stat.kind is FileKind.FILE:
        if stat.executable:
            found.add("executable")
        if stat.links > 1:
            # The same file has another name somewhere, and nothing tells where.
            found.add("hard_link")
            found |= linked_as(resolved, stat, place) | linked_places(stat, place)
    elif stat.kind is FileKind.DEVICE and components(resolved) not in _HARMLESS_DEVICES:
        found.add("device")
    elif stat.kind is FileKind.SOCKET:
        found.add("socket")


@lru_cache(maxsize=64)
def _home(path: str) -> tuple[str, ...]:
    return components(fold(path))
