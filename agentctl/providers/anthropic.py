"""Anthropic Messages, streamed (docs.anthropic.com, "Streaming Messages"; version 2023-06-01)."""

from collections.abc import Mapping, Sequence

from agentctl.providers.anthropic_stream import AnthropicReader
from agentctl.providers.http import Endpoint, ModelHttp
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
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from shield.types import Json

__all__ = ["AnthropicProvider", "anthropic_body"]

_VERSION = "2023-06-01"
_MAX_TOKENS = 8192  # the field is required; every current model can write as much
_OWN_FIELDS = frozenset({"model", "messages", "system", "tools", "stream"})


class AnthropicProvider(Streamed):
    """Any server with `POST BASE/v1/messages`."""

    def __init__(self, endpoint: Endpoint, settings: ModelSettings, *, http: ModelHttp | None = None) -> None:
        headers = {"accept": "text/event-stream", "anthropic-version": _VERSION}
        if endpoint.api_key:
            headers["x-api-key"] = endpoint.api_key
        super().__init__(
            endpoint,
            settings,
            http,
            own=_OWN_FIELDS,
            path="v1/messages",
            headers=headers,
            body=anthropic_body,
            reader=AnthropicReader,
        )


def anthropic_body(
    messages: Sequence[Message], tools: Sequence[ToolSpec], settings: ModelSettings
) -> Mapping[str, Json]:
    """The request's body. Roles alternate: neighbours of one role become one message, tool results first in it."""
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = _blocks(message)
        if not blocks:
            continue  # an empty message is refused
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    body: dict[str, Json] = {
        **settings.extra,
        "model": settings.model,
        "max_tokens": settings.max_tokens or _MAX_TOKENS,
        "messages": [{"role": role, "content": blocks} for role, blocks in turns],
        "stream": True,
    }
    system = "\n\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    if system:
        body["system"] = system
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in tools
        ]
    return body


def _blocks(message: UserMessage | AssistantMessage | ToolMessage) -> list[Json]:
    match message:
        case UserMessage():
            return _text(message.text)
        case ToolMessage():
            return [
                {
                    "type": "tool_result",
                    "tool_use_id": result.id,
                    "content": result.content,
                    "is_error": result.is_error,
                }
                for result in message.results
            ]
        case AssistantMessage():
            blocks: list[Json] = []
            for part in message.parts:
                match part:
                    case TextPart():
                        blocks += _text(part.text)
                    case ThinkingPart():
                        blocks += _thinking(part)
                    case ToolCall():
                        blocks.append(
                            {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part)}
                        )
            return blocks


def _text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []  # blank blocks are refused


def _thinking(part: ThinkingPart) -> list[Json]:
    if part.redacted is not None:
        return [{"type": "redacted_thinking", "data": part.redacted}]
    if part.signature is not None:
        return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]
    return []  # another provider's
