"""One authenticated request as its handler sees it, what it answers, and what all handlers share."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.types import Receive

from shield.canonical import MAX_DEPTH, MAX_NODES, parse
from shield.errors import InputError, Reason
from shield.regex import regex
from shield.service.admission import Admission
from shield.service.metrics import Metrics
from shield.service.ports import Journal, Judge, Operator
from shield.service.tokens import Token
from shield.types import Hidden

__all__ = ["WAIT_MAX_S", "Body", "Call", "Context", "Reply", "held", "read_body", "read_query", "wait_of", "whole_of"]

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

WAIT_MAX_S = 60.0
_WAIT = regex(r"\d{1,2}(?:\.\d{1,3})?")


class Body(BaseModel):
    """A request's body at the door: closed, nothing coerced."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the handlers work with. `description` is `/openapi.json`; `stopping` is set when asked to end;
    `now` is monotonic seconds; `hidden` is
    what executors keep away from what they run."""

    judge: Judge
    journal: Journal
    operator: Operator
    admission: Admission
    metrics: Metrics
    description: bytes
    stopping: asyncio.Event
    now: Callable[[], float]
    hidden: Hidden = field(default_factory=Hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`token` is None only on routes that anyone may call without one. `pid` is the calling process, where known."""

    token: Token | None
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    receive: Receive
    pid: int | None = None

    @property
    def caller(self) -> Token:
        """The token of a route that needs one. INVARIANT: such a route is never entered without."""
        if self.token is None:
            raise InputError("no token", reason=Reason.AUTH_MISSING)
        return self.token


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    body: bytes
    status: int = 200
    media: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())


def read_query(raw: bytes, allowed: frozenset[str]) -> dict[str, str]:
    """The query's parameters, each known and given once. Raises InputError."""
    if not raw:
        return {}
    try:
        text = raw.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=16)
    except ValueError:
        raise InputError("the query cannot be read; write it as `name=value&…`") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in allowed or name in found:
            known = ", ".join(f"`{item}`" for item in sorted(allowed)) or "none"
            raise InputError(
                f"the query parameter `{name[:64]}` is unknown or given twice; known here: {known}",
                reason=Reason.INPUT_KEY,
            )
        found[name] = value
    return found


def wait_of(call: Call) -> float:
    """Seconds of `?wait=`, 0 where it is absent. Raises InputError."""
    text = call.query.get("wait", "0")
    if not _WAIT.fullmatch(text) or float(text) > WAIT_MAX_S:
        raise InputError(f"`wait` is 0 to {WAIT_MAX_S:g} seconds, not `{text[:32]}`")
    return float(text)


def whole_of(call: Call, name: str, default: int, most: int) -> int:
    """A whole number of the query. Raises InputError."""
    text = call.query.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) > most:
        raise InputError(f"`{name}` is a whole number up to {most}, not `{text[:32]}`")
    return int(text)


def read_body(raw: bytes, model: type[M]) -> tuple[M, dict[str, Any]]:
    """The body read strictly, once, and checked; with it the very value, for members that are handed on as they are.

    Raises InputError with the pointer of the first fault."""
    value = parse(raw, max_depth=MAX_DEPTH + 2, max_nodes=MAX_NODES + 64)
    if not isinstance(value, dict):
        raise InputError("the body is a JSON object", pointer="")
    try:
        return model.model_validate(value), value
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')[:64]}" for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(f"`{name}`" for name in model.model_fields)
            raise InputError(f"unknown key; the keys are {known}", reason=Reason.INPUT_KEY, pointer=pointer) from None
        message = first["msg"]
        raise InputError(f"{message[:1].lower()}{message[1:]}", pointer=pointer) from None


async def held(context: Context, call: Call, wait_s: float, ask: Callable[[float], Awaitable[T]]) -> T:
    """`ask(wait_s)`, but `ask(0)` as soon as the service is stopping or the client is gone. Raises RefusedError if
    the token holds too many requests already."""
    if wait_s <= 0 or context.stopping.is_set():
        return await ask(0)
    with context.admission.wait(call.caller.id):
        asked = asyncio.ensure_future(ask(wait_s))
        ends = [asyncio.ensure_future(context.stopping.wait()), asyncio.ensure_future(_gone(call.receive))]
        try:
            await asyncio.wait((asked, *ends), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting = [task for task in (asked, *ends) if not task.done()]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        if not asked.cancelled():
            return asked.result()
    return await ask(0)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
