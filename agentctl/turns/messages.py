"""The messages of a conversation, the same for every provider; providers write them in their own wire form."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from agentctl.errors import ArgumentsError
from shield import canonical
from shield.errors import InputError
from shield.types import Decision, Json, Labels

__all__ = [
    "AssistantMessage",
    "Message",
    "Part",
    "StopReason",
    "SystemMessage",
    "TextPart",
    "ThinkingPart",
    "ToolCall",
    "ToolMessage",
    "ToolResult",
    "UserMessage",
]


class StopReason(StrEnum):
    """Why an answer ended. Only after `END` and `TOOLS` are its tool calls known to be whole."""

    END = "end"
    TOOLS = "tools"
    PAUSE = "pause"
    LENGTH = "length"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"

    @property
    def whole(self) -> bool:
        return self in (StopReason.END, StopReason.TOOLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPart:
    """A block of reasoning. `signature` and `redacted` go back to the provider that made them, byte for byte."""

    text: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of the model. `arguments_text` is exactly what it sent, whether or not that can be read."""

    id: str
    name: str
    arguments_text: str

    def arguments(self) -> Mapping[str, Json]:
        """The arguments, read strictly: duplicate keys, NaN, lone surrogates and anything but one object are refused.

        No text at all is a call without arguments. Raises ArgumentsError.
        """
        if not self.arguments_text:
            return {}
        try:
            value = canonical.parse(self.arguments_text.encode())
        except UnicodeEncodeError:
            raise ArgumentsError("the arguments hold half of a surrogate pair; send well-formed unicode") from None
        except InputError as error:
            raise ArgumentsError(f"the arguments are not strict json: {error.detail}") from None
        if not isinstance(value, dict):
            raise ArgumentsError("the arguments are json, but not an object; send one json object")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the model is told of one call. `id` is the call's.

    `decision`, `reason` and `advice` are Shield's last word on it; `decision` is None where nothing was proposed.
    `content` is what may be shown to the model: Shield's redacted content, or the refusal. `aside` is for the person
    alone: no model is sent it, and it is not kept.
    """

    id: str
    content: str
    is_error: bool = False
    decision: Decision | None = None
    reason: str | None = None
    advice: str | None = None
    labels: Labels | None = None
    aside: str | None = None


Part = TextPart | ThinkingPart | ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """One answer of the model, its parts in the order they came."""

    parts: tuple[Part, ...]
    stop: StopReason

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The results of all calls of the answer before it, in their order.

    INVARIANT: in a conversation that is sent, an answer with calls is followed by exactly one of these, and it holds
    one result for each call: providers refuse anything else.
    """

    results: tuple[ToolResult, ...]


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage
