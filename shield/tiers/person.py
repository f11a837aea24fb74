"""Tier 3's opinions: what a person said of exactly this action, or that nobody could or did say anything."""

from dataclasses import replace

from shield.types import Answer, Approval, ApprovalState, Opinion, Severity, Tier

__all__ = ["no_approver", "person"]

_APPROVED = Opinion(
    tier=Tier.PERSON,
    answer=Answer.ALLOW,
    rule="person.approved",
    reason="a person approved this call",
    severity=Severity.LOW,
)
_DENIED = Opinion(
    tier=Tier.PERSON,
    answer=Answer.BLOCK,
    rule="person.denied",
    reason="a person refused this call",
    advice="do not try it another way; ask the user what to do instead",
    severity=Severity.HIGH,
)
_TIMED_OUT = Opinion(
    tier=Tier.PERSON,
    answer=Answer.BLOCK,
    rule="approval.timeout",
    reason="nobody answered in time",
    advice="go on with what needs no approval, and tell the user what waits for them",
    severity=Severity.MEDIUM,
)
_NO_APPROVER = Opinion(
    tier=Tier.PERSON,
    answer=Answer.BLOCK,
    rule="no_approver",
    advice=(
        "go on with what needs no approval; the user can make an approver's token with `shield init --new-tokens` and,"
        " once Shield is reloaded, answer with `shield approvals watch`"
    ),
    severity=Severity.MEDIUM,
)


def person(approval: Approval) -> Opinion | None:
    """The opinion that a settled question comes to; None while it is open."""
    if approval.state is ApprovalState.APPROVED:
        return _APPROVED
    if approval.state is ApprovalState.DENIED:
        return _DENIED if approval.note is None else replace(_DENIED, advice=approval.note)
    if approval.state is ApprovalState.EXPIRED:
        return _TIMED_OUT
    return None


def no_approver(why: str) -> Opinion:
    """The opinion where no person can be asked. `why` is what a person would have been asked about."""
    return replace(_NO_APPROVER, reason=f"this needs a person and none is there to ask: {why}")
