"""A request's body, counted while it arrives."""

import asyncio

from starlette.types import Message, Receive, Scope

from shield.errors import InputError, Reason

__all__ = ["BODY_MAX", "drained", "received", "whole"]

BODY_MAX = 8 * 1024 * 1024  # DESIGN 3
BODY_TIMEOUT_S = 30.0
_DRAIN_MAX = 64 * 1024
_DRAIN_S = 1.0
_BODY = "shield.body"  # keys of the scope: what has come so far, and whether that is all of it
_READ = "shield.read"


def received(scope: Scope) -> bytes:
    """What has come so far."""
    return bytes(scope.get(_BODY, b""))


async def whole(scope: Scope, receive: Receive) -> bytes:
    """The whole body, at most BODY_MAX bytes within BODY_TIMEOUT_S, declared as plain JSON."""
    declared = _declared(scope)
    first = await receive()
    # the usual case: all of it is there when the request is dispatched
    if first["type"] == "http.request" and not first.get("more_body", False):
        body = first.get("body", b"")
        scope[_READ] = True
    else:
        body = await _rest(scope, receive, first)
    scope[_BODY] = body
    if len(body) > BODY_MAX:
        raise _too_large(BODY_MAX)
    if body and not declared:
        raise InputError("send the body as `Content-Type: application/json`", reason=Reason.INPUT_MEDIA_TYPE)
    return bytes(body)


async def _rest(scope: Scope, receive: Receive, message: Message) -> bytes:
    body = bytearray()
    scope[_BODY] = body
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while True:
                if message["type"] == "http.disconnect":
                    raise InputError("the body ended early", reason=Reason.INPUT_JSON, offset=len(body))
                body += message.get("body", b"")
                if len(body) > BODY_MAX:
                    raise _too_large(len(body))
                if not message.get("more_body", False):
                    scope[_READ] = True
                    return bytes(body)
                message = await receive()
    except TimeoutError:
        raise InputError(
            f"the body did not arrive within {BODY_TIMEOUT_S:g} seconds; send it at once",
            reason=Reason.INPUT_JSON,
            offset=len(body),
        ) from None


def _declared(scope: Scope) -> bool:
    """Whether the content type is JSON; refuses early what is declared too large or encoded."""
    kind = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value
        elif name == b"content-length" and (not value.isdigit() or len(value) > 19 or int(value) > BODY_MAX):
            raise _too_large(BODY_MAX)
        elif name == b"content-encoding" and value.strip().lower() != b"identity":
            raise InputError("send the body without content encoding", reason=Reason.INPUT_MEDIA_TYPE)
    media, _, parameters = kind.partition(b";")
    if media.strip().lower() != b"application/json":
        return False
    return parameters.strip().lower() in (b"", b"charset=utf-8", b'charset="utf-8"')


def _too_large(offset: int) -> InputError:
    return InputError(
        f"the body is larger than {BODY_MAX} bytes; send less", reason=Reason.INPUT_SIZE, offset=min(offset, BODY_MAX)
    )


async def drained(scope: Scope, receive: Receive) -> bool:
    """Take in the rest of a small body that nobody will read, so that a client that sends it after the head still gets
    to read its answer. False where the connection must be closed instead."""
    if scope["method"] in ("GET", "HEAD") or scope.get(_READ, False):
        return True
    left = _DRAIN_MAX - len(scope.get(_BODY, b""))
    for name, value in scope["headers"]:
        if name == b"content-length" and (len(value) > 9 or int(value) > _DRAIN_MAX):
            return False
    try:
        async with asyncio.timeout(_DRAIN_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return message["type"] == "http.request" and left >= 0
    except TimeoutError:
        pass
    return False
