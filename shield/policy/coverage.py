"""Whether allow rules cover the whole of an action: each command, path, host, recipient, and what none of them shows.

An allow speaks for one element at a time, so `ls; x` is not allowed because of `ls`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from shield.actions.registry import ActionType
from shield.policy.compiled import Rule
from shield.policy.rule import Grant
from shield.policy.slices import Asked, Slice
from shield.policy.trouble import Troubles
from shield.types import Access, CommandFact, Dynamic, Facts, Operation, Origin, PathFact, RunsCode, Tier

__all__ = ["Coverage", "cover"]

_ORDER = attrgetter("order")
MAX_GAPS = 20  # what evidence lists; a person does not read more

# Which elements make an operation visible to rules about elements. What nothing shows (a schedule, a memory, another
# agent) is covered only by a rule that names its action types or grants the action itself.
_SHOWN_BY: Mapping[Operation, frozenset[Grant]] = MappingProxyType(
    {
        Operation.READ: frozenset((Grant.PATH, Grant.COMMAND)),
        Operation.WRITE: frozenset((Grant.PATH, Grant.COMMAND)),
        Operation.DELETE: frozenset((Grant.PATH, Grant.COMMAND)),
        Operation.EXECUTE: frozenset((Grant.COMMAND,)),
        Operation.NETWORK: frozenset((Grant.HOST, Grant.RECIPIENT, Grant.COMMAND)),
        Operation.MESSAGE: frozenset((Grant.RECIPIENT, Grant.COMMAND)),
        Operation.BROWSE: frozenset((Grant.HOST,)),
        Operation.MEMORY: frozenset(),
        Operation.SCHEDULE: frozenset(),
        Operation.AGENT: frozenset(),
        Operation.META: frozenset(),
    }
)


# Asked of every command: a member looked up in its class costs as much as a call.
_NONE, _ARGUMENT, _UNKNOWN = Dynamic.NONE, Dynamic.ARGUMENT, Origin.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """`rules` are the allow rules that held for some element; `need` is the highest of their `min_tier`.

    `named` is the one that a verdict names: it covers what weighs most of all that the action does.
    `gaps` name by position what no rule covers. `doubtful` is set where something could not be established: then not
    even another tier than a person may settle it.
    """

    whole: bool = False
    rules: tuple[Rule, ...] = ()
    named: Rule | None = None
    need: Tier = Tier.POLICY
    gaps: tuple[str, ...] = ()
    doubtful: bool = True
    absent: str | None = None  # the first command that nothing on PATH answers to

    @property
    def reason(self) -> str:
        if self.absent is not None:
            return f"there is no program `{self.absent}` on PATH, so nobody can tell what it would do"
        if self.doubtful:
            return "it cannot be told beforehand what this would do"
        return "no rule of the policy allows this without asking"

    @property
    def advice(self) -> str | None:
        if self.absent is not None:
            return "Look with `command -v` which program there is, or tell the user what would have to be installed."
        if self.doubtful:
            return "Use plain commands and constant paths, one step at a time."
        return None


def cover(rules: Slice, kind: ActionType, facts: Facts, values: tuple[object, ...], troubles: Troubles) -> Coverage:
    """Ask every allow rule about every element of its kind."""
    if not kind.known:
        return Coverage(gaps=("the action type is not known, so no rule can allow it",))
    doubts = _doubts(facts)
    held: dict[str, Rule] = {}
    weights: dict[str, tuple[int, int]] = {}
    gaps: list[str] = []
    present: list[Grant] = []
    elements: tuple[Sequence[object], ...] = (facts.paths, facts.commands, facts.hosts, facts.recipients)
    for (grant, asked), items in zip(rules.elements, elements, strict=True):
        if not items:
            continue
        present.append(grant)
        for position, item in enumerate(items):
            found = _ask(asked, (*values, item), troubles)
            if not found:
                gaps.append(f"{grant.value} {position} is covered by no rule")
            weight = (_WEIGHERS[grant](item), -len(weights)) if found else _WEIGHTLESS
            for rule in found:
                held[rule.id] = rule
                if weight > weights.get(rule.id, _WEIGHTLESS):
                    weights[rule.id] = weight
    granted = _ask(rules.actions, values, troubles)
    for rule in granted:
        held[rule.id] = rule
    if not present and not granted:
        gaps.append("the action has no path, command, host or recipient and no rule grants the action itself")
    gaps += _unshown(facts, present, held.values())
    return Coverage(
        whole=bool(held) and not gaps and not doubts,
        rules=tuple(held.values()),
        named=_named(held.values(), weights) if held else None,
        need=max([rule.tier for rule in held.values()]) if held else Tier.POLICY,
        gaps=(*doubts, *gaps)[:MAX_GAPS] if doubts or gaps else (),
        doubtful=bool(doubts),
        absent=facts.absent[0] if doubts and facts.absent else None,
    )


def _named(rules: Collection[Rule], weights: Mapping[str, tuple[int, int]]) -> Rule:
    """Of the rules that ask for most, the one whose element weighs most; of these the first that speaks of a path, a
    command, a host: `echo x > f` changes a file and does not just steer the shell."""
    if len(rules) == 1:
        return next(iter(rules))
    need = max([rule.tier for rule in rules])
    asking = sorted([rule for rule in rules if rule.tier is need], key=_ORDER)
    return max(asking, key=lambda rule: weights.get(rule.id, _WEIGHTLESS))


def _of_path(path: PathFact) -> int:
    return _OF_ACCESS.get(path.access, 0)


def _of_command(command: CommandFact) -> int:
    if command.runs_code is not _NO_CODE:
        return _CODE
    return max([_OF_OPERATION.get(operation, 0) for operation in command.operations], default=0)


def _of_addressee(_: object) -> int:
    return _CHANGE


# What a verdict names first: code that runs, then what is lost, then what is changed or sent.
_CODE, _LOSS, _CHANGE = 3, 2, 1
_WEIGHTLESS = (0, 0)
_NO_CODE = RunsCode.NONE
_OF_ACCESS: Mapping[Access, int] = MappingProxyType({Access.WRITE: _CHANGE, Access.DELETE: _LOSS})
_OF_OPERATION: Mapping[Operation, int] = MappingProxyType(
    {
        Operation.WRITE: _CHANGE,
        Operation.NETWORK: _CHANGE,
        Operation.DELETE: _LOSS,
    }
)
_WEIGHERS: Mapping[Grant, Callable[[Any], int]] = MappingProxyType(
    {
        Grant.PATH: _of_path,
        Grant.COMMAND: _of_command,
        Grant.HOST: _of_addressee,
        Grant.RECIPIENT: _of_addressee,
    }
)


def _ask(asked: Asked, values: tuple[object, ...], troubles: Troubles) -> Sequence[Rule]:
    """The allow rules that hold. One that could not be evaluated grants nothing."""
    if asked.empty:
        return ()
    held, failed = asked.test(values)
    for rule in failed:
        troubles.count(rule.id)
    return held


def _unshown(facts: Facts, present: Sequence[Grant], held: Iterable[Rule]) -> list[str]:
    if not facts.commands and Operation.EXECUTE in facts.operations:
        return ["something would be executed and no command is known"]
    for rule in held:
        if rule.names_its_types:
            return []
    hidden = [operation.value for operation in facts.operations if _SHOWN_BY[operation].isdisjoint(present)]
    return [f"no rule names the action type, which is needed for: {', '.join(sorted(hidden))}"] if hidden else []


def _doubts(facts: Facts) -> list[str]:
    doubts = list(facts.unknown)
    if facts.malformed:
        doubts.append("a known field has another JSON type than it should")
    if not facts.shell.parsed:
        doubts.append("the command line was not understood as a whole")
    for position, path in enumerate(facts.paths):
        if path.resolved is None:
            doubts.append(f"path {position} cannot be resolved")
    for position, command in enumerate(facts.commands):
        # An unknown *argument* is left to the rules: facts say so only where it cannot change what the program does.
        dynamic = command.dynamic is not _NONE and command.dynamic is not _ARGUMENT
        if dynamic or (command.origin is _UNKNOWN and command.name != ""):
            doubts.append(f"command {position} is not known before it runs")
    return doubts
