"""Tiers that are not installed say so: what needs them goes up to the next, in the end to a person."""

from dataclasses import dataclass

from shield.tiers.tier import Case
from shield.types import Answer, Opinion, Tier

__all__ = ["ABSENT", "AbsentTier"]

_NAMES = {Tier.CLASSIFIER: "the classifier", Tier.JUDGE: "the judge model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentTier:
    """Stands where a tier is not installed. ESCALATE, so that it never settles anything."""

    tier: Tier

    async def judge(self, case: Case) -> Opinion:
        """The same answer for every case."""
        return self.opinion(case)

    def opinion(self, case: Case | None = None) -> Opinion:
        """What a missing tier has to say."""
        del case
        return Opinion(
            tier=self.tier,
            answer=Answer.ESCALATE,
            need=Tier.POLICY,
            rule=f"tier{int(self.tier)}.absent",
            reason=f"{_NAMES[self.tier]} is not installed, so a person decides",
            absent=True,
        )


ABSENT = (AbsentTier(tier=Tier.CLASSIFIER), AbsentTier(tier=Tier.JUDGE))
