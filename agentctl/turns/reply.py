"""One answer of the model, put together from its events."""

import re
from collections.abc import Callable, Collection
from dataclasses import replace

from agentctl.errors import ModelAnswerError
from agentctl.events import ProviderEvent, Stop, TextDelta, ThinkingDone, ToolCallDone, Usage
from agentctl.turns.messages import AssistantMessage, Part, StopReason, TextPart, ToolCall

__all__ = ["Reply"]

# What every provider takes back as an id, and Shield as a `tool_call_id`.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Reply:
    """Gathers one answer. `taken` are the call ids of the conversation so far, `new_id` makes 1–40 letters or digits.

    INVARIANT: the ids of its calls are usable everywhere and unique in the conversation, whatever the server sent;
    a result can therefore never be taken for another call's.
    """

    def __init__(self, taken: Collection[str], new_id: Callable[[], str]) -> None:
        self._taken = set(taken)
        self._new_id = new_id
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._stop: StopReason | None = None
        self.usage = Usage()

    def feed(self, event: ProviderEvent) -> None:
        """Raises ModelAnswerError where something follows the end of the answer."""
        if self._stop is not None:
            raise ModelAnswerError("the model's answer goes on after its end; check the server")
        match event:
            case TextDelta():
                self._text.append(event.text)
            case ThinkingDone():
                self._flush()
                self._parts.append(event.part)
            case ToolCallDone():
                self._flush()
                self._parts.append(self._named(event.call))
            case Usage():
                self.usage = event
            case Stop():
                self._flush()
                self._stop = event.reason
            case _:
                pass  # pieces of what comes whole, for show

    def message(self) -> AssistantMessage:
        """The whole answer. Raises ModelAnswerError where it did not end."""
        if self._stop is None:
            raise ModelAnswerError("the model's answer ended early; ask again")
        return AssistantMessage(parts=tuple(self._parts), stop=self._stop)

    def torn(self) -> AssistantMessage | None:
        """What there was of an answer that did not end, None where there was nothing."""
        self._flush()
        return AssistantMessage(parts=tuple(self._parts), stop=StopReason.CANCELLED) if self._parts else None

    def _flush(self) -> None:
        if self._text:
            self._parts.append(TextPart(text="".join(self._text)))
            self._text = []

    def _named(self, call: ToolCall) -> ToolCall:
        id_ = call.id
        while not _ID.fullmatch(id_) or id_ in self._taken:
            id_ = f"call_{self._new_id()}"
        self._taken.add(id_)
        return replace(call, id=id_)
