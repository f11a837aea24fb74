"""Questions to a person: put with the decision that asks, withdrawn where it is not recorded, closed in time.

INVARIANT: what became of a question is in the log before it counts.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from shield.approvals.binding import Binding
from shield.approvals.queue import ApprovalQueue
from shield.errors import ShieldError, StateError
from shield.facts.json import facts_json
from shield.facts.secrets import redact
from shield.pipeline.bodies import approval_body
from shield.pipeline.judge import Judged
from shield.pipeline.ledger import Ledger
from shield.pipeline.ports import Clock, Recorder
from shield.pipeline.verdict import evidence_of
from shield.tiers.person import no_approver
from shield.tiers.settle import Settled
from shield.types import ActionRequest, Answer, Approval, ApprovalState, Decision, Json, Opinion, Tier

__all__ = ["Questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions that evaluations lead to. `tasks` are the timers of those that are open."""

    approvals: ApprovalQueue
    clock: Clock
    recorder: Recorder
    ledger: Ledger
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def ask(
        self,
        request: ActionRequest,
        settled: Settled,
        judged: Judged,
        binding: Binding,
        evaluation: str,
        agent: str,
        owner: str,
    ) -> tuple[Approval | None, Settled]:
        """Prepare the question that an ESCALATE asks; where nobody can answer there is none, and that is a BLOCK.

        Raises RefusedError `admission.approvals` where too many of this token are open.
        """
        if not self.approvals.has_approver():
            return None, replace(settled, decision=Decision.BLOCK, by=no_approver(settled.by.reason))
        try:
            question = await self.approvals.ask(
                binding,
                request=_request_json(request),
                facts=_facts_shown(judged, evidence_of(settled, judged)),
                rule=settled.by.rule,
                reason=_asked_for(settled, judged.opinions),
                evaluation=evaluation,
                agent=agent,
                owner=owner,
            )
        except StateError as error:
            return None, replace(settled, decision=Decision.BLOCK, by=no_approver(error.detail))
        return question, settled

    async def show(self, question: Approval) -> None:
        """The decision that asks is recorded: people may see its question, for as long as it is open."""
        self._close_in_time(question)
        await self.approvals.show(question.id)

    async def withdraw(self, question: Approval) -> None:
        """The decision that asks was not recorded: nobody is asked, whoever is cancelled meanwhile."""
        await asyncio.shield(self._withdraw(question.id))

    async def expire(self, approval_id: str) -> Approval:
        """Close a question that nobody answered in time, and record it."""
        approval, changed = await self.approvals.expire(approval_id)
        if changed:
            await self.record_answer(approval)
        return approval

    async def record_answer(self, approval: Approval) -> None:
        """Kind `approval`: what became of a question. Raises RecordError."""
        appended = await self.recorder.append(
            "approval",
            approval_body(approval),
            session=approval.session or None,
            agent=approval.agent,
            call_id=approval.id,
            ref=self.ledger.decision_seq(approval.evaluation),
        )
        self.ledger.note_answer(approval.evaluation, appended.seq)

    def stop(self) -> None:
        """Drop the timers."""
        for task in tuple(self.tasks):
            task.cancel()

    async def _withdraw(self, approval_id: str) -> None:
        try:
            await self.approvals.withdraw(approval_id)
        except StateError:
            pass  # nobody saw the question; the next start closes it

    def _close_in_time(self, question: Approval) -> None:
        """Expire the question when its time is over, whether or not anybody asks for it."""

        async def close() -> None:
            left_ms = question.expires_at - self.clock.now_ms()
            try:
                found = await self.approvals.wait_settled(question.id, max(left_ms, 0) / 1000)
                if found.state is ApprovalState.PENDING and self.approvals.overdue(found):
                    await self.expire(question.id)
            except ShieldError:
                pass  # it stays open in the store and is closed by the next start; nothing is allowed by it

        task = asyncio.get_running_loop().create_task(close())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def _facts_shown(judged: Judged, evidence: tuple[str, ...]) -> Mapping[str, Json]:
    """What the person is shown of the action: its facts, and the lines that speak against it."""
    shown = facts_json(judged.facts)
    return {**shown, "evidence": [redact(line)[0] for line in evidence]} if evidence else shown


def _asked_for(settled: Settled, opinions: Sequence[Opinion]) -> str:
    """Why a person is asked: the reason of the verdict, and what a higher tier has against the call besides."""
    more = (
        opinion.reason
        for opinion in opinions
        if opinion.tier > Tier.POLICY and opinion.answer is Answer.ESCALATE and not opinion.absent
    )
    return "; ".join(dict.fromkeys((settled.by.reason, *more)))


def _request_json(request: ActionRequest) -> Mapping[str, Json]:
    return {
        "id": request.id,
        "type": request.action.type,
        "payload": dict(request.action.payload),
        "cwd": request.action.cwd,
        "session": request.session,
        "tool_call_id": request.tool_call_id,
        "min_tier": int(request.min_tier),
        "intent": request.intent,
        "action_hash": request.action.hash,
    }
