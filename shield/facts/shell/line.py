"""One command line followed through: lists, pipelines, commands, and the shell's state between them."""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from shield.facts.hosts import host_fact
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git_staging import after_changes, stages
from shield.facts.programs.installs import environment_of, guarded_by_install, may_install
from shield.facts.programs.invocation import Context, read_invocation
from shield.facts.programs.leading import mention_value, mention_within, search_path
from shield.facts.programs.model import Model, Use
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.programs.special import SPECIALS
from shield.facts.shell.builtins import BUILTIN_SPECIALS, Effect, carry_out
from shield.facts.shell.environment import Influence, influence
from shield.facts.shell.expand import OWN_VARIABLES, State, expand, text_of
from shield.facts.shell.glob import directory_of, may_be_option
from shield.facts.shell.lookup import Found, Lookup
from shield.facts.shell.pathuse import looks_like_path, path_facts, raw_path
from shield.facts.shell.plain import RefusedLineError, read_plain
from shield.facts.shell.redirects import read_redirects
from shield.facts.shell.script import MAX_DEPTH, AndOr, PartKind, Pipeline, Script, Simple, Word, literal
from shield.facts.shell.touched import Touched, rewritten
from shield.facts.shell.tree import read_tree
from shield.types import Access, CommandFact, Dynamic, HostFact, Operation, Origin, PathFact, Redirect, RunsCode

__all__ = ["Line"]

_MAX_COMMANDS = 2_000
_MAX_PATTERNS = 64
_SHELLS_TEXT = """
sh bash dash zsh ksh ash fish
"""
_SHELLS = frozenset(_SHELLS_TEXT.split())
_ALL_SPECIALS = MappingProxyType({**SPECIALS, **BUILTIN_SPECIALS})
# `a=~` is a word that bash alone expands
_BASHISMS = ("|&", "&>", "<<<", "$'", ">&", "=~", ":~")
_OURS = (Origin.SYSTEM, Origin.BUILTIN, Origin.USER)
_FOREIGN = (Origin.WORKSPACE, Origin.TEMP)
_ORDER = (Dynamic.NONE, Dynamic.ARGUMENT, Dynamic.PROGRAM, Dynamic.CODE)


class Frame(NamedTuple):
    """Where a command stands: what feeds it, what wraps it, how deep."""

    via: tuple[str, ...] = ()
    depth: int = 0
    piped: bool = False
    fetched: bool = False
    builtins: bool = True
    conditional: bool = False
    elsewhere: bool = False


class Bases(NamedTuple):
    """Where the shell may stand after a command succeeded, and after it failed. Empty: it does not get there."""

    success: tuple[str | None, ...]
    failure: tuple[str | None, ...]


class Line:
    """The facts of one line, gathered. `doubts` says why the line is not understood; empty if it is."""

    def __init__(self, place: Place, programs: Mapping[str, Model], stdin: str | None) -> None:
        self.place = place
        self.programs = programs
        self.stdin = stdin
        self.lookup = Lookup(place)
        self.commands: list[CommandFact] = []
        self.paths: list[PathFact] = []
        self.hosts: list[HostFact] = []
        self.unknown: list[str] = []
        self.doubts: list[str] = []
        self.functions: set[str] = set()
        self.touched = Touched()
        self.staged = False  # git may have been told of another repository
        self.activated: list[str] = []  # environments
        self.patterns = 0

    def doubt(self, reason: str) -> None:
        if reason not in self.doubts:
            self.doubts.append(reason)

    def read(self, text: str) -> None:
        """Follow the whole line."""
        if posixpath.basename(self.place.shell) != "bash":
            self.doubt("the shell is not bash")
        if text.startswith(("-", "+")):
            self.doubt("the shell takes the line for an option")
        variables: dict[str, str | None] = {}
        for name, value in self.place.env.items():
            if name not in OWN_VARIABLES:
                variables[name] = value
            if name in ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE") or name.startswith(
                "BASH_FUNC"
            ):
                self.doubt(f"the environment sets `{name}`")
        cwd = self.place.cwd
        linked = cwd is not None and resolve_path(cwd, self.place, base=None, expand_tilde=False).path != cwd
        state = State(variables, (cwd,), linked)
        self.text(text, state, Frame(piped=self.stdin is not None))
        for reason in state.inexact:
            self.doubt(reason)
        self.unknown.extend(rewritten(self.paths))

    def text(self, text: str, state: State, frame: Frame) -> None:
        """Parse with both parsers, then follow what the tree shows, or what both show."""
        if frame.depth > MAX_DEPTH:
            self.doubt("nested too deep")
            return
        tree = read_tree(text.encode("utf-8", "replace"))
        self.functions |= tree.functions
        try:
            plain: Script | None = read_plain(text)
        except RefusedLineError as error:
            plain = None
            self.doubt(str(error))
        if plain is not None and not (tree.complete and plain == tree.script):
            self.doubt("two parsers differ")
            # Both readings are followed: what either sees is listed.
            self.script(plain, replace_state(state), frame)
        self.script(tree.script, state, frame)

    # --- lists ------------------------------------------------------------------------------------------------------

    def script(self, script: Script, state: State, frame: Frame) -> None:
        for item in script.lists:
            if item.background:
                self.and_or(item, replace_state(state), frame)
            else:
                self.and_or(item, state, frame)

    def and_or(self, item: AndOr, state: State, frame: Frame) -> None:
        before = state.bases
        done = self.pipeline(item.pipelines[0], state, frame)
        for operator, pipeline in zip(item.operators, item.pipelines[1:], strict=False):
            entered = done.success if operator == "&&" else done.failure
            # Nothing leads here (`exit || x`): judged all the same, from where the list began.
            state.bases = entered or before
            after = self.pipeline(pipeline, state, frame._replace(conditional=True))
            if operator == "&&":
                done = Bases(after.success if entered else (), _union(done.failure, after.failure if entered else ()))
            else:
                done = Bases(_union(done.success, after.success if entered else ()), after.failure if entered else ())
        state.bases = _union(done.success, done.failure) or before

    def pipeline(self, pipeline: Pipeline, state: State, frame: Frame) -> Bases:
        if len(pipeline.stages) == 1:
            return self.simple(pipeline.stages[0], state, frame)
        seen, fetched = len(self.commands), frame.fetched
        for index, stage in enumerate(pipeline.stages):
            fetched = fetched or any(Operation.NETWORK in fact.operations for fact in self.commands[seen:])
            seen = len(self.commands)
            piped = frame.piped or index > 0
            changed = piped != frame.piped or fetched != frame.fetched
            inner = frame._replace(piped=piped, fetched=fetched) if changed else frame
            self.simple(stage, replace_state(state), inner)
        return Bases(state.bases, state.bases)

    # --- one command ------------------------------------------------------------------------------------------------

    def simple(self, node: Simple, state: State, frame: Frame) -> Bases:
        if len(self.commands) >= _MAX_COMMANDS:
            self.doubt("too many commands")
            return Bases(state.bases, state.bases)
        self.substitutions(node, state, frame)
        words = [value for word in node.words for value in self.values(word, state)]
        assignments: dict[str, str] = {}
        for assignment in node.assignments:
            value = text_of(assignment.value, state) if assignment.plain and not assignment.append else None
            assignments[assignment.name] = value if value is not None else _shown(assignment.value)
            if not assignment.plain:
                self.doubt("an array or subscript is assigned")
            if not node.words:
                self.assign(assignment.name, value, state, frame)
        index = len(self.commands)
        redirects, reading = read_redirects(node.redirects, lambda word: self.values(word, state))
        fed = frame.piped or any(op.op.startswith("<") for op in redirects)
        if node.words:
            frame = frame if frame.piped == fed else frame._replace(piped=fed)
            if not words:
                # Every word came to nothing: bash runs nothing, or what an assignment left.
                self.emit(Value(text=""), (), reading, assignments, redirects, frame, dynamic=Dynamic.PROGRAM)
                done = Bases(state.bases, state.bases)
            else:
                done = self.invoke(tuple(words), state, frame, assignments, redirects, reading)
            self.feed(node, words, state, frame)
            return done
        self.emit(Value(text=""), (), reading, assignments, redirects, frame)
        self.take(reading, index, state, frame)
        return Bases(state.bases, state.bases)

    def substitutions(self, node: Simple, state: State, frame: Frame) -> None:
        words: list[Word] = [
            *(item.value for item in node.assignments),
            *node.words,
            *(item.target for item in node.redirects),
        ]
        for word in words:
            for part in word:
                if part.script is not None:
                    if frame.depth >= MAX_DEPTH:
                        self.doubt("nested too deep")
                        continue
                    inner = frame._replace(depth=frame.depth + 1, piped=frame.piped, conditional=False)
                    self.script(part.script, replace_state(state), inner)

    def values(self, word: Word, state: State) -> list[Value]:
        """The word's values; a glob that may become an option counts as a word of unknown content."""
        out: list[Value] = []
        for item in expand(word, state):
            value = item
            if value.pattern is not None:
                self.patterns += 1
                if self.patterns > _MAX_PATTERNS:
                    self.doubt("too many patterns")
                    value = value._replace(known=False, pattern=None, many=True)
            if value.pattern is not None and any(
                may_be_option(value.pattern, self.place, base) for base in state.bases
            ):
                value = value._replace(head="", many=True)
            out.append(value)
        return out

    def assign(self, name: str, value: str | None, state: State, frame: Frame) -> None:
        """A variable of the shell itself; exported already if the environment has it."""
        kind = influence(name)
        if kind is Influence.CODE or name in OWN_VARIABLES:
            self.doubt(f"`{name}` is assigned")
        elif kind is not Influence.NONE and name in self.place.env:
            state.exported.append(name)
        state.variables[name] = None if frame.conditional else value
        if name == "PATH":
            state.variables["PATH"] = None

    def feed(self, node: Simple, words: list[Value], state: State, frame: Frame) -> None:
        """A here-document or string that a shell reads is a script."""
        name = posixpath.basename(words[0].text) if words else ""
        if name not in _SHELLS:
            return
        for redirect in node.redirects:
            body = literal(redirect.target)
            if redirect.op.startswith("<<") and body is not None:
                self.text(body, replace_state(state), frame._replace(via=(*frame.via, name), depth=frame.depth + 1))
        if self.stdin is not None and len(self.stdin) <= 16_384:
            self.text(self.stdin, replace_state(state), frame._replace(via=(*frame.via, name), depth=MAX_DEPTH))

    def invoke(
        self,
        words: tuple[Value, ...],
        state: State,
        frame: Frame,
        assignments: Mapping[str, str],
        redirects: tuple[Redirect, ...] = (),
        redirected: Reading | None = None,
    ) -> Bases:
        """One command with its words: look it up, read it by its model, list it, follow what it runs."""
        if len(self.commands) >= _MAX_COMMANDS or frame.depth > MAX_DEPTH:
            self.doubt("too many commands")
            return Bases(state.bases, state.bases)
        head = words[0]
        index = len(self.commands)
        if not head.fixed:
            reading = redirected or Reading()
            reading.caution()
            for word in words[1:]:
                reading.use(Use.ANY, word)
            self.emit(head, words, reading, assignments, redirects, frame, dynamic=Dynamic.PROGRAM)
            self.take(reading, index, state, frame)
            return Bases(state.bases, state.bases)
        name = posixpath.basename(head.text.rstrip("/")) if "/" in head.text else head.text
        path = None if "PATH" in assignments else state.variables.get("PATH")
        found = self._find(head.text, path, state, frame)
        model = self._model(name, found)
        reading = self._read(name, model, words[1:], found, state, frame)
        if redirected is not None:
            _merge(reading, redirected)
        self._influences(assignments, state, reading)
        self._installs(name, words, state, frame, assignments, reading)
        if name == "git":
            self._git(words[1:], state, reading)
        patterns = [word for word in words if word.pattern is not None]
        used = {use.value.pattern for use in reading.paths} if patterns else ()
        for word in patterns:
            if word.pattern not in used:
                # whatever the program does with the names, the shell has read the directories that they stand in
                reading.path(directory_of(word), Access.LIST)
        self.emit(head, words, reading, assignments, redirects, frame, found=found, name=name)
        self.take(reading, index, state, frame)
        effect = (
            carry_out(name, words[1:], state, self.place, conditional=frame.conditional)
            if found.origin is Origin.BUILTIN
            else Effect(state.bases, state.bases)
        )
        for doubt in effect.doubts:
            self.doubt(doubt)
        done = Bases(effect.success, effect.failure)
        for nested in reading.nested:
            inner = self.follow(nested, state, frame, assignments)
            done = inner if not nested.fresh else done
        if reading.reshapes:
            self.touched.add(name, (fact for fact in self.paths if fact.source == f"commands[{index}]"))
            if name == "git":
                self.touched.trees(name, state.bases)
        return done

    def _git(self, words: tuple[Value, ...], state: State, reading: Reading) -> None:
        """Judge git anew where earlier commands of the line changed what it will find."""
        written = (fact.resolved for fact in self.paths if fact.access is Access.WRITE and fact.resolved is not None)
        if reading.runs is RunsCode.NONE and after_changes(words, staged=self.staged, written=written):
            reading.run(RunsCode.WORKSPACE)
        self.staged |= stages(words, self.place, state.bases)

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
            entered = [environment_of(words[1].text, self.place, base) for base in state.bases]
            self.activated += [path for path in entered if path is not None]
        if frame.elsewhere or not may_install(name):
            return
        variables = {**state.variables, **assignments}
        for value in guarded_by_install(words, name, self.place, state.bases, variables, self.activated):
            reading.path(value, Access.WRITE)

    def _find(self, name: str, path: str | None, state: State, frame: Frame) -> Found:
        if frame.elsewhere:
            return Found()
        if name in self.functions and frame.builtins:
            return Found(None, Origin.FUNCTION)
        if len(state.bases) == 1:
            return self.lookup.find(name, state.bases[0], path, builtins=frame.builtins)
        found = [self.lookup.find(name, base, path, builtins=frame.builtins) for base in state.bases]
        # Where the directory is not certain, a program found in it is not, either.
        return found[0] if all(item == found[0] for item in found) else Found()

    def _model(self, name: str, found: Found) -> Model | None:
        model = self.programs.get(name)
        if model is None and found.file is not None:
            model = self.programs.get(posixpath.basename(found.file))
        if model is None and name.rstrip("0123456789.") in ("python", "pip", "ruby", "perl", "php", "lua", "node"):
            model = self.programs.get(name.rstrip("0123456789."))
        return model

    def _read(
        self, name: str, model: Model | None, words: tuple[Value, ...], found: Found, state: State, frame: Frame
    ) -> Reading:
        context = Context(place=self.place, bases=state.bases, piped=frame.piped, fetched=frame.fetched)
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
            reading.flags = [
                word.text.partition("=")[0] for word in words if word.text.startswith("-") and word.text != "-"
            ]
        if found.origin in _FOREIGN:
            reading.run(RunsCode.WORKSPACE)
        if model is None or found.origin not in _OURS:
            # Another file of this name may do anything with its arguments.
            reading.caution()
            for word in words:
                if looks_like_path(word, self.place, state.bases):
                    reading.use(Use.ANY, word)
                if word.fixed:
                    mention_within(reading, word.text, home=self.place.home)
                if not word.fixed and word.pattern is None and model is None:
                    reading.code = True
        elif reading.cautious:
            for word in words:
                text = word.text.partition("=")[2] if word.text.startswith("-") else word.text
                tail = word._replace(text=text, head=text if word.fixed else "")
                if text and looks_like_path(tail, self.place, state.bases):
                    reading.use(Use.ANY, tail)
        return reading

    def _influences(self, assignments: Mapping[str, str], state: State, reading: Reading) -> None:
        given = {name: state.variables.get(name) for name in state.exported} | dict(assignments)
        for name, value in given.items():
            kind = influence(name)
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
                    mention_value(reading, Value(text=value or ""), home=self.place.home)
                reading.caution()

    def follow(self, nested: Nested, state: State, frame: Frame, assignments: Mapping[str, str]) -> Bases:
        """A command inside a command."""
        inner = replace_state(state) if nested.fresh else state
        if nested.moved is not None:
            moved = nested.moved
            words = tuple(word._replace(known=False, pattern=None) if word.pattern else word for word in nested.words)
            nested = replace(nested, words=words)
            inner.bases = tuple(
                resolve_path(raw_path(moved.text), self.place, base=base, expand_tilde=False).path
                if moved.fixed
                else None
                for base in inner.bases
            )
        frame = frame._replace(
            via=(*frame.via, *nested.via),
            depth=frame.depth + 1,
            builtins=not nested.external or nested.kind is NestedKind.SHELL,
            elsewhere=frame.elsewhere or nested.elsewhere,
        )
        passed = dict(assignments) | dict(nested.assignments)
        if nested.kind is NestedKind.ARGV:
            return self.invoke(nested.words, inner, frame, passed if nested.via else assignments)
        script = nested.words[0] if nested.words else Value(text="")
        if not script.fixed:
            self.doubt("a script that is not a constant is run")
            return Bases(state.bases, state.bases)
        if nested.fresh:
            # A new shell has the exported variables only.
            inner.variables = {name: value for name, value in inner.variables.items() if name in self.place.env}
        shell = nested.via[-1] if nested.via else "sh"
        if (
            shell != "bash"
            and nested.fresh
            and (any(mark in script.text for mark in _BASHISMS) or shell in ("zsh", "ksh", "fish", "ash"))
        ):
            self.doubt(f"`{shell}` reads this otherwise than bash")
        self.text(script.text, inner, frame)
        for reason in inner.inexact:
            self.doubt(reason)
        return Bases(inner.bases, inner.bases)

    # --- facts ------------------------------------------------------------------------------------------------------

    def emit(
        self,
        head: Value,
        words: tuple[Value, ...],
        reading: Reading,
        assignments: Mapping[str, str],
        redirects: tuple[Redirect, ...],
        frame: Frame,
        *,
        found: Found | None = None,
        name: str | None = None,
        dynamic: Dynamic = Dynamic.NONE,
    ) -> None:
        found = found or Found(None, Origin.BUILTIN if not words and dynamic is Dynamic.NONE else Origin.UNKNOWN)
        if dynamic is Dynamic.NONE:
            unsure = not all(word.fixed for word in words) or any(
                redirect.target is None and not redirect.op.endswith("-") for redirect in redirects
            )
            dynamic = Dynamic.CODE if reading.code else Dynamic.ARGUMENT if unsure else Dynamic.NONE
        self.commands.append(
            CommandFact(
                name=head.text if name is None else name,
                program=found.file,
                origin=found.origin,
                argv=tuple(word.text for word in words),
                flags=tuple(dict.fromkeys(reading.flags)),
                assignments=MappingProxyType(dict(assignments)),
                redirects=redirects,
                via=frame.via,
                operations=frozenset(reading.operations),
                runs_code=reading.runs,
                dynamic=dynamic,
            )
        )

    def take(self, reading: Reading, index: int, state: State, frame: Frame) -> None:
        """Turn what was read of one command into facts."""
        source = f"commands[{index}]"
        if not frame.elsewhere:
            for use in reading.paths:
                facts = path_facts(use, self.place, state.bases, source)
                self.paths.extend(facts)
                for fact in facts:
                    note = self.touched.note(fact)
                    if note is not None:
                        self.unknown.append(note)
        for value in reading.hosts:
            host = host_fact(value.text) if value.known else None
            if host is None:
                self.unknown.append(f"the host in `{value.text[:80]}` is not known")
            else:
                self.hosts.append(host)
        self.unknown.extend(reading.unknown)


def replace_state(state: State) -> State:
    """A copy for a subshell; approximations made there are known here, too."""
    return State(dict(state.variables), state.bases, state.linked, state.inexact, list(state.exported))


def _union(first: Iterable[str | None], second: Iterable[str | None]) -> tuple[str | None, ...]:
    union = tuple(dict.fromkeys((*first, *second)))
    return union if len(union) <= 4 else (None,)


def _merge(reading: Reading, other: Reading) -> None:
    reading.operations |= other.operations
    reading.paths.extend(other.paths)
    reading.hosts.extend(other.hosts)


def _shown(word: Word) -> str:
    return "".join("$" + part.text if part.kind is PartKind.VARIABLE else part.text for part in word)
