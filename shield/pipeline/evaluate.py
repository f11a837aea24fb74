"""The only way to a verdict: facts → protection → tier 0 → as far up as needed → record → permit.

INVARIANT: a verdict leaves here only after its record is durable; a permit only with an ALLOW that was recorded.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from shield.approvals.queue import ApprovalQueue, Binding
from shield.errors import RecordError, ShieldError, StateError
from shield.facts.files import identities, versions
from shield.facts.json import facts_digest, facts_json
from shield.facts.place import Place
from shield.facts.secrets import redact
from shield.permits import PERMIT_SECONDS, Permit, PermitKey, state_digest
from shield.pipeline.bodies import SALT_BYTES, approval_body, decision_body
from shield.pipeline.judge import FACTS_SECONDS, LATE, Judged, PolicyTier, judge
from shield.pipeline.ledger import Evaluation, Issued, Ledger
from shield.pipeline.pool import Pool
from shield.pipeline.ports import Clock, Kept, Recorder
from shield.pipeline.redacted import Known, content
from shield.pipeline.verdict import evidence_of, unrecorded, verdict_of
from shield.tiers.absent import ABSENT
from shield.tiers.floor import required_isolation
from shield.tiers.person import no_approver, person
from shield.tiers.settle import Settled, need_of, settle
from shield.tiers.tier import Case, UpperTier, blocked
from shield.types import (
    Action,
    ActionRequest,
    Answer,
    Approval,
    ApprovalState,
    Decision,
    Facts,
    FileIdentity,
    Isolation,
    Json,
    Opinion,
    Session,
    Severity,
    Tier,
    Verdict,
)
from shield.ulid import Entropy, new_ulid

__all__ = ["Evaluator"]

_LOOKS = 3  # an editor may put a new file in place while the old one is being looked at
_LARGE = 64 * 1024  # bytes of an action from which on redacting it is done in a thread
_DEADLINE_S = FACTS_SECONDS * 2  # a disk that does not answer must not hold a verdict back


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What the worker found: opinions, the files that a permit would bind (None: they cannot be bound), and which
    versions of others a person would say yes to."""

    judged: Judged
    files: tuple[FileIdentity, ...] | None = None
    versions: tuple[FileIdentity, ...] = ()


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
    key: PermitKey
    ledger: Ledger
    payloads: bool = False
    tiers: Sequence[UpperTier] = ABSENT
    entropy: Entropy = field(default_factory=Entropy)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

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
        judged = await self._upward(request, looked.judged)
        binding = _binding(request, session, judged, looked)
        opinions = judged.opinions
        if approval is not None and need_of(opinions) is Tier.PERSON and self._holds(approval, binding):
            answer = person(approval)
            opinions = opinions if answer is None else (*opinions, answer)
        settled = settle(opinions)
        if settled.decision is Decision.ALLOW and session is not None and looked.files is None:
            settled = replace(settled, decision=Decision.BLOCK, by=_UNBOUND)
        # 3. a person, if it comes to that
        question: Approval | None = None
        if settled.decision is Decision.ESCALATE:
            question, settled = await self._ask(request, settled, judged, binding, evaluation or call_id, agent, owner)
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
        recording = self.clock.monotonic_ns()
        try:
            seq = await self._record(
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
                await asyncio.shield(self._withdraw(question.id))
            return unrecorded(verdict(), error)
        except BaseException:
            # whoever asked is gone: nobody will come back for this question, so nobody is asked
            if question is not None:
                await asyncio.shield(self._withdraw(question.id))
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
            )
        )
        if question is not None:
            self._close_in_time(question)
            await self.approvals.show(question.id)
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
            approval = await self.expire(approval.id)
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

    # --- steps -------------------------------------------------------------------------------------------------------

    async def _look(self, request: ActionRequest, session: Session | None, agent: str, now: int) -> _Looked:
        try:
            return await self.pool.run(partial(self._look_now, request, session, agent, now), within_s=_DEADLINE_S)
        except TimeoutError:
            # INVARIANT: nothing here reads a disk, least of all the one that does not answer: no session, no overlay
            digest = self.policy(None).digest
            return _Looked(judged=Judged(facts=Facts(), opinions=(LATE,), policy=digest))

    def _look_now(self, request: ActionRequest, session: Session | None, agent: str, now: int) -> _Looked:
        for _ in range(_LOOKS):
            place = self.place_for(request, session)
            judged = judge(request, place, self.policy(session), agent=agent, now_ms=now)
            if session is None or blocked(judged.opinions):
                break
            try:
                files = identities(request.action, judged.facts, place)
            except ShieldError:
                break
            if files is not None:
                return _Looked(judged=judged, files=files, versions=versions(judged.facts, place))
        return _Looked(judged=judged)

    async def _upward(self, request: ActionRequest, judged: Judged) -> Judged:
        """The same with the opinions of the tiers above, as far as they are needed, and what each took."""
        opinions = judged.opinions
        took: dict[str, int] = {}
        for tier in self.tiers:
            need = need_of(opinions)
            # tier 2 settles only what needs exactly tier 2; what needs a person is not put to it
            if blocked(opinions) or need < tier.tier or (tier.tier is Tier.JUDGE and need is not Tier.JUDGE):
                continue
            case = Case(request=request, facts=judged.facts, opinions=opinions)
            asked = self.clock.monotonic_ns()
            opinions = (*opinions, await tier.judge(case))
            took[str(int(tier.tier))] = (self.clock.monotonic_ns() - asked) // 1000
        return replace(judged, opinions=opinions, took_us={**judged.took_us, **took}) if took else judged

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
        return still_approved and self.clock.now_ms() >= (known.verdict.expires_at or 0)

    async def _ask(
        self,
        request: ActionRequest,
        settled: Settled,
        judged: Judged,
        binding: Binding,
        evaluation: str,
        agent: str,
        owner: str,
    ) -> tuple[Approval | None, Settled]:
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

    async def _record(
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
            salt=self.entropy.take(SALT_BYTES),
            content=await self._content(request.action, known) if self.payloads else b"",
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
        appended = await self.recorder.append(
            "decision", body, session=binding.session or None, agent=agent, call_id=call_id, ref=answer, kept=kept
        )
        return appended.seq

    async def _content(self, action: Action, known: Known) -> bytes:
        large = len(action.canonical) > _LARGE
        return await asyncio.to_thread(content, action, known) if large else content(action, known)

    async def _withdraw(self, approval_id: str) -> None:
        try:
            await self.approvals.withdraw(approval_id)
        except StateError:
            pass  # nobody saw the question; the next start closes it

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
        deadline = self.clock.monotonic_ns() + PERMIT_SECONDS * 1_000_000_000
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


def _binding(request: ActionRequest, session: Session | None, judged: Judged, looked: _Looked) -> Binding:
    asked = need_of(judged.opinions) is Tier.PERSON
    return Binding(
        action_hash=request.action.hash,
        shown=facts_digest(judged.facts, state_digest(looked.versions)) if asked else "",
        state=state_digest(looked.files) if looked.files is not None else "",
        env=session.env_digest if session is not None else "",
        policy=judged.policy,
        session=session.id if session is not None else "",
    )


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


_UNBOUND = Opinion(
    tier=Tier.POLICY,
    answer=Answer.BLOCK,
    rule="permit.state",
    reason="what this call depends on cannot be pinned, so it cannot be permitted",
    advice="name regular files directly, without links that change or devices",
    severity=Severity.MEDIUM,
)
