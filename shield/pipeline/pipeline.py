"""What HTTP, hooks, MCP and batch call: the parts of the one path, wired."""

from collections.abc import Callable
from dataclasses import replace

from shield.approvals.queue import ApprovalQueue
from shield.errors import Reason
from shield.facts.place import Place
from shield.facts.secrets import redact
from shield.permits import PermitKey
from shield.pipeline.evaluate import Evaluator
from shield.pipeline.inspect import Direction, Inspection, Inspector
from shield.pipeline.judge import PolicyTier
from shield.pipeline.ledger import Ledger
from shield.pipeline.outcome import Outcomes
from shield.pipeline.pool import Pool
from shield.pipeline.ports import Clock, Recorder
from shield.pipeline.questions import Questions
from shield.pipeline.redeem import Redeemer
from shield.pipeline.rejections import Rejections
from shield.pipeline.sessions import SessionBook
from shield.tiers.absent import ABSENT
from shield.tiers.classifier import ClassifierTier
from shield.types import (
    ActionRequest,
    Approval,
    ApprovalAnswer,
    Isolation,
    Json,
    Outcome,
    OutcomeReply,
    Session,
    Tier,
    Verdict,
)

__all__ = ["Pipeline"]


class Pipeline:
    """The parts of one running Shield, wired: sessions, verdicts, receipts, outcomes, answers of people."""

    def __init__(
        self,
        *,
        policy: Callable[[Session | None], PolicyTier],
        place_for: Callable[[ActionRequest, Session | None], Place],
        clock: Clock,
        pool: Pool,
        recorder: Recorder,
        sessions: SessionBook,
        approvals: ApprovalQueue,
        key: PermitKey,
        payloads: bool = False,
        tier1: ClassifierTier | None = None,
    ) -> None:
        """`tier1` None: it is not installed, so what needs it is asked of a person, and no text is trusted."""
        ledger = Ledger()
        self.sessions = sessions
        self.approvals = approvals
        self.public_key = key.public
        self._questions = Questions(approvals=approvals, clock=clock, recorder=recorder, ledger=ledger)
        self._evaluator = Evaluator(
            policy=policy,
            place_for=place_for,
            clock=clock,
            pool=pool,
            recorder=recorder,
            approvals=approvals,
            questions=self._questions,
            key=key,
            ledger=ledger,
            payloads=payloads,
            tiers=ABSENT if tier1 is None else (tier1, *(tier for tier in ABSENT if tier.tier > Tier.CLASSIFIER)),
        )
        self._rejections = Rejections(recorder, clock)
        self._redeemer = Redeemer(evaluator=self._evaluator, sessions=sessions, key=key, rejections=self._rejections)
        self._inspector = Inspector(recorder=recorder, tier1=tier1)
        self._outcomes = Outcomes(ledger=ledger, recorder=recorder, inspector=self._inspector)

    async def evaluate(self, request: ActionRequest, *, session: Session | None, agent: str, owner: str) -> Verdict:
        """Judge one request; see Evaluator.evaluate."""
        return await self._evaluator.evaluate(request, session=session, agent=agent, owner=owner)

    async def current(self, evaluation: str, *, owner: str, wait_s: float) -> Verdict:
        """The verdict of an evaluation now; see Evaluator.current."""
        return await self._evaluator.current(evaluation, owner=owner, wait_s=wait_s)

    async def redeem(self, permit: str, action: Json, nonce: str, isolation: Isolation, *, owner: str) -> str:
        """A receipt for a permit; see Redeemer.redeem."""
        return await self._redeemer.redeem(permit, action, nonce, isolation, owner=owner)

    async def outcome(self, outcome: Outcome, *, owner: str) -> OutcomeReply:
        """Record an outcome; see Outcomes.note."""
        return await self._outcomes.note(outcome, owner=owner)

    async def inspect(
        self, content: str, direction: Direction, source: str | None, *, session: Session | None, agent: str
    ) -> Inspection:
        """What a text comes to; see Inspector.inspect."""
        return await self._inspector.inspect(content, direction, source, session=session, agent=agent)

    async def answer(self, approval_id: str, answer: ApprovalAnswer, *, by: str) -> Approval:
        """What a person said. Recorded before it counts. Raises RefusedError `approval.*`, RecordError."""
        # it is kept, logged and told to the agent: a secret that was pasted into it by mistake goes no further
        answer = replace(answer, note=redact(answer.note)[0])
        return await self.approvals.answer(approval_id, answer, by=by, record=self._questions.record_answer)

    async def rejected(self, reason: Reason, raw: bytes, peer_uid: int | None) -> None:
        """Something was refused at the door; see Rejections.note."""
        await self._rejections.note(reason, raw, peer_uid)

    async def stop(self) -> None:
        """End every wait, record what was only counted, drop the timers."""
        await self.approvals.stop()
        self._questions.stop()
        await self._rejections.flush()
