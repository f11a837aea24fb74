"""What protection guards, by every name that it can be reached by: its own, a mount's, a hard link's.

Names are compared folded, whatever the file system does: a guard may be too wide, never too narrow.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.place import Place, Protected

__all__ = ["Guards", "fold", "guarded_as", "guarded_beneath", "guards", "identified_as", "inside", "linked_as"]

_MAX_STATE = 1_000  # entries of the state that a file with several names is compared with
_MAX_TAIL = 8  # components by which a linked file of the code is looked for
# HFS+ leaves these out when it compares names (Apple TN1150); git refuses them in its own names since CVE-2014-9390.
_IGNORED = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))


def inside(path: str, roots: Iterable[str]) -> bool:
    """Whether `path` is one of `roots` or beneath one, by whole components. Both must be resolved."""
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def fold(path: str) -> str:
    """The form in which names are compared: NFC, without case and without what HFS+ does not see."""
    folded = path.casefold()
    if folded.isascii():
        return folded
    shown = unicodedata.normalize("NFD", folded).translate(_IGNORED)
    return unicodedata.normalize("NFC", shown.casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What protection guards, folded and by what it is asked for. `files` are an agent's own, by their base names."""

    roots: Mapping[str, tuple[str, ...]]
    leads: tuple[str, ...]
    apart: frozenset[str]
    identities: Mapping[tuple[int, int], tuple[tuple[str, str], ...]]
    files: Mapping[str, str]
    names: frozenset[str]


def guarded_as(folded: str, parts: Iterable[str], guards: Guards) -> set[str]:
    """The guarded categories of the folded absolute path, whose components are `parts`: those of every guarded place
    that it is or lies beneath, and those of an agent's own files by name."""
    found: set[str] = set()
    if f"{folded}/".startswith(guards.leads):
        prefix, spared = folded, False
        while len(prefix) > 1:
            spared |= prefix in guards.apart
            for category in guards.roots.get(prefix, ()):
                if not (spared and category == "shield_code"):
                    found.add(category)
            prefix = prefix.rpartition("/")[0]
    if not guards.names.isdisjoint(parts):
        found.update(guards.files[part] for part in parts if part in guards.files)
    return found


def guarded_beneath(folded: str, guards: Guards) -> frozenset[str]:
    """The categories of the guarded places that are the folded directory or lie beneath it.

    Of processes only those that are named: what all of them show to everybody is in no one's way.
    """
    lead = f"{folded.rstrip('/')}/"
    return frozenset(
        category
        for root, categories in guards.roots.items()
        if root == folded or (root.startswith(lead) and not (root.startswith("/proc/") and folded in ("/proc", "/")))
        for category in categories
    )


def identified_as(resolved: str, guards: Guards, place: Place) -> set[str]:
    """The categories of a guarded entry that goes by another name here, because it is mounted a second time."""
    found: set[str] = set()
    prefix = resolved if guards.identities else ""
    while len(prefix) > 1:
        me = _identity(prefix, place)
        for path, category in guards.identities.get(me, ()) if me is not None else ():
            # INVARIANT: a number alone says nothing, it is given anew when a file is gone: the entry must still have it
            if category not in found and _identity(path, place) == me:
                found.add(category)
        prefix = prefix.rpartition("/")[0]
    return found


def linked_as(resolved: str, stat: Stat, place: Place) -> frozenset[str]:
    """The guarded categories of a file with several names, by those of its other names that can be found.

    State has few files, and all are compared. Code keeps its names when a package manager links it out of a cache, so
    it is looked for by these.
    """
    me = (stat.dev, stat.ino)
    found: set[str] = set()
    if any(me in _identities_beneath(root, place) for root in place.protected.state):
        found.add("shield_state")
    parts = resolved.split("/")
    tails = ["/".join(parts[-count:]) for count in range(1, min(len(parts), _MAX_TAIL))]
    others = (f"{root}/{tail}" for root in place.protected.code for tail in tails)
    if any(other != resolved and _identity(other, place) == me for other in others):
        found.add("shield_code")
    return frozenset(found)


def _identity(path: str, place: Place) -> tuple[int, int] | None:
    try:
        stat = place.files.lstat(path)
    except FileSystemUnknownError:
        return None
    return None if stat is None else (stat.dev, stat.ino)


def _identities_beneath(root: str, place: Place) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    waiting = [root]
    while waiting and len(found) < _MAX_STATE:
        path = waiting.pop()
        try:
            stat = place.files.lstat(path)
            if stat is not None and stat.kind is FileKind.DIRECTORY:
                waiting += [f"{path}/{name}" for name in place.files.listdir(path, _MAX_STATE)]
        except FileSystemUnknownError:
            continue
        if stat is not None:
            found.add((stat.dev, stat.ino))
    return found


@lru_cache(maxsize=256)
def guards(protected: Protected) -> Guards:
    """`protected`, made ready to be asked for the names of paths."""
    roots: dict[str, tuple[str, ...]] = {}
    processes = tuple(f"/proc/{pid}" for pid in sorted(protected.pids))
    groups = (
        ("shield_state", (*protected.state, *processes)),
        ("shield_code", protected.code),
        ("host_config", protected.host_config),
    )
    for category, paths in groups:
        for path in paths:
            folded = fold(path).rstrip("/")
            roots[folded] = (*roots.get(folded, ()), category)
    identities: dict[tuple[int, int], tuple[tuple[str, str], ...]] = {}
    for dev, ino, path in sorted(protected.identities):
        category = "shield_state" if inside(path, protected.state) else "shield_code"
        identities[dev, ino] = (*identities.get((dev, ino), ()), (path, category))
    files = {fold(name): "agent_memory" for name in protected.memory}
    files |= {fold(name): "agent_instruction" for name in protected.instructions}
    files |= {fold(name): "agent_identity" for name in protected.identity}
    return Guards(
        roots=roots,
        leads=tuple(f"{root}/" for root in roots),
        apart=frozenset(fold(path) for path in protected.apart),
        identities=identities,
        files=files,
        names=frozenset(files),
    )
