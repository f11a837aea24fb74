"""Reading a provider's JSON: strict in what it means, patient with what is merely absent."""

import json
from typing import Any, NoReturn

from agentctl.errors import (
    ArgumentsError,
    ModelAnswerError,
    ModelError,
    ModelRefusedError,
    ModelUnreachableError,
)
from agentctl.turns.messages import ToolCall
from agentctl.turns.text import printable, well_formed

__all__ = [
    "MAX_ARGUMENTS",
    "MAX_CALLS",
    "TextJoiner",
    "arguments_object",
    "count_of",
    "error_text",
    "escape_halves",
    "items_of",
    "object_of",
    "read_object",
    "reported",
    "text_of",
]

MAX_CALLS = 100  # in one answer: as many as Shield takes in one batch
MAX_ARGUMENTS = 8 * 1024 * 1024  # characters of one call's arguments: Shield's limit of a body
_ERROR_TEXT = 300  # characters of a server's own error message that are shown
_OVERLOADED = ("overloaded_error", "rate_limit_error", "api_error", "server_error", "timeout_error")


def _refuse_constant(token: str) -> NoReturn:
    raise ValueError(token)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


def read_object(text: str) -> dict[str, Any]:
    """The one JSON object in `text`. Duplicate keys and NaN are refused, halves of surrogate pairs are not: servers
    cut the text of a token in two. Raises ModelAnswerError."""
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise ModelAnswerError("the model's answer is not valid json; check the server") from None
    if not isinstance(value, dict):
        raise ModelAnswerError("the model's answer holds json that is no object; check the server")
    return value


def _wrong(key: str) -> ModelAnswerError:
    return ModelAnswerError(f"the model's answer has a field `{key}` of the wrong type; check the server")


def text_of(source: dict[str, Any], key: str) -> str:
    """The string at `key`, empty where it is absent or null. Raises ModelAnswerError for another type."""
    value = source.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(key)
    return value


def object_of(source: dict[str, Any], key: str) -> dict[str, Any]:
    """The object at `key`, empty where it is absent or null. Raises ModelAnswerError for another type."""
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(key)
    return value


def items_of(source: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of the array at `key`, empty where it is absent or null. Raises ModelAnswerError otherwise."""
    value = source.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _wrong(key)
    return value


def count_of(source: dict[str, Any], key: str) -> int | None:
    """The whole number ≥ 0 at `key`, None where it is absent or null. Raises ModelAnswerError otherwise."""
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(key)
    return value


class TextJoiner:
    """Joins surrogate pairs that a server cut in two; what comes out is always well-formed Unicode."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held = text[-1]
            text = text[:-1]
        return well_formed(text)

    def end(self) -> str:
        held, self._held = self._held, ""
        return well_formed(held)


def escape_halves(text: str) -> str:
    """The arguments' text with surrogate pairs joined; a half of a pair becomes its JSON escape, which means the same
    and which the strict reader refuses. (Replacing it would run something else than the model wrote.)"""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in joined)


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """The arguments as an object to send back in the history; what is none is sent wrapped, so that servers which
    read them accept the request and the model sees what it did.

    INVARIANT: read as strictly as for Shield. NaN, 1e999 or half of a surrogate pair, which Python reads and writes,
    would make this and every later request of the conversation one that no server accepts.
    """
    try:
        return dict(call.arguments())
    except ArgumentsError:
        return {"INVALID_JSON": call.arguments_text}


def error_text(error: Any) -> str:
    """What a server says of its error, whatever shape it gives it. The text is foreign: cut and cleaned."""
    kind, message = _kind_and_message(error)
    return printable(f"{kind}: {message}" if kind and message else kind or message or "no reason given", _ERROR_TEXT)


def reported(error: Any) -> ModelError:
    """The error that a server put into its answer, as one of ours."""
    if _kind_and_message(error)[0] in _OVERLOADED:
        return ModelUnreachableError(f"the model's server failed: {error_text(error)}; try again later")
    return ModelRefusedError(f"the model's server refused: {error_text(error)}")


def _kind_and_message(error: Any) -> tuple[str, str]:
    if isinstance(error, str):
        return "", error
    if not isinstance(error, dict):
        return "", ""
    kinds = [error[key] for key in ("type", "code") if isinstance(error.get(key), str)]
    message = error.get("message")
    return kinds[0] if kinds else "", message if isinstance(message, str) else ""
