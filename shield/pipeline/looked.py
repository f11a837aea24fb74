"""An action looked at for a verdict: opinions, and the state of the files that a permit or a person's yes binds."""

from collections.abc import Callable
from dataclasses import dataclass

from shield.approvals.binding import Binding
from shield.errors import ShieldError
from shield.facts.files import identities, versions
from shield.facts.json import facts_digest
from shield.facts.place import Place
from shield.permits import state_digest
from shield.pipeline.judge import Judged, PolicyTier, judge
from shield.tiers.settle import need_of
from shield.tiers.tier import blocked
from shield.types import ActionRequest, Answer, FileIdentity, Opinion, Session, Severity, Tier

__all__ = ["UNBOUND", "Looked", "look"]

_LOOKS = 3  # an editor may put a new file in place while the old one is being looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was found: opinions, the files that a permit would bind (None: they cannot be bound), and which versions of
    others a person would say yes to."""

    judged: Judged
    files: tuple[FileIdentity, ...] | None = None
    versions: tuple[FileIdentity, ...] = ()

    def binding(self, request: ActionRequest, session: Session | None, judged: Judged) -> Binding:
        """What an approval holds for; `judged` is with the opinions of every tier that was asked."""
        asked = need_of(judged.opinions) is Tier.PERSON
        return Binding(
            action_hash=request.action.hash,
            shown=facts_digest(judged.facts, state_digest(self.versions)) if asked else "",
            state=state_digest(self.files) if self.files is not None else "",
            env=session.env_digest if session is not None else "",
            policy=judged.policy,
            session=session.id if session is not None else "",
        )


def look(
    request: ActionRequest,
    session: Session | None,
    *,
    policy: Callable[[Session | None], PolicyTier],
    place_for: Callable[[ActionRequest, Session | None], Place],
    agent: str,
    now_ms: int,
) -> Looked:
    """Judge the action and pin its files, again where they change meanwhile. It reads disks: run it in a worker."""
    for _ in range(_LOOKS):
        place = place_for(request, session)
        judged = judge(request, place, policy(session), agent=agent, now_ms=now_ms)
        if session is None or blocked(judged.opinions):
            break
        try:
            files = identities(request.action, judged.facts, place)
        except ShieldError:
            break
        if files is not None:
            return Looked(judged=judged, files=files, versions=versions(judged.facts, place))
    return Looked(judged=judged)


UNBOUND = Opinion(
    tier=Tier.POLICY,
    answer=Answer.BLOCK,
    rule="permit.state",
    reason="what this call depends on cannot be pinned, so it cannot be permitted",
    advice="name regular files directly, without links that change or devices",
    severity=Severity.MEDIUM,
)
