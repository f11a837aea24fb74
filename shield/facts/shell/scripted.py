"""Scripts that a command of the line runs, each followed on its own: what they show is added, what they leave unsure
is not (their command says that it runs code)."""

import posixpath
from collections.abc import Callable
from dataclasses import replace

from shield.facts.paths import resolve_path
from shield.facts.programs.reading import Nested, Value
from shield.facts.programs.scripts import script_text, shown
from shield.facts.shell.frame import Frame
from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.script import Script
from shield.facts.shell.record import Record, TooMuchError
from shield.facts.shell.spelled import further, hidden_deletes, spellings
from shield.facts.shell.state import State

__all__ = ["OneParser", "Scripted"]

_MAX_SCRIPTS = 128
_MAX_BYTES = 131_072

Follow = Callable[[str, State, Frame, "Scripted"], Record]


class OneParser:
    """No second opinion: what a script shows is never relied on."""

    def read(self, text: str) -> Script:
        """What the first parser says.

        Raises:
            RefusedLineError: it is not well-formed.
        """
        return read_line(text)


class Scripted:
    """The scripts of one line. `follow` follows a text in a line of its own."""

    def __init__(self, follow: Follow) -> None:
        self._follow = follow
        self._seen: set[tuple[object, ...]] = set()
        self._bytes = 0

    def add(self, nested: Nested, state: State, frame: Frame, record: Record) -> None:
        """Add what the script of `nested` shows to `record`."""
        text = nested.words[0].text if nested.words and nested.words[0].fixed else ""
        # a makefile, a package.json has several, and one may be run with other words, elsewhere
        given = tuple([word.text for word in nested.given or ()])
        key = (nested.file, text, given, state.bases, tuple(sorted(_texts(state))))
        if not text or key in self._seen:
            return
        self._bytes += len(text)
        if len(self._seen) >= _MAX_SCRIPTS or self._bytes > _MAX_BYTES:
            record.unread.append("more scripts are run than are followed")
            record.unknown.append(record.unread[-1])
            return
        self._seen.add(key)
        for each in spellings(text):
            self._show(each, nested, state.copy(), frame, record)

    def _show(self, text: str, nested: Nested, state: State, frame: Frame, record: Record) -> None:
        started, bases = state.copy(), state.bases
        inner = self._follow(text, state, frame, self)
        if nested.file is not None and hidden_deletes(text, inner.commands):
            inner.unread.append(f"what `{posixpath.basename(nested.file)[:80]}` deletes is not known")
        commands, paths, hosts = shown(inner.commands, inner.paths, inner.hosts, file=nested.file, text=text)
        if len(record.commands) + len(commands) > Record.MAX_COMMANDS:
            raise TooMuchError("too many commands")
        start = len(record.commands)
        record.commands.extend(commands)
        for path in paths:
            place = int(path.source.removeprefix("commands[").removesuffix("]"))
            record.paths.append(replace(path, source=f"commands[{start + place}]"))
        record.hosts.extend(hosts)
        record.unknown.extend(inner.unread)
        record.unread.extend(inner.unread)
        texts, files = further(text, inner.commands)
        found = [resolve_path(name, record.place, base=base, expand_tilde=False) for name in files for base in bases]
        texts += [script_text(each.path, record.place) or "" for each in found if each.path is not None]
        for each in dict.fromkeys(texts):
            word = Value(text=each, head=each)
            self.add(replace(nested, words=(word,)), started, frame, record)


def _texts(state: State) -> list[tuple[str, str]]:
    return [(name, value) for name, value in state.variables.items() if isinstance(value, str)]
