"""OpenAI-compatible chat completions, streamed (platform.openai.com/docs/api-reference/chat)."""

import json
from collections.abc import Mapping, Sequence

from agentctl.providers.http import Endpoint, ModelHttp
from agentctl.providers.openai_stream import OpenAiReader
from agentctl.providers.provider import ModelSettings
from agentctl.providers.streamed import Streamed
from agentctl.providers.wire import (
    arguments_object,
)
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from shield.types import Json

__all__ = ["OpenAiProvider", "openai_body"]

_OWN_FIELDS = frozenset({"model", "messages", "tools", "stream", "stream_options", "n"})


class OpenAiProvider(Streamed):
    """Any server with `POST BASE/chat/completions`; `base_url` usually ends in `/v1`."""

    def __init__(self, endpoint: Endpoint, settings: ModelSettings, *, http: ModelHttp | None = None) -> None:
        headers = {"accept": "text/event-stream"}
        if endpoint.api_key:
            headers["authorization"] = f"Bearer {endpoint.api_key}"
        super().__init__(
            endpoint,
            settings,
            http,
            own=_OWN_FIELDS,
            path="chat/completions",
            headers=headers,
            body=openai_body,
            reader=OpenAiReader,
        )


def openai_body(messages: Sequence[Message], tools: Sequence[ToolSpec], settings: ModelSettings) -> Mapping[str, Json]:
    """The request's body."""
    body: dict[str, Json] = {
        **settings.extra,
        "model": settings.model,
        "messages": [entry for message in messages for entry in _entries(message)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if settings.max_tokens is not None:
        body["max_tokens"] = settings.max_tokens
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in tools
        ]
    return body


def _entries(message: Message) -> list[Json]:
    match message:
        case SystemMessage():
            return [{"role": "system", "content": message.text}]
        case UserMessage():
            return [{"role": "user", "content": message.text}]
        case ToolMessage():
            return [
                {"role": "tool", "tool_call_id": result.id, "content": result.content} for result in message.results
            ]
        case AssistantMessage():
            return _assistant(message)


def _assistant(message: AssistantMessage) -> list[Json]:
    if not message.text and not message.calls:
        return []  # only thinking: nothing of it is sent back, and an empty message is refused
    entry: dict[str, Json] = {"role": "assistant", "content": message.text or None}
    if message.calls:
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call)},
            }
            for call in message.calls
        ]
    return [entry]


def _arguments(call: ToolCall) -> str:
    """The text as the model wrote it where it is an object: servers with templates read it, and fail on other text."""
    wrapped = arguments_object(call)
    return json.dumps(wrapped) if not call.arguments_text or "INVALID_JSON" in wrapped else call.arguments_text
