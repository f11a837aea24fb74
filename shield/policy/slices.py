"""Rules by action type, each slice prepared once: what could hold for an action of that type by that agent."""

from collections.abc import Sequence
from typing import Final

from shield.policy.cel import CelError, Group, group
from shield.policy.compiled import Rule
from shield.policy.prefilter import Prefilter
from shield.policy.rule import Grant
from shield.types import Effect

__all__ = ["Asked", "Index", "Slice"]


LEAST_INDEXED: Final = 16  # fewer are asked together more quickly than they are looked up


class Asked:
    """Rules whose conditions are asked with the same values: those that an index knows if it finds them, the others as
    one generated function."""

    __slots__ = ("_always", "_group", "_prefilter", "_rules", "_together", "empty")

    def __init__(self, rules: Sequence[Rule], *, indexed: bool) -> None:
        self._always = tuple(rule for rule in rules if rule.condition is None)
        self._rules = tuple(rule for rule in rules if rule.condition is not None)
        conditions = [rule.condition for rule in self._rules if rule.condition is not None]
        prefilter = Prefilter(conditions) if indexed and len(conditions) >= LEAST_INDEXED else None
        self._prefilter = prefilter if prefilter is not None and len(prefilter.known) >= LEAST_INDEXED else None
        self._together = self._prefilter.unknown if self._prefilter is not None else tuple(range(len(conditions)))
        self._group: Group = group([conditions[place] for place in self._together])
        self.empty = not rules

    def test(self, values: tuple[object, ...]) -> tuple[Sequence[Rule], Sequence[Rule]]:
        """The rules that hold, and those that could not be evaluated."""
        if not self._rules:
            return self._always, ()
        matched, failed = self._group(values)
        rules = self._rules
        if self._prefilter is not None:
            matched, failed = self._indexed(self._prefilter, values, matched, failed)
        if not matched and not failed:
            return self._always, ()
        held = [rules[index] for index in matched]
        return [*self._always, *held] if self._always else held, [rules[index] for index in failed] if failed else ()

    def _indexed(
        self, prefilter: Prefilter, values: tuple[object, ...], matched: list[int], failed: list[int]
    ) -> tuple[list[int], list[int]]:
        """With the rules that the index finds; the places are those of all rules, ascending."""
        together = self._together
        matched = [together[index] for index in matched] if matched else matched
        failed = [together[index] for index in failed] if failed else failed
        for place in prefilter.candidates(values):
            condition = self._rules[place].condition
            assert condition is not None
            try:
                if condition.test(values):
                    matched.append(place)
            except CelError:
                failed.append(place)
        if len(matched) > 1:
            matched.sort()
        if len(failed) > 1:
            failed.sort()
        return matched, failed


_ELEMENTS = (Grant.PATH, Grant.COMMAND, Grant.HOST, Grant.RECIPIENT)


class Slice:
    """The rules of one action type and agent: `protective` are those that block or escalate; allow rules stand by what
    they grant, `elements` in the order path, command, host, recipient. `asks_time` says whether any reads `now`.

    Rules that are not enforced are left out. `tried` is the slice as if they were, None where there are none.
    """

    __slots__ = ("actions", "asks_time", "elements", "protective", "tried")

    def __init__(self, rules: Sequence[Rule], *, indexed: bool, tried: "Slice | None" = None) -> None:
        self.protective = Asked([rule for rule in rules if rule.effect is not Effect.ALLOW], indexed=indexed)
        allows = [rule for rule in rules if rule.effect is Effect.ALLOW]
        by_grant = {grant: [rule for rule in allows if rule.grants is grant] for grant in Grant}
        self.elements = tuple((grant, Asked(by_grant[grant], indexed=indexed)) for grant in _ELEMENTS)
        self.actions = Asked(by_grant[Grant.ACTION], indexed=indexed)
        asks = any(rule.condition is not None and "now" in rule.condition.roots for rule in rules)
        self.asks_time: bool = asks or (tried is not None and tried.asks_time)
        self.tried = tried


def _slice(rules: Sequence[Rule], *, indexed: bool) -> Slice:
    enforced = [rule for rule in rules if rule.text.enforce]
    tried = Slice(rules, indexed=indexed) if len(enforced) < len(rules) else None
    return Slice(enforced, indexed=indexed, tried=tried)


class Index:
    """Slices by action type and agent, made at first use. What no rule names shares one slice.

    `indexed` False asks every rule; the answers are the same.
    """

    __slots__ = ("_agents", "_indexed", "_made", "_named", "_rules", "_slices")

    def __init__(self, rules: Sequence[Rule], *, indexed: bool = True) -> None:
        self._rules = tuple(rules)
        self._indexed = indexed
        self._named = frozenset(name for rule in rules for name in rule.types or ())
        self._agents = frozenset(name for rule in rules for name in rule.text.agents or ())
        self._slices: dict[tuple[str | None, str | None], Slice] = {}
        self._made: dict[tuple[int, ...], Slice] = {}

    def slice(self, name: str, agent: str) -> Slice:
        """The rules that can hold for an action of this type by this agent."""
        key = name if name in self._named else None
        whose = agent if agent in self._agents else None
        found = self._slices.get((key, whose))
        if found is None:
            # Many types are left with the same rules. Two threads may make the same slice: both are equal.
            places = tuple(
                place
                for place, rule in enumerate(self._rules)
                if (rule.types is None or (key is not None and key in rule.types))
                and (rule.text.agents is None or (whose is not None and whose in rule.text.agents))
            )
            found = self._made.get(places)
            if found is None:
                found = self._made[places] = _slice([self._rules[place] for place in places], indexed=self._indexed)
            self._slices[key, whose] = found
        return found
