"""What a person sees of a turn: text as it streams, a line for each decision on a call, what came of it."""

from collections import Counter
from typing import Final

from agentctl.events import (
    CallFinished,
    CallJudged,
    CallRunning,
    CallWaiting,
    LoopEvent,
    Stop,
    TextDelta,
    ToolCallStart,
)
from agentctl.turns.messages import ToolCall, ToolResult
from agentctl.ui.person import Asked
from agentctl.ui.screen import Screen
from agentctl.ui.spoken import Spoken
from agentctl.ui.text import described, single_line
from shield.types import Decision

__all__ = ["NOT_PROPOSED", "Shown"]

NOT_PROPOSED: Final = "not_proposed"
_NOBODY: Final = (
    "nobody is asked here, so it is not run: use `agentctl chat` at a terminal, or answer through `shield approvals`"
    " where `shield serve` runs"
)


class Shown:
    """Prints what happens. Text streams as it comes, so a verdict begins a new line after it.

    `asks`: where the approver prompt is on this terminal it shows an escalated call by itself, and perhaps first: it is
    not shown twice. Where `echoes`, the terminal has written `^C` where Ctrl-C was pressed. `spoken` is where the
    model's words go, as they come to the same screen where it is left out. `counts` are the finished calls by their
    last verdict.
    """

    def __init__(self, screen: Screen, *, asks: Asked, echoes: bool = False, spoken: Spoken | None = None) -> None:
        self._screen = screen
        self._asks = asks
        self._echoes = echoes
        self._spoken = spoken or Spoken(screen, screen, at_once=True)
        self._said: dict[str, Decision] = {}
        self._last: str | None = None
        self.counts: Counter[str] = Counter()

    def event(self, event: LoopEvent) -> None:
        match event:
            case TextDelta():
                self._spoken.text(event.text)
                self._last = None
            case ToolCallStart():
                self._spoken.call()
            case Stop():
                self._spoken.stop(event.reason)
            case CallJudged() | CallWaiting():
                verdict = event.verdict
                if verdict.decision is not Decision.ESCALATE or verdict.approval is None:
                    self._verdict(event.call, verdict.decision, verdict.reason, verdict.advice)
                elif self._asks is Asked.ELSEWHERE:
                    waits = f"waiting for a person: `shield approvals show {verdict.approval}`"
                    self._verdict(event.call, Decision.ESCALATE, verdict.reason, waits)
                elif self._asks is Asked.NOBODY:
                    self._verdict(event.call, Decision.ESCALATE, verdict.reason, _NOBODY)
            case CallRunning():
                self._verdict(event.call, Decision.ALLOW, "a person approved it")
            case CallFinished():
                self._finished(event.call, event.result)
                self._said.pop(event.call.id, None)
            case _:
                pass

    def end(self) -> None:
        """The turn is over."""
        self._spoken.end()

    def interrupted(self) -> None:
        """Ctrl-C was pressed: what is said next begins a line."""
        self._spoken.line(anew=self._echoes)

    def _finished(self, call: ToolCall, result: ToolResult) -> None:
        self.counts[NOT_PROPOSED if result.decision is None else result.decision.value] += 1
        if result.decision is not None and result.decision is not Decision.ALLOW:
            self._verdict(call, result.decision, result.reason or "", result.advice)
            return
        self._spoken.line()
        if self._last != call.id:
            self._screen.label(described(call))
            self._last = call.id
        # a call that never reached Shield: its content is worded for the model
        unsent = result.decision is None and result.reason is not None
        self._screen.output(result.reason or "" if unsent else result.content, error=result.is_error)
        if result.aside:
            self._screen.line(f"→ {single_line(result.aside, 400)}")

    def _verdict(self, call: ToolCall, decision: Decision, reason: str, advice: str | None = None) -> None:
        """One line, once for each decision on a call."""
        if self._said.get(call.id) is decision:
            return
        self._said[call.id] = decision
        self._last = call.id
        self._spoken.line()
        self._screen.verdict(decision, described(call), reason, advice)
