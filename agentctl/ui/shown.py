"""What a person sees of a turn: text as it streams, a line for each decision on a call, what came of it."""

from typing import Final

from agentctl.events import CallFinished, CallJudged, CallRunning, CallWaiting, LoopEvent, TextDelta
from agentctl.turns.messages import ToolCall, ToolResult
from agentctl.ui.screen import Screen
from agentctl.ui.text import described
from shield.types import Decision

__all__ = ["Shown"]

_TAIL: Final = 8  # characters: more than may stand on one letter


class Shown:
    """Prints what happens. Text streams as it comes, so a verdict begins a new line after it.

    Where `asks`, the approver prompt shows an escalated call by itself, on the same terminal and perhaps first: it is
    not shown twice. Where `echoes`, the terminal has written `^C` where Ctrl-C was pressed.
    """

    def __init__(self, screen: Screen, *, asks: bool, echoes: bool = False) -> None:
        self._screen = screen
        self._asks = asks
        self._echoes = echoes
        self._midline = False
        self._streamed = ""  # the end of the line that is being streamed
        self._said: dict[str, Decision] = {}
        self._last: str | None = None

    def event(self, event: LoopEvent) -> None:
        match event:
            case TextDelta():
                self._screen.stream(event.text, before=self._streamed)
                self._midline = not event.text.endswith("\n")
                self._streamed = (self._streamed + event.text)[-_TAIL:] if self._midline else ""
                self._last = None
            case CallJudged() | CallWaiting():
                verdict = event.verdict
                if verdict.decision is not Decision.ESCALATE or verdict.approval is None:
                    self._verdict(event.call, verdict.decision, verdict.reason, verdict.advice)
                elif not self._asks:
                    waits = f"waiting for a person: `shield approvals show {verdict.approval}`"
                    self._verdict(event.call, Decision.ESCALATE, verdict.reason, waits)
            case CallRunning():
                self._verdict(event.call, Decision.ALLOW, "a person approved it")
            case CallFinished():
                self._finished(event.call, event.result)
                self._said.pop(event.call.id, None)
            case _:
                pass

    def end(self) -> None:
        if self._midline:
            self._screen.line()
            self._midline = False
            self._streamed = ""

    def interrupted(self) -> None:
        """Ctrl-C was pressed: what is said next begins a line."""
        if self._echoes:
            self._screen.line()
            self._midline = False
            self._streamed = ""
        self.end()

    def _finished(self, call: ToolCall, result: ToolResult) -> None:
        if result.decision is not None and result.decision is not Decision.ALLOW:
            self._verdict(call, result.decision, result.reason or "", result.advice)
            return
        self.end()
        if self._last != call.id:
            self._screen.label(described(call))
            self._last = call.id
        # a call that never reached Shield: its content is worded for the model
        unsent = result.decision is None and result.reason is not None
        self._screen.output(result.reason or "" if unsent else result.content, error=result.is_error)

    def _verdict(self, call: ToolCall, decision: Decision, reason: str, advice: str | None = None) -> None:
        """One line, once for each decision on a call."""
        if self._said.get(call.id) is decision:
            return
        self._said[call.id] = decision
        self._last = call.id
        self.end()
        self._screen.verdict(decision, described(call), reason, advice)
