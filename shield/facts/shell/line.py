"""One command line followed through: lists, pipelines, commands, and the shell's state between them."""

import posixpath
from collections.abc import Mapping
from itertools import zip_longest

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.model import Model
from shield.facts.programs.reading import Listing, Reading, Value
from shield.facts.shell.calls import Calls
from shield.facts.shell.content import Shell, content_of
from shield.facts.shell.control import Control
from shield.facts.shell.environment import may_be_secret
from shield.facts.shell.frame import Call, Done, Fed, Frame, joined_ends
from shield.facts.shell.fresh import FreshNames
from shield.facts.shell.grammar.parse import SecondParser, parse
from shield.facts.shell.grammar.script import (
    MAX_DEPTH,
    AndOr,
    Command,
    Part,
    Pipeline,
    RedirectNode,
    Script,
    Simple,
    Word,
)
from shield.facts.shell.lines import line_variable
from shield.facts.shell.lost import ends_here
from shield.facts.shell.outputs import Outputs
from shield.facts.shell.printed import thinned
from shield.facts.shell.record import Record, TooMuchError
from shield.facts.shell.redirects import read_redirects
from shield.facts.shell.scripted import OneParser, Scripted
from shield.facts.shell.settings import Settings
from shield.facts.shell.simple import Simples, reads_nothing_else
from shield.facts.shell.state import State, join, resumed, skips_of
from shield.facts.shell.tilde import Mode
from shield.facts.shell.touched import rewritten
from shield.facts.shell.traps import Trap, behind, later, marks
from shield.facts.shell.variables import OWN_VARIABLES, Content, Hashes, Number
from shield.types import CommandFact, Operation, PathFact

__all__ = ["Line"]

_MAX_TRAPS = 8
_MAX_ROUNDS = 4
_FOREIGN_NAMES = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE")


class Line:
    """The facts of one line, gathered. `doubts` says why the line is not understood; empty if it is."""

    def __init__(
        self, place: Place, programs: Mapping[str, Model], second: SecondParser | None, stdin: str | None
    ) -> None:
        self.place = place
        self._second = second
        self._stdin = stdin
        self._record = Record(place)
        self._settings = Settings(place)
        self._programs = programs
        self._calls = Calls(self, self._record, Scripted(self._follow_script), programs, stdin)
        self._simples = Simples(self, self._record, self._settings, self._calls)
        self._control = Control(self)
        self._outputs = Outputs(self, self._record)
        self._traps: dict[str, Trap] = {}
        self._ever: State | None = None  # what held at any time

    @property
    def commands(self) -> list[CommandFact]:
        return self._record.commands

    @property
    def paths(self) -> list[PathFact]:
        return self._record.paths

    @property
    def unknown(self) -> list[str]:
        return self._record.unknown

    @property
    def record(self) -> Record:
        return self._record

    @property
    def doubts(self) -> list[str]:
        return self._record.doubts

    def doubt(self, reason: str) -> None:
        self._record.doubt(reason)

    def read(self, text: str) -> None:
        """Follow the whole line."""
        self._record.fresh = FreshNames(self.place, text)
        if posixpath.basename(self.place.shell) != "bash":
            self.doubt("the shell is not bash")
        if text.startswith(("-", "+")):
            self.doubt("the shell takes the line for an option")
        variables: dict[str, Content] = {}
        for name, value in self.place.env.items():
            if name not in OWN_VARIABLES:
                variables[name] = None if may_be_secret(name) else value
            if name in _FOREIGN_NAMES or name.startswith("BASH_FUNC"):
                self.doubt(f"the environment sets `{name}`")
        cwd = self.place.cwd
        linked = cwd is not None and resolve_path(cwd, self.place, base=None, expand_tilde=False).path != cwd
        state = State(variables, (cwd,), linked, self._record.doubts, skips=skips_of(text))
        frame = Frame(piped=self._stdin is not None, dictated=self._record.dictated.texts)
        self.been(state)
        try:
            self.text(text, state, frame)
            self._follow_traps(frame)
        except TooMuchError as error:
            self.doubt(str(error))
        self._record.ended()
        self.unknown.extend(rewritten(self.paths, self.commands, self._record.dictated.settles))

    def _follow_traps(self, frame: Frame) -> None:
        """What is trapped runs at some time: with any values of what the line changes, wherever the shell has been."""
        for _ in range(_MAX_ROUNDS):
            seen, known = self._ever, tuple(self._traps)
            if len(known) > _MAX_TRAPS:
                self.doubt("too many traps")
                return
            if not known or seen is None:
                return
            for text, trap in tuple(self._traps.items()):
                before = later(seen, trap.held, self._settings, self.place.env)
                was = marks(self._record, self._settings)
                done = self.text(text, before.copy(), frame._replace(via=(*frame.via, "trap")))
                behind(trap, before, done.either, was, self._record, self._settings)
            # What one of them changes, is there for the others, and for itself the next time; and what it traps, such
            # as a shell that it starts does, runs in its turn.
            if self._ever == seen and len(self._traps) == len(known):
                return
        self.doubt("what is trapped changes the shell again and again")

    def _follow_script(self, text: str, state: State, frame: Frame, scripted: Scripted) -> Record:
        """A script in a line of its own: what is not known of it is not said of this one."""
        line = Line(self.place, self._programs, OneParser(), None)
        line._calls = Calls(line, line._record, scripted, self._programs, None)
        line._simples = Simples(line, line._record, line._settings, line._calls)
        line._record.led, line._record.fresh = self._record.led, FreshNames(self.place, text, sure=True)
        state.inexact, state.skips = line._record.doubts, skips_of(text)
        line.been(state)
        try:
            line.text(text, state, frame)
            line._follow_traps(frame)
        except TooMuchError as error:
            line.doubt(str(error))
        return line._record

    def trapped(self, script: str, state: State, *, between: bool) -> None:
        known = self._traps.get(script, Trap(state, between))
        self._traps[script] = Trap(join(known.held, state.copy()) or state, known.between or between)

    def shaken(self, state: State) -> None:
        state.shake()
        self._settings.shake()

    def unset(self, name: str) -> None:
        self._settings.unset(name)

    def been(self, state: State) -> None:
        now = state.copy()
        now.variables = {}
        self._ever = join(self._ever, now)

    def text(self, text: str, state: State, frame: Frame) -> Done:
        """Parse with both parsers, then follow what both say, or all that either says."""
        if frame.depth > MAX_DEPTH:
            self.doubt("nested too deep")
            return Done(state, state)
        parsed = parse(text, self._second)
        for reason in parsed.doubts:
            self.doubt(reason)
        if parsed.doubts:
            self._calls.define(parsed.functions)
            for reading in parsed.readings[:-1]:
                # What any of them runs is listed.
                self.script(reading, state.copy(), frame)
        return self.script(parsed.script, state, frame)

    # --- lists ------------------------------------------------------------------------------------------------------

    def script(self, script: Script, state: State, frame: Frame) -> Done:
        done = Done(state, state)
        ended = False
        for item in script.lists:
            # Behind an end nothing runs: judged all the same, from where it stood.
            here = resumed(done.either or state)
            ends = ends_here(item, here, frame)
            done = self._and_or(
                item, here.copy() if item.background else here, frame.apart() if item.background else frame
            )
            done = Done(done.success, None) if ends else done
            if item.background:
                done = Done(here, here)
            if done.either is None:
                ended = True
                done = Done(here, here)
        return Done(None, None) if ended else done

    def _and_or(self, item: AndOr, state: State, frame: Frame) -> Done:
        tried = frame._replace(tried=True) if item.operators else frame
        done = self._pipeline(item.pipelines[0], state, tried)
        for index, (operator, pipeline) in enumerate(zip(item.operators, item.pipelines[1:], strict=True), start=1):
            both = operator == "&&"
            entered, other = done if both else (done.failure, done.success)
            start = state.copy() if entered is None else entered.copy() if entered is other else entered
            after = self._pipeline(pipeline, start, tried if index < len(item.operators) else frame)
            after = Done(None, None) if entered is None else after
            done = joined_ends(after, Done(None, other) if both else Done(other, None))
        return done

    def _pipeline(self, pipeline: Pipeline, state: State, frame: Frame) -> Done:
        if len(pipeline.stages) == 1:
            inside = frame._replace(tried=True) if pipeline.negated else frame
            done = self.command(pipeline.stages[0], state, inside)
            return Done(done.failure, done.success) if pipeline.negated else done
        commands = self._record.commands
        inner = frame.apart()._replace(whole=False, opened=None, names=None, numbers=False, hashes=False)
        output: Content = None
        for stage, following in zip_longest(pipeline.stages, pipeline.stages[1:]):
            seen = len(commands)
            self.command(stage, state.copy(), inner)
            names = self._outputs.names(stage, seen, inner.names, frame, state.bases)
            if following is None:
                self._outputs.listing = names
                break
            left = thinned(output, commands[seen]) if len(commands) == seen + 1 else None
            output = self._outputs.printed(stage, seen, state) or left
            inner = inner._replace(
                piped=True,
                fetched=inner.fetched or any(Operation.NETWORK in fact.operations for fact in commands[seen:]),
                fed=output if isinstance(output, str) else None,
                whole=reads_nothing_else(following) or line_variable(following) is not None,
                names=names,
                numbers=isinstance(output, Number) and output.natural,
                hashes=isinstance(output, Hashes),
            )
        return Done(state, state)

    # --- what the parts ask for -------------------------------------------------------------------------------------

    def command(self, node: Command, state: State, frame: Frame) -> Done:
        self._record.step()
        if isinstance(node, Simple):
            return self._simples.command(node, state, frame)
        return self._control.command(node, state, frame)

    def values(self, word: Word, state: State, frame: Frame) -> list[Value]:
        return self._simples.values(word, state, self.shell(frame))

    def assign(self, name: str, content: Content, state: State) -> None:
        self._settings.assign(name, content, state)

    def redirected(self, nodes: tuple[RedirectNode, ...], state: State, frame: Frame) -> Fed:
        shell = self.shell(frame)
        return read_redirects(
            nodes,
            lambda word: self._simples.values(word, state, shell),
            lambda word: content_of(word, state, shell, Mode.WHOLE),
        )

    def bare(self, reading: Reading, state: State, frame: Frame, fed: Fed | None = None) -> None:
        self._record.add(Call((), fed=fed), reading, state, frame)

    def shell(self, frame: Frame) -> Shell:
        return _Expansions(self, frame)

    def listed(self, part: Part) -> Listing | None:
        return self._outputs.listed(part)

    def entry(self, part: Part, state: State) -> Content:
        return self._outputs.entry(part, state)

    def output(self, part: Part, state: State, frame: Frame) -> Content:
        return self._outputs.output(part, state, frame)


class _Expansions:
    """The line as expansions within one command see it."""

    __slots__ = ("_frame", "_line")

    def __init__(self, line: Line, frame: Frame) -> None:
        self._line = line
        self._frame = frame

    def output(self, part: Part, state: State) -> Content:
        return self._line.output(part, state, self._frame)

    def entry(self, part: Part, state: State) -> Content:
        return self._line.entry(part, state)

    def assign(self, name: str, value: Content, state: State) -> None:
        self._line.assign(name, value, state)
