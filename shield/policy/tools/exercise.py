"""Rule coverage: which rules a set of cases made hold, and which sides of their conditions it came to.

A side is seen if for some action the evaluation came to that place and found it so. Sides that only the rule's own
examples came to are told apart: examples show that a condition is written as it is meant, cases that the policy is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shield.errors import PolicyError
from shield.policy.cel import Condition
from shield.policy.compiled import Rule
from shield.policy.reader import Mark
from shield.policy.tools.asking import Asking, answer, asked, shown_by
from shield.policy.tools.points import points
from shield.policy.tools.sources import Sources
from shield.types import Json

__all__ = ["Exercise", "RuleCoverage", "Seen", "Side", "percent"]


class Seen(StrEnum):
    """What came to a side. `unmeasured`: its condition grew too large to be asked by itself."""

    CASE = "case"
    EXAMPLE = "example"
    NOTHING = "nothing"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One outcome of one place in a condition. `whole`: the place is the whole condition."""

    text: str
    value: bool
    mark: Mark
    whole: bool
    seen: Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCoverage:
    """The sides of one rule. `held`: what made the whole condition true."""

    rule: str
    file: str
    line: int
    sides: tuple[Side, ...]

    @property
    def held(self) -> Seen:
        return next(side.seen for side in self.sides if side.whole and side.value)

    def as_json(self) -> dict[str, Json]:
        """With every side that no case came to."""
        return {
            "rule": self.rule,
            "file": self.file,
            "line": self.line,
            "held": self.held.value,
            "sides": len(self.sides),
            "seen": sum(side.seen is Seen.CASE for side in self.sides),
            "missing": [
                {
                    "condition": side.text,
                    "value": side.value,
                    "line": side.mark.line,
                    "column": side.mark.column,
                    "seen": side.seen.value,
                }
                for side in self.sides
                if side.seen is not Seen.CASE
            ],
        }


def percent(covered: Sequence[RuleCoverage]) -> float | None:
    """The share of sides that cases came to, of those that can be measured; None where there is none: nothing was
    shown."""
    sides = [side for rule in covered for side in rule.sides if side.seen is not Seen.UNMEASURED]
    return 100.0 * sum(side.seen is Seen.CASE for side in sides) / len(sides) if sides else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probe:
    """One side and the condition that says that it was come to; None where the rule has no condition."""

    rule: Rule
    side: Side
    condition: Condition | None
    measured: bool = True

    def hit(self, asking: Asking) -> bool:
        if not self.measured or not asked(self.rule, asking):
            return False
        return any(answer(self.condition, values) for values in asking.each(self.rule.grants))


class Exercise:
    """Collects what actions come to. `hits` are numbers of sides, so that several processes can collect apart."""

    def __init__(self, sources: Sources, *, extended: bool = False) -> None:
        self._sources = sources
        self._rules = sources.of(extended=extended)
        self._probes = tuple(probe for rule in self._rules for probe in _probes(sources, rule))
        self._left = list(range(len(self._probes)))
        self.hits: set[int] = set()

    def see(self, asking: Asking) -> None:
        """One more case."""
        found = {place for place in self._left if self._probes[place].hit(asking)}
        if found:
            self.hits |= found
            self._left = [place for place in self._left if place not in found]

    def covered(self, hits: Iterable[int]) -> tuple[RuleCoverage, ...]:
        """The coverage that these hits come to, by rule, in the order of the files."""
        hits = frozenset(hits)
        sides: dict[str, list[Side]] = {rule.id: [] for rule in self._rules}
        shown = {rule.id: shown_by(rule) for rule in self._rules}
        for place, probe in enumerate(self._probes):
            seen = Seen.CASE if place in hits else Seen.NOTHING
            if not probe.measured:
                seen = Seen.UNMEASURED
            elif seen is Seen.NOTHING and any(probe.hit(one.asking) for one in shown[probe.rule.id]):
                seen = Seen.EXAMPLE
            side = probe.side
            sides[probe.rule.id].append(
                Side(text=side.text, value=side.value, mark=side.mark, whole=side.whole, seen=seen)
            )
        return tuple(
            RuleCoverage(rule=rule.id, file=rule.file, line=rule.text.mark.line, sides=tuple(sides[rule.id]))
            for rule in self._rules
        )


def _probes(sources: Sources, rule: Rule) -> Iterable[_Probe]:
    tree = sources.tree(rule)
    if tree is None:
        side = Side(text="the rule", value=True, mark=rule.text.mark, whole=True, seen=Seen.NOTHING)
        yield _Probe(rule=rule, side=side, condition=None)
        return
    for point in points(tree):
        mark = sources.place(rule, point.node)
        for value, witness in ((True, point.yes), (False, point.no)):
            side = Side(text=point.text, value=value, mark=mark, whole=point.whole, seen=Seen.NOTHING)
            try:
                yield _Probe(rule=rule, side=side, condition=sources.compile(rule, witness))
            except PolicyError:
                # the way to this place, written out, is larger than a condition may be
                yield _Probe(rule=rule, side=side, condition=None, measured=False)
