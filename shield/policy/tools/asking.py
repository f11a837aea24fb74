"""One rule asked about one action: as often as the judging of that action asks it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shield.actions.registry import lookup
from shield.facts.compute import compute
from shield.policy.cel import CelError, Condition
from shield.policy.compiled import Rule
from shield.policy.examples import read_action
from shield.policy.roots import environment
from shield.policy.rule import Grant
from shield.policy.shape import Shape
from shield.policy.world import AGENT, NOW, WORKSPACE, made_place
from shield.types import Action, Facts

__all__ = ["Answers", "Asking", "Shown", "answer", "answers", "asked", "elements", "shown_by"]

Answers = tuple[bool | None, ...]
"""What a condition said each time that it was asked; None where it has no answer."""

_ELEMENTS = (Grant.PATH, Grant.COMMAND, Grant.HOST, Grant.RECIPIENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What conditions are asked with for one action: once, or once for each element. A made world's where not said."""

    action: Action
    facts: Facts
    values: tuple[object, ...]

    agent: str = AGENT

    @classmethod
    def of(
        cls, action: Action, facts: Facts, *, agent: str = AGENT, workspace: str = WORKSPACE, now: datetime = NOW
    ) -> "Asking":
        values = environment(action, lookup(action.type), facts, agent=agent, workspace=workspace, now=now)
        return cls(action=action, facts=facts, values=values, agent=agent)

    def each(self, grants: Grant | None) -> Iterable[tuple[object, ...]]:
        """The values that a rule with these `grants` is asked with, one tuple for each time that it is asked."""
        if grants not in _ELEMENTS:
            return (self.values,)
        return ((*self.values, element) for element in elements(self.facts, grants))


def elements(facts: Facts, grants: Grant) -> Sequence[object]:
    """The elements that rules with these `grants` are asked about."""
    found: Mapping[Grant, Sequence[object]] = {
        Grant.PATH: facts.paths,
        Grant.COMMAND: facts.commands,
        Grant.HOST: facts.hosts,
        Grant.RECIPIENT: facts.recipients,
    }
    return found.get(grants, ())


def answer(condition: Condition | None, values: tuple[object, ...]) -> bool | None:
    """What a condition says; one that is left out says True, one that cannot be evaluated None."""
    if condition is None:
        return True
    try:
        return condition.test(values)
    except CelError:
        return None


def asked(rule: Rule, asking: Asking) -> bool:
    """Whether a rule is asked about this action: it may be for other types or other agents."""
    agents = rule.text.agents
    return (rule.types is None or asking.action.type in rule.types) and (agents is None or asking.agent in agents)


def answers(rule: Rule, asking: Asking) -> Answers:
    """What the rule's condition says of the action; nothing where it is not asked."""
    if not asked(rule, asking):
        return ()
    return tuple(answer(rule.condition, values) for values in asking.each(rule.grants))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An example of a rule. `matches`: the rule has to hold for it."""

    matches: bool
    asking: Asking

    def agrees(self, rule: Rule) -> bool:
        """Whether the rule does what this example shows; see `shield.policy.examples.check_examples`."""
        found = answers(rule, self.asking)
        if None in found:
            return False
        return any(found) if self.matches else not found or not all(found)


def shown_by(rule: Rule) -> tuple[Shown, ...]:
    """The rule's own examples, with their facts. They were checked when the rule was loaded."""
    shape = Shape(rule.file)
    found = []
    for example in rule.text.examples:
        action, files, cwd = read_action(example.action, shape)
        facts = compute(action, lookup(action.type), made_place(files, cwd=cwd))
        found.append(Shown(matches=example.matches, asking=Asking.of(action, facts)))
    return tuple(found)
