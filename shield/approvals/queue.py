"""The queue of open questions: asked by the pipeline, answered by people, waited for by agents.

An answer is durable before anyone sees it, and the first one stands. A question nobody answers in time is a BLOCK.

INVARIANT: time is over by whichever clock says so first: the wall clock, which can be set back, or the monotonic one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from shield.approvals.binding import Binding
from shield.approvals.changes import Changes
from shield.errors import Reason, RefusedError
from shield.store.state import StateStore
from shield.types import Approval, ApprovalAnswer, ApprovalState, Json, Scope
from shield.ulid import new_ulid

__all__ = ["MAX_PENDING", "ApprovalQueue"]

MAX_PENDING = 20  # DESIGN 6: per token
_MAX_APPROVED = 100  # per token, answered with yes and not yet used; older ones lead to nothing any more
_PRESENCE_MS = 90_000  # an approver that has asked within this time counts as connected; it polls every 30 s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """`until` is when the time for an answer is over, `lapses` when a yes is, None before there is one."""

    approval: Approval
    binding: Binding
    owner: str
    until: "_Moment"
    shown: bool = False
    lapses: "_Moment | None" = None


@dataclass(frozen=True, slots=True)
class _Moment:
    """One moment by both clocks."""

    wall_ms: int
    monotonic_ns: int


class ApprovalQueue:
    """Questions of this Shield. One event loop owns it; rows are written in a thread and then seen here."""

    def __init__(
        self,
        store: StateStore,
        *,
        now_ms: Callable[[], int],
        monotonic_ns: Callable[[], int],
        timeout_s: int,
        configured: Callable[[], bool],
    ) -> None:
        self._store = store
        self._now_ms = now_ms
        self._monotonic_ns = monotonic_ns
        self._timeout_ms = timeout_s * 1000
        self._configured = configured
        self._open: dict[str, _Asked] = {}
        self._changes = Changes()
        self._answering = asyncio.Lock()
        self._seen_ms: int | None = None

    def has_approver(self) -> bool:
        """Whether anyone could answer: a token for it exists, or an approver asked lately."""
        return self._configured() or (self._seen_ms is not None and self._now_ms() - self._seen_ms < _PRESENCE_MS)

    def seen(self) -> None:
        """An approver was here just now."""
        self._seen_ms = self._now_ms()

    def get(self, approval_id: str) -> Approval:
        """One question as it is now. Raises RefusedError `approval.unknown`."""
        asked = self._open.get(approval_id)
        return asked.approval if asked is not None else self._store.approval(approval_id)

    def pending(self) -> tuple[Approval, ...]:
        """Open questions, oldest first; one past its time is no longer open, whether or not it was closed yet."""
        shown = [asked for asked in self._open.values() if asked.shown and _pending(asked)]
        return tuple(asked.approval for asked in shown if self._left_ms(asked.until) > 0)

    def overdue(self, approval: Approval) -> bool:
        """Whether the time for an answer is over."""
        return self._left(approval) <= 0

    async def ask(
        self,
        binding: Binding,
        *,
        request: Mapping[str, Json],
        facts: Mapping[str, Json],
        rule: str,
        reason: str,
        evaluation: str,
        agent: str,
        owner: str,
    ) -> Approval:
        """Prepare a question: it is durable, and nobody sees it before `show`, so that its decision is recorded first.

        Raises RefusedError `admission.approvals` at MAX_PENDING open ones of one token.
        """
        now = self._now_ms()
        theirs = [asked for asked in self._open.values() if asked.owner == owner and _pending(asked)]
        if sum(self._left_ms(asked.until) > 0 for asked in theirs) >= MAX_PENDING:
            raise RefusedError(
                f"{MAX_PENDING} questions of this agent are open; wait until one is answered",
                reason=Reason.ADMISSION_APPROVALS,
                retry_after=30,
            )
        approval = Approval(
            id=new_ulid(now),
            state=ApprovalState.PENDING,
            created_at=now,
            expires_at=now + self._timeout_ms,
            request=request,
            facts=facts,
            rule=rule,
            reason=reason,
            scopes=(Scope.ONCE,),
            pattern=None,
            evaluation=evaluation,
            session=binding.session,
            agent=agent,
        )
        self._open[approval.id] = _Asked(approval=approval, binding=binding, owner=owner, until=self._later(now))
        try:
            await asyncio.to_thread(self._store.add_approval, approval)
        except BaseException:
            self.forget(approval.id)
            raise
        return approval

    async def show(self, approval_id: str) -> None:
        """The decision that asks is recorded: now people may see the question."""
        asked = self._open.get(approval_id)
        if asked is not None:
            self._open[approval_id] = replace(asked, shown=True)
            await self._changes.notify()

    async def withdraw(self, approval_id: str) -> None:
        """The decision could not be recorded: nobody was asked."""
        self.forget(approval_id)
        await asyncio.to_thread(
            self._store.settle_approval, approval_id, ApprovalState.EXPIRED, by=None, note="withdrawn"
        )

    async def answer(
        self,
        approval_id: str,
        answer: ApprovalAnswer,
        *,
        by: str,
        record: Callable[[Approval], Awaitable[None]],
    ) -> Approval:
        """Take what a person said. `record` gets the answered question first: what it does not record, does not count.
        One that comes too late closes the question, which is recorded too.

        The same answer again is no change. Raises RefusedError `approval.unknown|answered|scope`, what `record` raises.
        """
        async with self._answering:
            return await self._answer(approval_id, answer, by, record)

    async def _answer(
        self, approval_id: str, answer: ApprovalAnswer, by: str, record: Callable[[Approval], Awaitable[None]]
    ) -> Approval:
        approval = await self._find(approval_id)
        asked = self._open.get(approval_id)
        if asked is not None and not asked.shown:
            raise RefusedError("this question is not open yet; ask again", reason=Reason.APPROVAL_UNKNOWN)
        if answer.scope not in approval.scopes or answer.pattern is not None:
            raise RefusedError(
                f"the scope `{answer.scope}` is not offered here; answer with one of "
                + ", ".join(f"`{scope}`" for scope in approval.scopes),
                reason=Reason.APPROVAL_SCOPE,
            )
        state = ApprovalState.APPROVED if answer.approve else ApprovalState.DENIED
        if approval.state is ApprovalState.PENDING and self.overdue(approval):
            approval, changed = await self._settle(approval_id, ApprovalState.EXPIRED, by=None, note=None)
            if changed:
                await record(approval)
        if approval.state is ApprovalState.PENDING:
            note = answer.note or None
            await record(replace(approval, state=state, answered_by=by, note=note))
            approval, changed = await self._settle(approval_id, state, by=by, note=note)
            if changed:
                return approval
        if approval.state is not state:
            raise RefusedError(
                f"this question is already {approval.state}; the first answer stands", reason=Reason.APPROVAL_ANSWERED
            )
        return approval

    async def expire(self, approval_id: str) -> tuple[Approval, bool]:
        """Close an open question as unanswered. Returns it, and whether this call closed it.

        An answer that is just being recorded goes first: the log never says yes of what ran out of time.
        """
        async with self._answering:
            return await self._settle(approval_id, ApprovalState.EXPIRED, by=None, note=None)

    async def wait(self, timeout_s: float) -> None:
        """Return when the queue changes, at the latest after `timeout_s`, at once on stop."""
        await self._changes.wait(self._changes.version, asyncio.get_running_loop().time() + timeout_s)

    async def wait_settled(self, approval_id: str, timeout_s: float) -> Approval:
        """The question once it is settled or past its time, or as it is after `timeout_s`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            version = self._changes.version
            approval = await self._find(approval_id)
            left_s = self._left(approval) / 1000
            if (
                approval.state is not ApprovalState.PENDING
                or left_s <= 0
                or self._changes.stopping
                or loop.time() >= deadline
            ):
                return approval
            await self._changes.wait(version, min(deadline, loop.time() + left_s))

    def holds(self, approval_id: str, binding: Binding) -> bool:
        """Whether a permit may come of a yes: to exactly this, given no longer ago than a question may be open. What a
        person said yes to this morning, they did not say yes to tonight."""
        asked = self._open.get(approval_id)
        return (
            asked is not None
            and asked.lapses is not None
            and self._left_ms(asked.lapses) > 0
            and asked.binding == binding
        )

    def binding(self, approval_id: str) -> Binding | None:
        """What an open or approved question is about; None for any other, which leads to no permit any more."""
        asked = self._open.get(approval_id)
        return asked.binding if asked is not None else None

    def forget(self, approval_id: str) -> None:
        """The question is settled and used up: it no longer counts as open and can lead to no further permit."""
        self._open.pop(approval_id, None)

    async def stop(self) -> None:
        """End every wait now."""
        await self._changes.stop()

    async def _find(self, approval_id: str) -> Approval:
        asked = self._open.get(approval_id)
        return asked.approval if asked is not None else await asyncio.to_thread(self._store.approval, approval_id)

    async def _settle(
        self, approval_id: str, state: ApprovalState, *, by: str | None, note: str | None
    ) -> tuple[Approval, bool]:
        approval, changed = await asyncio.to_thread(self._store.settle_approval, approval_id, state, by=by, note=note)
        # INVARIANT: only what a permit can still come of is kept: an open question, or a yes that was not used
        asked = self._open.pop(approval_id, None)
        if asked is not None and approval.state is ApprovalState.APPROVED:
            self._open[approval_id] = replace(asked, approval=approval, lapses=self._later(self._now_ms()))
            self._forget_oldest(asked.owner)
        if changed:
            await self._changes.notify()
        if asked is not None:
            # file and queue have forgotten the action by now; who answers is shown it once more
            approval = replace(approval, request=asked.approval.request, facts=asked.approval.facts)
        return approval, changed

    def _later(self, now_ms: int) -> _Moment:
        """When the time is over that a question may be open, from now on."""
        return _Moment(now_ms + self._timeout_ms, self._monotonic_ns() + self._timeout_ms * 1_000_000)

    def _left_ms(self, until: _Moment) -> float:
        return min(until.wall_ms - self._now_ms(), (until.monotonic_ns - self._monotonic_ns()) / 1_000_000)

    def _left(self, approval: Approval) -> float:
        """Milliseconds until the time for an answer is over."""
        asked = self._open.get(approval.id)
        return approval.expires_at - self._now_ms() if asked is None else self._left_ms(asked.until)

    def _forget_oldest(self, owner: str) -> None:
        approved = [key for key, asked in self._open.items() if asked.owner == owner and not _pending(asked)]
        for key in approved[:-_MAX_APPROVED]:
            del self._open[key]


def _pending(asked: _Asked) -> bool:
    return asked.approval.state is ApprovalState.PENDING
