"""The Verdict that opinions come to: made once, when its record is durable."""

from dataclasses import replace

from shield.errors import RecordError
from shield.pipeline.judge import Judged
from shield.tiers.settle import Settled
from shield.types import ActionRequest, Approval, Decision, Verdict

__all__ = ["evidence_of", "unrecorded", "verdict_of"]


def verdict_of(
    request: ActionRequest,
    settled: Settled,
    judged: Judged,
    *,
    evaluation: str,
    now: int,
    expires_at: int | None = None,
    question: Approval | None = None,
    seq: int | None = None,
    permit: str | None = None,
    record_us: int | None = None,
    dry_run: bool = False,
) -> Verdict:
    """The verdict that `settled` comes to. Times are unix milliseconds; one that is recorded has a `seq`."""
    by = settled.by
    return Verdict(
        id=request.id,
        evaluation=evaluation,
        decision=settled.decision,
        tier=by.tier,
        need=settled.need,
        rule=by.rule,
        reason=by.reason,
        advice=by.advice,
        confidence=by.confidence,
        action_hash=request.action.hash,
        policy=judged.policy,
        evaluated_at=now,
        expires_at=expires_at,
        approval=None if question is None else question.id,
        approval_expires_at=None if question is None else question.expires_at,
        permit=permit,
        seq=seq,
        dry_run=dry_run,
        latency_us=judged.took_us if record_us is None else {**judged.took_us, "record": record_us},
        evidence=evidence_of(settled, judged),
    )


def unrecorded(verdict: Verdict, error: RecordError) -> Verdict:
    """What is answered where the record failed: a BLOCK, whatever was judged."""
    return replace(
        verdict,
        decision=Decision.BLOCK,
        rule="audit.unavailable",
        reason=error.detail,
        advice="nothing was judged; try again when Shield says that it is ready",
        expires_at=None,
        approval=None,
        approval_expires_at=None,
    )


def evidence_of(settled: Settled, judged: Judged) -> tuple[str, ...]:
    """The lines that speak for it, of every opinion; each once, for the one that settled it is among them."""
    return tuple(dict.fromkeys(line for opinion in (*judged.opinions, settled.by) for line in opinion.evidence))
