"""What a tier says of an action, and what all of them come to. The default is BLOCK."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.types.decision import Answer, Decision, Severity, Tier

__all__ = ["Opinion", "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one tier says of an action. The default is BLOCK.

    `need` is the least tier that this opinion asks for. `consents_to_silence` is set by tier 0 only: an allow rule
    with `min_tier: 1` is among those that cover the action, so tier 1's `no_objection` counts as its ALLOW.
    `absent`: the tier is not there, it only raises.
    """

    tier: Tier
    answer: Answer = Answer.BLOCK
    need: Tier = Tier.PERSON
    rule: str = "internal"
    reason: str = "nothing allowed this"
    advice: str | None = None
    severity: Severity | None = None
    confidence: float | None = None
    consents_to_silence: bool = False
    absent: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to one ActionRequest. Times are unix milliseconds. The default is BLOCK."""

    id: str
    evaluation: str
    decision: Decision = Decision.BLOCK
    tier: Tier = Tier.POLICY
    need: Tier = Tier.PERSON
    rule: str = "internal"
    reason: str = "nothing allowed this"
    advice: str | None = None
    confidence: float | None = None
    action_hash: str | None = None
    policy: str | None = None
    evaluated_at: int = 0
    expires_at: int | None = None
    approval: str | None = None
    approval_expires_at: int | None = None
    permit: str | None = None
    seq: int | None = None
    latency_us: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    dry_run: bool = False
    evidence: tuple[str, ...] = ()
