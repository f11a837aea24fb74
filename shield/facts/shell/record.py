"""The facts of a line as they are gathered."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.hosts import host_fact
from shield.facts.place import Place
from shield.facts.programs.reading import Listing, Reading
from shield.facts.shell.dictated import Dictated
from shield.facts.shell.frame import Call, Frame
from shield.facts.shell.fresh import FreshNames
from shield.facts.shell.led import Led
from shield.facts.shell.lookup import Found
from shield.facts.shell.pathuse import path_facts
from shield.facts.shell.shaped import Shapes
from shield.facts.shell.state import State
from shield.facts.shell.touched import Touched
from shield.regex import regex
from shield.types import Access, CommandFact, Dynamic, HostFact, Origin, PathFact, RunsCode

__all__ = ["Record", "TooMuchError"]

_MAX_STEPS = 6_000
_LOOKS = (Access.READ, Access.LIST)
# A name that can be shown to a person as it stands.
_PLAIN = regex(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
_NONE_SHOWN: Mapping[str, str] = MappingProxyType({})


class TooMuchError(Exception):
    """Following the line takes more than is taken: of what there is too much, as the line's doubt says it."""


class Record:
    """What was found so far. `doubts` says why the line is not understood; empty if it is."""

    MAX_COMMANDS = 2_000
    # Rules look at every path, and some of them at all words for each: 2,000 roots of one find(1) took 6 s.
    MAX_PATHS = 1_000

    def __init__(self, place: Place) -> None:
        self.place = place
        self.fresh = FreshNames(place, "")
        self.commands: list[CommandFact] = []
        self.paths: list[PathFact] = []
        self.hosts: list[HostFact] = []
        self.unknown: list[str] = []
        self.unread: list[str] = []  # of it what scripts say, too
        self.absent: list[str] = []  # names that nothing on PATH answers to
        self.doubts: list[str] = []
        self.touched = Touched()
        self.led = Led(place)
        self.dictated = Dictated()
        self.shapes = Shapes()
        self.dashed: set[str] = set()  # directories in which the line makes names that begin with a dash
        self.listing: Listing | None = None  # what the newest command prints
        self._steps = 0

    def doubt(self, reason: str) -> None:
        if reason not in self.doubts:
            self.doubts.append(reason)

    def step(self) -> None:
        """One command is looked at.

        Raises:
            TooMuchError: too many were.
        """
        self._steps += 1
        if self._steps > _MAX_STEPS or len(self.commands) >= self.MAX_COMMANDS:
            raise TooMuchError("too many commands")

    def add(
        self,
        call: Call,
        reading: Reading,
        state: State,
        frame: Frame,
        *,
        found: Found | None = None,
        name: str | None = None,
        dynamic: Dynamic = Dynamic.NONE,
    ) -> None:
        """List a command, and turn what was read of it into facts. `name`: without directories, where it is known."""
        words = call.words
        redirects = call.fed.redirects if call.fed is not None else ()
        source = f"commands[{len(self.commands)}]"
        if found is None:
            found = Found(None, Origin.BUILTIN if not words and dynamic is Dynamic.NONE else Origin.UNKNOWN)
        if dynamic is Dynamic.NONE:
            dynamic = Dynamic.CODE if reading.code else Dynamic.ARGUMENT if _is_unsure(call) else Dynamic.NONE
        self.commands.append(
            CommandFact(
                name=name if name is not None else words[0].text if words else "",
                program=found.file,
                origin=found.origin,
                argv=tuple([word.shown if word.fresh else word.text for word in words]),
                flags=tuple(dict.fromkeys(reading.flags)),
                assignments=MappingProxyType(dict(call.shown)) if call.shown else _NONE_SHOWN,
                redirects=redirects,
                via=frame.via,
                operations=frozenset(reading.operations),
                runs_code=reading.runs,
                dynamic=dynamic,
            )
        )
        if found.absent and _PLAIN.fullmatch(self.commands[-1].name):
            self.absent.append(self.commands[-1].name)
        first = len(self.paths)
        self._take(reading, source, state, frame)
        self.led.note(self.commands[-1].name, self.paths[first:])
        self.dictated.note(call, self.commands[-1], self.paths[first:], source)
        for path, texts in reading.proven.items():
            self.dictated.prove(source, path, texts)

    def _take(self, reading: Reading, source: str, state: State, frame: Frame) -> None:
        self.listing = reading.prints
        behind = {note for use in reading.paths if (note := self.led.asks(use, state.bases)) is not None}
        reading.unread += sorted(behind)
        if not frame.elsewhere:
            for use in reading.paths:
                if reading.runs is not RunsCode.NONE and use.value.sample:
                    # what it runs, it may find there: which file that is, matters
                    use = replace(use, value=use.value._replace(sample=""))  # noqa: PLW2901 - the same use
                unmade = frame.lost or use.value.lost is not None
                facts = self._marked(path_facts(use, self.place, state.bases, source), state, unmade=unmade)
                self.paths.extend(facts)
                self.shapes.note(use, facts, source)
                if len(self.paths) > self.MAX_PATHS:
                    raise TooMuchError(f"more than {self.MAX_PATHS:,} paths")
                for fact in facts:
                    note = None if self._stands(fact) else self.touched.note(fact)
                    if note is not None:
                        self.unknown.append(note)
                    if fact.access is Access.WRITE and fact.resolved is not None:
                        folder, name = posixpath.split(fact.resolved)
                        if name.startswith("-"):
                            self.dashed.add(folder)
        for value in reading.hosts:
            host = host_fact(value.text) if value.known else None
            if host is None:
                self.unknown.append(f"the host in `{value.text[:80]}` is not known")
            else:
                self.hosts.append(host)
        self.unknown.extend((*reading.unknown, *reading.unread))
        self.unread.extend(reading.unread)

    def _stands(self, fact: PathFact) -> bool:
        """Whether it is just a folder that the line made anew: nothing puts a link in its place but who deletes it
        first, as `ln -f` does with a file."""
        path = fact.resolved
        made = path is not None and "fresh" in fact.categories and self.fresh.is_folder(path)
        return made and not self.led.gone(f"{path}")

    def ended(self) -> None:
        """Say of the whole line what is known only at its end."""
        self._filled()
        self.unknown.extend(self.shapes.clashes(self.paths, self.commands))

    def _filled(self) -> None:
        """Mark what the line makes anew where it puts something there that the project's own code does not."""
        puts = {
            f"commands[{at}]"
            for at, command in enumerate(self.commands)
            if command.runs_code is RunsCode.NONE or any(">" in each.op for each in command.redirects)
        }
        fresh = [fact for fact in self.paths if "fresh" in fact.categories]
        if any(fact.access is Access.WRITE and fact.source in puts for fact in fresh):
            self.paths[:] = [
                replace(fact, categories=fact.categories | {"filled"}) if "fresh" in fact.categories else fact
                for fact in self.paths
            ]

    def _marked(self, facts: list[PathFact], state: State, *, unmade: bool) -> list[PathFact]:
        """The facts, and which are of what the line has made anew, or (`unmade`) would only be if that failed. Nobody
        reads then what is not there, and what is done in any case is done by another command."""
        if unmade:
            known = {(fact.resolved, fact.access, fact.recursive) for fact in self.paths}
            facts = [
                fact if fact.access in _LOOKS else replace(fact, categories=fact.categories | {"unmade"})
                for fact in facts
                if fact.resolved is None
                or not (_nothing_there(fact) or (fact.resolved, fact.access, fact.recursive) in known)
            ]
        return [
            replace(fact, categories=fact.categories | {"fresh"}) if self.fresh.marked(fact, state.made) else fact
            for fact in facts
        ]


def _nothing_there(fact: PathFact) -> bool:
    """Whether to look there shows nothing: no file, or the root of all, which is the same everywhere."""
    root = fact.resolved == "/" and fact.access is Access.LIST and not fact.recursive
    return fact.access in _LOOKS and (root or not fact.exists)


def _is_unsure(call: Call) -> bool:
    """Whether an argument, or what a redirection opens, is not known."""
    for word in call.words:
        if not word.fixed or word.fresh:
            return True
    return call.fed is not None and call.fed.unsure
