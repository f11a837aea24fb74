"""From a command line to facts: every command in it, what each would do, and what cannot be known.

Two parsers read the line. Only where the strict one accepts it and both agree is the line understood (`parsed`);
otherwise the commands that can be seen are listed all the same and every one of them is `dynamic: code`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from shield.facts.place import Place
from shield.facts.programs.library import models
from shield.facts.programs.model import Model
from shield.facts.shell.grammar.parse import SecondParser
from shield.facts.shell.grammar.shfmt import Shfmt, shfmt_binary
from shield.facts.shell.line import Line
from shield.types import CommandFact, Dynamic, HostFact, Operation, PathFact, RunsCode

__all__ = ["MAX_COMMAND_BYTES", "Analyser", "ShellAnalysis", "analyse"]

# A longer command line is not read: `dynamic: code`.
MAX_COMMAND_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAnalysis:
    """`paths[].source` is `commands[i]`. `unknown` says in short lines what could not be established."""

    commands: tuple[CommandFact, ...]
    paths: tuple[PathFact, ...] = ()
    hosts: tuple[HostFact, ...] = ()
    operations: frozenset[Operation] = frozenset(Operation)
    parsed: bool = False
    unknown: tuple[str, ...] = ("the command line was not read",)
    absent: tuple[str, ...] = ()


_UNREADABLE = CommandFact(name="", runs_code=RunsCode.INLINE, dynamic=Dynamic.CODE)


@dataclass(frozen=True, slots=True)
class Analyser:
    """The program models to judge by, and the second parser. One serves every thread."""

    programs: Mapping[str, Model]
    second: SecondParser | None = None

    def analyse(self, command: str, place: Place, *, stdin: str | None = None) -> ShellAnalysis:
        """What `place.shell -c command` would do. Never raises; the work is bounded by the length of the line."""
        try:
            data = command.encode("utf-8")
        except UnicodeEncodeError:
            return _unread("the command line is not Unicode text")
        if len(data) > MAX_COMMAND_BYTES:
            return _unread(f"the command line is longer than {MAX_COMMAND_BYTES} bytes")
        try:
            line = Line(place, self.programs, self.second, stdin)
            line.read(command)
        except (
            RecursionError,
            MemoryError,
            ValueError,
            KeyError,
            IndexError,
            AttributeError,
            TypeError,
            AssertionError,
        ) as error:
            # INVARIANT: a fault in the analysis is never consent.
            return _unread(f"the command line could not be analysed ({type(error).__name__})")
        commands = tuple(line.commands)
        if line.doubts:
            commands = tuple(replace(fact, dynamic=Dynamic.CODE) for fact in commands) or (_UNREADABLE,)
        operations = frozenset().union(*(fact.operations for fact in commands)) if commands else frozenset()
        return ShellAnalysis(
            commands=commands,
            paths=tuple(dict.fromkeys(line.paths)),
            hosts=tuple(dict.fromkeys(line.record.hosts)),
            operations=operations,
            parsed=not line.doubts,
            unknown=tuple(
                dict.fromkeys(
                    [*line.unknown, *(f"the command line is not understood: {doubt}" for doubt in line.doubts)]
                )
            )[:16],
            absent=tuple(dict.fromkeys(line.record.absent)) if not line.doubts else (),
        )


def analyse(command: str, place: Place, *, stdin: str | None = None) -> ShellAnalysis:
    """`Analyser.analyse` with the shipped program models and shfmt."""
    return Analyser(models(), _shfmt()).analyse(command, place, stdin=stdin)


@cache
def _shfmt() -> Shfmt:
    """One for the process: it keeps its answers."""
    return Shfmt(shfmt_binary())


def _unread(reason: str) -> ShellAnalysis:
    return ShellAnalysis(commands=(_UNREADABLE,), unknown=(reason,))
