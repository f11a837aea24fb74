"""Messages as JSON text and back; what cannot be read back exactly is a HistoryError, never guessed."""

import json
from collections.abc import Sequence
from typing import Any

from agentctl.errors import HistoryError
from agentctl.turns.messages import (
    AssistantMessage,
    Message,
    Part,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from shield.types import Decision, Json, Labels

__all__ = ["dump", "load"]


def dump(messages: Sequence[Message]) -> str:
    """ASCII JSON of the messages."""
    return json.dumps([_message(message) for message in messages], separators=(",", ":"))


def load(text: str) -> tuple[Message, ...]:
    """The messages that `dump` wrote. Raises HistoryError."""
    try:
        return tuple(_read_message(entry) for entry in json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise HistoryError("a stored message cannot be read; the session database is damaged") from None


def _message(message: Message) -> Json:
    match message:
        case SystemMessage():
            return {"role": "system", "text": message.text}
        case UserMessage():
            return {"role": "user", "text": message.text}
        case AssistantMessage():
            return {"role": "assistant", "stop": message.stop, "parts": [_part(part) for part in message.parts]}
        case ToolMessage():
            return {"role": "tool", "results": [_result(result) for result in message.results]}


def _part(part: Part) -> Json:
    match part:
        case TextPart():
            return {"kind": "text", "text": part.text}
        case ThinkingPart():
            return {"kind": "thinking", "text": part.text, "signature": part.signature, "redacted": part.redacted}
        case ToolCall():
            return {"kind": "call", "id": part.id, "name": part.name, "arguments": part.arguments_text}


def _result(result: ToolResult) -> Json:
    labels = result.labels
    return {
        "id": result.id,
        "content": result.content,
        "is_error": result.is_error,
        "decision": result.decision,
        "reason": result.reason,
        "advice": result.advice,
        "labels": None
        if labels is None
        else {"confidentiality": labels.confidentiality, "integrity": labels.integrity},
    }


def _read_message(entry: dict[str, Any]) -> Message:
    match entry["role"]:
        case "system":
            return SystemMessage(text=_text(entry["text"]))
        case "user":
            return UserMessage(text=_text(entry["text"]))
        case "assistant":
            parts = tuple(_read_part(part) for part in entry["parts"])
            return AssistantMessage(parts=parts, stop=StopReason(entry["stop"]))
        case "tool":
            return ToolMessage(results=tuple(_read_result(result) for result in entry["results"]))
        case _:
            raise ValueError("role")


def _read_part(entry: dict[str, Any]) -> Part:
    match entry["kind"]:
        case "text":
            return TextPart(text=_text(entry["text"]))
        case "thinking":
            signature, redacted = _optional(entry["signature"]), _optional(entry["redacted"])
            return ThinkingPart(text=_text(entry["text"]), signature=signature, redacted=redacted)
        case "call":
            return ToolCall(id=_text(entry["id"]), name=_text(entry["name"]), arguments_text=_text(entry["arguments"]))
        case _:
            raise ValueError("kind")


def _read_result(entry: dict[str, Any]) -> ToolResult:
    labels = entry["labels"]
    return ToolResult(
        id=_text(entry["id"]),
        content=_text(entry["content"]),
        is_error=entry["is_error"] is not False,
        decision=None if entry["decision"] is None else Decision(entry["decision"]),
        reason=_optional(entry["reason"]),
        advice=_optional(entry["advice"]),
        labels=None
        if labels is None
        else Labels(confidentiality=_text(labels["confidentiality"]), integrity=_text(labels["integrity"])),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _optional(value: Any) -> str | None:
    return None if value is None else _text(value)
