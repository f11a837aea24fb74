"""What happens during a turn, as values: what a provider streams, and what the loop shows a user interface.

`ProviderEvent`s of one answer come in this order: text, thinking and tool-call events as the model sends them, then
`Usage` where the server tells it, then exactly one `Stop`. A stream without `Stop` did not end: it raised.
"""

from dataclasses import dataclass
from enum import StrEnum

from agentctl.turns.messages import StopReason, ThinkingPart, ToolCall, ToolResult
from shield.types import Verdict

__all__ = [
    "CallFinished",
    "CallJudged",
    "CallRunning",
    "CallWaiting",
    "LoopEvent",
    "ProviderEvent",
    "Stop",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingDone",
    "ToolCallDelta",
    "ToolCallDone",
    "ToolCallStart",
    "TurnEnd",
    "TurnEnded",
    "Usage",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Some text of the answer, in well-formed Unicode."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """Some of the model's reasoning, for show only."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDone:
    """A whole block of reasoning, kept because its provider wants it back unchanged."""

    part: ThinkingPart


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStart:
    """A tool call begins. `index` counts the calls of this answer from 0."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """A piece of the arguments' text."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDone:
    """A tool call is whole. `call.id` is what the server named it, empty where it named nothing."""

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one answer, as the server counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The answer is whole, and why it ended."""

    reason: StopReason


ProviderEvent = TextDelta | ThinkingDelta | ThinkingDone | ToolCallStart | ToolCallDelta | ToolCallDone | Usage | Stop


class TurnEnd(StrEnum):
    """Why a turn ended. Only `DONE` means that the model had nothing left to do."""

    DONE = "done"
    CUT_OFF = "cut_off"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    STEP_LIMIT = "step_limit"
    REPEATED_REFUSAL = "repeated_refusal"
    GATE_FAILED = "gate_failed"
    MODEL_FAILED = "model_failed"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJudged:
    """Shield's first verdict on a call."""

    call: ToolCall
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWaiting:
    """A person has been asked; the loop waits."""

    call: ToolCall
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRunning:
    """An allowed call is handed to the executor."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """The result that the model will be given."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The turn is over; `detail` tells the user why where `end` is not `DONE`."""

    end: TurnEnd
    detail: str | None = None


LoopEvent = ProviderEvent | CallJudged | CallWaiting | CallRunning | CallFinished | TurnEnded
