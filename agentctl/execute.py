"""The enforcement point: nothing is run, sent or written but here, and only with a receipt that held.

One action, in order: propose (canonical bytes, our own hash) → verdict → permit of the pinned key → redeem, once →
receipt → `Warrant` → the tool, on the value parsed back from the canonical bytes → outcome → what Shield gives back.
Whatever fails on the way, nothing is run, and nothing else than Shield's own answer counts as ALLOW.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agentctl.errors import CancelledTurnError, ChangedError, GateError, ToolError
from agentctl.reports import report_of, result_of, withheld
from agentctl.sandbox import Sandbox
from agentctl.tools import web
from agentctl.tools.output import RESULT_CHARS, Output, of_failure, within
from agentctl.tools.process import run
from agentctl.tools.stop import Stop
from agentctl.tools.table import carry_out
from agentctl.tools.warrant import Terms, Warrant, canonical_action, permit_terms
from agentctl.turns.calls import refusal
from agentctl.turns.cancel import over, through
from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolResult
from shield import canonical
from shield.client import OpenedSession, Redemption
from shield.errors import ClientError, InputError, PermitError, Reason, ShieldError
from shield.types import Decision, Isolation, Json, Outcome, OutcomeReply, OutcomeStatus, Verdict

__all__ = ["ShieldGate", "ShieldPort"]

REEVALUATIONS: Final = 2  # DESIGN 5: `expired` and `state_changed`, at most twice
POLL_S: Final = 30.0
_INTENT_MAX: Final = 1000
_TELL_S: Final = 5.0
_STALE: Final = frozenset({Reason.PERMIT_EXPIRED, Reason.PERMIT_STATE_CHANGED})
# Shield is there and answered that it takes no such action now: a refusal of this one call, not the end of the turn.
_REFUSALS: Final = frozenset({400, 404, 409, 413, 415, 429, 503})

BeforeRedeem = Callable[[Proposal, Verdict], Awaitable[None]]


class ShieldPort(Protocol):
    """What the gate needs of `shield.client.AsyncClient`."""

    async def evaluate(self, request: Mapping[str, Json]) -> Verdict: ...
    async def evaluation(self, evaluation: str, *, wait_s: float = 0) -> Verdict: ...
    async def redeem(self, redemption: Redemption) -> str: ...
    async def outcome(self, report: Outcome) -> OutcomeReply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refused:
    """Nothing was run; `stale` allows judging again."""

    reason: str
    stale: bool = False


class ShieldGate:
    """A `Gate` over one session of one Shield, whose key is pinned: it never changes to another one.

    Without a `sandbox` everything runs at level `none`. `before_redeem` is awaited between an ALLOW and its redeem;
    `reevaluations` 0 switches the second judgement off. Of a result, `result_chars` are shown to the model.
    """

    def __init__(
        self,
        client: ShieldPort,
        session: OpenedSession,
        *,
        sandbox: Sandbox | None = None,
        network: web.Network | None = None,
        before_redeem: BeforeRedeem | None = None,
        reevaluations: int = REEVALUATIONS,
        clock: Callable[[], float] = time.time,
        nonce: Callable[[], str] = lambda: secrets.token_hex(16),
        result_chars: int = RESULT_CHARS,
    ) -> None:
        self.session = session
        self.isolation = Isolation.NONE if sandbox is None else sandbox.offer.strongest
        self._sandbox = sandbox
        self._client = client
        self._network = network or web.SystemNetwork()
        self._before_redeem = before_redeem
        self._reevaluations = reevaluations
        self._clock = clock
        self._nonce = nonce
        self._result_chars = result_chars
        self._lost: str | None = None

    @property
    def cwd(self) -> str | None:
        """Where relative paths begin: the session's first workspace root."""
        return self.session.workspace_roots[0] if self.session.workspace_roots else None

    async def propose(self, proposal: Proposal) -> Verdict:
        """Ask for a verdict. A call that Shield does not take is a BLOCK."""
        self._still_there()
        try:
            action = canonical_action(proposal.type, proposal.payload, self.cwd)
        except InputError as error:
            return _blocked(proposal, f"the call cannot be put into canonical form: {error.detail}")
        request: dict[str, Json] = {
            "type": proposal.type,
            "payload": dict(proposal.payload),
            "cwd": self.cwd,
            "session": self.session.id,
            "tool_call_id": proposal.call.id,
        }
        if proposal.intent:
            request["intent"] = proposal.intent[:_INTENT_MAX]
        try:
            verdict = await self._client.evaluate(request)
        except ClientError as error:
            return self._refusal(proposal, error)
        return self._credible(verdict, canonical.digest(action))

    async def wait(self, verdict: Verdict) -> Verdict:
        """One long poll on an escalated verdict."""
        self._still_there()
        try:
            current = await self._client.evaluation(verdict.evaluation, wait_s=POLL_S)
        except ClientError as error:
            self._lose(f"Shield does not say what became of the approval: {error.detail}")
            raise GateError(self._lost or error.detail) from None
        return self._credible(current, verdict.action_hash)

    async def run(self, proposal: Proposal, verdict: Verdict) -> ToolResult | Verdict:
        """Redeem, run, report. See `Gate.run`."""
        for left in range(self._reevaluations, -1, -1):
            done = await self._attempt(proposal, verdict)
            if isinstance(done, ToolResult):
                return done
            if not done.stale or left == 0:
                return refusal(proposal.call, _blocked(proposal, done.reason))
            verdict = await self.propose(proposal)
            if verdict.decision is not Decision.ALLOW:
                return verdict
        raise AssertionError("the loop above returns")  # pragma: no cover

    # --- one attempt -------------------------------------------------------------------------------------------------

    async def _attempt(self, proposal: Proposal, verdict: Verdict) -> ToolResult | _Refused:
        self._still_there()
        # 1. an ALLOW, for our own bytes, with a permit of the pinned key
        action = canonical_action(proposal.type, proposal.payload, self.cwd)
        if verdict.decision is not Decision.ALLOW or verdict.permit is None:
            return _Refused(reason="there is no permit for this action")
        if verdict.action_hash != canonical.digest(action):
            raise self._impostor("the verdict is for another action")
        try:
            terms = permit_terms(verdict.permit, self.session.public_key)
        except PermitError as error:
            raise self._impostor(error.detail) from None
        if self._before_redeem is not None:
            await self._before_redeem(proposal, verdict)
        # 2. redeem, once
        nonce = self._nonce()
        level = self._level(terms)
        receipt = await self._redeem(proposal, verdict.permit, terms.jti, nonce, level)
        if isinstance(receipt, _Refused):
            return receipt
        # 3. the receipt must hold for these bytes
        try:
            warrant = Warrant(
                receipt,
                public_key=self.session.public_key,
                action=action,
                jti=terms.jti,
                nonce=nonce,
                now_s=self._clock(),
            )
        except PermitError as error:
            await self._not_run(terms.jti)
            if error.reason is Reason.PERMIT_EXPIRED:
                return _Refused(reason=error.detail, stale=True)
            raise self._impostor(error.detail) from None
        # 4. run and report
        return await self._carry_out(proposal, warrant, level)

    def _level(self, terms: Terms) -> Isolation:
        """The sandbox level that this call runs at.

        What was judged whole, or shown to a person as it is, runs where only Shield is out of reach: with the real
        temporary folder and network. What runs code that nobody read runs as confined as this session can.
        """
        if terms.by_person or terms.isolation is Isolation.NONE:
            return Isolation.STATE_HIDDEN if self.isolation.covers(Isolation.STATE_HIDDEN) else Isolation.NONE
        return self.isolation

    async def _redeem(self, proposal: Proposal, permit: str, jti: str, nonce: str, level: Isolation) -> str | _Refused:
        redemption = Redemption(
            permit=permit,
            type=proposal.type,
            payload=proposal.payload,
            cwd=self.cwd,
            nonce=nonce,
            isolation=level,
        )
        try:
            # INVARIANT: never sent twice; when cancelled meanwhile, its fate is awaited and `not_run` is told
            return await through(self._client.redeem(redemption))
        except PermitError as error:
            return _Refused(reason=f"not run: {error.detail}", stale=error.reason in _STALE)
        except ClientError as error:
            await self._not_run(jti)
            if error.status in _REFUSALS:
                return _Refused(reason=f"not run: {error.detail}")
            self._lose(error.detail)
            raise GateError(f"not run, the permit could not be redeemed: {error.detail}") from None
        except asyncio.CancelledError:
            await self._not_run(jti)
            raise

    async def _carry_out(self, proposal: Proposal, warrant: Warrant, level: Isolation) -> ToolResult | _Refused:
        stop = Stop()
        runner = run if self._sandbox is None else self._sandbox.runner(level, warrant.receipt.allow_hosts)
        began = time.monotonic_ns()
        work = asyncio.ensure_future(asyncio.to_thread(carry_out, warrant, stop, runner, self._network))
        try:
            output = await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.set()
            await over(work)
            report = Outcome(jti=warrant.receipt.jti, status=OutcomeStatus.CANCELLED, duration_us=_since(began))
            await self._tell(report)
            raise
        except (ChangedError, PermitError) as error:
            await self._not_run(warrant.receipt.jti)
            return _Refused(reason=f"not run: {error.detail}", stale=isinstance(error, ChangedError))
        except ToolError as error:
            output = of_failure(error.detail)
        except CancelledTurnError:
            report = Outcome(jti=warrant.receipt.jti, status=OutcomeStatus.CANCELLED, duration_us=_since(began))
            await self._tell(report)
            raise
        except Exception as error:  # noqa: BLE001  # a defect in a tool is an error of the call; Shield hears of it
            output = of_failure(f"the tool failed: {type(error).__name__}")
        return await self._report(proposal, warrant, within(output, self._result_chars), _since(began))

    async def _report(self, proposal: Proposal, warrant: Warrant, output: Output, duration_us: int) -> ToolResult:
        report = report_of(warrant.receipt.jti, output, duration_us)
        try:
            received = await through(self._client.outcome(report))
        except ClientError as error:
            # INVARIANT: a model sees only content that Shield has passed
            if error.status not in _REFUSALS:
                self._lose(f"the action ran, but Shield did not take its outcome: {error.detail}")
                raise GateError(self._lost or error.detail) from None
            return withheld(proposal.call.id, error.detail)
        return result_of(proposal.call.id, output, received)

    # --- trust -------------------------------------------------------------------------------------------------------

    def _still_there(self) -> None:
        if self._lost is not None:
            raise GateError(f"{self._lost}; nothing more is run in this session, start a new one")

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why

    def _impostor(self, why: str) -> GateError:
        self._lose(f"this is not the Shield that the session began with: {why}")
        return GateError(self._lost or why)

    def _credible(self, verdict: Verdict, digest: str | None) -> Verdict:
        """INVARIANT: an ALLOW that leaves here is for exactly the bytes that were proposed."""
        if verdict.decision is Decision.ALLOW and (digest is None or verdict.action_hash != digest):
            raise self._impostor("an ALLOW names another action")
        return verdict

    def _refusal(self, proposal: Proposal, error: ClientError) -> Verdict:
        # an unknown session means that Shield was started anew: its key is another one
        if error.status in _REFUSALS and error.reason is not Reason.SESSION_UNKNOWN:
            after = "" if error.retry_after is None else f"; try again after {error.retry_after} s"
            return _blocked(proposal, f"Shield gave no verdict: {error.detail}{after}")
        self._lose(f"Shield gave no verdict: {error.detail}")
        raise GateError(self._lost or error.detail)

    async def _not_run(self, jti: str) -> None:
        await self._tell(Outcome(jti=jti, status=OutcomeStatus.NOT_RUN))

    async def _tell(self, report: Outcome) -> None:
        """Report as well as it goes: whoever cannot be told has recorded that it heard nothing."""
        try:
            await through(asyncio.wait_for(self._client.outcome(report), timeout=_TELL_S))
        except (ShieldError, TimeoutError):
            pass  # an `executing` without outcome counts as run, which is the safe side


def _since(began: int) -> int:
    return (time.monotonic_ns() - began) // 1000


def _blocked(proposal: Proposal, reason: str) -> Verdict:
    return Verdict(id=proposal.call.id, evaluation="", decision=Decision.BLOCK, rule="client", reason=reason)
