"""Reads streamed Anthropic Messages (docs.anthropic.com, "Streaming Messages"; version 2023-06-01).

The arguments of a call are its `input_json_delta` pieces joined at the block's end; none at all is `{}`. Thinking is
kept with its signature. Event types, block types and delta types that are not known are skipped, as documented.
"""

import json
from typing import Any

from agentctl.errors import ModelAnswerError
from agentctl.events import (
    ProviderEvent,
    Stop,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    ToolCallDelta,
    ToolCallDone,
    ToolCallStart,
    Usage,
)
from agentctl.providers.sse import SseDecoder
from agentctl.providers.wire import (
    MAX_ARGUMENTS,
    MAX_CALLS,
    TextJoiner,
    count_of,
    escape_halves,
    object_of,
    read_object,
    reported,
    text_of,
)
from agentctl.turns.messages import (
    StopReason,
    ThinkingPart,
    ToolCall,
)
from agentctl.turns.text import well_formed

__all__ = ["AnthropicReader"]

_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.PAUSE,
    "refusal": StopReason.REFUSAL,
}


class _Block:
    """A content block while its deltas come in."""

    def __init__(self, kind: str, start: dict[str, Any], position: int) -> None:
        self.kind = kind
        self.start = start
        self.position = position
        self.joiner = TextJoiner()
        self.pieces: list[str] = []
        self.size = 0
        self.signature = text_of(start, "signature")


class AnthropicReader:
    """Reads one answer; see `agentctl.providers.provider.Reader`."""

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._blocks: dict[int, _Block] = {}  # open ones
        self._seen: set[int] = set()
        self._calls = 0
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None
        self._stop: StopReason | None = None
        self._done = False

    @property
    def done(self) -> bool:
        return self._done

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        for event in self._sse.feed(chunk):
            events += self._event(event.data)
        return events

    def end(self) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        for event in self._sse.end():
            events += self._event(event.data)
        if not self._done:
            raise ModelAnswerError("the model's answer ended early; ask again")
        return events

    def _event(self, data: str) -> list[ProviderEvent]:
        if self._done or not data.strip():
            return []
        event = read_object(data)
        match text_of(event, "type"):
            case "message_start":
                self._count(object_of(object_of(event, "message"), "usage"))
            case "content_block_start":
                return self._begin(event)
            case "content_block_delta":
                return self._delta(self._open(event), object_of(event, "delta"))
            case "content_block_stop":
                block = self._open(event)
                del self._blocks[count_of(event, "index") or 0]
                return self._close(block)
            case "message_delta":
                self._count(object_of(event, "usage"))
                reason = text_of(object_of(event, "delta"), "stop_reason")
                if reason:
                    self._stop = _STOPS.get(reason, StopReason.UNKNOWN)
            case "message_stop":
                return self._finish()
            case "error":
                raise reported(event.get("error"))
            case _:
                pass  # `ping`, and event types that are added later
        return []

    def _count(self, usage: dict[str, Any]) -> None:
        """Counts are cumulative; what a cache gave was input, too."""
        given = [
            count_of(usage, key) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ]
        if given[0] is not None:
            self._input_tokens = sum(count or 0 for count in given)
        output = count_of(usage, "output_tokens")
        self._output_tokens = self._output_tokens if output is None else output

    def _open(self, event: dict[str, Any]) -> _Block:
        block = self._blocks.get(count_of(event, "index") or 0)
        if block is None:
            raise ModelAnswerError("the model's answer holds a piece of no block; check the server")
        return block

    def _begin(self, event: dict[str, Any]) -> list[ProviderEvent]:
        index = count_of(event, "index") or 0
        if index in self._seen:
            raise ModelAnswerError("the model's answer begins one block twice; check the server")
        self._seen.add(index)
        start = object_of(event, "content_block")
        block = _Block(text_of(start, "type"), start, self._calls)
        self._blocks[index] = block
        if block.kind == "tool_use":
            self._calls += 1
            if self._calls > MAX_CALLS:
                raise ModelAnswerError(f"the model's answer holds more than {MAX_CALLS} tool calls")
            name = well_formed(text_of(start, "name"))
            if not name:
                raise ModelAnswerError("the model's answer holds a tool call without a name; check the server")
            return [ToolCallStart(index=block.position, name=name)]
        if block.kind == "text":
            return self._delta(block, {"type": "text_delta", "text": text_of(start, "text")})
        if block.kind == "thinking":
            return self._delta(block, {"type": "thinking_delta", "thinking": text_of(start, "thinking")})
        return []

    def _delta(self, block: _Block, delta: dict[str, Any]) -> list[ProviderEvent]:
        match block.kind, text_of(delta, "type"):
            case "text", "text_delta":
                text = block.joiner.feed(text_of(delta, "text"))
                return [TextDelta(text=text)] if text else []
            case "thinking", "thinking_delta":
                text = block.joiner.feed(text_of(delta, "thinking"))
                block.pieces.append(text)
                return [ThinkingDelta(text=text)] if text else []
            case "thinking", "signature_delta":
                block.signature += text_of(delta, "signature")
            case "tool_use", "input_json_delta":
                piece = text_of(delta, "partial_json")
                if piece:
                    block.pieces.append(piece)
                    block.size += len(piece)
                    if block.size > MAX_ARGUMENTS:
                        raise ModelAnswerError(
                            f"the arguments of a tool call are longer than {MAX_ARGUMENTS} characters"
                        )
                    return [ToolCallDelta(index=block.position, text=well_formed(piece))]
            case (("text" | "thinking" | "tool_use"), ("text_delta" | "thinking_delta" | "input_json_delta")):
                raise ModelAnswerError("the model's answer holds a piece of another block's kind; check the server")
            case _:
                pass  # citations, and kinds that are added later
        return []

    def _close(self, block: _Block) -> list[ProviderEvent]:
        match block.kind:
            case "text":
                rest = block.joiner.end()
                return [TextDelta(text=rest)] if rest else []
            case "thinking":
                rest = block.joiner.end()
                part = ThinkingPart(text="".join(block.pieces) + rest, signature=well_formed(block.signature) or None)
                shown: list[ProviderEvent] = [ThinkingDelta(text=rest)] if rest else []
                return [*shown, ThinkingDone(part=part)]
            case "redacted_thinking":
                data = well_formed(text_of(block.start, "data"))
                return [ThinkingDone(part=ThinkingPart(text="", redacted=data))]
            case "tool_use":
                # Some servers give the whole input at the start and no delta; the documented start is an empty object.
                whole = object_of(block.start, "input")
                pieces = block.pieces or ([json.dumps(whole)] if whole else ["{}"])
                call = ToolCall(
                    id=well_formed(text_of(block.start, "id")),
                    name=well_formed(text_of(block.start, "name")),
                    arguments_text=escape_halves("".join(pieces)),
                )
                return [ToolCallDone(index=block.position, call=call)]
            case _:
                return []

    def _finish(self) -> list[ProviderEvent]:
        if any(block.kind == "tool_use" for block in self._blocks.values()):
            raise ModelAnswerError("the model's answer ends inside a tool call; ask again")
        self._done = True
        events: list[ProviderEvent] = []
        if self._input_tokens is not None or self._output_tokens is not None:
            events.append(Usage(input_tokens=self._input_tokens or 0, output_tokens=self._output_tokens or 0))
        return [*events, Stop(reason=self._stop or StopReason.UNKNOWN)]
