"""Where a command stands in its line, and how control leaves it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from shield.facts.place import Place
from shield.facts.programs.context import told_nothing
from shield.facts.programs.reading import Listing, Reading, Value
from shield.facts.shell.content import Shell
from shield.facts.shell.grammar.script import Command, Part, RedirectNode, Script, Word
from shield.facts.shell.state import State, join
from shield.facts.shell.variables import Content
from shield.types import Redirect

__all__ = ["Call", "Done", "Fed", "Frame", "Jumps", "Walk", "joined_ends"]

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(slots=True)
class Jumps:
    """The states in which `break`, `continue` or `return` leave what they leave. `around`: the loop around this one,
    which `break 2` may mean."""

    states: list[State] = field(default_factory=list)
    around: "Jumps | None" = None

    def leave(self, state: State) -> None:
        here: Jumps | None = self
        while here is not None:
            here.states.append(state.copy())
            here = here.around


class Frame(NamedTuple):
    """What feeds a command, what wraps it, how deep it is. `fed`: the constant text on its standard input, where that
    is known; `opened`: the file that it is, resolved; `names`: the names of files that are listed there; `numbers`:
    integers are, zero or more, `hashes`: names of commits;
    `whole`: no other command reads of it. `functions`: whether a name may be a function.
    `calls`: the functions that it is in; `told`: what the line sets that it may have in its environment, where that is
    known. `lost`: something was not made that its words name. `tried`: what fails in it does not end the shell.
    `beside`: it is in a subshell. `dictated`: the texts that the line has put into the file at a resolved path."""

    via: tuple[str, ...] = ()
    depth: int = 0
    piped: bool = False
    fetched: bool = False
    builtins: bool = True
    functions: bool = True
    elsewhere: bool = False
    fed: str | None = None
    opened: str | None = None
    whole: bool = False
    names: Listing | None = None
    numbers: bool = False
    hashes: bool = False
    loop: Jumps | None = None
    body: Jumps | None = None
    calls: tuple[str, ...] = ()
    told: Mapping[str, str] = MappingProxyType({})
    lost: bool = False
    tried: bool = False
    beside: bool = False
    dictated: Callable[[str], tuple[str, ...]] = told_nothing

    def apart(self) -> "Frame":
        """In a subshell: no jump leaves it."""
        return self._replace(loop=None, body=None, beside=True)


class Done(NamedTuple):
    """The shell after a command succeeded, and after it failed; None: it does not get there."""

    success: State | None
    failure: State | None

    @property
    def either(self) -> State | None:
        return join(self.success, self.failure)


def joined_ends(first: Done, second: Done) -> Done:
    return Done(join(first.success, second.success), join(first.failure, second.failure))


class Fed(NamedTuple):
    """What redirections do: the facts, what they open, and whether and with which constant text standard input.
    `opened`: the file that they make standard input of. `unsure`: what is opened, or read in place, is not constant."""

    redirects: tuple[Redirect, ...]
    reading: Reading
    stdin: bool
    text: str | None
    opened: Value | None
    unsure: bool


class Call(NamedTuple):
    """A command as it is called. `contents`: what the assignments in front of its name give, `shown`: how they are
    written. `given`: what the assignments among its words give, by the number of the word behind the name. `fed`: what
    its redirections do, where it has any. `path`: where it is looked for, if not in PATH."""

    words: tuple[Value, ...]
    contents: Mapping[str, Content] = _NOTHING
    shown: Mapping[str, str] = _NOTHING
    given: Mapping[int, Content] = _NOTHING
    fed: Fed | None = None
    path: str | None = None


class Walk(Protocol):
    """The follower of a line, as its parts call each other."""

    @property
    def place(self) -> Place: ...

    def doubt(self, reason: str) -> None: ...

    def script(self, script: Script, state: State, frame: Frame) -> Done: ...

    def command(self, node: Command, state: State, frame: Frame) -> Done: ...

    def text(self, text: str, state: State, frame: Frame) -> Done: ...

    def shell(self, frame: Frame) -> Shell: ...

    def values(self, word: Word, state: State, frame: Frame) -> list[Value]: ...

    def assign(self, name: str, content: Content, state: State) -> None: ...

    def entry(self, part: Part, state: State) -> Content: ...

    def listed(self, part: Part) -> Listing | None: ...

    def redirected(self, nodes: tuple[RedirectNode, ...], state: State, frame: Frame) -> Fed: ...

    def bare(self, reading: Reading, state: State, frame: Frame, fed: Fed | None = None) -> None: ...

    def trapped(self, script: str, state: State, *, between: bool) -> None: ...

    def shaken(self, state: State) -> None: ...

    def unset(self, name: str) -> None: ...

    def been(self, state: State) -> None: ...
