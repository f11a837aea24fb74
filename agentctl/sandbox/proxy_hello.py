"""What a TLS client asks for, read from its ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3).

The address of a permitted host may serve a thousand others (a content network), and which one is meant stands in the
hello only: it must name the permitted host, in the clear. What follows the handshake is encrypted and not seen: a
client can still name another host in an HTTP header inside, and it is the server's to refuse that.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from agentctl.sandbox.proxy_hosts import canonical, is_address, shown

__all__ = [
    "ALERT",
    "SERVER_START",
    "HelloError",
    "check_hello",
    "read_hello",
    "read_second_hello",
    "wants_second_hello",
]

# fatal, unrecognized_name: what a server says that does not serve this name
ALERT: Final = bytes((21, 3, 3, 0, 2, 2, 112))
SERVER_START: Final = 43  # bytes of the server's first record up to the end of `random`
_MAX_HELLO: Final = 64 * 1024
_MAX_RECORD: Final = 1 << 14
_CHANGE_CIPHER, _ALERT, _HANDSHAKE, _DATA = 20, 21, 22, 23
_CLIENT_HELLO, _SERVER_HELLO = 1, 2
_SERVER_NAME: Final = 0
# Encrypted ClientHello (RFC 9849) and its forerunner: they carry a name that cannot be read
_HIDDEN_NAME: Final = frozenset({0xFE0D, 0xFFCE})
# RFC 8446 section 4.1.3: the `random` by which a ServerHello is a HelloRetryRequest
_RETRY: Final = bytes.fromhex("CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C")


class HelloError(Exception):
    """It is no hello, or not one for the permitted host. `named` is the server that it names, where it names one."""

    def __init__(self, detail: str, *, named: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.named = named


class _Bytes:
    """A cursor over a vector of the presentation language; running over its end is an error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            raise HelloError("the ClientHello is cut short")
        self._at += size
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> "_Bytes":
        return _Bytes(self.take(self.number(size)))

    @property
    def left(self) -> int:
        return len(self._data) - self._at


def check_hello(message: bytes, host: str) -> None:
    """Raise HelloError unless this handshake message names `host` and hides no other name."""
    hello = _Bytes(message)
    if hello.number(1) != _CLIENT_HELLO or hello.number(3) != hello.left:
        raise HelloError("the first message is no ClientHello")
    hello.take(2 + 32)
    hello.vector(1)
    hello.vector(2)
    hello.vector(1)
    named: list[str] = []
    if hello.left:
        extensions = hello.vector(2)
        seen = set()
        while extensions.left:
            kind, content = extensions.number(2), extensions.vector(2)
            if kind in seen:
                raise HelloError("the ClientHello holds an extension twice")
            seen.add(kind)
            if kind in _HIDDEN_NAME:
                raise HelloError("the ClientHello is encrypted (ECH): the server it names cannot be read")
            if kind == _SERVER_NAME:
                named = _names(content)
    if hello.left:
        raise HelloError("the ClientHello goes on behind its extensions")
    # RFC 6066: an address is not sent as a name
    if not (is_address(host) and not named) and [canonical(name) for name in named] != [host]:
        text = shown(named[0]) if named else None
        raise HelloError(f"the ClientHello names {f'`{text}`' if text else 'no server'}", named=text)


def _names(content: _Bytes) -> list[str]:
    entries = content.vector(2)
    names = []
    while entries.left:
        if entries.number(1) != 0:
            raise HelloError("the ClientHello names a server in an unknown way")
        name = entries.vector(2)
        names.append(name.take(name.left).decode("latin-1"))
    if content.left or len(names) != 1:
        raise HelloError("the ClientHello does not name one server")
    return names


async def read_hello(reader: asyncio.StreamReader, host: str, begun: bytes = b"") -> bytes:
    """The records of a ClientHello for `host`, as they came. `begun` is what was read of the first record's header.

    Raises HelloError, and IncompleteReadError where the client stops before.
    """
    records, message = bytearray(), bytearray()
    while True:
        head = begun or await reader.readexactly(5)
        begun = b""
        size = int.from_bytes(head[3:], "big")
        if head[0] != _HANDSHAKE or head[1] != 3 or not 0 < size <= _MAX_RECORD:
            raise HelloError("what is sent is not TLS")
        piece = await reader.readexactly(size)
        records += head + piece
        message += piece
        if message[0] != _CLIENT_HELLO:
            raise HelloError("the first message is no ClientHello")
        if len(message) < 4:
            continue
        whole = 4 + int.from_bytes(message[1:4], "big")
        # INVARIANT: nothing follows the hello in its last record, so all that is passed on was read
        if whole > _MAX_HELLO or len(message) > whole:
            raise HelloError("the ClientHello is too long")
        if len(message) == whole:
            check_hello(bytes(message), host)
            return bytes(records)


def wants_second_hello(start: bytes) -> bool:
    """Whether the server, whose first `SERVER_START` bytes these are, asks for another ClientHello."""
    return start[:1] == bytes((_HANDSHAKE,)) and start[5:6] == bytes((_SERVER_HELLO,)) and start[11:43] == _RETRY


async def read_second_hello(reader: asyncio.StreamReader, host: str) -> AsyncIterator[bytes]:
    """What may stand before the second hello (RFC 8446 sections 4.2.10, D.4), record by record, and then the hello.

    Raises as `read_hello`.
    """
    while True:
        head = await reader.readexactly(5)
        size = int.from_bytes(head[3:], "big")
        if head[0] == _HANDSHAKE:
            yield await read_hello(reader, host, head)
            return
        if head[0] not in (_CHANGE_CIPHER, _ALERT, _DATA) or head[1] != 3 or size > _MAX_RECORD + 256:
            raise HelloError("what is sent is not TLS")
        yield head + await reader.readexactly(size)
