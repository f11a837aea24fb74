"""One turn: the model's answers, its calls and what came of them, until there is nothing left to do."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentctl.errors import ArgumentsError
from agentctl.events import CallFinished, LoopEvent, TurnEnd, Usage
from agentctl.providers.provider import Provider
from agentctl.turns.calls import Caller, CallLimits, cancelled, not_proposed
from agentctl.turns.cancel import Cancel, wound_down
from agentctl.turns.context import assemble
from agentctl.turns.gate import Proposal, Toolbox
from agentctl.turns.messages import AssistantMessage, Message, StopReason, ToolCall, ToolMessage, ToolResult
from agentctl.turns.reply import Reply
from agentctl.turns.text import printable, shorten
from shield.types import Decision, Verdict

__all__ = ["LoopLimits", "Turn"]

_T = TypeVar("_T")

_SIDE_BY_SIDE = 8  # calls at Shield at once; its admission is 50 a second for all of an agent's


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """`steps` answers of the model in a turn; `same_refusals` of one and the same call until the turn is stopped;
    `context_chars` of a request."""

    steps: int = 50
    same_refusals: int = 3
    context_chars: int = 400_000
    intent_chars: int = 500
    calls: CallLimits = field(default_factory=CallLimits)


class Turn:
    """The state of one turn."""

    def __init__(
        self,
        *,
        provider: Provider,
        caller: Caller,
        tools: Toolbox,
        system: str,
        past: tuple[Message, ...],
        cancel: Cancel,
        emit: Callable[[LoopEvent], None],
        limits: LoopLimits,
        new_id: Callable[[], str],
    ) -> None:
        self._provider = provider
        self._caller = caller
        self._tools = {spec.name: spec for spec in tools.specs()}
        self._specs = tuple(tools.specs())
        self._system = system
        self._past = past
        self._cancel = cancel
        self._emit = emit
        self._limits = limits
        self._new_id = new_id
        self._ids = {call.id for message in past if isinstance(message, AssistantMessage) for call in message.calls}
        self._results: dict[str, ToolResult] = {}
        self._refused: Counter[str] = Counter()
        self._slots = asyncio.Semaphore(_SIDE_BY_SIDE)
        self.messages: list[Message] = []
        self.usage = Usage()
        self.steps = 0

    async def run(self) -> tuple[TurnEnd, str | None]:
        """Until the model has nothing left to do, or may not go on."""
        while self.steps < self._limits.steps:
            self.steps += 1
            answer = await self._ask()
            if answer.stop is StopReason.PAUSE and not answer.calls:
                continue
            if not answer.stop.whole:
                return self._cut_off(answer)
            if not answer.calls:
                return TurnEnd.DONE, None
            results = await self._act(answer)
            self.messages.append(ToolMessage(results=results))
            stuck = self._stuck(answer.calls, results)
            if stuck is not None:
                return TurnEnd.REPEATED_REFUSAL, stuck
        return TurnEnd.STEP_LIMIT, f"the model did not come to an end in {self._limits.steps} steps; say how to go on"

    def close(self, why: str) -> None:
        """Give every call without a result one, so that the next request is valid."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.calls:
            results = tuple(self._results.get(call.id) or cancelled(call, why) for call in last.calls)
            self.messages.append(ToolMessage(results=results))

    async def _ask(self) -> AssistantMessage:
        reply = Reply(self._ids, self._new_id)
        messages = assemble(self._system, (*self._past, *self.messages), budget=self._limits.context_chars)
        try:
            async with aclosing(self._provider.stream(messages, self._specs, cancel=self._cancel)) as events:
                async for event in events:
                    reply.feed(event)
                    self._emit(event)
            answer = reply.message()
        except BaseException:
            # The user has seen it: it belongs to the conversation, however it broke off.
            torn = reply.torn()
            if torn is not None:
                self.messages.append(torn)
            raise
        self.messages.append(answer)
        self._ids.update(call.id for call in answer.calls)
        self.usage = Usage(
            input_tokens=self.usage.input_tokens + reply.usage.input_tokens,
            output_tokens=self.usage.output_tokens + reply.usage.output_tokens,
        )
        return answer

    def _cut_off(self, answer: AssistantMessage) -> tuple[TurnEnd, str]:
        """INVARIANT: a call of an answer that is not known to be whole is never proposed: it may lack its end."""
        if answer.calls:
            reason = "the answer was cut off, so this call was not run"
            results = tuple(not_proposed(call, reason, "make it again, shorter") for call in answer.calls)
            self.messages.append(ToolMessage(results=results))
        if answer.stop is StopReason.REFUSAL:
            return TurnEnd.REFUSED, "the model refused to answer; put it differently"
        return TurnEnd.CUT_OFF, "the model's answer was cut off; say `continue`, or raise the limit of its answers"

    async def _act(self, answer: AssistantMessage) -> tuple[ToolResult, ...]:
        """All results, in the order of the calls. Proposed side by side; run one after the other unless all read."""
        proposals: list[Proposal] = []
        for call in answer.calls:
            proposal = self._proposal(call, answer.text)
            if isinstance(proposal, ToolResult):
                self._finish(call, proposal)
            else:
                proposals.append(proposal)
        verdicts = await _together([self._judge(proposal) for proposal in proposals])
        work = [self._carry_out(proposal, verdict) for proposal, verdict in zip(proposals, verdicts, strict=True)]
        if all(self._tools[proposal.call.name].reads_only for proposal in proposals):
            await _together(work)
        else:
            await _in_order(work)
        return tuple(self._results[call.id] for call in answer.calls)

    def _proposal(self, call: ToolCall, said: str) -> Proposal | ToolResult:
        spec = self._tools.get(call.name)
        if spec is None:
            return not_proposed(call, "there is no such tool", f"the tools are: {', '.join(sorted(self._tools))}")
        try:
            payload = call.arguments()
        except ArgumentsError as error:
            return not_proposed(call, error.detail, "nothing was run; send the call again with one json object")
        intent = shorten(said.strip(), self._limits.intent_chars) or None
        return Proposal(call=call, type=spec.action_type, payload=payload, intent=intent)

    async def _judge(self, proposal: Proposal) -> Verdict:
        async with self._slots:
            return await self._caller.judge(proposal)

    async def _carry_out(self, proposal: Proposal, verdict: Verdict) -> None:
        self._finish(proposal.call, await self._caller.carry_out(proposal, verdict))

    def _finish(self, call: ToolCall, result: ToolResult) -> None:
        self._results[call.id] = result
        self._emit(CallFinished(call=call, result=result))

    def _stuck(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str | None:
        """What to tell the user where the model keeps asking for what it was refused."""
        for call, result in zip(calls, results, strict=True):
            if not result.is_error or result.decision is Decision.ALLOW:
                continue
            what = _sameness(call)
            self._refused[what] += 1
            if self._refused[what] >= self._limits.same_refusals:
                return (
                    f"the model asked {self._refused[what]} times for the same refused `{printable(call.name, 64)}`"
                    f" ({printable(result.reason or '', 300)}); say what it should do instead"
                )
        return None


def _sameness(call: ToolCall) -> str:
    """Equal for calls that ask for the same, however their arguments are spelled."""
    try:
        return json.dumps([call.name, dict(call.arguments())], sort_keys=True)
    except ArgumentsError:
        return json.dumps([call.name, call.arguments_text])


async def _together(work: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """All results in order. When one fails the others are stopped, and all are over before the failure goes on."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await wound_down(tasks)


async def _in_order(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    waiting = list(work)
    try:
        while waiting:
            await waiting.pop(0)
    finally:
        for one in waiting:
            one.close()
