"""Redeeming a permit: the check of the time of use. Once, unexpired, same bytes, same files, still allowed.

INVARIANT: a receipt leaves here only after the `executing` record is durable, and no permit leads to two of them.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shield.actions.request import make_action
from shield.errors import InputError, PermitError, Reason, ShieldError
from shield.facts.files import identities, versions
from shield.facts.json import facts_digest
from shield.permits import Permit, PermitKey, Receipt, state_digest
from shield.pipeline.evaluate import Evaluator
from shield.pipeline.judge import DEADLINE_SECONDS, judge
from shield.pipeline.ledger import Issued
from shield.pipeline.rejections import Rejections
from shield.pipeline.sessions import SessionBook
from shield.tiers.settle import need_of, settle
from shield.tiers.tier import blocked
from shield.types import (
    Access,
    Action,
    Decision,
    Facts,
    FileIdentity,
    Isolation,
    Json,
    Opinion,
    Session,
    SessionFacts,
    Tier,
    confined_env,
)

__all__ = ["Redeemer"]

_REFUSED_MAX = 8  # records of one permit: a replay is told of, and cannot fill the log


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """The action judged once more: what it would touch now, and why it may not run (None: it may)."""

    facts: Facts
    files: tuple[FileIdentity, ...]
    refusal: PermitError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeemer:
    """Turns a permit into a receipt, once."""

    evaluator: Evaluator
    sessions: SessionBook
    key: PermitKey
    rejections: Rejections

    async def redeem(self, permit: str, action: Json, nonce: str, isolation: Isolation, *, owner: str) -> str:
        """The signed receipt. Raises PermitError with one of the seven reasons, InputError, RecordError."""
        # 1. a permit of this Shield, for this token; one that is not belongs to no decision that a record could name
        try:
            issued = self._issued(permit, owner)
        except PermitError as error:
            await self.rejections.note(error.reason, permit.encode("utf-8", "replace"), None)
            raise
        async with issued.lock:
            try:
                return await self._redeem(issued, _action(action), nonce, isolation)
            except PermitError as error:
                await self._refused(issued, error.reason)
                raise

    def _issued(self, permit: str, owner: str) -> Issued:
        claims = self.key.verify_permit(permit)
        issued = self.evaluator.ledger.issued(claims.jti)
        if issued is None or issued.owner != owner or issued.permit != claims:
            raise _refuse("this permit is not known here", Reason.PERMIT_MISMATCH)
        return issued

    async def _redeem(self, issued: Issued, action: Action, nonce: str, isolation: Isolation) -> str:
        permit, session = issued.permit, issued.session
        # 2. the same bytes
        if action.hash != permit.act:
            # INVARIANT: an absent `cwd` is not the session's here: who does not name where it runs may run it elsewhere
            judged = issued.request.action.cwd
            unnamed = action.cwd is None and judged is not None
            raise _refuse(
                f"this is not the action that was judged{f', whose `cwd` is `{judged}`' if unnamed else ''}",
                Reason.PERMIT_MISMATCH,
            )
        # 3. once, and in time by a clock that cannot be set back
        if issued.used or self._spent(issued):
            raise _refuse("this permit was used before", Reason.PERMIT_USED)
        if self.evaluator.clock.monotonic_ns() >= issued.deadline_ns:
            raise _refuse("this permit has expired", Reason.PERMIT_EXPIRED)
        # 4. no less isolated than judged
        if not isolation.covers(permit.iso):
            raise _refuse(f"this needs isolation `{permit.iso}`, not `{isolation}`", Reason.PERMIT_ISOLATION)
        # 5. the same environment, the same files, still allowed; this call is counted while it is looked at
        before = self.sessions.reserve(session, action.type)
        if before is None:
            # what was counted and written in it is gone, so rules over that could not be asked
            raise _refuse("the session of this permit was forgotten", Reason.PERMIT_MISMATCH)
        try:
            again = await self._judge_again(issued, before)
            if again.refusal is not None:
                raise again.refusal
            # 6. use it up, record, sign
            self._take(issued)
        except BaseException:
            self.sessions.release(session, action.type)
            raise
        appended = await self.evaluator.recorder.append(
            "executing",
            _executing_body(permit, isolation, again.files, nonce),
            session=session.id,
            agent=session.agent,
            call_id=permit.jti,
            ref=permit.seq,
        )
        issued.executing = appended.seq
        self.sessions.wrote(session, _written(again.facts))
        return self.key.sign_receipt(
            Receipt(
                jti=permit.jti,
                act=permit.act,
                state=permit.state,
                nonce=nonce,
                seq=appended.seq,
                exp=permit.exp,
                files=again.files,
                shell=session.shell,
                env=_env(session, action, isolation),
                allow_hosts=again.facts.hosts,
            )
        )

    def _spent(self, issued: Issued) -> bool:
        """Whether the approval that this permit came of led to a receipt already, by another permit of it."""
        return issued.approval is not None and self.evaluator.approvals.binding(issued.approval) is None

    def _take(self, issued: Issued) -> None:
        # INVARIANT: no await between look and mark, neither for the permit nor for the approval that it came of
        if self._spent(issued):
            raise _refuse("this permit was used before", Reason.PERMIT_USED)
        self.evaluator.ledger.take(issued)
        if issued.approval is not None:
            self.evaluator.approvals.forget(issued.approval)

    async def _judge_again(self, issued: Issued, before: SessionFacts) -> _Again:
        try:
            return await self.evaluator.pool.run(partial(self._judge_now, issued, before), within_s=DEADLINE_SECONDS)
        except TimeoutError:
            raise _refuse(
                "what this call would touch could not be examined in time", Reason.PERMIT_STATE_CHANGED
            ) from None

    def _judge_now(self, issued: Issued, before: SessionFacts) -> _Again:
        permit, session, evaluator = issued.permit, issued.session, self.evaluator
        place = replace(evaluator.place_for(issued.request, session), session=before)
        policy = evaluator.policy(session)
        judged = judge(issued.request, place, policy, agent=session.agent, now_ms=evaluator.clock.now_ms())
        files = identities(issued.request.action, judged.facts, place)
        refusal: PermitError | None = None
        if files is None or state_digest(files) != permit.state:
            refusal = _refuse(
                "a file that this depends on has changed since it was judged", Reason.PERMIT_STATE_CHANGED
            )
        elif self.sessions.env_digest() != permit.env:
            refusal = _refuse(
                "the shell or its environment has changed since it was judged", Reason.PERMIT_STATE_CHANGED
            )
        elif issued.shown is not None and issued.shown != facts_digest(
            judged.facts, state_digest(versions(judged.facts, place))
        ):
            refusal = _refuse("this would not do any more what a person was shown", Reason.PERMIT_STATE_CHANGED)
        elif not _still_allowed(judged.opinions, permit.tier):
            refusal = _refuse("this is no longer allowed", Reason.PERMIT_POLICY)
        return _Again(facts=judged.facts, files=files or (), refusal=refusal)

    async def _refused(self, issued: Issued, reason: Reason) -> None:
        """Kind `refused`. The refusal stands whether or not the log takes it."""
        if issued.refusals == _REFUSED_MAX:
            return
        issued.refusals += 1
        try:
            await self.evaluator.recorder.append(
                "refused",
                {"permit": issued.permit.jti, "reason": reason.value},
                session=issued.session.id,
                agent=issued.session.agent,
                ref=issued.permit.seq,
            )
        except ShieldError:
            pass


def _env(session: Session, action: Action, isolation: Isolation) -> Mapping[str, str]:
    """All that a command is run with: a confined one is also told of its proxy and its temporary folder."""
    if isolation is Isolation.CONFINED and action.type == "execute_command":
        return {**session.env, **confined_env(os.geteuid())}
    return session.env


def _action(value: Json) -> Action:
    if not isinstance(value, Mapping) or set(value) != {"type", "payload", "cwd"}:
        raise InputError("`action` has exactly the keys `type`, `payload` and `cwd`", pointer="/action")
    kind, payload, cwd = value["type"], value["payload"], value["cwd"]
    if not isinstance(kind, str) or not isinstance(payload, Mapping) or not (cwd is None or isinstance(cwd, str)):
        raise InputError("`action` is what was evaluated: a type, a payload object, a cwd", pointer="/action")
    return make_action(kind, payload, cwd)


def _executing_body(
    permit: Permit, isolation: Isolation, files: tuple[FileIdentity, ...], nonce: str
) -> dict[str, Json]:
    return {
        "permit": permit.jti,
        "enforced": "permit",
        "isolation": isolation.value,
        "state": permit.state,
        "env": permit.env,
        "files": len(files),
        "nonce": nonce,
    }


def _still_allowed(opinions: Sequence[Opinion], tier: Tier) -> bool:
    """Whether what was allowed at `tier` would be now. Where the policy alone allowed it, it must say so again."""
    if blocked(opinions) or need_of(opinions) > tier:
        return False
    return tier is not Tier.POLICY or settle(opinions).decision is Decision.ALLOW


def _written(facts: Facts) -> tuple[str, ...]:
    return tuple(path.resolved for path in facts.paths if path.access is Access.WRITE and path.resolved is not None)


def _refuse(why: str, reason: Reason) -> PermitError:
    return PermitError(f"{why}; ask for a new evaluation", reason=reason)
