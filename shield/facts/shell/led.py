"""Links that a line, or a script that it runs, makes before it deletes behind them.

Facts are taken before anything runs: `ln -s src l; rm -rf l/*` deletes in `src`, and `l` is not there yet. To delete a
link itself is to delete no more than that; behind one lies somebody else's tree.
"""

import posixpath
from collections.abc import Sequence

from shield.facts.beneath import Look, look_beneath
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.reading import PathUse
from shield.types import Access, PathFact

__all__ = ["Led"]

_LINKING = frozenset(("link", "ln"))
_CARRYING = frozenset(("cp", "install", "mv", "rsync"))
_UNPACKING = frozenset(("7z", "7za", "bsdtar", "cpio", "gtar", "tar", "unzip"))


class Led:
    """Where a command may have made links: at these places (`_links`), or at any that is new beneath these (`_trees`).
    One for the line and all scripts that it runs."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._links: dict[str, str] = {}
        self._trees: dict[str, str] = {}
        self._gone: set[str] = set()

    def note(self, name: str, facts: Sequence[PathFact]) -> None:
        """Take up what the command `name` did."""
        self._gone.update(fact.resolved for fact in facts if fact.access is Access.DELETE and fact.resolved)
        written = [fact for fact in facts if fact.access is Access.WRITE and fact.resolved is not None]
        if name in _LINKING:
            # what a link leads to is read, too
            read = {fact.resolved for fact in facts if fact.access is Access.READ}
            for fact in written:
                if fact.resolved not in read and (fact.recursive or fact.resolved in self._gone):
                    self._links.setdefault(f"{fact.resolved}", name)
        elif name in _UNPACKING:
            self._trees.update((f"{fact.resolved}", name) for fact in written)
        elif name in _CARRYING:
            read_trees = [fact for fact in facts if fact.access is Access.READ]
            if any(fact.symlink for fact in read_trees):
                self._links.update((f"{fact.resolved}", name) for fact in written)
            if any(fact.recursive and self._holds_links(fact) for fact in read_trees):
                self._trees.update((f"{fact.resolved}", name) for fact in written if fact.recursive)

    def gone(self, path: str) -> bool:
        """Whether the line has deleted it."""
        return path in self._gone

    def brings_none(self, facts: Sequence[PathFact]) -> bool:
        """Whether no link is among what a copy of these reads, however deep."""
        read = [fact for fact in facts if fact.access is Access.READ]
        return not any(fact.resolved is None or fact.symlink or self._holds_links(fact) for fact in read)

    def _holds_links(self, fact: PathFact) -> bool:
        if fact.resolved is None or not fact.exists:
            return False
        met = look_beneath(fact.resolved, self._place, Look(follows=True, secrets=False, shown=True))
        made = any(place.startswith(fact.resolved.rstrip("/") + "/") for place in self._links)
        return bool(met.links) or not met.complete or made

    def asks(self, use: PathUse, bases: tuple[str | None, ...]) -> str | None:
        """Why what is deleted may lie elsewhere than it seems to."""
        if use.access is not Access.DELETE or not (self._links or self._trees):
            return None
        value = use.value
        values = value.roots if value.roots is not None else (value,)
        for each in values:
            text = each.pattern or each.text
            if not (each.fixed or each.pattern is not None):
                continue
            # find(1) walks into what it starts at, and only a slash behind a name leads rm(1) there
            way = text.rstrip("/") if text.endswith("/") or value.roots is not None else posixpath.dirname(text)
            for base in bases:
                name = self._behind(posixpath.join(base or "/", way), walked=text.endswith("/") or value.roots is None)
                if name is not None:
                    return f"`{text[:80]}` may lie elsewhere after `{name}` has made links"
        return None

    def _behind(self, way: str, *, walked: bool) -> str | None:
        """The command that may have made one of the directories on the way a link."""
        names = posixpath.normpath(way).strip("/").split("/")
        at = "/"
        for index, part in enumerate(names):
            if any(letter in part for letter in "*?["):
                # any of them may be matched
                inner = at.rstrip("/") + "/"
                found = (
                    name for place, name in (*self._links.items(), *self._trees.items()) if place.startswith(inner)
                )
                return next(
                    found, next((name for tree, name in self._trees.items() if inner.startswith(tree + "/")), None)
                )
            at = posixpath.join(at, part)
            last = index == len(names) - 1
            if at in self._links and (walked or not last):
                return self._links[at]
            for tree, name in self._trees.items():
                if at.startswith(tree.rstrip("/") + "/") and not self._stands(at):
                    return name
        return None

    def _stands(self, path: str) -> bool:
        """Whether a directory lies there already, which no archive and no copy puts a link in the place of."""
        try:
            stat = self._place.files.lstat(path)
        except FileSystemUnknownError:
            return False
        gone = any(f"{path}/".startswith(f"{each}/") for each in self._gone)
        return stat is not None and stat.kind is FileKind.DIRECTORY and not gone
