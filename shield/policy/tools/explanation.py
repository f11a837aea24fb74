"""Why tier 0 says of an action what it says: each rule that was asked, each place in its condition, each element."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shield.actions.registry import lookup
from shield.errors import PolicyError
from shield.policy.cel import CelError, Condition, compile_expression
from shield.policy.cel.syntax import Binary, Literal, Logic, Node
from shield.policy.compiled import Rule
from shield.policy.coverage import cover
from shield.policy.reader import Mark
from shield.policy.rule import Grant
from shield.policy.slices import Slice
from shield.policy.tools.asking import Asking, answer, answers, asked, elements
from shield.policy.tools.points import Point, points
from shield.policy.tools.sources import Sources
from shield.policy.tools.tree import both, written
from shield.policy.trouble import Troubles
from shield.types import CommandFact, Effect, HostFact, Json, PathFact, Tier

__all__ = ["Element", "Explanation", "RuleStory", "State", "Step", "explain"]

_GRANTS = (Grant.PATH, Grant.COMMAND, Grant.HOST, Grant.RECIPIENT)
_VALUE = 60  # code points of a value that is shown


class State(StrEnum):
    """What a place in a condition came to. `mixed`: true for some elements and false for others."""

    TRUE = "true"
    FALSE = "false"
    MIXED = "mixed"
    ERROR = "error"
    UNREACHED = "unreached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One place in a condition. `value` is what was compared with a constant there, where that can be shown."""

    text: str
    mark: Mark
    depth: int
    state: State
    value: str | None = None

    def as_json(self) -> dict[str, Json]:
        return {
            "condition": self.text,
            "line": self.mark.line,
            "column": self.mark.column,
            "depth": self.depth,
            "state": self.state.value,
            "value": self.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStory:
    """One rule that was asked. `held` are the positions of the elements it holds for, (0,) where it has none."""

    rule: Rule
    state: State
    held: tuple[int, ...]
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Json]:
        rule = self.rule
        held: list[Json] = [*self.held]
        steps: list[Json] = [step.as_json() for step in self.steps]
        return {
            "rule": rule.id,
            "effect": rule.effect.value,
            "grants": None if rule.grants is None else rule.grants.value,
            "tier": int(rule.tier),
            "enforced": rule.text.enforce,
            "file": rule.file,
            "line": rule.text.mark.line,
            "state": self.state.value,
            "elements": held,
            "steps": steps,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One path, command, host or recipient with the allow rules that cover it, and what they ask for. Where there is
    none, `nearest` is the rule of which the most came true, and `missing` the first thing in it that did not."""

    grant: Grant
    position: int
    text: str
    rules: tuple[str, ...]
    nearest: str | None = None
    missing: str | None = None

    def as_json(self) -> dict[str, Json]:
        return {
            "kind": self.grant.value,
            "position": self.position,
            "text": self.text,
            "rules": [*self.rules],
            "nearest": self.nearest,
            "missing": self.missing,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`rules` that were asked, in the order of the files; `others` is the number of rules for other types and agents;
    `gaps` say why allow rules do not cover the whole action."""

    rules: tuple[RuleStory, ...]
    others: int
    elements: tuple[Element, ...]
    gaps: tuple[str, ...]

    def as_json(self) -> dict[str, Json]:
        return {
            "rules": [story.as_json() for story in self.rules],
            "not_asked": self.others,
            "elements": [element.as_json() for element in self.elements],
            "gaps": [*self.gaps],
        }


def explain(sources: Sources, asking: Asking, *, every: bool = False) -> Explanation:
    """Ask every rule once more, and every place in the conditions of those that hold or have no answer; with `every`
    of all."""
    rules = [rule for rule in sources.rules if asked(rule, asking)]
    stories = tuple(_story(rule, sources, asking, every=every) for rule in rules)
    enforced = [rule for rule in rules if rule.text.enforce]
    covered = cover(Slice(enforced, indexed=False), lookup(asking.action.type), asking.facts, asking.values, Troubles())
    return Explanation(
        rules=stories,
        others=len(sources.rules) - len(rules),
        elements=tuple(_elements(stories, sources, asking)),
        gaps=covered.gaps,
    )


def _story(rule: Rule, sources: Sources, asking: Asking, *, every: bool) -> RuleStory:
    found = answers(rule, asking)
    held = tuple(place for place, said in enumerate(found) if said)
    state = State.ERROR if None in found else State.TRUE if held else State.FALSE
    told = every or state is not State.FALSE
    steps = tuple(_steps(rule, sources, list(asking.each(rule.grants)))) if told else ()
    return RuleStory(rule=rule, state=state, held=held, steps=steps)


def _steps(rule: Rule, sources: Sources, asked_with: Sequence[tuple[object, ...]]) -> Iterator[Step]:
    tree = sources.tree(rule)
    for point in points(tree) if tree is not None else ():
        yield Step(
            text=point.text,
            mark=sources.place(rule, point.node),
            depth=point.depth,
            state=_state(rule, point, sources, asked_with),
            value=_value(rule, point, asked_with),
        )


def _state(rule: Rule, point: Point, sources: Sources, asked_with: Sequence[tuple[object, ...]]) -> State:
    yes = [answer(one, values) for one in _compiled(rule, point.yes, sources) for values in asked_with]
    no = [answer(one, values) for one in _compiled(rule, point.no, sources) for values in asked_with]
    if any(yes):
        return State.MIXED if any(no) else State.TRUE
    if any(no):
        return State.FALSE
    return State.ERROR if None in (*yes, *no) else State.UNREACHED


def _compiled(rule: Rule, tree: Node, sources: Sources) -> tuple[Condition, ...]:
    try:
        return (sources.compile(rule, tree),)
    except PolicyError:
        return ()  # too large to be asked by itself


def _value(rule: Rule, point: Point, asked_with: Sequence[tuple[object, ...]]) -> str | None:
    """What stands on the other side of a constant, if it is the same wherever it was asked."""
    node = point.node
    if not isinstance(node, Binary) or point.depth or rule.condition is None:
        return None
    side = node.right if isinstance(node.left, Literal) else node.left
    try:
        expression = compile_expression(written(side), rule.condition.schema)
        found = {_shown(expression.value(values)) for values in asked_with}
    except (PolicyError, CelError):
        return None
    return found.pop() if len(found) == 1 else None


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return _cut("[" + ", ".join(_shown(item) for item in value) + "]")
    if isinstance(value, bool):
        return "true" if value else "false"
    return _cut(f'"{value}"' if isinstance(value, str) else str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


def _elements(stories: Sequence[RuleStory], sources: Sources, asking: Asking) -> Iterator[Element]:
    allows = [story for story in stories if story.rule.effect is Effect.ALLOW and story.rule.text.enforce]
    for grant in _GRANTS:
        of_grant = [story for story in allows if story.rule.grants is grant]
        for position, item in enumerate(elements(asking.facts, grant)):
            held = tuple(_named(story.rule) for story in of_grant if position in story.held)
            near, missing = (None, None) if held else _nearest(of_grant, sources, (*asking.values, item))
            yield Element(grant=grant, position=position, text=_text(item), rules=held, nearest=near, missing=missing)


def _named(rule: Rule) -> str:
    return rule.id if rule.tier is Tier.POLICY else f"{rule.id} (asks for tier {int(rule.tier)})"


def _nearest(
    stories: Sequence[RuleStory], sources: Sources, values: tuple[object, ...]
) -> tuple[str | None, str | None]:
    """The rule of whose `&&` the most holds for this element, and the first operand that does not."""
    best: tuple[float, str | None, str | None] = (0.0, None, None)
    for story in stories:
        tree = sources.tree(story.rule)
        operands = tree.args if isinstance(tree, Logic) and tree.op == "and" else ()
        for place, operand in enumerate(operands):
            met = [answer(one, values) for one in _compiled(story.rule, both(operands[: place + 1]), sources)]
            if met != [True]:
                if place / len(operands) > best[0]:
                    best = (place / len(operands), story.rule.id, written(operand))
                break
    return best[1:]


def _text(item: object) -> str:
    match item:
        case PathFact():
            return f"{item.resolved or item.raw} ({item.access.value}{', with all below' if item.recursive else ''})"
        case CommandFact():
            return " ".join(item.argv) or "a redirection"
        case HostFact():
            return item.url
    return str(item)
