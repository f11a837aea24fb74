"""What a heuristics file says, read and expanded but not yet compiled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shield.policy.reader import Mark
from shield.types import Answer, Json, Severity, TextKind

__all__ = ["NEAR", "UNLESS", "HeuristicExample", "HeuristicFile", "HeuristicRule", "Pattern", "softened"]

NEAR: Final = 200  # code points on each side of a hit in which one of `near` must stand
UNLESS: Final = 80  # code points before a hit in which one of `unless` softens it, and one of `despite` forbids that

_SOFTER: Final = {Answer.BLOCK: Answer.ESCALATE}


def softened(answer: Answer) -> Answer:
    """What is left of a hit that is quoted, taught or negated: one step less."""
    return _SOFTER.get(answer, Answer.NO_OBJECTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """An RE2 pattern with its words put in, and where it stands."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicExample:
    """`answer` is what the rule has to say of the text where the file names it; None: anything but nothing."""

    kind: TextKind
    text: str
    matches: bool
    answer: Answer | None
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicRule:
    """`kinds` is what a hit means by kind of text: BLOCK or ESCALATE; a kind that is missing is not looked at.

    A hit is a match of one of `patterns`, or a secret of one of the kinds in `secrets`; a rule has one or the other.
    """

    id: str
    file: str
    mark: Mark
    severity: Severity
    kinds: Mapping[TextKind, Answer]
    patterns: tuple[Pattern, ...]
    secrets: frozenset[str]
    near: tuple[Pattern, ...]
    unless: tuple[Pattern, ...]
    despite: tuple[Pattern, ...]
    case: bool
    reason: str
    advice: str | None
    examples: tuple[HeuristicExample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicFile:
    """`content` is the whole file without its positions: what the digest is of."""

    file: str
    name: str
    rules: tuple[HeuristicRule, ...]
    content: Json
