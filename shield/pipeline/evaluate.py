"""The only way to a verdict: facts → protection → tier 0 → as far up as needed → record → permit.

INVARIANT: a verdict leaves here only after its record is durable; a permit only with an ALLOW that was recorded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from shield.approvals.binding import Binding
from shield.approvals.queue import ApprovalQueue
from shield.errors import RecordError
from shield.facts.place import Place
from shield.permits import PERMIT_SECONDS, Permit, PermitKey
from shield.pipeline.decisions import Decisions
from shield.pipeline.judge import DEADLINE_SECONDS, LATE, Judged, PolicyTier
from shield.pipeline.ledger import Evaluation, Issued, Ledger
from shield.pipeline.looked import UNBOUND, Looked, look
from shield.pipeline.pool import Pool
from shield.pipeline.ports import Clock, Recorder
from shield.pipeline.questions import Questions
from shield.pipeline.upward import upward
from shield.pipeline.verdict import unrecorded, verdict_of
from shield.tiers.absent import ABSENT
from shield.tiers.floor import required_isolation
from shield.tiers.person import person
from shield.tiers.settle import Settled, need_of, settle
from shield.tiers.tier import UpperTier
from shield.types import ActionRequest, Approval, ApprovalState, Decision, Facts, Isolation, Session, Tier, Verdict
from shield.ulid import Entropy, new_ulid

__all__ = ["Evaluator"]

_PERMIT_NS = PERMIT_SECONDS * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """Everything a verdict needs, passed in. `policy` and `place_for` are asked anew for every call; `payloads` keeps
    each action sealed beside its record."""

    policy: Callable[[Session | None], PolicyTier]
    place_for: Callable[[ActionRequest, Session | None], Place]
    clock: Clock
    pool: Pool
    recorder: Recorder
    approvals: ApprovalQueue
    questions: Questions
    key: PermitKey
    ledger: Ledger
    payloads: bool = False
    tiers: Sequence[UpperTier] = ABSENT
    entropy: Entropy = field(default_factory=Entropy)

    async def evaluate(
        self,
        request: ActionRequest,
        *,
        session: Session | None,
        agent: str,
        owner: str,
        approval: Approval | None = None,
        evaluation: str | None = None,
    ) -> Verdict:
        """Judge one request and record it. A settled `approval` is tier 3's answer, if it still fits.

        A record that fails is a BLOCK with rule `audit.unavailable` and no `seq`. Raises RefusedError
        `admission.approvals` where too many questions of this token are open: then there is no verdict.
        """
        # 1. what would it do, and what do code and policy say
        now = self.clock.now_ms()
        call_id = new_ulid(now, self.entropy.take)
        looked = await self._look(request, session, agent, now)
        # 2. as far up as needed
        judged = await upward(request, looked.judged, self.tiers, self.clock)
        binding = looked.binding(request, session, judged)
        opinions = judged.opinions
        if approval is not None and need_of(opinions) is Tier.PERSON and self._holds(approval, binding):
            answer = person(approval)
            opinions = opinions if answer is None else (*opinions, answer)
        settled = settle(opinions)
        if settled.decision is Decision.ALLOW and session is not None and looked.files is None:
            settled = replace(settled, decision=Decision.BLOCK, by=UNBOUND)
        # 3. a person, if it comes to that
        question: Approval | None = None
        if settled.decision is Decision.ESCALATE:
            question, settled = await self.questions.ask(
                request, settled, judged, binding, evaluation or call_id, agent, owner
            )
        # 4. record, then release: there is no verdict before its record is durable
        expires_at = now + PERMIT_SECONDS * 1000 if settled.decision is Decision.ALLOW else None
        verdict = partial(
            verdict_of,
            request,
            settled,
            judged,
            evaluation=evaluation or call_id,
            now=now,
            expires_at=expires_at,
            question=question,
        )
        permitted = session if settled.decision is Decision.ALLOW else None
        decisions = Decisions(self.recorder, self.entropy, payloads=self.payloads)
        recording = self.clock.monotonic_ns()
        try:
            seq = await decisions.record(
                request,
                settled,
                judged,
                binding,
                agent=agent,
                call_id=call_id,
                evaluation=evaluation or call_id,
                question=question,
                expires_at=expires_at,
                permitted=permitted is not None,
                answer=None if approval is None else self.ledger.answer_seq(evaluation or call_id),
            )
        except RecordError as error:
            if question is not None:
                await self.questions.withdraw(question)
            return unrecorded(verdict(), error)
        except BaseException:
            # whoever asked is gone: nobody will come back for this question, so nobody is asked
            if question is not None:
                await self.questions.withdraw(question)
            raise
        recorded = self.clock.monotonic_ns()
        settled_by = approval.id if approval is not None and settled.by.tier is Tier.PERSON else None
        permit: str | None = None
        if permitted is not None:
            permit = self._mint(request, settled, judged, permitted, owner, call_id, binding, settled_by, now, seq)
        elif approval is not None:
            self.approvals.forget(approval.id)
        released = verdict(seq=seq, permit=permit, record_us=(recorded - recording) // 1000)
        self.ledger.remember(
            Evaluation(
                request=request,
                session=session,
                agent=agent,
                owner=owner,
                verdict=released,
                seq=seq,
                question=question.id if question is not None else settled_by,
                ends_ns=self.clock.monotonic_ns() + _PERMIT_NS,
            )
        )
        if question is not None:
            await self.questions.show(question)
        return released

    async def current(self, evaluation: str, *, owner: str, wait_s: float) -> Verdict:
        """The verdict of an evaluation now; waits up to `wait_s` for its question to be settled.

        After an approval the action is judged again, with the approval as tier 3's answer, and carries a fresh permit.
        Raises RefusedError `evaluation.unknown`.
        """
        known = self.ledger.evaluation(evaluation, owner)
        if known.question is None:
            return known.verdict
        approval = await self.approvals.wait_settled(known.question, wait_s)
        if approval.state is ApprovalState.PENDING:
            if not self.approvals.overdue(approval):
                return known.verdict
            approval = await self.questions.expire(approval.id)
        async with known.lock:
            latest = self.ledger.evaluation(evaluation, owner)
            if latest is not known or not self._stale(known):
                return latest.verdict
            return await self.evaluate(
                known.request,
                session=known.session,
                agent=known.agent,
                owner=owner,
                approval=approval,
                evaluation=evaluation,
            )

    # --- steps -------------------------------------------------------------------------------------------------------

    async def _look(self, request: ActionRequest, session: Session | None, agent: str, now: int) -> Looked:
        try:
            looking = partial(
                look, request, session, policy=self.policy, place_for=self.place_for, agent=agent, now_ms=now
            )
            return await self.pool.run(looking, within_s=DEADLINE_SECONDS)
        except TimeoutError:
            # INVARIANT: nothing here reads a disk, least of all the one that does not answer: no session, no overlay
            digest = self.policy(None).digest
            return Looked(judged=Judged(facts=Facts(), opinions=(LATE,), policy=digest))

    def _holds(self, approval: Approval, binding: Binding) -> bool:
        """Whether the answer is of this very action; a refusal or silence holds whatever changed since."""
        if approval.state is ApprovalState.APPROVED:
            return self.approvals.holds(approval.id, binding)
        return True

    def _stale(self, known: Evaluation) -> bool:
        """Whether asking again can change the answer: an open question, or an approval whose permit ran out unused."""
        if known.verdict.decision is Decision.ESCALATE:
            return True
        if known.question is None or known.verdict.permit is None:
            return False
        still_approved = self.approvals.binding(known.question) is not None
        # by either clock: who holds a permit may go by the one, and redeeming goes by the other
        ended = self.clock.now_ms() >= (known.verdict.expires_at or 0) or self.clock.monotonic_ns() >= known.ends_ns
        return still_approved and ended

    def _mint(
        self,
        request: ActionRequest,
        settled: Settled,
        judged: Judged,
        session: Session,
        owner: str,
        call_id: str,
        binding: Binding,
        approval: str | None,
        now: int,
        seq: int,
    ) -> str:
        seconds = now // 1000
        by_person = settled.by.tier is Tier.PERSON
        permit = Permit(
            jti=call_id,
            sub=session.agent,
            sid=session.id,
            tcid=request.tool_call_id or "",
            iat=seconds,
            exp=seconds + PERMIT_SECONDS,
            act=request.action.hash,
            state=binding.state,
            env=binding.env,
            pol=binding.policy,
            need=settled.need,
            tier=settled.by.tier,
            seq=seq,
            wsr=session.workspace_roots,
            iso=Isolation.NONE if by_person else required_isolation(judged.facts),
        )
        deadline = self.clock.monotonic_ns() + _PERMIT_NS
        self.ledger.issue(
            Issued(
                permit=permit,
                request=request,
                session=session,
                owner=owner,
                deadline_ns=deadline,
                approval=approval,
                shown=binding.shown if by_person else None,
            )
        )
        return self.key.sign_permit(permit)
