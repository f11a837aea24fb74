"""One call from its verdict to its result: wait for a person, run, and say what the model may know."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agentctl.events import CallJudged, CallRunning, CallWaiting, LoopEvent
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import Gate, Proposal
from agentctl.turns.messages import ToolCall, ToolResult
from agentctl.turns.text import well_formed
from shield.types import Decision, Verdict

__all__ = ["CallLimits", "Caller", "cancelled", "not_proposed", "refusal"]

_NOBODY_ANSWERED = "nobody has approved this; tell the user and do not ask for the same again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """`polls` bounds the waiting for a person, about 30 s each, 0 where nobody is there to wait for; `judgements` how
    often one call is judged again because it went stale between verdict and run."""

    polls: int = 120
    judgements: int = 3


class Caller:
    """Carries calls through the gate for one turn. Used by the loop, and by the console for the user's own lines."""

    def __init__(
        self,
        gate: Gate,
        emit: Callable[[LoopEvent], None],
        *,
        cancel: Cancel,
        limits: CallLimits | None = None,
    ) -> None:
        self._gate = gate
        self._emit = emit
        self._cancel = cancel
        self._limits = limits or CallLimits()

    async def judge(self, proposal: Proposal) -> Verdict:
        """Shield's first verdict. Raises CancelledTurnError, and what the gate raises."""
        verdict = await self._cancel.guard(partial(self._gate.propose, proposal))
        self._emit(CallJudged(call=proposal.call, verdict=verdict))
        return verdict

    async def carry_out(self, proposal: Proposal, verdict: Verdict) -> ToolResult:
        """The result of the call: run if, and only if, the verdict is or becomes ALLOW.

        Raises CancelledTurnError, and what the gate raises.
        """
        for _ in range(self._limits.judgements):
            verdict = await self._decided(proposal, verdict)
            # INVARIANT: nothing but ALLOW is handed on; a decision nobody knows is refused with the rest.
            if verdict.decision is not Decision.ALLOW:
                return refusal(proposal.call, verdict)
            self._emit(CallRunning(call=proposal.call))
            outcome = await self._cancel.guard(partial(self._gate.run, proposal, verdict))
            if isinstance(outcome, ToolResult):
                # INVARIANT: nothing is left out here: what Shield has judged is what the model reads
                return replace(outcome, id=proposal.call.id, content=well_formed(outcome.content))
            verdict = outcome
        return refusal(
            proposal.call,
            replace(
                verdict,
                decision=Decision.BLOCK,
                reason="what it works on kept changing between the verdict and the run",
                advice="look at its current state first",
            ),
        )

    async def _decided(self, proposal: Proposal, verdict: Verdict) -> Verdict:
        polls = 0
        while verdict.decision is Decision.ESCALATE and verdict.approval is not None and polls < self._limits.polls:
            if polls == 0:
                self._emit(CallWaiting(call=proposal.call, verdict=verdict))
            polls += 1
            verdict = await self._cancel.guard(partial(self._gate.wait, verdict))
        return verdict


def refusal(call: ToolCall, verdict: Verdict) -> ToolResult:
    """A verdict as a tool error. The model is given decision, reason and advice, nothing else of it."""
    advice = verdict.advice
    if verdict.decision is Decision.ESCALATE:
        advice = f"{_NOBODY_ANSWERED}; {advice}" if advice else _NOBODY_ANSWERED
    shown = {"decision": str(verdict.decision), "reason": verdict.reason, "advice": advice}
    return ToolResult(
        id=call.id,
        content=json.dumps(shown),
        is_error=True,
        decision=verdict.decision,
        reason=verdict.reason,
        advice=advice,
    )


def not_proposed(call: ToolCall, reason: str, advice: str | None = None) -> ToolResult:
    """A call that never reached Shield, as a tool error."""
    shown = {"error": reason, "advice": advice}
    return ToolResult(id=call.id, content=json.dumps(shown), is_error=True, reason=reason, advice=advice)


def cancelled(call: ToolCall, why: str) -> ToolResult:
    """A call that was open when the turn ended. Whether it had begun to run is in the audit log, not here."""
    shown = {"error": f"cancelled: {why}", "advice": "it may have run in part; look before you do it again"}
    return ToolResult(id=call.id, content=json.dumps(shown), is_error=True, reason=f"cancelled: {why}")
