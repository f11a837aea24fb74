"""A document that Shield sent, read strictly: fields of the type that they must have, or a ClientError."""

from collections.abc import Mapping
from datetime import UTC, datetime

from shield import canonical
from shield.errors import ClientError, InputError, Reason
from shield.types import Json

__all__ = [
    "MAX_ANSWER",
    "as_object",
    "broken",
    "list_in",
    "number_in",
    "object_of",
    "text_in",
    "text_or_none",
    "texts_in",
    "time_in",
    "utf8",
]

MAX_ANSWER = 64 * 1024 * 1024  # bytes of one answer: the approvals list may hold 20 whole actions
MAX_NODES = 1_000_000


def broken(what: str) -> ClientError:
    return ClientError(f"Shield sent {what}, which is no verdict; nothing is run", reason=Reason.SERVICE_ANSWER)


def utf8(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise broken("text that is not UTF-8") from None


def object_of(raw: bytes) -> dict[str, Json]:
    try:
        value = canonical.parse(raw, max_bytes=MAX_ANSWER, max_depth=canonical.MAX_DEPTH + 8, max_nodes=MAX_NODES)
    except InputError as error:
        raise broken(f"an answer that is not strict JSON ({error.detail})") from None
    return as_object(value)


def as_object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise broken("something else where an object belongs")
    return value


def text_in(document: Mapping[str, Json], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise broken(f"no text `{key}`")
    return value


def text_or_none(document: Mapping[str, Json], key: str) -> str | None:
    return None if document.get(key) is None else text_in(document, key)


def number_in(document: Mapping[str, Json], key: str, default: int | None = None) -> int:
    value = document.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise broken(f"no whole number `{key}`")
    return value


def list_in(document: Mapping[str, Json], key: str) -> list[Json]:
    value = document.get(key)
    if not isinstance(value, list):
        raise broken(f"no list `{key}`")
    return value


def texts_in(document: Mapping[str, Json], key: str) -> dict[str, str]:
    value = as_object(document.get(key))
    if not all(isinstance(item, str) for item in value.values()):
        raise broken(f"something else than text in `{key}`")
    return {name: str(item) for name, item in value.items()}


def time_in(document: Mapping[str, Json], key: str) -> int | None:
    """RFC 3339 in UTC → unix milliseconds."""
    text = text_or_none(document, key)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise broken(f"no time in `{key}`") from None
    if moment.tzinfo is None:
        raise broken(f"a time without zone in `{key}`")
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
