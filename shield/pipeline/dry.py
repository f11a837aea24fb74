"""The path of every verdict as far as it judges, for command lines: no service behind it, no record, no permit."""

from shield.facts.place import Place
from shield.pipeline.judge import PolicyTier, judge
from shield.pipeline.verdict import verdict_of
from shield.tiers.absent import ABSENT
from shield.tiers.settle import need_of, settle
from shield.tiers.tier import blocked
from shield.types import ActionRequest, Facts, Tier, Verdict
from shield.ulid import new_ulid

__all__ = ["dry_run"]


def dry_run(
    request: ActionRequest,
    place: Place,
    policy: PolicyTier,
    *,
    agent: str,
    now_ms: int,
    max_tier: Tier = Tier.CLASSIFIER,
) -> tuple[Verdict, Facts]:
    """Judge without a service: nothing is recorded, nobody is asked, nothing is permitted.

    What needs more than `max_tier`, a model or a person is ESCALATE with that `need`.
    """
    judged = judge(request, place, policy, agent=agent, now_ms=now_ms)
    opinions = judged.opinions
    for tier in ABSENT:
        if not blocked(opinions) and tier.tier <= min(max_tier, Tier.CLASSIFIER) and need_of(opinions) is tier.tier:
            opinions = (*opinions, tier.opinion())
    verdict = verdict_of(request, settle(opinions), judged, evaluation=new_ulid(now_ms), now=now_ms, dry_run=True)
    return verdict, judged.facts
