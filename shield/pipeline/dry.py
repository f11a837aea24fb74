"""The path of every verdict as far as it judges, for command lines: no service behind it, no record, no permit."""

import time
from collections.abc import Callable
from dataclasses import replace

from shield.facts.place import Place
from shield.pipeline.judge import PolicyTier, judge
from shield.pipeline.verdict import verdict_of
from shield.tiers.absent import AbsentTier
from shield.tiers.settle import need_of, settle
from shield.tiers.tier import BlockingTier, Case, blocked
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
    tier1: Callable[[], BlockingTier] | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> tuple[Verdict, Facts]:
    """Judge without a service: nothing is recorded, nobody is asked, nothing is permitted.

    What needs more than `max_tier`, a judge model or a person is ESCALATE with that `need`. `tier1` is asked for where
    an action needs it, which few do, so it may load what it needs then. `monotonic`: seconds, by which facts that take
    too long are unknown.
    """
    judged = judge(request, place, policy, agent=agent, now_ms=now_ms, monotonic=monotonic)
    opinions = judged.opinions
    if not blocked(opinions) and min(max_tier, need_of(opinions)) >= Tier.CLASSIFIER:
        tier = AbsentTier(tier=Tier.CLASSIFIER) if tier1 is None else tier1()
        opinions = (*opinions, tier.opinion(Case(request=request, facts=judged.facts, opinions=opinions)))
        judged = replace(judged, opinions=opinions)
    verdict = verdict_of(request, settle(opinions), judged, evaluation=new_ulid(now_ms), now=now_ms, dry_run=True)
    return verdict, judged.facts
