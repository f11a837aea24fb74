"""What a path is, by the table of `shield.facts.fixed` and by what protection guards.

Suspicion looks at every name a path has (as written, as linked, as resolved); leave is given by the resolved one alone:
`temp`, `source` and `executable` never come from a name that a link could have made up.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from shield.facts.filesystem import FileKind, Stat
from shield.facts.fixed import ABSOLUTE, ANYWHERE, FIXED, NAMES, NOT_CREDENTIALS, SOURCE_SUFFIXES, TEMPORARY
from shield.facts.guards import agent_files, fold, guarded_as, guarded_beneath, identified_as, inside, linked_as
from shield.facts.place import Place

__all__ = ["categorise", "covered", "inside", "may_have_meaning"]

# Devices that are no more than a stream or nothing at all.
_HARMLESS_DEVICES = frozenset(
    (
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/tty",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/random",
        "/dev/urandom",
    )
)
_BIN_NAMES = frozenset(("bin", "sbin"))
_ROOT = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?/root(?=/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """A sequence of folded component patterns; `globs` are None where the component is literal."""

    category: str
    parts: tuple[str, ...]
    globs: tuple[re.Pattern[str] | None, ...]

    def heads(self, parts: Sequence[str], start: int) -> bool:
        """Whether `parts` from `start` on are the place or lie beneath it."""
        if len(parts) - start < len(self.parts):
            return False
        return all(
            part == literal if glob is None else glob.match(part) is not None
            for part, literal, glob in zip(parts[start:], self.parts, self.globs, strict=False)
        )

    def beneath(self, parts: Sequence[str], start: int) -> bool:
        """Whether the place, standing at `start`, is the directory `parts` or lies beneath it."""
        rest = parts[start:]
        if len(rest) > len(self.parts):
            return False
        return all(
            part == literal if glob is None else glob.match(part) is not None
            for part, literal, glob in zip(rest, self.parts, self.globs, strict=False)
        )


_SECRETS = frozenset(("credential", "secret_store"))


def categorise(
    resolved: str | None, names: Sequence[str], stat: Stat | None, place: Place, *, inside_workspace: bool
) -> frozenset[str]:
    """The categories of a path: `resolved` (None if unknown) and the other absolute `names` it goes by."""
    found: set[str] = set()
    every = list(dict.fromkeys((*((resolved,) if resolved else ()), *names)))
    # What lies behind `/proc/7/root` is looked for by the name that it has for everybody.
    every += [rest for name in every if name.startswith("/proc/") and (rest := _ROOT.sub("", name, count=1)) != name]
    for name in every:
        _by_table(fold(name), found)
        _by_protection(fold(name), place, found)
    if "system" in found and (inside_workspace or all(_not_system(name, place) for name in every)):
        found.discard("system")
    if resolved is not None:
        found |= identified_as(resolved, place)
        _by_itself(resolved, stat, place, found)
    return frozenset(found)


def covered(names: Sequence[str], place: Place, roots: Sequence[str]) -> frozenset[str]:
    """What recursive access to a directory reaches by the table's fixed places, without looking.

    `names` are its absolute names. In each of `roots` stand a workspace's own places (hooks, CI, agent files); to read
    or list them is nothing special, so the caller gives the roots only for access that changes something.
    """
    found: set[str] = set()
    table = _tables()
    home = _parts(fold(place.home))
    anchors = [_parts(fold(root)) for root in roots]
    for name in names:
        folded = fold(name)
        parts = _parts(folded)
        _anchored(parts, (), table.absolute, found)
        _anchored(parts, home, table.fixed, found)
        for anchor in anchors:
            _anchored(parts, anchor, table.rooted, found)
            if anchor[: len(parts)] == parts:
                found.update(agent_files(place.protected).values())
        found |= guarded_beneath(folded, place.protected)
    return frozenset(found)


def may_have_meaning(name: str, place: Place, *, secret: bool = False) -> bool:
    """Whether the last component of a path could give it a category, wherever it stands; with `secret`, one of those
    that hold secrets. False is certain."""
    table, folded = _tables(), fold(name)
    if any(names.match(folded) for category, names in table.names if not secret or category in _SECRETS):
        return True
    if secret:
        return any(pattern.category in _SECRETS for pattern in table.sequences.get(folded, ()))
    return folded in table.sequences or folded in agent_files(place.protected)


def _anchored(parts: tuple[str, ...], anchor: tuple[str, ...], group: "_Group", found: set[str]) -> None:
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


def _by_table(folded: str, found: set[str]) -> None:
    table = _tables()
    parts = _parts(folded)
    if not parts:
        return
    for pattern in table.absolute.first.get(parts[0], ()):
        if pattern.heads(parts, 0):
            found.add(pattern.category)
    for start, part in enumerate(parts):
        for pattern in table.sequences.get(part, ()):
            if pattern.heads(parts, start):
                found.add(pattern.category)
    last = parts[-1]
    for category, names in table.names:
        if names.match(last):
            found.add(category)
    # A public half or a template is one only outside the directories that are credentials as a whole.
    template = "credential" in found and table.harmless.match(last) is not None
    if template and (last.endswith(".pub") or not _in_credential_place(parts)):
        found.discard("credential")
    if "device" in found and folded in _HARMLESS_DEVICES:
        found.discard("device")


def _in_credential_place(parts: Sequence[str]) -> bool:
    table = _tables()
    sequences = (
        pattern
        for start, part in enumerate(parts)
        for pattern in table.sequences.get(part, ())
        if pattern.heads(parts, start)
    )
    absolute = (pattern for pattern in table.absolute.first.get(parts[0], ()) if pattern.heads(parts, 0))
    return any(pattern.category == "credential" for pattern in (*sequences, *absolute))


def _by_protection(folded: str, place: Place, found: set[str]) -> None:
    found |= guarded_as(folded, place.protected)
    category_of = agent_files(place.protected)
    for part in _parts(folded):
        if part in category_of:
            found.add(category_of[part])


def _not_system(name: str, place: Place) -> bool:
    """Whether a path in a system directory belongs to the user all the same: the home or temporary files there."""
    if inside(name, (place.home, *TEMPORARY)):
        return True
    parts = _parts(fold(name))
    patterns = _tables().absolute.first.get(parts[0], ()) if parts else ()
    return not any(pattern.category == "system" and pattern.heads(parts, 0) for pattern in patterns)


def _by_itself(resolved: str, stat: Stat | None, place: Place, found: set[str]) -> None:
    temporary = (*TEMPORARY, place.env["TMPDIR"]) if "TMPDIR" in place.env else TEMPORARY
    if inside(resolved, temporary):
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
            found |= linked_as(resolved, stat, place)
    elif stat.kind is FileKind.DEVICE and resolved not in _HARMLESS_DEVICES:
        found.add("device")
    elif stat.kind is FileKind.SOCKET:
        found.add("socket")


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Places that stand in one directory: all their categories, and the patterns by their first component."""

    categories: frozenset[str]
    first: Mapping[str, tuple[_Pattern, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    absolute: _Group
    fixed: _Group
    rooted: _Group
    sequences: Mapping[str, tuple[_Pattern, ...]]
    names: tuple[tuple[str, re.Pattern[str]], ...]
    harmless: re.Pattern[str]


def _pattern(category: str, place: str) -> _Pattern:
    parts = _parts(fold(place))
    globs = tuple(re.compile(translate(part)) if "*" in part else None for part in parts)
    return _Pattern(category=category, parts=parts, globs=globs)


def _patterns(table: Mapping[str, Sequence[str]]) -> tuple[_Pattern, ...]:
    return tuple(_pattern(category, place) for category, places in table.items() for place in places)


def _by_first(patterns: Iterable[_Pattern]) -> Mapping[str, tuple[_Pattern, ...]]:
    index: dict[str, tuple[_Pattern, ...]] = {}
    for pattern in patterns:
        # INVARIANT: the first component of every pattern is literal.
        assert pattern.globs[0] is None
        index[pattern.parts[0]] = (*index.get(pattern.parts[0], ()), pattern)
    return index


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    absolute, fixed, rooted = _patterns(ABSOLUTE), _patterns(FIXED), _patterns(ANYWHERE)
    return _Tables(
        absolute=_Group(categories=frozenset(ABSOLUTE), first=_by_first(absolute)),
        fixed=_Group(categories=frozenset(FIXED), first=_by_first(fixed)),
        rooted=_Group(categories=frozenset(ANYWHERE), first=_by_first(rooted)),
        sequences=_by_first((*fixed, *rooted)),
        names=tuple((category, _any_of(names)) for category, names in NAMES.items()),
        harmless=_any_of(NOT_CREDENTIALS),
    )


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(fold(name)) for name in names))
