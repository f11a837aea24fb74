"""What earlier commands of a line may have put where later ones look: links and whole trees.

Facts are taken before anything runs. `mv a b && cat b/link` reads through a link that is not at `b` yet.
"""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from shield.facts.programs.deciding import LED, decides
from shield.facts.programs.python.alone import may_shadow
from shield.facts.programs.rendered import rendered
from shield.facts.programs.shims import leads_shims, shim_of
from shield.regex import regex
from shield.types import Access, CommandFact, Origin, PathFact, RunsCode

__all__ = ["Touched", "rewritten"]

_PYTHON = regex(r"python(?:3(?:\.\d+)?)?")
_CHANGING = (Access.WRITE, Access.DELETE)
_FOREIGN = (Origin.WORKSPACE, Origin.TEMP)
# They put files of many names into a tree.
_UNPACKING = frozenset(("bsdtar", "gtar", "tar", "unzip"))
# They change what is said of a file, not what it holds.
_KEEP_CONTENT = frozenset(("chmod", "chown", "chgrp", "touch"))


class Touched:
    """Places that a command of the line may have reshaped, and by which command."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    @property
    def count(self) -> int:
        """How many places these are."""
        return len(self._places)

    def add(self, name: str, facts: Iterable[PathFact]) -> None:
        for fact in facts:
            if fact.access in _CHANGING and fact.resolved is not None:
                self._places.setdefault(fact.resolved, name)

    def trees(self, name: str, bases: Iterable[str | None]) -> None:
        for base in bases:
            self._places.setdefault(base if base is not None else "/", name)

    def note(self, fact: PathFact) -> str | None:
        """Why a path cannot be known, if it lies where something was reshaped."""
        if fact.resolved is None:
            return None
        for place, name in self._places.items():
            if fact.resolved == place or fact.resolved.startswith(place.rstrip("/") + "/"):
                return f"`{fact.raw[:80]}` may be another file after `{name}` has run"
        return None


def rewritten(
    facts: Sequence[PathFact],
    commands: Sequence[CommandFact] = (),
    settles: Callable[[PathFact, PathFact], bool] = lambda _other, _fact: False,
) -> list[str]:
    """Files whose content decides what a command runs, and which another command of the line may change before it.

    `commands` are those that the `source` of the facts counts. `settles`: whether a change of what a fact runs is
    known, and harmless.
    """
    if not any(fact.access in _CHANGING for fact in facts):
        return []
    sources = {f"commands[{index}]": command for index, command in enumerate(commands)}
    changed = _changed(facts, sources)
    used = [fact for fact in facts if fact.access is Access.EXECUTE]
    # behind a `cd` to nobody knows where, a name is all that is known of both
    unplaced = [fact for fact in facts if fact.access is Access.WRITE and fact.resolved is None]
    found = [
        fact.raw
        for fact in used
        if any(
            _changes(other, fact, sources) and not settles(other, fact)
            for other in changed
            if other.source != fact.source
        )
        or any(_namesake(other, fact) for other in unplaced if other.source != fact.source)
    ]
    if not changed:
        return _told(found)
    for source, command in sources.items():
        written = [fact for fact in changed if fact.source != source and fact.access is Access.WRITE]
        if command.program is not None and command.origin in _FOREIGN:
            found += [command.name] if any(_holds(fact, command.program) for fact in written) else []
        led = command.runs_code is not RunsCode.NONE or command.name in LED
        if led:
            found += [fact.raw for fact in written if decides(f"{fact.resolved}", command.name, command.argv[1:])]
        shim = command.program is not None and shim_of(command.program, command.program) is not None
        if shim:
            found += [fact.raw for fact in written if leads_shims(f"{fact.resolved}")]
        if led or shim or command.name == "git":
            found += [fact.raw for fact in written if _unpacks(fact, sources)]
    for tree in changed:
        if _unpacks(tree, sources):
            found += [tree.raw for fact in changed if fact.source != tree.source and _beneath(fact, tree)]
    return _told(found)


def _told(names: Iterable[str]) -> list[str]:
    return [f"`{name[:80]}` decides what runs, and the same line may change it" for name in dict.fromkeys(names)]


def _changed(facts: Sequence[PathFact], sources: Mapping[str, CommandFact]) -> list[PathFact]:
    """The changes that may put words of the line into a file.

    What the project's own code writes is the project's: `gcc -o x x.c && ./x` goes on, unless it makes it of what the
    line has changed.
    """
    own: list[PathFact] = []
    made: list[PathFact] = []
    for fact in facts:
        if fact.access in _CHANGING and fact.resolved is not None:
            command = sources.get(fact.source)
            keeps = command is not None and command.name in _KEEP_CONTENT and command.origin is Origin.SYSTEM
            if keeps and fact.exists:
                continue
            (made if command is not None and _by_the_project(command) else own).append(fact)
    reads = [fact for fact in facts if fact.access is Access.READ] if own and made else []
    while made:
        dirty = {fact.source for fact in reads if any(_holds(change, fact.resolved) for change in own)}
        if dirty.isdisjoint(fact.source for fact in made):
            break
        own += [fact for fact in made if fact.source in dirty]
        made = [fact for fact in made if fact.source not in dirty]
    return own


def _by_the_project(command: CommandFact) -> bool:
    """Whether what the command writes is the project's own: it runs its code, or stands in a script of its own."""
    if command.runs_code is not RunsCode.WORKSPACE or "pkg" in command.argv[1:3]:
        return False  # `npm pkg set` writes its words into package.json
    if any(name.startswith("/") for name in command.via):
        return True  # a script is listed by its path; no function that is understood has a slash in its name
    prints = [each for each in command.redirects if ">" in each.op and not each.op.endswith("-")]
    return all(each.target in ("/dev/null", "1", "2") for each in prints)


def _unpacks(change: PathFact, sources: Mapping[str, CommandFact]) -> bool:
    """Whether what an archive holds is put there. Where it leads was judged by the links that are there now."""
    command = sources.get(change.source)
    return change.recursive and command is not None and command.name in _UNPACKING


def _beneath(fact: PathFact, tree: PathFact) -> bool:
    return f"{fact.resolved}".startswith(f"{tree.resolved}".rstrip("/") + "/")


def _holds(change: PathFact, path: str | None) -> bool:
    """Whether the change touches the file at the resolved `path`."""
    return path == change.resolved or (change.recursive and f"{path}/".startswith(f"{change.resolved}/"))


def _namesake(other: PathFact, fact: PathFact) -> bool:
    return posixpath.basename(other.raw) == posixpath.basename(fact.raw)


def _changes(other: PathFact, fact: PathFact, sources: Mapping[str, CommandFact]) -> bool:
    """Whether writing `other` may change what `fact` runs: the file, or a module in the directory that is looked in."""
    if fact.resolved is None or _only_ends(other, fact, sources) or _only_adds(other, fact, sources):
        return False
    maker, user = sources.get(other.source), sources.get(fact.source)
    same = other.access is Access.WRITE and not other.recursive and other.resolved == fact.resolved
    if same and maker is not None and user is not None and rendered(maker, user, fact.resolved):
        return False
    if _holds(other, fact.resolved):
        return True
    beneath = f"{other.resolved}".removeprefix(f"{fact.resolved}".rstrip("/") + "/")
    return beneath != other.resolved and may_shadow(beneath.split("/")[0])


def _only_adds(other: PathFact, fact: PathFact, sources: Mapping[str, CommandFact]) -> bool:
    """Whether SQLite's shell adds to a database that it then asks: by statements that were read, or it runs code."""
    asks, adds = sources.get(fact.source), sources.get(other.source)
    both = [each for each in (asks, adds) if each is not None and each.name == "sqlite3"]
    plain = all(each.runs_code is RunsCode.NONE and each.origin is Origin.SYSTEM for each in both)
    return len(both) == 2 and plain and adds is not None and not any(">" in each.op for each in adds.redirects)


def _only_ends(other: PathFact, fact: PathFact, sources: Mapping[str, CommandFact]) -> bool:
    """Whether `other` deletes the very script that Python runs: where it is gone Python runs nothing, and looks for no
    other. Node adds endings to a name that is not there, a shell looks on PATH."""
    command = sources.get(fact.source)
    runs = command is not None and command.origin is Origin.SYSTEM and _PYTHON.fullmatch(command.name) is not None
    gone = other.access is Access.DELETE and other.resolved == fact.resolved
    return runs and gone and fact.exists and f"{fact.resolved}".endswith(".py")
