"""One command with its words: a function of the line, or a program that is listed, and what it runs followed."""

from collections.abc import Mapping, Sequence

from shield.facts.programs.model import Model
from shield.facts.programs.reading import NestedKind, Reading, Value
from shield.facts.shell.called import Names
from shield.facts.shell.circumstances import Circumstances
from shield.facts.shell.effects import DECLARING, carry_out
from shield.facts.shell.frame import Call, Done, Frame, Jumps, Walk, joined_ends
from shield.facts.shell.grammar.script import Function
from shield.facts.shell.invoked import read_called, read_uncalled
from shield.facts.shell.lookup import Found
from shield.facts.shell.lost import made_anew, nameless
from shield.facts.shell.nested import MAX_DEPTH, NestedCommands
from shield.facts.shell.record import Record
from shield.facts.shell.scopes import left, with_given
from shield.facts.shell.scripted import Scripted
from shield.facts.shell.state import State, join
from shield.facts.shell.traps import at_end
from shield.types import Access, Dynamic, Origin, PathFact, RunsCode

__all__ = ["Calls"]

_LINKING = frozenset(("-l", "-s", "--link", "--symbolic-link"))
# What they change holds for what is trapped, too.
_SHELLS = frozenset(("bash", "dash", "sh", "zsh"))
_STEERING = DECLARING | {".", "cd", "exec", "popd", "pushd", "set", "shopt", "source", "unset"}

# What is assigned in front of them may be what they change, or stay: after special builtins it does in other shells
# than bash (POSIX.1-2024 XCU 2.15). What `eval` and `source` leave, they see themselves.
_MEETING = DECLARING | {":", "break", "continue", "exec", "let", "return", "set", "shift", "times", "trap", "unset"}

# By which mv does no more than it would without.
_REPLACING = frozenset(("-f", "-v", "--force", "--verbose"))


class Calls:
    """The simple commands of one line."""

    def __init__(
        self, walk: Walk, record: Record, scripted: Scripted, programs: Mapping[str, Model], stdin: str | None
    ) -> None:
        self._walk = walk
        self._record = record
        self._names = Names(record.place, programs)
        self._circumstances = Circumstances(record.place, record)
        self._nested = NestedCommands(walk, record, scripted, self.call, stdin)

    def define(self, functions: frozenset[str]) -> None:
        """These are functions by a reading that is not understood."""
        self._names.functions |= functions

    def call(self, call: Call, state: State, frame: Frame) -> Done:
        """Run the command; what it is given in front of its name holds while it runs."""
        self._record.step()
        if frame.depth > MAX_DEPTH:
            self._walk.doubt("too many commands")
            return Done(state, state)
        head = call.words[0]
        if not head.fixed or head.fresh:
            return self._anything(call, state, frame)
        bodies = state.functions.get(head.text) if frame.functions and frame.builtins else None
        if bodies is not None:
            return self._function(bodies, call, state, frame)
        return self._program(call, state, frame)

    # --- functions --------------------------------------------------------------------------------------------------

    def _function(self, bodies: tuple[Function | None, ...], call: Call, state: State, frame: Frame) -> Done:
        """A function that the line defines: its body with the words for its parameters."""
        name = call.words[0].text
        if frame.calls.count(name) > 1:
            self._walk.doubt(f"`{name[:40]}` calls itself")
            return Done(state, state)
        reading = call.fed.reading if call.fed is not None else Reading()
        self._circumstances.influenced(call.shown, state, reading)
        self._record.add(call, reading, state, frame, found=Found(None, Origin.FUNCTION), name=name)
        ends = Done(None, None)
        for body in bodies:
            inner = state.copy()
            if body is None:
                bare = call._replace(given={}, fed=None)
                done = self._program(bare, inner, frame._replace(functions=False))
            else:
                done = self._body(body, call, inner, frame)
            ends = joined_ends(ends, done)
        return ends

    def _body(self, body: Function, call: Call, state: State, frame: Frame) -> Done:
        before = state.copy()
        state.give(call.words[1:])
        state.locals = frozenset()
        with_given(call.contents, state)
        returns = Jumps()
        inner = frame._replace(
            via=(*frame.via, body.name),
            depth=frame.depth + 1,
            opened=None,
            whole=False,
            loop=None,
            body=returns,
            calls=(*frame.calls, body.name),
        )
        done = self._walk.command(body.body, state, inner)
        for returned in returns.states:
            done = Done(join(done.success, returned), join(done.failure, returned))
        return Done(*(end and left(end.copy(), before, call.contents) for end in done))

    # --- programs ---------------------------------------------------------------------------------------------------

    def _anything(self, call: Call, state: State, frame: Frame) -> Done:
        """Which program it is, is not known."""
        reading = read_uncalled(call.words[1:], call.fed.reading if call.fed is not None else Reading())
        self._walk.shaken(state)  # it may be a builtin that assigns
        self._record.add(call, reading, state, frame, dynamic=Dynamic.PROGRAM)
        return Done(state, state)

    def _program(self, call: Call, state: State, frame: Frame) -> Done:
        words = call.words
        known_path = state.variables.get("PATH")
        path = known_path if isinstance(known_path, str) and call.shown.get("PATH", known_path) == known_path else None
        if call.path is not None and words[0].text not in state.functions:
            path = call.path
        called = self._names.called(words[0].text, state, frame, path=path, made=self._made())
        variables = {**state.variables, **call.contents}
        told = {name: text for name, text in variables.items() if isinstance(text, str) and name != "PATH"}
        reading = read_called(called, words[1:], self._record.place, state, frame._replace(told=told))
        if call.fed is not None:
            _merge(reading, call.fed.reading)
        nameless(called.name, reading)
        self._circumstances.apply(called, call, state, frame, reading)
        first, at = len(self._record.paths), len(self._record.commands)
        self._record.add(call, reading, state, frame, found=called.found, name=called.name)
        last = len(self._record.paths)
        if called.found.origin is Origin.FUNCTION:
            self._walk.shaken(state)  # one that is not followed
        builtin = called.found.origin is Origin.BUILTIN
        done = self._builtin(called.name, call, reading, state, frame) if builtin else Done(state, state)
        if called.name == "mkdir":
            done = made_anew(self._record.commands[-1], self._record.paths[first:last], state)
        for nested in reading.nested:
            inner = self._nested.follow(nested, call, state, frame)
            done = inner if not nested.fresh else done
        touched = self._record.touched
        here = self._record.paths[first:last]
        plain = touched.count == 0 and (self._copies(here, at) or self._moves_written(here, at))
        if reading.reshapes and not plain:
            touched.add(called.name, self._record.paths[first:last])
            if called.name == "git":
                touched.trees(called.name, state.bases)
        self._nested.feed(called.name, call, state, frame)
        return done

    def _copies(self, facts: Sequence[PathFact], at: int) -> bool:
        """Whether the command at that number copies what holds no links, as it is: then it makes none."""
        command = self._record.commands[at]
        plain = command.name == "cp" and command.origin is Origin.SYSTEM and _LINKING.isdisjoint(command.flags)
        return plain and self._record.led.brings_none(facts)

    def _moves_written(self, facts: Sequence[PathFact], at: int) -> bool:
        """Whether the command at that number moves one file over another, or to where nothing is, and a redirection
        before it made that file: then it is no link and no tree."""
        command, record = self._record.commands[at], self._record
        if command.name != "mv" or command.origin is not Origin.SYSTEM or not _REPLACING.issuperset(command.flags):
            return False
        moved = [fact for fact in facts if fact.access is Access.DELETE]
        others = [fact for fact in facts if fact.access is Access.WRITE]
        if len(moved) != 1 or moved[0].exists or moved[0].symlink or moved[0].resolved is None:
            return False
        if any(fact.symlink or fact.resolved is None for fact in others):
            return False
        written = {
            fact.source
            for fact in record.paths
            if fact.access is Access.WRITE and fact.resolved == moved[0].resolved and fact.raw == moved[0].raw
        }
        return any(
            f"commands[{index}]" in written
            and any(each.op == ">" and each.target == moved[0].raw for each in earlier.redirects)
            for index, earlier in enumerate(record.commands[:at])
        )

    def _made(self) -> bool:
        """Whether a command before this one may have put a program of the project where it is now looked for."""
        return any(
            fact.name == "chmod" or (fact.runs_code is RunsCode.WORKSPACE and fact.name not in _SHELLS)
            for fact in self._record.commands
        )

    def _builtin(self, name: str, call: Call, reading: Reading, state: State, frame: Frame) -> Done:
        """What it does to the shell itself."""
        words = call.words[1:]
        if name == "trap":
            self._trapped(words, state, frame)
        for word in words if name == "unset" else ():
            self._walk.unset(word.text)
        done = carry_out(name, words, call.given, state, self._record.place, self._walk.shell(frame), frame)
        if name in _MEETING and done.success is not None:
            for variable in call.contents:
                self._walk.assign(variable, None, done.success)
        if name in _STEERING and done.success is not None:
            self._walk.been(done.success)
        sourced = name in ("source", ".") and not any(item.kind is NestedKind.SHELL for item in reading.nested)
        if (reading.code or sourced) and done.success is not None:
            self._walk.shaken(done.success)
        if name == "exec" and not words and call.fed is not None:
            state.fed |= call.fed.stdin
        return done

    def _trapped(self, words: tuple[Value, ...], state: State, frame: Frame) -> None:
        operands = [word for word in words if not (word.fixed and word.text in ("-l", "-p", "--"))]
        if len(operands) > 1 and operands[0].fixed and operands[0].text not in ("", "-"):
            within = frame.beside or len(frame.via) > len(frame.calls)
            self._walk.trapped(operands[0].text, state, between=within or not at_end(operands[1:]))


def _merge(reading: Reading, other: Reading) -> None:
    reading.operations |= other.operations
    reading.code |= other.code
    reading.paths.extend(other.paths)
    reading.hosts.extend(other.hosts)
