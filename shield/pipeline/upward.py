"""From the policy to the tiers above it, no farther than needed."""

from collections.abc import Sequence
from dataclasses import replace

from shield.pipeline.judge import Judged
from shield.pipeline.ports import Clock
from shield.tiers.settle import need_of
from shield.tiers.tier import Case, UpperTier, blocked
from shield.types import ActionRequest, Tier

__all__ = ["upward"]


async def upward(request: ActionRequest, judged: Judged, tiers: Sequence[UpperTier], clock: Clock) -> Judged:
    """The same with the opinions of the tiers above, as far as they are needed, and what each took."""
    opinions = judged.opinions
    took: dict[str, int] = {}
    for tier in tiers:
        need = need_of(opinions)
        # tier 2 settles only what needs exactly tier 2; what needs a person is not put to it
        if blocked(opinions) or need < tier.tier or (tier.tier is Tier.JUDGE and need is not Tier.JUDGE):
            continue
        case = Case(request=request, facts=judged.facts, opinions=opinions)
        asked = clock.monotonic_ns()
        opinions = (*opinions, await tier.judge(case))
        took[str(int(tier.tier))] = (clock.monotonic_ns() - asked) // 1000
    return replace(judged, opinions=opinions, took_us={**judged.took_us, **took}) if took else judged
