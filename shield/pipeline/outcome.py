"""What came of a redeemed call: inspected, recorded, and only then given back for a model to see."""

from dataclasses import dataclass

from shield.errors import Reason, RefusedError
from shield.pipeline.inspect import Inspector, recorded
from shield.pipeline.ledger import Issued, Ledger
from shield.pipeline.ports import Recorder
from shield.types import Outcome, OutcomeReply, TextKind

__all__ = ["Outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Takes one outcome per redeemed permit."""

    ledger: Ledger
    recorder: Recorder
    inspector: Inspector

    async def note(self, outcome: Outcome, *, owner: str) -> OutcomeReply:
        """Record the outcome and return what a model may see of its content; the same again gets the first answer.

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
        seen = await self.inspector.look(outcome.content, TextKind.TOOL_RESULT)
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
                **recorded(seen),
            },
            session=issued.session.id,
            agent=issued.session.agent,
            call_id=outcome.jti,
            ref=issued.executing,
        )
        return OutcomeReply(seq=appended.seq, content=seen.parts, labels=seen.labels, redactions=seen.redactions)
