"""Rules by action type, each slice prepared once: what could hold for an action of that type and nothing else."""

from collections.abc import Sequence

from shield.policy.cel import Group, group
from shield.policy.compiled import Rule
from shield.policy.rule import Grant
from shield.types import Effect

__all__ = ["Asked", "Index", "Slice"]


class Asked:
    """Rules whose conditions are asked with the same values, as one generated function."""

    __slots__ = ("_always", "_group", "_rules", "empty")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._always = tuple(rule for rule in rules if rule.condition is None)
        self._rules = tuple(rule for rule in rules if rule.condition is not None)
        self._group: Group = group([rule.condition for rule in self._rules if rule.condition is not None])
        self.empty = not rules

    def test(self, values: tuple[object, ...]) -> tuple[Sequence[Rule], Sequence[Rule]]:
        """The rules that hold, and those that could not be evaluated."""
        if not self._rules:
            return self._always, ()
        matched, failed = self._group(values)
        if not matched and not failed:
            return self._always, ()
        rules = self._rules
        return [*self._always, *[rules[index] for index in matched]], [rules[index] for index in failed]


_ELEMENTS = (Grant.PATH, Grant.COMMAND, Grant.HOST, Grant.RECIPIENT)


class Slice:
    """The rules of one action type: `protective` are those that block or escalate; allow rules stand by what they
    grant, `elements` in the order path, command, host, recipient. `asks_time` says whether any of them reads `now`.
    """

    __slots__ = ("actions", "asks_time", "elements", "protective")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.protective = Asked([rule for rule in rules if rule.effect is not Effect.ALLOW])
        allows = [rule for rule in rules if rule.effect is Effect.ALLOW]
        self.elements = tuple((grant, Asked([rule for rule in allows if rule.grants is grant])) for grant in _ELEMENTS)
        self.actions = Asked([rule for rule in allows if rule.grants is Grant.ACTION])
        self.asks_time = any(rule.condition is not None and "now" in rule.condition.roots for rule in rules)


class Index:
    """Slices by action type, made at first use. A type that no rule names shares one slice."""

    __slots__ = ("_made", "_named", "_rules", "_slices")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._named = frozenset(name for rule in rules for name in rule.types or ())
        self._slices: dict[str | None, Slice] = {}
        self._made: dict[tuple[int, ...], Slice] = {}

    def slice(self, name: str) -> Slice:
        """The rules that can hold for an action of this type."""
        key = name if name in self._named else None
        found = self._slices.get(key)
        if found is None:
            # Many types are left with the same rules. Two threads may make the same slice: both are equal.
            places = tuple(
                place
                for place, rule in enumerate(self._rules)
                if rule.types is None or (key is not None and key in rule.types)
            )
            found = self._made.get(places)
            if found is None:
                found = self._made[places] = Slice([self._rules[place] for place in places])
            self._slices[key] = found
        return found
