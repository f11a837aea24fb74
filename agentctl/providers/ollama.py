"""Ollama's own chat API, streamed as one JSON object a line (github.com/ollama/ollama docs/api.md)."""

import json
from collections.abc import Mapping, Sequence
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
from agentctl.providers.http import Endpoint, ModelHttp
from agentctl.providers.provider import ModelSettings
from agentctl.providers.sse import LineSplitter
from agentctl.providers.streamed import Streamed
from agentctl.providers.wire import (
    MAX_CALLS,
    TextJoiner,
    arguments_object,
    count_of,
    escape_halves,
    items_of,
    object_of,
    read_object,
    reported,
    text_of,
)
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import (
    AssistantMessage,
    Message,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agentctl.turns.text import well_formed
from shield.types import Json

__all__ = ["OllamaProvider", "OllamaReader", "ollama_body"]

_STOPS = {"stop": StopReason.END, "length": StopReason.LENGTH}
_OWN_FIELDS = frozenset({"model", "messages", "tools", "stream"})


class OllamaProvider(Streamed):
    """Any server with `POST BASE/api/chat`; usually `http://127.0.0.1:11434`."""

    def __init__(self, endpoint: Endpoint, settings: ModelSettings, *, http: ModelHttp | None = None) -> None:
        headers = {"accept": "application/x-ndjson"}
        if endpoint.api_key:
            headers["authorization"] = f"Bearer {endpoint.api_key}"
        super().__init__(
            endpoint,
            settings,
            http,
            own=_OWN_FIELDS,
            path="api/chat",
            headers=headers,
            body=ollama_body,
            reader=OllamaReader,
        )


def ollama_body(messages: Sequence[Message], tools: Sequence[ToolSpec], settings: ModelSettings) -> Mapping[str, Json]:
    """The request's body. Results name their tool, which is how Ollama's templates tell them apart."""
    names = {
        call.id: call.name for message in messages if isinstance(message, AssistantMessage) for call in message.calls
    }
    body: dict[str, Json] = {
        **settings.extra,
        "model": settings.model,
        "messages": [entry for message in messages for entry in _entries(message, names)],
        "stream": True,
    }
    options: dict[str, Json] = {}
    if settings.max_tokens is not None:
        options["num_predict"] = settings.max_tokens
    if settings.temperature is not None:
        options["temperature"] = settings.temperature
    if options:
        given = settings.extra.get("options")
        body["options"] = {**(given if isinstance(given, dict) else {}), **options}
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in tools
        ]
    return body


def _entries(message: Message, names: Mapping[str, str]) -> list[Json]:
    match message:
        case SystemMessage():
            return [{"role": "system", "content": message.text}]
        case UserMessage():
            return [{"role": "user", "content": message.text}]
        case ToolMessage():
            return [
                {"role": "tool", "tool_name": names.get(result.id, ""), "content": result.content}
                for result in message.results
            ]
        case AssistantMessage():
            if not message.text and not message.calls:
                return []
            entry: dict[str, Json] = {"role": "assistant", "content": message.text}
            if message.calls:
                entry["tool_calls"] = [
                    {"function": {"name": call.name, "arguments": arguments_object(call)}} for call in message.calls
                ]
            return [entry]


class OllamaReader:
    """Reads one answer; see `agentctl.providers.provider.Reader`."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._text = TextJoiner()
        self._thinking = TextJoiner()
        self._calls = 0
        self._done = False

    @property
    def done(self) -> bool:
        return self._done

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        for line in self._lines.feed(chunk):
            events += self._line(line)
        return events

    def end(self) -> list[ProviderEvent]:
        events = self._line(self._lines.end())
        if not self._done:
            raise ModelAnswerError("the model's answer ended early; ask again")
        return events

    def _line(self, raw: bytes) -> list[ProviderEvent]:
        if self._done or not raw.strip():
            return []
        try:
            line = read_object(raw.decode())
        except UnicodeDecodeError:
            raise ModelAnswerError("the model's answer is not utf-8; check the server") from None
        if line.get("error"):
            raise reported(line["error"])
        message = object_of(line, "message")
        events: list[ProviderEvent] = []
        if thinking := self._thinking.feed(text_of(message, "thinking")):
            events.append(ThinkingDelta(text=thinking))
        if text := self._text.feed(text_of(message, "content")):
            events.append(TextDelta(text=text))
        for call in items_of(message, "tool_calls"):
            events += self._call(call)
        if line.get("done") is True:
            events += self._finish(line)
        return events

    def _call(self, source: dict[str, Any]) -> list[ProviderEvent]:
        """A call comes whole. Its arguments are an object, so their text is written here, once."""
        function = object_of(source, "function")
        name = well_formed(text_of(function, "name"))
        if not name:
            raise ModelAnswerError("the model's answer holds a tool call without a name; check the server")
        given = function.get("arguments")
        # With escapes for everything but ASCII a half of a surrogate pair stays one, for the strict reader to refuse.
        text = escape_halves(given) if isinstance(given, str) else json.dumps(object_of(function, "arguments"))
        if self._calls >= MAX_CALLS:
            raise ModelAnswerError(f"the model's answer holds more than {MAX_CALLS} tool calls")
        index = self._calls
        self._calls += 1
        call = ToolCall(id=well_formed(text_of(source, "id")), name=name, arguments_text=text)
        return [
            ToolCallStart(index=index, name=name),
            ToolCallDelta(index=index, text=well_formed(text)),
            ToolCallDone(index=index, call=call),
        ]

    def _finish(self, line: dict[str, Any]) -> list[ProviderEvent]:
        self._done = True
        events: list[ProviderEvent] = []
        if rest := self._thinking.end():
            events.append(ThinkingDelta(text=rest))
        if rest := self._text.end():
            events.append(TextDelta(text=rest))
        given, written = count_of(line, "prompt_eval_count"), count_of(line, "eval_count")
        if given is not None or written is not None:
            events.append(Usage(input_tokens=given or 0, output_tokens=written or 0))
        stop = _STOPS.get(text_of(line, "done_reason"), StopReason.UNKNOWN)
        return [*events, Stop(reason=StopReason.TOOLS if self._calls and stop is StopReason.END else stop)]
