"""One command with its words: looked up, read by its model, listed, and what it runs followed."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.paths import resolve_path
from shield.facts.programs.forwarding import forwarded
from shield.facts.programs.git_staging import after_changes, stages
from shield.facts.programs.installs import environment_of, guarded_by_install, may_install
from shield.facts.programs.invocation import Context, read_invocation
from shield.facts.programs.leading import mention_value, mention_within, search_path
from shield.facts.programs.model import Model, Use
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.programs.scripts import run_file
from shield.facts.programs.special import SPECIALS
from shield.facts.shell.builtins import BUILTIN_SPECIALS
from shield.facts.shell.dialect import reads_alike
from shield.facts.shell.effects import Given, carry_out
from shield.facts.shell.environment import Influence, influence, is_plain_setting
from shield.facts.shell.frame import Done, Fed, Frame, Jumps, Walk, joined_ends
from shield.facts.shell.glob import directory_of
from shield.facts.shell.grammar.script import Function
from shield.facts.shell.lookup import Found, Lookup
from shield.facts.shell.pathuse import looks_like_path, raw_path
from shield.facts.shell.record import Record
from shield.facts.shell.scripted import Scripted
from shield.facts.shell.variables import Content, State, join, united
from shield.types import Access, Dynamic, Operation, Origin, RunsCode

__all__ = ["Calls"]

_ALL_SPECIALS = MappingProxyType({**SPECIALS, **BUILTIN_SPECIALS})
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))
_OURS = (Origin.SYSTEM, Origin.BUILTIN, Origin.USER)
_FOREIGN = (Origin.WORKSPACE, Origin.TEMP)
# They add nothing to the environment of what they start.
_KEEPING_TEXT = """
bash command dash env eval exec find nice nohup setsid sh stdbuf time timeout xargs
"""
_KEEPING = frozenset(_KEEPING_TEXT.split())
# They leave standard input to the command that they start.
_PASSING = frozenset(("command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout"))
_LIVE = frozenset("$`*?[")
_MAX_DEPTH = 12
_MAX_FED = 16_384


class Calls:
    """The simple commands of one line."""

    def __init__(
        self, walk: Walk, record: Record, scripted: Scripted, programs: Mapping[str, Model], stdin: str | None
    ) -> None:
        self._walk = walk
        self._record = record
        self._scripted = scripted
        self._place = record.place
        self._programs = programs
        self._stdin = stdin
        self._lookup = Lookup(record.place)
        self.functions: set[str] = set()  # that a reading which is not understood defines
        self._aliases: set[str] = set()
        self._staged = False  # git may have been told of another repository
        self._activated: list[str] = []  # environments

    def call(
        self,
        words: tuple[Value, ...],
        state: State,
        frame: Frame,
        contents: Mapping[str, Content],
        given: Given,
        assignments: Mapping[str, str],
        fed: Fed | None,
    ) -> Done:
        """Run `words` with the assignments in front of them, which hold while it runs."""
        self._record.step()
        if frame.depth > _MAX_DEPTH:
            self._walk.doubt("too many commands")
            return Done(state, state)
        bodies = state.functions.get(words[0].text) if words[0].fixed and frame.functions and frame.builtins else None
        if bodies is not None:
            return self._function(bodies, words, state, frame, contents, assignments, fed)
        return self._program(words, state, frame, contents, given, assignments, fed)

    # --- functions --------------------------------------------------------------------------------------------------

    def _function(
        self,
        bodies: tuple[Function | None, ...],
        words: tuple[Value, ...],
        state: State,
        frame: Frame,
        contents: Mapping[str, Content],
        assignments: Mapping[str, str],
        fed: Fed | None,
    ) -> Done:
        """A function that the line defines: its body with the words for its parameters."""
        name = words[0].text
        if frame.calls.count(name) > 1:
            self._walk.doubt(f"`{name[:40]}` calls itself")
            return Done(state, state)
        reading = fed.reading if fed is not None else Reading()
        self._influences(assignments, state, reading)
        index = self._record.emit(
            words[0], words, reading, assignments, fed.redirects if fed is not None else (), frame,
            found=Found(None, Origin.FUNCTION), name=name,
        )  # fmt: skip
        self._record.take(reading, index, state, frame)
        ends = Done(None, None)
        for body in bodies:
            inner = state.copy()
            if body is None:
                done = self._program(words, inner, frame._replace(functions=False), contents, {}, assignments, None)
            else:
                done = self._body(body, words, inner, frame, contents)
            ends = joined_ends(ends, done)
        return ends

    def _body(
        self, body: Function, words: tuple[Value, ...], state: State, frame: Frame, contents: Mapping[str, Content]
    ) -> Done:
        before = state.copy()
        state.positional = words[1:]
        state.locals = frozenset()
        with_given(contents, state)
        returns = Jumps()
        inner = frame._replace(
            via=(*frame.via, body.name),
            depth=frame.depth + 1,
            whole=False,
            loop=None,
            body=returns,
            calls=(*frame.calls, body.name),
        )
        done = self._walk.command(body.body, state, inner)
        for left in returns.states:
            done = Done(join(done.success, left), join(done.failure, left))
        return Done(*(end and _left(end.copy(), before, contents) for end in done))

    # --- programs ---------------------------------------------------------------------------------------------------

    def _program(
        self,
        words: tuple[Value, ...],
        state: State,
        frame: Frame,
        contents: Mapping[str, Content],
        given: Given,
        assignments: Mapping[str, str],
        fed: Fed | None,
    ) -> Done:
        head = words[0]
        redirects = fed.redirects if fed is not None else ()
        if not head.fixed:
            reading = fed.reading if fed is not None else Reading()
            reading.caution()
            for word in words[1:]:
                reading.use(Use.ANY, word)
            state.exact = False  # it may be a builtin that assigns
            index = self._record.emit(head, words, reading, assignments, redirects, frame, dynamic=Dynamic.PROGRAM)
            self._record.take(reading, index, state, frame)
            return Done(state, state)
        name = posixpath.basename(head.text.rstrip("/")) if "/" in head.text else head.text
        known_path = state.variables.get("PATH")
        path = known_path if isinstance(known_path, str) and "PATH" not in assignments else None
        found = self._find(head.text, path, state, frame)
        reading = self._reading(name, words[1:], found, state, frame)
        self._renamed(name, words, found, state, reading)
        if fed is not None:
            _merge(reading, fed.reading)
        # one that only changes the shell takes no notice of what it is not told to
        quiet = found.origin is Origin.BUILTIN and name in ("read", "mapfile", "readarray")
        self._influences(
            {key: text for key, text in assignments.items() if key != "IFS"} if quiet else assignments, state, reading
        )
        self._installs(name, words, state, frame, assignments, reading)
        if name == "git":
            self._git(words[1:], state, reading)
        _listed(words, reading)
        index = self._record.emit(head, words, reading, assignments, redirects, frame, found=found, name=name)
        self._record.take(reading, index, state, frame)
        done = Done(state, state)
        if found.origin is Origin.BUILTIN:
            self._trapped(name, words[1:])
            shell = self._walk.shell(frame)
            done = carry_out(name, words[1:], given, state, self._place, shell, frame)
            sourced = name in ("source", ".") and not any(item.kind is NestedKind.SHELL for item in reading.nested)
            if (reading.code or sourced) and done.success is not None:
                done.success.exact = False
            if name == "exec" and len(words) == 1 and fed is not None:
                state.fed |= fed.stdin
        for nested in reading.nested:
            inner = self._follow(nested, state, frame, contents, assignments)
            done = inner if not nested.fresh else done
        if reading.reshapes:
            source = f"commands[{index}]"
            self._record.touched.add(name, (fact for fact in self._record.paths if fact.source == source))
            if name == "git":
                self._record.touched.trees(name, state.bases)
        if name in _SHELLS:
            self._feed(name, state, frame, contents)
        return done

    def _feed(self, name: str, state: State, frame: Frame, contents: Mapping[str, Content]) -> None:
        """A here-document or string that a shell reads is a script."""
        for text, depth in ((frame.fed, frame.depth + 1), (self._stdin, _MAX_DEPTH)):
            if text is not None and len(text) <= _MAX_FED:
                inner = frame.apart()._replace(via=(*frame.via, name), depth=depth, fed=None, calls=())
                started = fresh(state, contents, self._place.env)
                started.exact = False  # it may be given parameters
                self._walk.text(text, started, inner)

    def _trapped(self, name: str, words: tuple[Value, ...]) -> None:
        operands = [word for word in words if not (word.fixed and word.text in ("-l", "-p", "--"))]
        if name == "trap" and len(operands) > 1 and operands[0].fixed and operands[0].text not in ("", "-"):
            self._walk.trapped(operands[0].text)

    def _git(self, words: tuple[Value, ...], state: State, reading: Reading) -> None:
        """Judge git anew where earlier commands of the line changed what it will find."""
        paths = self._record.paths
        written = (fact.resolved for fact in paths if fact.access is Access.WRITE and fact.resolved is not None)
        if reading.runs is RunsCode.NONE and after_changes(words, staged=self._staged, written=written):
            reading.run(RunsCode.WORKSPACE)
        self._staged |= stages(words, self._place, state.bases)

    def _installs(
        self,
        name: str,
        words: tuple[Value, ...],
        state: State,
        frame: Frame,
        assignments: Mapping[str, str],
        reading: Reading,
    ) -> None:
        """Add the guarded environment that an installer would change."""
        if name in ("source", ".") and len(words) > 1 and words[1].fixed:
            entered = [environment_of(words[1].text, self._place, base) for base in state.bases]
            self._activated += [path for path in entered if path is not None]
        if frame.elsewhere or not may_install(name):
            return
        variables = {**state.known(), **assignments}
        for value in guarded_by_install(words, name, self._place, state.bases, variables, self._activated):
            reading.path(value, Access.WRITE)

    def _find(self, name: str, path: str | None, state: State, frame: Frame) -> Found:
        if frame.elsewhere:
            return Found()
        if name in self.functions and frame.builtins and frame.functions:
            return Found(None, Origin.FUNCTION)
        if len(state.bases) == 1:
            return self._lookup.find(name, state.bases[0], path, builtins=frame.builtins)
        found = [self._lookup.find(name, base, path, builtins=frame.builtins) for base in state.bases]
        # Where the directory is not certain, a program found in it is not, either.
        return found[0] if all(item == found[0] for item in found) else Found()

    def _model(self, name: str, found: Found) -> Model | None:
        model = self._programs.get(name)
        if model is None and found.file is not None:
            model = self._programs.get(posixpath.basename(found.file))
        if model is None and name.rstrip("0123456789.") in ("python", "pip", "ruby", "perl", "php", "lua", "node"):
            model = self._programs.get(name.rstrip("0123456789."))
        return model

    def _reading(self, name: str, words: tuple[Value, ...], found: Found, state: State, frame: Frame) -> Reading:
        """What the command does. A name that nothing is known to set may hold an option; but where the command runs
        nothing, whether the name is unset or a mere operand, it is an argument that is not known, and no code."""
        model = self._model(name, found)
        reading = self._read(name, model, words, found, state, frame)
        if not (reading.code and reading.loose) or all(word.unset is None for word in words):
            return reading
        operands = tuple(word if word.unset is None else word._replace(many=False, head="./") for word in words)
        rest = tuple(each for word in words for each in ((word,) if word.unset is None else word.unset))
        for passed in (operands, rest):
            other = self._read(name, model, passed, found, state, frame)
            runs = other.runs is not RunsCode.NONE or other.nested or Operation.EXECUTE in other.operations
            if runs or other.code or other.cautious:
                return reading
        reading.code = False
        return reading

    def _read(
        self, name: str, model: Model | None, words: tuple[Value, ...], found: Found, state: State, frame: Frame
    ) -> Reading:
        context = Context(
            place=self._place,
            bases=state.bases,
            piped=frame.piped or state.fed,
            fetched=frame.fetched,
            stdin=frame.fed,
            whole=frame.whole and frame.fed is not None,
            names=frame.names if frame.whole else None,
        )
        if found.origin is Origin.FUNCTION or (found.origin is Origin.BUILTIN and model is None):
            # What a function or a builtin without a model does to the shell is not followed.
            reading = Reading(code=True)
            reading.caution()
            return reading
        if model is not None:
            reading = read_invocation(name, model, words, context, _ALL_SPECIALS)
        else:
            reading = Reading()
            reading.caution()
            reading.nested += forwarded(name, words)
            reading.flags = [
                word.text.partition("=")[0] for word in words if word.text.startswith("-") and word.text != "-"
            ]
        if found.origin in _FOREIGN or (state.searched and found.origin is not Origin.BUILTIN):
            reading.run(RunsCode.WORKSPACE)
        if found.origin in _FOREIGN and found.file is not None:
            run_file(reading, found.file, words, context)
        if model is None or found.origin not in _OURS:
            # Another file of this name may do anything with its arguments.
            reading.caution()
            for word in words:
                if looks_like_path(word, self._place, state.bases):
                    reading.use(Use.ANY, word)
                if word.fixed:
                    mention_within(reading, word.text, home=self._place.home)
                loose = not word.fixed and word.pattern is None and word.roots is None and not word.number
                if loose and model is None:
                    reading.code = True
        elif reading.cautious:
            for word in words:
                text = word.text.partition("=")[2] if word.text.startswith("-") else word.text
                tail = word._replace(text=text, head=text if word.fixed else "")
                if text and looks_like_path(tail, self._place, state.bases):
                    reading.use(Use.ANY, tail)
        for text in reading.said:
            mention_within(reading, f" {text}", home=self._place.home)
        return reading

    def _renamed(self, name: str, words: tuple[Value, ...], found: Found, state: State, reading: Reading) -> None:
        """Names that mean something else by what the line did before."""
        if name in ("source", ".") and state.searched:
            reading.code = True  # a name without a slash is looked for in the PATH of the line
        if name in self._aliases:
            reading.code = True  # expanded by a shell that is told to, or that a host keeps open
        if name == "alias" and found.origin is Origin.BUILTIN:
            self._aliases.update(word.text.partition("=")[0] for word in words if "=" in word.text)

    def _influences(self, assignments: Mapping[str, str], state: State, reading: Reading) -> None:
        given: dict[str, str | None] = dict(assignments)
        for name in state.exported:
            if name not in given:
                value = state.variables.get(name)
                given[name] = value if isinstance(value, str) else None
        for name, value in given.items():
            kind = influence(name)
            if name == "PATH" and name not in assignments:
                continue  # programs are looked for in it
            if kind is Influence.CODE:
                reading.code = True
                reading.run(RunsCode.INLINE)
            elif kind is Influence.SEARCH:
                if reading.runs is RunsCode.FETCHED:
                    reading.unknown.append(f"what `{name[:80]}` changes in what runs is not known")
                search_path(reading, value)
            elif kind is Influence.OTHER:
                # make and others expand a `$` in what they find in the environment.
                steers = value is None or any(mark in value for mark in "$`")
                if reading.runs is RunsCode.FETCHED or (reading.runs is not RunsCode.NONE and steers):
                    reading.unknown.append(f"what `{name[:80]}` changes in what runs is not known")
                if reading.runs is not RunsCode.NONE:
                    mention_value(reading, Value(text=value or ""), home=self._place.home)
                if reading.runs is not RunsCode.NONE or not is_plain_setting(name, value):
                    reading.caution()

    # --- commands in commands -----------------------------------------------------------------------------------------

    def _follow(
        self,
        nested: Nested,
        state: State,
        frame: Frame,
        contents: Mapping[str, Content],
        assignments: Mapping[str, str],
    ) -> Done:
        inner = state.copy() if nested.fresh else state
        if nested.moved is not None:
            moved = nested.moved
            words = tuple(word._replace(known=False, pattern=None) if word.pattern else word for word in nested.words)
            nested = replace(nested, words=words)
            inner.bases = tuple(
                resolve_path(raw_path(moved.text), self._place, base=base, expand_tilde=False).path
                if moved.fixed
                else None
                for base in inner.bases
            )
        shell = nested.via[-1] if nested.via else "sh"
        argv = nested.kind is NestedKind.ARGV
        frame = frame._replace(
            via=(*frame.via, *nested.via),
            depth=frame.depth + 1,
            builtins=not nested.external or not argv,
            functions=not argv or (not nested.external and shell not in ("command", "builtin")),
            elsewhere=frame.elsewhere or nested.elsewhere,
            whole=frame.whole and argv and shell in _PASSING,
        )
        if nested.kind is NestedKind.SCRIPT:
            script_frame = frame.apart()._replace(functions=True, calls=(), fed=None)
            started = fresh(inner, {}, self._place.env)
            started.exact = False  # its parameters, and what it is given for the one command
            self._scripted.add(nested, started, script_frame, self._record)
            return Done(state, state)
        passed = dict(assignments) | dict(nested.assignments)
        # what is not constant stands there as it is written
        given = {key: None if set(text) & _LIVE else text for key, text in nested.assignments}
        contents = {**contents, **given}
        if argv:
            return self.call(nested.words, inner, frame, contents, {}, passed if nested.via else assignments, None)
        script = nested.words[0] if nested.words else Value(text="")
        if not script.fixed:
            self._walk.doubt("a script that is not a constant is run")
            return Done(state, state)
        if nested.fresh:
            frame = frame.apart()._replace(calls=())
            inner = fresh(inner, contents, self._place.env)
            inner.positional = nested.words[2:]
            inner.exact &= _KEEPING.issuperset(frame.via) and not frame.elsewhere
            if not reads_alike(shell, script.text):
                self._walk.doubt(f"`{shell}` reads this otherwise than bash")
            return self._walk.text(script.text, inner, frame)
        return self._within(script.text, nested, inner, frame, contents)

    def _within(self, text: str, nested: Nested, state: State, frame: Frame, contents: Mapping[str, Content]) -> Done:
        """A text that this very shell runs: `eval`, `source`."""
        sourced = len(nested.words) > 1 and nested.words[1].text == "source"
        before = state.copy()
        with_given(contents, state)
        returns = Jumps()
        if sourced:
            frame = frame._replace(body=returns, loop=None)
            if nested.words[2:]:
                state.positional = nested.words[2:]
        done = self._walk.text(text, state, frame)
        for left in returns.states:
            done = Done(join(done.success, left), join(done.failure, left))
        ends = []
        for end in done:
            after = end.copy() if end is not None else None
            if after is not None and sourced and nested.words[2:]:
                after.positional = before.positional
            ends.append(after and _restored(after, before, contents))
        return Done(*ends)


def with_given(contents: Mapping[str, Content], state: State) -> None:
    """The assignments in front of a command are variables while it runs in this shell."""
    state.variables.update(contents)


def _restored(state: State, before: State, contents: Mapping[str, Content]) -> State:
    for name in contents:
        state.variables[name] = united(before.value(name), state.value(name))
    return state


def _left(state: State, before: State, contents: Mapping[str, Content]) -> State:
    """After a function: its parameters are gone, and what was local to it on some way there may be."""
    state.positional = before.positional
    for name in state.locals | contents.keys():
        state.variables[name] = united(before.value(name), state.value(name))
    state.locals = before.locals
    return state


def fresh(state: State, contents: Mapping[str, Content], env: Mapping[str, str]) -> State:
    """Another shell: it has the exported variables only, and nothing else of this one's."""
    inner = state.copy()
    exported = {name: value for name, value in state.variables.items() if name in env or name in state.exported}
    # what was unset is exported only if it was told to be again
    inner.variables = {**exported, **dict.fromkeys(state.gone & state.variables.keys()), **contents}
    inner.functions, inner.attributes, inner.positional = {}, {}, None
    inner.fed = False
    inner.split = inner.globs = True
    inner.previous, inner.stack, inner.locals = (None,), (), frozenset()
    return inner


def _listed(words: tuple[Value, ...], reading: Reading) -> None:
    """Whatever the program does with the names, the shell has read the directories that its patterns stand in."""
    patterns = [word for word in words if word.pattern is not None]
    used = {use.value.pattern for use in reading.paths} if patterns else ()
    for word in patterns:
        if word.pattern not in used:
            reading.path(directory_of(word), Access.LIST)


def _merge(reading: Reading, other: Reading) -> None:
    reading.operations |= other.operations
    reading.paths.extend(other.paths)
    reading.hosts.extend(other.hosts)
