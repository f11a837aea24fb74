"""The record of a decision, and what is kept sealed beside it."""

import asyncio

from shield.approvals.binding import Binding
from shield.pipeline.bodies import SALT_BYTES, decision_body
from shield.pipeline.judge import Judged
from shield.pipeline.ports import Kept, Recorder
from shield.pipeline.redacted import Known, content
from shield.pipeline.verdict import evidence_of
from shield.tiers.settle import Settled
from shield.types import Action, ActionRequest, Approval
from shield.ulid import Entropy

__all__ = ["Decisions"]

_LARGE = 64 * 1024  # bytes of an action from which on redacting it is done in a thread


class Decisions:
    """Where decisions are recorded. `payloads`: each action is kept beside its record."""

    def __init__(self, recorder: Recorder, entropy: Entropy, *, payloads: bool) -> None:
        self._recorder = recorder
        self._entropy = entropy
        self._payloads = payloads

    async def record(
        self,
        request: ActionRequest,
        settled: Settled,
        judged: Judged,
        binding: Binding,
        *,
        agent: str,
        call_id: str,
        evaluation: str,
        question: Approval | None,
        expires_at: int | None,
        permitted: bool,
        answer: int | None,
    ) -> int:
        """The seq of the durable record. Raises RecordError."""
        known = Known(request.action, judged.facts)
        kept = Kept(
            salt=self._entropy.take(SALT_BYTES),
            content=await self._content(request.action, known) if self._payloads else b"",
        )
        body = decision_body(
            request,
            settled,
            judged,
            evaluation=evaluation,
            approval=None if question is None else question.id,
            expires_at=expires_at,
            evidence=evidence_of(settled, judged),
            salt=kept.salt,
            state=binding.state or None,
            env=binding.env or None,
            permit=call_id if permitted else None,
            known=known,
            kept=kept.content,
        )
        appended = await self._recorder.append(
            "decision", body, session=binding.session or None, agent=agent, call_id=call_id, ref=answer, kept=kept
        )
        return appended.seq

    async def _content(self, action: Action, known: Known) -> bytes:
        large = len(action.canonical) > _LARGE
        return await asyncio.to_thread(content, action, known) if large else content(action, known)
