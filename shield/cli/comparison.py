"""Two policies on the same actions: which decisions differ, and which of them became weaker."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shield.types import Decision, Json, Tier, Verdict

__all__ = ["Change", "Comparison", "Direction", "Judgement", "compare"]

_STRENGTH = {Decision.ALLOW: 0, Decision.ESCALATE: 1, Decision.BLOCK: 2}


class Direction(StrEnum):
    """`rule`: the same decision by another rule, which is no difference in what may run."""

    WEAKER = "weaker"
    STRICTER = "stricter"
    RULE = "rule"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What of a verdict is compared."""

    decision: Decision
    need: Tier
    rule: str

    @classmethod
    def of(cls, verdict: Verdict) -> "Judgement":
        return cls(decision=verdict.decision, need=verdict.need, rule=verdict.rule)

    @property
    def strength(self) -> tuple[int, int]:
        """BLOCK above ESCALATE above ALLOW; of two questions the one that needs the higher tier is the stricter."""
        return _STRENGTH[self.decision], int(self.need) if self.decision is Decision.ESCALATE else 0

    def __str__(self) -> str:
        asks = f" to {int(self.need)}" if self.decision is Decision.ESCALATE else ""
        return f"{self.decision.value}{asks} by `{self.rule}`"

    def as_json(self) -> dict[str, Json]:
        return {"decision": self.decision.value, "need": int(self.need), "rule": self.rule}


def compare(before: Judgement, after: Judgement) -> Direction:
    """What the step from one to the other is."""
    if after.strength != before.strength:
        return Direction.WEAKER if after.strength < before.strength else Direction.STRICTER
    return Direction.SAME if after.rule == before.rule else Direction.RULE


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One action under both. `where` is a case's file and line, or a record; `times` is how often it came."""

    name: str
    where: str
    what: str
    before: Judgement
    after: Judgement
    direction: Direction
    file: str | None = None
    line: int | None = None
    times: int = 1

    def as_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "where": self.where,
            "action": self.what,
            "direction": self.direction.value,
            "times": self.times,
            "a": self.before.as_json(),
            "b": self.after.as_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All actions that were judged by both. `rules` counts those that another rule decides in the same way."""

    compared: int
    changes: tuple[Change, ...]
    rules: int

    @property
    def weaker(self) -> int:
        return sum(change.times for change in self.changes if change.direction is Direction.WEAKER)

    @property
    def differ(self) -> int:
        return sum(change.times for change in self.changes)

    @classmethod
    def of(cls, compared: int, found: Sequence[Change]) -> "Comparison":
        """Weaker ones first."""
        moved = [change for change in found if change.direction in (Direction.WEAKER, Direction.STRICTER)]
        moved.sort(key=lambda change: change.direction is not Direction.WEAKER)
        rules = sum(change.times for change in found if change.direction is Direction.RULE)
        return cls(compared=compared, changes=tuple(moved), rules=rules)

    def as_json(self) -> dict[str, Json]:
        return {
            "compared": self.compared,
            "differ": self.differ,
            "weaker": self.weaker,
            "other_rule": self.rules,
            "changes": [change.as_json() for change in self.changes],
        }
