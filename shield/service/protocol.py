"""uvicorn's HTTP protocols with what a hostile local client makes necessary: the peer's identity in the scope, a bound
on connections, on the size of a request's head and on the time it may take to arrive."""

import asyncio
import json
from typing import Any, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shield.client.peer import Peer, peer_of

__all__ = ["EXTENSION", "HEAD_MAX", "GuardedH11", "GuardedHttpTools"]

EXTENSION = "shield.connection"
CONNECTIONS_MAX = 512
HEAD_MAX = 32 * 1024  # bytes of request line and headers
HEADERS_MAX = 100
HEAD_TIMEOUT_S = 10.0

_TEXT = {
    400: ("Bad Request", "input.json", "the request is not HTTP/1.1", "send a well-formed request"),
    431: ("Request Header Fields Too Large", "input.size", "the request's head is too large", "send fewer headers"),
    408: ("Request Timeout", "input.size", "the request's head did not arrive in time", "send it at once"),
}


def _body(status: int) -> bytes:
    _, reason, title, advice = _TEXT[status]
    return json.dumps(
        {
            "type": f"https://shield.invalid/problems/{reason}",
            "title": title,
            "status": status,
            "reason": reason,
            "detail": f"{title}; {advice}",
        }
    ).encode()


def _problem(status: int) -> bytes:
    phrase, body = _TEXT[status][0], _body(status)
    head = (
        f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


class _Connection(Protocol):
    """What both of uvicorn's protocols offer and the guard needs."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    app: ASGIApp
    cycle: Any
    connections: set[Any]


class _Guard:
    """The bounds of one connection; it never sees the content of a request."""

    __slots__ = ("_connection", "_timer", "refused")

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._timer: asyncio.TimerHandle | None = None
        self.refused = False

    def made(self, transport: asyncio.Transport) -> None:
        connection = self._connection
        if len(connection.connections) > CONNECTIONS_MAX:
            self.refused = True
            transport.abort()
            return
        found = transport.get_extra_info("socket")
        connection.app = _with_peer(connection.app, None if found is None else peer_of(found))
        self._arm()

    def fed(self) -> None:
        """After each piece of input: the clock runs exactly while a request's head is awaited but incomplete."""
        cycle = self._connection.cycle
        if cycle is not None and not cycle.response_complete:
            self.disarm()
        elif self._timer is None:
            self._arm()

    def refuse(self, status: int) -> None:
        self.disarm()
        transport = self._connection.transport
        if not self.refused and not transport.is_closing():
            self.refused = True
            transport.write(_problem(status))
            transport.close()

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self._timer = self._connection.loop.call_later(HEAD_TIMEOUT_S, self.refuse, 408)


def _with_peer(app: ASGIApp, peer: Peer | None) -> ASGIApp:
    async def known(scope: Scope, receive: Receive, send: Send) -> None:
        # the portable parser bounds a head only while it is incomplete: one that came in one piece is counted here
        size = len(scope["raw_path"]) + sum(len(name) + len(value) for name, value in scope["headers"])
        if size > HEAD_MAX or len(scope["headers"]) > HEADERS_MAX:
            await _too_large(send)
            return
        scope.setdefault("extensions", {})[EXTENSION] = peer
        await app(scope, receive, send)

    return known


async def _too_large(send: Send) -> None:
    body = _body(431)
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 431, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Guarded(asyncio.Protocol):
    """Either of uvicorn's protocols with its guard, which hears of the connection, each piece of input and the end."""

    _guard: _Guard

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self._guard.made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._guard.refused:
            super().data_received(data)
            self._guard.fed()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's signature
        self._guard.refuse(400)


class GuardedHttpTools(_Guarded, HttpToolsProtocol):
    """The fast one. llhttp bounds neither the size nor the number of headers, so they are counted here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard = _Guard(self)
        self._head = 0

    def on_message_begin(self) -> None:
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._fits(len(url)):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._fits(len(name) + len(value)):
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._guard.refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._guard.refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._guard.refused:
            super().on_message_complete()

    def _fits(self, size: int) -> bool:
        self._head += size
        if self._head > HEAD_MAX or len(self.headers) >= HEADERS_MAX:
            self._guard.refuse(431)
        return not self._guard.refused


class GuardedH11(_Guarded, H11Protocol):
    """The portable one; h11 itself bounds the head (`Config(h11_max_incomplete_event_size=HEAD_MAX)`)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard = _Guard(self)
