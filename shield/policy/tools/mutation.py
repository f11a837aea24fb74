"""Mutants: a policy with one small mistake each. A mutant that no case and no example notices survives, and shows what
nobody tests.

Mistakes are made in effects and tiers, in comparisons, in `&&`, `||` and `!`, in lists and in constants. One that does
not compile is no mutant: it would never load.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from shield.errors import PolicyError
from shield.policy.cel.syntax import Binary, Call, Items, Literal, Logic, Name, Node, Select, Unary, parts
from shield.policy.compiled import Rule
from shield.policy.reader import Mark
from shield.policy.tools.points import points
from shield.policy.tools.sources import Sources
from shield.policy.tools.tree import is_macro, negated, rebuilt, written
from shield.types import Effect, Json, Tier

__all__ = ["Change", "Mutant", "bred", "changes", "sample"]

_SHOWN: Final = 100  # code points of a piece of a condition


class Change(StrEnum):
    """The kinds of mistakes."""

    REMOVED = "removed"
    EFFECT = "effect"
    TIER = "tier"
    COMPARISON = "comparison"
    LOGIC = "logic"
    OPERAND = "operand"
    NEGATION = "negation"
    LIST = "list"
    CONSTANT = "constant"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mistake in `rule`: `before` became `after`. `changed` is the rule then, None where it is gone;
    where `tree` is set, it is compiled by `bred`."""

    rule: Rule
    change: Change
    mark: Mark
    before: str
    after: str
    changed: Rule | None = None
    tree: Node | None = None

    def as_json(self) -> dict[str, Json]:
        return {
            "rule": self.rule.id,
            "file": self.rule.file,
            "line": self.mark.line,
            "column": self.mark.column,
            "change": self.change.value,
            "before": self.before,
            "after": self.after,
        }


_COMPARED: Final = {
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
}
_SWAPPED: Final = {
    "exists": "all",
    "all": "exists",
    "startsWith": "endsWith",
    "endsWith": "startsWith",
    "contains": "startsWith",
}


def changes(sources: Sources, *, extended: bool = False) -> tuple[Mutant, ...]:
    """Every mistake that can be made in the rules under test. None is compiled yet."""
    return tuple(mutant for rule in sources.of(extended=extended) for mutant in _of_rule(sources, rule))


def sample(found: Sequence[Mutant], count: int, seed: int) -> tuple[Mutant, ...]:
    """`count` of them, spread over rules and kinds: no long list of words crowds out a comparison. In file order."""
    if len(found) <= count:
        return tuple(found)
    drawn = random.Random(seed)  # noqa: S311  # which mutants are tried is no secret
    groups: dict[tuple[str, Change], list[int]] = defaultdict(list)
    for place, mutant in enumerate(found):
        groups[mutant.rule.id, mutant.change].append(place)
    for group in groups.values():
        drawn.shuffle(group)
    order = sorted(groups)
    drawn.shuffle(order)
    chosen: list[int] = []
    while len(chosen) < count:
        for key in order:
            if groups[key] and len(chosen) < count:
                chosen.append(groups[key].pop())
    return tuple(found[place] for place in sorted(chosen))


def bred(sources: Sources, mutant: Mutant) -> Mutant | None:
    """The mutant with its rule compiled; None where it would not load. Raises nothing."""
    if mutant.tree is None:
        return mutant
    rule = mutant.rule
    try:
        condition = sources.compile(rule, mutant.tree)
    except PolicyError:
        return None
    stated = frozenset(rule.text.actions) if rule.text.actions is not None else None
    types = condition.types if stated is None else stated if condition.types is None else stated & condition.types
    return replace(mutant, changed=replace(rule, condition=condition, types=types))


def _of_rule(sources: Sources, rule: Rule) -> Iterator[Mutant]:
    mark, effect = rule.text.mark, rule.effect
    yield Mutant(rule=rule, change=Change.REMOVED, mark=mark, before=f"the {effect.value} rule", after="no rule")
    if effect is Effect.BLOCK:
        yield _stronger(rule, Change.EFFECT, "block", "escalate", effect=Effect.ESCALATE, tier=Tier.PERSON)
    elif effect is Effect.ESCALATE:
        yield _stronger(rule, Change.EFFECT, "escalate", "block", effect=Effect.BLOCK, tier=Tier.PERSON)
        other = Tier.PERSON if rule.tier is Tier.JUDGE else Tier.JUDGE
        yield _stronger(rule, Change.TIER, f"to: {int(rule.tier)}", f"to: {int(other)}", effect=effect, tier=other)
    else:
        other = Tier.PERSON if rule.tier is Tier.POLICY else Tier.POLICY
        before, after = f"min_tier: {int(rule.tier)}", f"min_tier: {int(other)}"
        yield _stronger(rule, Change.TIER, before, after, effect=effect, tier=other)
    tree = sources.tree(rule)
    if tree is None:
        return
    lists = sources.file(rule).lists
    leaves = {id(point.node) for point in points(tree) if isinstance(point.node, Select | Call)}
    for path, node in _nodes(tree):
        for change, other_node, gone in _of_node(node, lists, leaf=id(node) in leaves):
            yield Mutant(
                rule=rule,
                change=change,
                mark=sources.place(rule, node if gone is None else gone),
                before=_cut(written(node if gone is None else gone)),
                after=_cut(written(other_node)) if gone is None else "left out",
                tree=_put(tree, path, other_node),
            )


def _stronger(rule: Rule, change: Change, before: str, after: str, *, effect: Effect, tier: Tier) -> Mutant:
    to = tier if effect is Effect.ESCALATE else None
    text = replace(rule.text, effect=effect, to=to, min_tier=tier if effect is Effect.ALLOW else rule.text.min_tier)
    changed = replace(rule, text=text, tier=tier, order=(-tier, *rule.order[1:]))
    return Mutant(rule=rule, change=change, mark=rule.text.mark, before=before, after=after, changed=changed)


def _nodes(tree: Node, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    yield path, tree
    # a macro's variable and has()'s field are names, not values: there is nothing to get wrong in them
    skipped = 1 if is_macro(tree) else None
    for place, part in enumerate(parts(tree)):
        # the words of a list are taken out one by one
        listed = isinstance(tree, Items) and isinstance(part, Literal)
        if place != skipped and not listed and not (isinstance(tree, Call) and tree.name == "has"):
            yield from _nodes(part, (*path, place))


def _put(tree: Node, path: tuple[int, ...], node: Node) -> Node:
    if not path:
        return node
    below = list(parts(tree))
    below[path[0]] = _put(below[path[0]], path[1:], node)
    return rebuilt(tree, below)


def _of_node(
    node: Node, lists: Mapping[str, Sequence[str]], *, leaf: bool
) -> Iterator[tuple[Change, Node, Node | None]]:
    """The kind, what stands in the place of `node`, and what is left out, where that says it better."""
    match node:
        case Binary() if node.op in _COMPARED:
            for op in _COMPARED[node.op]:
                yield Change.COMPARISON, replace(node, op=op), None
        case Binary() if node.op == "in":
            yield Change.NEGATION, negated(node), None
        case Logic():
            yield Change.LOGIC, replace(node, op="or" if node.op == "and" else "and"), None
            for place, gone in enumerate(node.args):
                rest = (*node.args[:place], *node.args[place + 1 :])
                yield Change.OPERAND, rest[0] if len(rest) == 1 else replace(node, args=rest), gone
        case Unary() if node.op == "!":
            yield Change.NEGATION, node.arg, None
        case Items() if len(node.items) > 1:
            yield from _without_words(node, node.items)
        case Select() if isinstance(node.base, Name) and node.base.name == "lists":
            yield from _without_words(node, [Literal(node.pos, word) for word in lists.get(node.field, ())])
        case Literal():
            for other in _constants(node):
                yield Change.CONSTANT, other, None
        case Call() if node.name in _SWAPPED and (is_macro(node) or node.name not in ("exists", "all")):
            yield Change.FUNCTION, replace(node, name=_SWAPPED[node.name]), None
    if leaf:
        yield Change.NEGATION, negated(node), None


def _without_words(node: Node, words: Sequence[Node]) -> Iterator[tuple[Change, Node, Node]]:
    for place, gone in enumerate(words):
        rest = (*words[:place], *words[place + 1 :])
        if rest:
            yield Change.LIST, Items(node.pos, rest), gone


def _constants(node: Literal) -> Iterator[Node]:
    match node.value:
        case bool():
            yield replace(node, value=not node.value)
        case int():
            yield replace(node, value=node.value + 1)
            if node.value > 0:
                yield replace(node, value=node.value - 1)
        case str():
            yield replace(node, value=f"{node.value}~")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
