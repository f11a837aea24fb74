"""The table of `shield.facts.fixed` and `shield.facts.homes`, made ready to be asked for the components of a path."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from shield.facts.fixed import ABSOLUTE, ANYWHERE, FILLED, FIXED, HIDDEN, NAMES, NOT_CREDENTIALS, TOP, TREES
from shield.facts.guards import fold
from shield.facts.homes import OWN

__all__ = ["Group", "Pattern", "Table", "at_top", "components", "table"]


def components(path: str) -> tuple[str, ...]:
    """The names between the slashes of a path."""
    return tuple(filter(None, path.split("/")))


# Of a home's places those that mean the same wherever they stand.
_NO_HOME = ("environment",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A sequence of folded component patterns; `globs` are None where the component is literal, empty where all are."""

    category: str
    parts: tuple[str, ...]
    globs: tuple[re.Pattern[str] | None, ...]

    def heads(self, parts: tuple[str, ...], start: int) -> bool:
        """Whether `parts` from `start` on are the place or lie beneath it."""
        found = parts[start : start + len(self.parts)]
        return found == self.parts if not self.globs else len(found) == len(self.parts) and self._fits(found)

    def beneath(self, parts: tuple[str, ...], start: int) -> bool:
        """Whether the place, standing at `start`, is the directory `parts` or lies beneath it."""
        rest = parts[start:]
        if not self.globs:
            return rest == self.parts[: len(rest)]
        return len(rest) <= len(self.parts) and self._fits(rest)

    def _fits(self, parts: tuple[str, ...]) -> bool:
        """Whether `parts` are the first components of the place."""
        return all(
            part == literal if glob is None else glob.match(part) is not None
            for part, literal, glob in zip(parts, self.parts, self.globs, strict=False)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Places that stand in one directory: all their categories, and the patterns by their first component."""

    categories: frozenset[str]
    first: Mapping[str, tuple[Pattern, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Places by where they stand, `sequences` also anywhere, and names by how they are compared: as a whole, by their
    end, by a pattern. `harmless` are the names that hold no secret all the same, `trees` the places of a project's
    files among those of others, `hidden` what stands in a hidden folder that is none of `filled`, `top` names that
    mean something directly in a workspace root."""

    absolute: Group
    fixed: Group
    own: Group
    rooted: Group
    sequences: Mapping[str, tuple[Pattern, ...]]
    trees: Mapping[str, tuple[Pattern, ...]]
    hidden: tuple[tuple[str, re.Pattern[str]], ...]
    filled: frozenset[str]
    top: Mapping[str, str]
    whole: Mapping[str, tuple[str, ...]]
    ends: tuple[tuple[str, tuple[str, ...]], ...]
    globs: tuple[tuple[str, re.Pattern[str]], ...]
    any_end: tuple[str, ...]
    any_glob: re.Pattern[str]
    harmless: re.Pattern[str]

    def leads(self, folded: str) -> bool:
        """Whether a folder of this name is hidden, so that what stands in it may have a meaning."""
        return folded.startswith(".") and bool(folded.strip(".")) and folded not in self.filled

    def begun(self, parts: tuple[str, ...]) -> set[str]:
        """What a tree of unknown content may hold of places that begin in a hidden folder of the path `parts`, or in an
        environment's."""
        found = {category for category, _ in self.hidden} if self.leads(parts[-1]) else set()
        for start, part in enumerate(parts):
            wanted = (*self.rooted.categories, *_NO_HOME) if part.startswith(".") else _NO_HOME
            begun = (each for each in self.sequences.get(part, ()) if each.category in wanted)
            found.update(each.category for each in begun if each.beneath(parts, start))
        return found

    def named(self, folded: str) -> set[str]:
        """The categories that a last component has by itself."""
        found = set(self.whole.get(folded, ()))
        if folded.endswith(self.any_end):
            found.update(category for category, ends in self.ends if folded.endswith(ends))
        if self.any_glob.match(folded):
            found.update(category for category, globs in self.globs if globs.match(folded))
        return found


def _pattern(category: str, place: str) -> Pattern:
    parts = components(fold(place))
    globs = tuple(re.compile(translate(part)) if "*" in part else None for part in parts)
    return Pattern(category=category, parts=parts, globs=globs if any(globs) else ())


def _patterns(places_of: Mapping[str, Sequence[str]]) -> tuple[Pattern, ...]:
    return tuple(_pattern(category, place) for category, places in places_of.items() for place in places)


def _by_first(patterns: Iterable[Pattern]) -> Mapping[str, tuple[Pattern, ...]]:
    index: dict[str, tuple[Pattern, ...]] = {}
    for pattern in patterns:
        # INVARIANT: the first component of every pattern is literal.
        assert not pattern.globs or pattern.globs[0] is None
        index[pattern.parts[0]] = (*index.get(pattern.parts[0], ()), pattern)
    return index


@lru_cache(maxsize=1)
def table() -> Table:
    """The one table, folded."""
    whole: dict[str, tuple[str, ...]] = {}
    ends: list[tuple[str, tuple[str, ...]]] = []
    globs: list[tuple[str, re.Pattern[str]]] = []
    for category, patterns in NAMES.items():
        names = [fold(pattern) for pattern in patterns]
        tails = tuple(name[1:] for name in names if _is_tail(name))
        others = [name for name in names if _is_glob(name) and not _is_tail(name)]
        for name in names:
            if not _is_glob(name):
                whole[name] = (*whole.get(name, ()), category)
        if tails:
            ends.append((category, tails))
        if others:
            globs.append((category, _any_of(others)))
    absolute, fixed, rooted = _patterns(ABSOLUTE), _patterns(FIXED), _patterns(ANYWHERE)
    return Table(
        absolute=Group(categories=frozenset(ABSOLUTE), first=_by_first(absolute)),
        fixed=Group(categories=frozenset(FIXED), first=_by_first(fixed)),
        own=Group(categories=frozenset(OWN), first=_by_first(_patterns(OWN))),
        rooted=Group(categories=frozenset(ANYWHERE), first=_by_first(rooted)),
        sequences=_by_first((*fixed, *rooted)),
        hidden=tuple((category, _any_of(names)) for category, names in HIDDEN.items()),
        filled=frozenset(map(fold, FILLED)),
        top={fold(name): category for category, names in TOP.items() for name in names},
        trees=_by_first(_patterns({"tree": TREES})),
        whole=whole,
        ends=tuple(ends),
        globs=tuple(globs),
        any_end=tuple(end for _, tails in ends for end in tails),
        any_glob=re.compile("|".join(names.pattern for _, names in globs)),
        harmless=_any_of(NOT_CREDENTIALS),
    )


def at_top(names: Sequence[str], roots: Sequence[str]) -> frozenset[str]:
    """The categories that an absolute path has by standing directly in one of the workspace `roots`, by its `names`."""
    top = table().top
    parted = [(folder, top[last]) for folder, _, last in (fold(name).rpartition("/") for name in names) if last in top]
    return frozenset(category for folder, category in parted if any(folder == fold(root) for root in roots))


def _is_glob(name: str) -> bool:
    return any(mark in name for mark in "*?[")


def _is_tail(name: str) -> bool:
    """Whether the pattern is `*` and a plain end."""
    return name.startswith("*") and not _is_glob(name[1:])


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(fold(name)) for name in names))
