"""Whether allow rules cover the whole of an action: each command, path, host, recipient, and what none of them shows.

An allow speaks for one element at a time, so `ls; x` is not allowed because of `ls`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shield.actions.registry import ActionType
from shield.policy.compiled import Rule
from shield.policy.rule import Grant
from shield.policy.slices import Asked, Slice
from shield.policy.trouble import Troubles
from shield.types import Dynamic, Facts, Operation, Origin, Tier

__all__ = ["Coverage", "cover"]

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

    `gaps` name by position what no rule covers. `doubtful` is set where something could not be established: then not
    even another tier than a person may settle it.
    """

    whole: bool = False
    rules: tuple[Rule, ...] = ()
    need: Tier = Tier.POLICY
    gaps: tuple[str, ...] = ()
    doubtful: bool = True

    @property
    def reason(self) -> str:
        if self.doubtful:
            return "it cannot be told beforehand what this would do"
        return "no rule of the policy allows this without asking"

    @property
    def advice(self) -> str | None:
        if self.doubtful:
            return "Use plain commands and constant paths, one step at a time."
        return None


def cover(rules: Slice, kind: ActionType, facts: Facts, values: tuple[object, ...], troubles: Troubles) -> Coverage:
    """Ask every allow rule about every element of its kind."""
    if not kind.known:
        return Coverage(gaps=("the action type is not known, so no rule can allow it",))
    doubts = _doubts(facts)
    held: dict[str, Rule] = {}
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
            for rule in found:
                held[rule.id] = rule
    granted = _ask(rules.actions, values, troubles)
    for rule in granted:
        held[rule.id] = rule
    if not present and not granted:
        gaps.append("the action has no path, command, host or recipient and no rule grants the action itself")
    gaps += _unshown(facts, present, held.values())
    return Coverage(
        whole=bool(held) and not gaps and not doubts,
        rules=tuple(held.values()),
        need=max([rule.tier for rule in held.values()]) if held else Tier.POLICY,
        gaps=(*doubts, *gaps)[:MAX_GAPS] if doubts or gaps else (),
        doubtful=bool(doubts),
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
