"""What a command runs in turn: words, texts for this shell or another, scripts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.shell.dialect import reads_alike
from shield.facts.shell.environment import Influence, influence
from shield.facts.shell.frame import Call, Done, Frame, Jumps, Walk
from shield.facts.shell.pathuse import raw_path
from shield.facts.shell.record import Record
from shield.facts.shell.scopes import fresh, restored, with_given
from shield.facts.shell.scripted import Scripted
from shield.facts.shell.state import State, join, skips_of
from shield.facts.shell.variables import Attribute, Content

__all__ = ["MAX_DEPTH", "NestedCommands"]

# They add nothing to the environment of what they start.
_KEEPING_TEXT = """
bash command dash env eval exec find nice nohup setsid sh stdbuf time timeout xargs
"""
_KEEPING = frozenset(_KEEPING_TEXT.split())
# They leave standard input to the command that they start.
_PASSING = frozenset(("command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout"))
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))
_LIVE = frozenset("$`*?[")
_MAX_FED = 16_384
# Where a program is looked for without PATH (confstr(3), _CS_PATH).
STANDARD_PATH = "/bin:/usr/bin"
MAX_DEPTH = 12


class NestedCommands:
    """The commands in commands of one line; `call` follows one that is given as words."""

    def __init__(
        self,
        walk: Walk,
        record: Record,
        scripted: Scripted,
        call: Callable[[Call, State, Frame], Done],
        stdin: str | None,
    ) -> None:
        self._walk = walk
        self._record = record
        self._scripted = scripted
        self._call = call
        self._stdin = stdin

    def follow(self, nested: Nested, call: Call, state: State, frame: Frame) -> Done:
        """What `call` runs; where that is in this very shell, how the shell goes on."""
        place = self._record.place
        inner = state.copy() if nested.fresh else state
        if nested.without != ():
            before = inner.variables
            _deprive(inner, nested.without, place.env)
            inner.variables |= {name: text for name, text in nested.assignments if before.get(name) == text}
        moved = nested.moved
        if moved is not None:
            nested = _unmatched(nested)
            inner.bases = _moved(moved, inner.bases, place)
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
        # what is not constant stands there as it is written
        contents: Mapping[str, Content] = call.contents
        if nested.assignments:
            contents = {**contents, **{key: None if set(text) & _LIVE else text for key, text in nested.assignments}}
        if nested.kind is NestedKind.SCRIPT:
            script_frame = frame.apart()._replace(functions=True, calls=(), fed=None, opened=None)
            started = fresh(inner, contents, place.env)
            started.exact = False  # its parameters are not always known
            started.positional, started.stood = nested.given, state.bases
            started.handed |= contents.keys()
            self._scripted.add(nested, started, script_frame, self._record)
            return Done(state, state)
        if argv:
            shown = {**call.shown, **dict(nested.assignments)} if nested.via else call.shown
            path = STANDARD_PATH if nested.standard else None
            return self._call(Call(nested.words, contents=contents, shown=shown, path=path), inner, frame)
        script = nested.words[0] if nested.words else Value(text="")
        if not script.fixed:
            self._walk.doubt("a script that is not a constant is run")
            return Done(state, state)
        if not nested.fresh:
            return self._within(script.text, nested, inner, frame, contents)
        frame = frame.apart()._replace(calls=())
        inner = fresh(inner, contents, place.env)
        inner.positional, inner.stood = nested.words[2:], state.bases
        inner.skips = skips_of(script.text)
        inner.exact &= _KEEPING.issuperset(frame.via) and not frame.elsewhere and not nested.started
        if nested.started:
            inner.variables = {name: _left(name, text, place.env) for name, text in inner.variables.items()}
        if not reads_alike(shell, script.text):
            self._walk.doubt(f"`{shell}` reads this otherwise than bash")
        seen = len(self._record.commands)
        done = self._walk.text(script.text, inner, frame)
        if nested.started and any(fact.name in ("fc", "history") for fact in self._record.commands[seen:]):
            self._walk.doubt("what the user typed before may be shown")
        return done

    def _within(self, text: str, nested: Nested, state: State, frame: Frame, contents: Mapping[str, Content]) -> Done:
        """A text that this very shell runs: `eval`, `source`."""
        sourced = len(nested.words) > 1 and nested.words[1].text == "source"
        before = state.copy()
        skips: list[State] = []
        state.skips = skips  # one that fails ends the text, and this shell goes on
        with_given(contents, state)
        for name in contents:  # where it is unset there, the variable behind it is seen again
            state.attributes.setdefault(name, Attribute.CHANGED)
        returns = Jumps()
        if sourced:
            frame = frame._replace(body=returns, loop=None)
            if nested.words[2:]:
                state.give(nested.words[2:])
        done = self._walk.text(text, state, frame)
        for state_left in returns.states:
            done = Done(join(done.success, state_left), join(done.failure, state_left))
        done = Done(done.success, reduce(join, skips, done.failure))
        ends = []
        for end in done:
            after = end.copy() if end is not None else None
            if after is not None and sourced and nested.words[2:]:
                after.positional, after.stood = before.positional, before.stood
            if after is not None:
                after.skips = before.skips
                after.attributes = {
                    name: kind
                    for name, kind in after.attributes.items()
                    if name in before.attributes or name not in contents
                }
            ends.append(after and restored(after, before, contents))
        return Done(*ends)

    def feed(self, name: str, call: Call, state: State, frame: Frame) -> None:
        """A here-document or string that a shell reads is a script."""
        if name not in _SHELLS:
            return
        for text, depth in ((frame.fed, frame.depth + 1), (self._stdin, MAX_DEPTH)):
            if text is not None and len(text) <= _MAX_FED:
                if not reads_alike(name, text):
                    self._walk.doubt(f"`{name}` reads this otherwise than bash")
                inner = frame.apart()._replace(via=(*frame.via, name), depth=depth, fed=None, opened=None, calls=())
                started = fresh(state, call.contents, self._record.place.env)
                started.exact = False  # it may be given parameters
                started.skips = skips_of(text)
                self._walk.text(text, started, inner)


def _left(name: str, content: Content, env: Mapping[str, str]) -> Content:
    """What start-up files leave of a variable: what every shell begins with they are trusted with."""
    return content if name in env and content == env[name] else None


def _deprive(state: State, names: tuple[str, ...] | None, env: Mapping[str, str]) -> None:
    """Take variables out of the environment; None: all of it."""
    gone = state.variables.keys() | env.keys() if names is None else frozenset(names)
    state.variables = {name: content for name, content in state.variables.items() if name not in gone}
    state.exported = tuple([name for name in state.exported if name not in gone])
    state.gone |= gone
    if "PATH" in gone:
        state.variables["PATH"] = STANDARD_PATH
    for name in gone - {"PATH"}:
        if name in state.variables or influence(name) in (Influence.CODE, Influence.SEARCH):
            # what takes its place is not known
            state.variables[name] = None


def _unmatched(nested: Nested) -> Nested:
    """The shell matched the patterns in its own directory, the program starts in another."""
    words = tuple(word._replace(known=False, pattern=None) if word.pattern else word for word in nested.words)
    return replace(nested, words=words)


def _moved(to: Value, bases: tuple[str | None, ...], place: Place) -> tuple[str | None, ...]:
    if not to.fixed:
        return (None,) * len(bases)
    return tuple(resolve_path(raw_path(to.text), place, base=base, expand_tilde=False).path for base in bases)
