"""Reads streamed chat completions (platform.openai.com/docs/api-reference/chat-streaming).

Many servers speak this with small differences; what this reader puts up with: comment lines, any line end, a missing
final `[DONE]` or blank line, null instead of absent, fragments without `index` or `id`, several calls under one index,
arguments as an object, a whole answer instead of a stream. What it refuses: an answer that ends without a reason,
a fragment that belongs to no call, wrong types.
"""

import json
from typing import Any

from agentctl.errors import ModelAnswerError
from agentctl.events import (
    ProviderEvent,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallDone,
    ToolCallStart,
    Usage,
)
from agentctl.providers.sse import MAX_LINE, SseDecoder
from agentctl.providers.wire import (
    MAX_ARGUMENTS,
    MAX_CALLS,
    TextJoiner,
    count_of,
    escape_halves,
    items_of,
    object_of,
    read_object,
    reported,
    text_of,
)
from agentctl.turns.messages import (
    StopReason,
    ToolCall,
)
from agentctl.turns.text import well_formed

__all__ = ["OpenAiReader"]

_STOPS = {
    "stop": StopReason.END,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
}


class _Call:
    """A tool call while its fragments come in."""

    def __init__(self, position: int, index: int | None, id_: str) -> None:
        self.position = position
        self.index = index
        self.id = id_
        self.name = ""
        self.pieces: list[str] = []
        self.size = 0


class OpenAiReader:
    """Reads one answer; see `agentctl.providers.provider.Reader`."""

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._whole: bytearray | None = None  # the body where it turns out to be one JSON object and no stream
        self._started = False
        self._text = TextJoiner()
        self._thinking = TextJoiner()
        self._calls: list[_Call] = []
        self._stop: StopReason | None = None
        self._refused = False
        self._usage: Usage | None = None
        self._done = False

    @property
    def done(self) -> bool:
        return self._done

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        if self._done:
            return []
        if not self._started:
            self._started = bool(chunk.strip())
            if chunk.lstrip().startswith(b"{"):
                self._whole = bytearray()
        if self._whole is not None:
            self._whole += chunk
            if len(self._whole) > MAX_LINE:
                raise ModelAnswerError(f"the model's answer is longer than {MAX_LINE} bytes")
            return []
        events: list[ProviderEvent] = []
        for event in self._sse.feed(chunk):
            events += self._data(event.data)
        return events

    def end(self) -> list[ProviderEvent]:
        if self._done:
            return []
        events: list[ProviderEvent] = []
        if self._whole is not None:
            events += self._data(self._whole.decode("utf-8", "replace"))
        else:
            for event in self._sse.end():
                events += self._data(event.data)
        if not self._done:
            if self._stop is None:
                raise ModelAnswerError("the model's answer ended early; ask again")
            events += self._finish()
        return events

    def _data(self, data: str) -> list[ProviderEvent]:
        if self._done or not data.strip():
            return []
        if data.strip() == "[DONE]":
            return self._finish()
        answer = read_object(data)
        if answer.get("error"):
            raise reported(answer["error"])
        usage = object_of(answer, "usage")
        if usage:
            self._usage = Usage(
                input_tokens=count_of(usage, "prompt_tokens") or 0,
                output_tokens=count_of(usage, "completion_tokens") or 0,
            )
        events: list[ProviderEvent] = []
        for choice in items_of(answer, "choices"):
            if (count_of(choice, "index") or 0) == 0:  # one was asked for; others are not read
                events += self._choice(choice)
        return events

    def _choice(self, choice: dict[str, Any]) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        delta = object_of(choice, "delta") or object_of(choice, "message")
        thinking = self._thinking.feed(text_of(delta, "reasoning_content") or text_of(delta, "reasoning"))
        if thinking:
            events.append(ThinkingDelta(text=thinking))
        refusal = text_of(delta, "refusal")
        self._refused = self._refused or bool(refusal)
        text = self._text.feed(text_of(delta, "content") + refusal)
        if text:
            events.append(TextDelta(text=text))
        fragments = items_of(delta, "tool_calls")
        if fragments and self._stop is not None:
            raise ModelAnswerError("the model's answer goes on with a tool call after its end; check the server")
        for fragment in fragments:
            events += self._fragment(fragment)
        reason = text_of(choice, "finish_reason")
        if reason:
            self._stop = _STOPS.get(reason, StopReason.UNKNOWN)
        return events

    def _fragment(self, fragment: dict[str, Any]) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        function = object_of(fragment, "function")
        name = text_of(function, "name")
        call = self._belongs(count_of(fragment, "index"), text_of(fragment, "id"), name)
        if name and not call.name:
            call.name = well_formed(name)
            events.append(ToolCallStart(index=call.position, name=call.name))
        elif name and well_formed(name) != call.name:
            raise ModelAnswerError("the model's answer names one tool call twice; check the server")
        arguments = function.get("arguments")
        piece = json.dumps(arguments) if isinstance(arguments, dict) else text_of(function, "arguments")
        if piece:
            call.pieces.append(piece)
            call.size += len(piece)
            if call.size > MAX_ARGUMENTS:
                raise ModelAnswerError(f"the arguments of a tool call are longer than {MAX_ARGUMENTS} characters")
            events.append(ToolCallDelta(index=call.position, text=well_formed(piece)))
        return events

    def _belongs(self, index: int | None, id_: str, name: str) -> _Call:
        """The call that a fragment continues, or a new one.

        A name with an id other than the one known begins a new call even under the same index (servers that send
        whole calls number them all 0); an id alone does not (servers that make up an id for each fragment).
        """
        if index is not None:
            known = next((call for call in reversed(self._calls) if call.index == index), None)
        elif id_:
            known = next((call for call in self._calls if call.id == id_), None)
            if known is None and not name and self._calls:
                known = self._calls[-1]
        else:
            known = self._calls[-1] if self._calls and not name else None
        if known is not None and name and known.name and id_ and id_ != known.id:
            known = None
        if known is None:
            if not name and not id_:
                raise ModelAnswerError("the model's answer holds a piece of no tool call; check the server")
            if len(self._calls) >= MAX_CALLS:
                raise ModelAnswerError(f"the model's answer holds more than {MAX_CALLS} tool calls")
            known = _Call(len(self._calls), index, id_)
            self._calls.append(known)
        known.id = known.id or id_
        return known

    def _finish(self) -> list[ProviderEvent]:
        self._done = True
        events: list[ProviderEvent] = []
        if rest := self._thinking.end():
            events.append(ThinkingDelta(text=rest))
        if rest := self._text.end():
            events.append(TextDelta(text=rest))
        for call in self._calls:
            if not call.name:
                raise ModelAnswerError("the model's answer holds a tool call without a name; check the server")
            done = ToolCall(id=well_formed(call.id), name=call.name, arguments_text=escape_halves("".join(call.pieces)))
            events.append(ToolCallDone(index=call.position, call=done))
        if self._usage is not None:
            events.append(self._usage)
        stop = self._stop or StopReason.UNKNOWN
        events.append(Stop(reason=StopReason.REFUSAL if self._refused and stop is StopReason.END else stop))
        return events
