"""What a tier above the policy is: it sees the whole case and gives one opinion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shield.types import ActionRequest, Answer, Facts, Opinion, Tier

__all__ = ["BlockingTier", "Case", "UpperTier", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An action on its way up: what is known of it and what the tiers below said."""

    request: ActionRequest
    facts: Facts
    opinions: tuple[Opinion, ...]


class UpperTier(Protocol):
    """Tier 1 or 2. It never raises, and it never lowers what a tier below asked for."""

    @property
    def tier(self) -> Tier:
        """Which one it is."""

    async def judge(self, case: Case) -> Opinion:
        """The opinion, within the tier's own deadline."""


class BlockingTier(Protocol):
    """A tier that a command line asks: it has no event loop and nothing else to do."""

    def opinion(self, case: Case) -> Opinion:
        """The opinion. Never raises."""


def blocked(opinions: Sequence[Opinion]) -> bool:
    """Whether any opinion is final already."""
    return any(opinion.answer is Answer.BLOCK for opinion in opinions)
