"""What holds when something trapped runs, at any time behind the `trap` and whatever way the line goes, and whether the
line can be followed without it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shield.facts.programs.reading import Value
from shield.facts.shell.environment import may_be_secret
from shield.facts.shell.record import Record
from shield.facts.shell.settings import Settings
from shield.facts.shell.state import State
from shield.facts.shell.variables import OWN_VARIABLES, Fresh
from shield.types import CommandFact, Origin

__all__ = ["Trap", "at_end", "behind", "later", "marks"]

_SETTING = frozenset(("bash", "set", "sh", "shopt"))
_TRACING = {"E": "errtrace", "T": "functrace"}
_QUIET_TEXT = ": [ cd exit false kill local return rm rmdir set shift test trap true unlink unset wait"
_QUIET = frozenset(("", *_QUIET_TEXT.split()))
_ELSEWHERE = ("2", "/dev/null", "/dev/stderr")
_SWITCHING = frozenset(("alias", "enable", "hash", "set", "shift", "shopt", "unalias"))
_LAST = frozenset(("0", "EXIT"))


class Trap(NamedTuple):
    """`held`: what held where it was trapped. `between`: it may run between any two commands, and the line goes on
    behind it; else at its end alone."""

    held: State
    between: bool


class Marks(NamedTuple):
    """How many commands were listed, places reshaped (see `Touched`), and variables set, or what may set any run."""

    commands: int
    places: int
    sets: int


def at_end(conditions: Sequence[Value]) -> bool:
    """Whether the shell runs what is trapped for these where it ends, and at no other time."""
    return all(word.fixed and word.text.upper().removeprefix("SIG") in _LAST for word in conditions)


def marks(record: Record, settings: Settings) -> Marks:
    """What the line has done until now."""
    return Marks(len(record.commands), record.touched.count, settings.sets + settings.shakes)


def behind(trap: Trap, before: State, after: State | None, was: Marks, record: Record, settings: Settings) -> None:
    """Doubt a line that cannot be followed without what is trapped, which has run. `was`: what the line had done before
    that; `after` is None where the shell has ended."""
    if not trap.between:
        return
    now, commands = marks(record, settings), record.commands[was.commands :]
    if now.places > was.places:
        record.doubt("what is trapped moves files, or links to them, under what runs behind it")
    traced = _traced(record.commands)
    # what fails in a substitution prints nothing that is known, but for a name that is perhaps not made
    if any(map(_prints, commands)) and ("T" in traced or ("E" in traced and record.fresh.some)):
        record.doubt("what is trapped prints into what is substituted")
    # the value alone does not tell: what the line assigns is not known there, and may be set to what is not
    if after is not None and (now.sets > was.sets or _switched(commands) or _changed(before, after)):
        record.doubt("what is trapped changes the shell that goes on behind it")


def _traced(commands: Sequence[CommandFact]) -> frozenset[str]:
    """Which of `set -E` and `set -T` the line may set, with which substitutions and functions run what is trapped, too:
    at what fails, or at every command."""
    words = {word for each in commands if each.name in _SETTING for word in each.argv[1:]}
    letters = {letter for word in words if word.startswith("-") for letter in word}
    return frozenset(each for each, name in _TRACING.items() if each in letters or name in words)


def _prints(command: CommandFact) -> bool:
    """Whether it may print to where the shell does."""
    targets = [each.target for each in command.redirects if each.fd == 1]
    led = bool(targets) and all(each in _ELSEWHERE for each in targets)
    return not (led or command.name in _QUIET or command.origin is Origin.FUNCTION)


def _switched(commands: Sequence[CommandFact]) -> bool:
    """Whether one of these may change what is not known where something trapped runs: options, parameters."""
    return any(each.name in _SWITCHING and each.origin is Origin.BUILTIN for each in commands)


def _changed(before: State, after: State) -> bool:
    """Whether the shell is another one behind what was trapped."""
    names = before.variables.keys() | after.variables.keys()
    same = all(before.variables.get(name) == after.variables.get(name) for name in names)
    plain = before.copy(), after.copy()
    for each in plain:
        each.variables, each.previous = {}, (None,)
    return not same or plain[0] != plain[1]


def later(ever: State, held: State, settings: Settings, env: Mapping[str, str]) -> State:
    """The state then. `ever`: what held at any time; `held`: what did where it was trapped."""
    found = ever.copy()
    kept = {name: value for name, value in env.items() if name not in settings.assigned}
    found.variables = {
        name: None if may_be_secret(name) else value for name, value in kept.items() if name not in OWN_VARIABLES
    }
    found.variables |= dict.fromkeys(settings.assigned)
    for name, content in held.variables.items():
        # what the line makes anew is known by name all the same, unless the name is of a function's own
        if isinstance(content, Fresh) and name not in ever.locals | held.locals:
            found.variables[name] = settings.ever(name, content)
    for name, bodies in held.functions.items():
        # where it was trapped they were there, and nothing takes them away
        if None not in bodies and not settings.may_lack(name):
            found.functions[name] = tuple([body for body in ever.functions.get(name, bodies) if body is not None])
    found.made, found.ending = held.made, False
    found.split &= "IFS" not in settings.assigned
    found.positional, found.exact = None, False
    return found
