"""One action judged by what needs no waiting: facts, protection, the floor and tier 0. Pure but for reading files.

The one place where facts become opinions: evaluate, redeem and every dry run come through here.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Protocol

from shield.actions.registry import ActionType, lookup
from shield.facts.compute import compute
from shield.facts.place import Place
from shield.protection import protect
from shield.tiers.floor import floor
from shield.types import Action, ActionRequest, Answer, Facts, Opinion, Severity, Tier

__all__ = ["DEADLINE_SECONDS", "LATE", "Judged", "PolicyTier", "judge"]

_FACTS_SECONDS = 2.0  # what is not established by then is unknown
DEADLINE_SECONDS = _FACTS_SECONDS * 2  # a disk that does not answer must not hold a verdict or a receipt back


class PolicyTier(Protocol):
    """Tier 0 as the pipeline sees it; `shield.policy.set.PolicySet` is one."""

    @property
    def digest(self) -> str:
        """`sha256:` over everything that decides."""

    def judge(
        self, action: Action, kind: ActionType, facts: Facts, /, *, agent: str, workspace: str, now: datetime
    ) -> Opinion:
        """The opinion of the rules. Never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is known of an action before any higher tier is asked. `took_us` is microseconds per step."""

    facts: Facts
    opinions: tuple[Opinion, ...]
    policy: str
    took_us: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def judge(
    request: ActionRequest,
    place: Place,
    policy: PolicyTier,
    *,
    agent: str,
    now_ms: int,
    monotonic: Callable[[], float] = time.monotonic,
) -> Judged:
    """Facts and the opinions of code and policy, strongest first. Never raises: trouble is an opinion that blocks."""
    started = monotonic()
    action = request.action
    kind = lookup(action.type)
    facts = compute(action, kind, place, deadline=lambda: monotonic() - started > _FACTS_SECONDS)
    known = monotonic()
    opinions: tuple[Opinion, ...]
    try:
        opinions = (
            *protect(facts, place.protected, place.isolation),
            *floor(action, kind, facts, min_tier=request.min_tier, isolation=place.isolation),
            policy.judge(
                action,
                kind,
                facts,
                agent=agent,
                workspace=place.workspace_roots[0] if place.workspace_roots else "",
                now=datetime.fromtimestamp(now_ms / 1000, UTC),
            ),
        )
    except Exception:  # noqa: BLE001  # INVARIANT: an error is never an ALLOW, whatever raised it
        opinions = (_TROUBLE,)
    took = {"facts": int((known - started) * 1e6), "0": int((monotonic() - known) * 1e6)}
    return Judged(facts=facts, opinions=opinions, policy=policy.digest, took_us=MappingProxyType(took))


_TROUBLE = Opinion(
    tier=Tier.POLICY,
    answer=Answer.BLOCK,
    rule="internal",
    reason="Shield could not judge this call",
    advice="try a simpler call; the owner finds the cause in Shield's own log",
    severity=Severity.CRITICAL,
)
LATE = Opinion(
    tier=Tier.POLICY,
    answer=Answer.BLOCK,
    rule="facts.deadline",
    reason="what this call would touch could not be examined in time",
    advice="try again; if a network drive hangs, leave it out",
    severity=Severity.HIGH,
)
