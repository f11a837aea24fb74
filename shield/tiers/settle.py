"""The need algebra: silence is not consent, trouble is not consent, and nothing lowers a need.

`need` is the highest of everything that was asked for. An action is allowed only if the tier equal to `need` ran and
itself answered ALLOW. Any BLOCK is final.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shield.types import Answer, Decision, Opinion, Tier

__all__ = ["NOTHING_SAID", "Settled", "need_of", "settle"]

NOTHING_SAID = Opinion(tier=Tier.POLICY, rule="internal", reason="no tier judged this")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the opinions come to: `by` is the opinion that the verdict names."""

    decision: Decision = Decision.BLOCK
    need: Tier = Tier.PERSON
    by: Opinion = NOTHING_SAID


def need_of(opinions: Sequence[Opinion], least: Tier = Tier.POLICY) -> Tier:
    """The highest need: the least tier given, each opinion's own, and one above every tier that escalated."""
    need = least
    for opinion in opinions:
        need = max(need, opinion.need)
        if opinion.answer is Answer.ESCALATE:
            need = max(need, Tier(min(opinion.tier + 1, Tier.PERSON)))
    return need


def settle(opinions: Sequence[Opinion], least: Tier = Tier.POLICY) -> Settled:
    """One decision from all opinions; no opinion at all is BLOCK."""
    if not opinions:
        return Settled()
    need = need_of(opinions, least)
    for opinion in opinions:
        if opinion.answer is Answer.BLOCK:
            return Settled(decision=Decision.BLOCK, need=need, by=opinion)
    # a policy that asks has consented to nothing
    consent = any(
        opinion.consents_to_silence
        for opinion in opinions
        if opinion.tier is Tier.POLICY and opinion.answer is Answer.ALLOW
    )
    answers = [opinion for opinion in opinions if opinion.tier == need]
    if answers and all(_allows(opinion, consent=consent) for opinion in answers):
        return Settled(decision=Decision.ALLOW, need=need, by=answers[-1])
    # what asked for it, before what was content with less; a tier that is not there only where nothing else asked; of
    # these the one that asked for the most; of equals the first, what is in code before what is in policy
    by = max(opinions, key=lambda opinion: (_asks(opinion, need), not opinion.absent, need_of((opinion,))))
    return Settled(decision=Decision.ESCALATE, need=need, by=by)


def _asks(opinion: Opinion, need: Tier) -> bool:
    return opinion.answer is Answer.ESCALATE or opinion.need >= need


def _allows(opinion: Opinion, *, consent: bool) -> bool:
    if opinion.answer is Answer.ALLOW:
        return True
    return consent and opinion.tier is Tier.CLASSIFIER and opinion.answer is Answer.NO_OBJECTION
