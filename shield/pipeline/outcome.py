"""What came of a redeemed call: inspected, recorded, and only then given back for a model to see."""

import asyncio
from dataclasses import dataclass

from shield.errors import Reason, RefusedError
from shield.facts.secrets import redact
from shield.pipeline.ledger import Issued, Ledger
from shield.pipeline.ports import Recorder
from shield.types import Json, Outcome, OutcomePart, OutcomeReply, Redaction

__all__ = ["Outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Takes one outcome per redeemed permit."""

    ledger: Ledger
    recorder: Recorder

    async def note(self, outcome: Outcome, *, owner: str) -> OutcomeReply:
        """Record the outcome and return the content with secrets taken out; the same again gets the first answer.

        Raises RefusedError `outcome.no_permit` for a permit that is unknown or was not redeemed, RecordError.
        """
        issued = self.ledger.issued(outcome.jti)
        if issued is None or issued.owner != owner or issued.executing is None:
            raise RefusedError(
                f"no call with permit `{outcome.jti[:64]}` was redeemed by this token, so none has an outcome",
                reason=Reason.OUTCOME_NO_PERMIT,
            )
        async with issued.lock:
            if issued.outcome is None:
                reply = await self._note(outcome, issued)
                self.ledger.answered(issued, reply)
                return reply
            return issued.outcome

    async def _note(self, outcome: Outcome, issued: Issued) -> OutcomeReply:
        content, redactions = await asyncio.to_thread(_inspect, outcome.content)
        kinds: dict[str, Json] = {}
        for redaction in redactions:
            seen = kinds.get(redaction.kind)
            kinds[redaction.kind] = (seen if isinstance(seen, int) else 0) + 1
        appended = await self.recorder.append(
            "outcome",
            {
                "permit": outcome.jti,
                "status": outcome.status.value,
                "exit_code": outcome.exit_code,
                "duration_us": outcome.duration_us,
                "bytes": outcome.bytes,
                "sha256": outcome.sha256,
                "truncated": outcome.truncated,
                "redactions": kinds,
            },
            session=issued.session.id,
            agent=issued.session.agent,
            call_id=outcome.jti,
            ref=issued.executing,
        )
        return OutcomeReply(seq=appended.seq, content=content, redactions=redactions)


def _inspect(content: tuple[OutcomePart, ...]) -> tuple[tuple[OutcomePart, ...], tuple[Redaction, ...]]:
    parts: list[OutcomePart] = []
    redactions: list[Redaction] = []
    for part in content:
        text, found = redact(part.text)
        parts.append(OutcomePart(role=part.role, text=text))
        redactions.extend(
            Redaction(kind=secret.kind, role=part.role, start=secret.start, end=secret.end) for secret in found
        )
    return tuple(parts), tuple(redactions)
