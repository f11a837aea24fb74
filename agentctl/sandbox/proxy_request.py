"""One request to the proxy, read strictly: what two programs could read differently is refused.

Nothing of the client's head is passed on as it came. The head is taken apart and written again, the body is framed by
us, so that what the server reads is what was checked (request smuggling).
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from agentctl.sandbox.proxy_hosts import authority, shown, spelled

__all__ = ["MAX_HEAD", "RefusedError", "Request", "read_body", "read_request"]

MAX_HEAD: Final = 32 * 1024  # bytes, up to and with the empty line
_MAX_HEADERS: Final = 128
_CHUNK: Final = 1 << 16
_LINE: Final = re.compile(rb"([A-Z]{3,16}) ([\x21-\x7e]+) HTTP/1\.([01])")
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.1
_VALUE: Final = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 section 5.5
_ABSOLUTE: Final = re.compile(r"[Hh][Tt][Tt][Pp]://([^/?#]*)((?:/[^#]*)?|\?[^#]*)")
_LENGTH: Final = re.compile(rb"[0-9]{1,15}")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
# RFC 9110 section 7.6.1, and what frames or steers the message: ours to say.
_OURS: Final = frozenset(
    {
        b"connection",
        b"content-length",
        b"expect",
        b"host",
        b"http2-settings",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


class RefusedError(Exception):
    """The client is not served. `target` is what it wanted, where that belongs in the call's note."""

    def __init__(self, status: int, reason: str, detail: str, *, target: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.detail = detail
        self.target = target


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`head` is what the server is sent; `length` is the body's, None where it comes in chunks.

    `tunnel`: the client wants a connection (CONNECT), and there is no head. `waits`: it sends its body when told to.
    """

    tunnel: bool
    host: str
    port: int
    head: bytes = b""
    length: int | None = 0
    waits: bool = False

    @property
    def target(self) -> str:
        return spelled(self.host, self.port)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The request at the start of a connection; None where the client went away. Raises RefusedError."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise _bad("the request ends in its head") from None
    except asyncio.LimitOverrunError:
        raise RefusedError(431, "Head too large", f"the head has more than {MAX_HEAD} bytes") from None
    if len(raw) > MAX_HEAD:
        raise RefusedError(431, "Head too large", f"the head has more than {MAX_HEAD} bytes")
    line, *lines = raw[:-4].split(b"\r\n")
    found = _LINE.fullmatch(line)
    if found is None:
        raise _bad("the request line is not `METHOD target HTTP/1.1`")
    method, target, version = found[1].decode(), found[2].decode(), found[3]
    headers = _headers(lines)
    if method == "CONNECT":
        return _tunnel(target, headers)
    return _forward(method, target, headers, newer=version == b"1")


def _headers(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    if len(lines) > _MAX_HEADERS:
        raise RefusedError(431, "Head too large", f"there are more than {_MAX_HEADERS} headers")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _bad("a header is not `name: value` on one line")
        headers.append((name.lower(), value.strip(b" \t")))
    return headers


def _tunnel(target: str, headers: list[tuple[bytes, bytes]]) -> Request:
    place = authority(target, None)
    if place is None:
        raise _unclear(target)
    _same_host(place, headers, place[1], required=False)
    # a body of CONNECT has no meaning (RFC 9110 section 9.3.6): some would read it as the tunnel's first bytes
    if _values(headers, b"content-length") not in ([], [b"0"]) or _values(headers, b"transfer-encoding"):
        raise _bad("CONNECT has no body")
    return Request(tunnel=True, host=place[0], port=place[1])


def _forward(method: str, target: str, headers: list[tuple[bytes, bytes]], *, newer: bool) -> Request:
    if method not in _METHODS:
        raise RefusedError(405, "Method not allowed", f"use {', '.join(_METHODS)} or CONNECT")
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        raise _bad("this is a proxy: ask for `http://host/path`, or CONNECT to host:443 for https")
    place = authority(found[1], 80)
    if place is None:
        raise _unclear(found[1])
    host, port = place
    _same_host(place, headers, 80, required=newer)
    length = _framing(headers, newer=newer)
    path = found[2] if found[2].startswith("/") else "/" + found[2]
    named = {token.strip().lower() for value in _values(headers, b"connection") for token in value.split(b",")}
    kept = [
        (name, value)
        for name, value in headers
        if name not in _OURS and name not in named and not name.startswith(b"proxy-")
    ]
    own = [(b"host", (spelled(host, port) if port != 80 else spelled(host, port).removesuffix(":80")).encode())]
    own.append((b"connection", b"close"))
    if length is None:
        own.append((b"transfer-encoding", b"chunked"))
    elif length or method in ("POST", "PUT", "PATCH"):
        own.append((b"content-length", str(length).encode()))
    lines = [f"{method} {path} HTTP/1.1".encode(), *(name + b": " + value for name, value in own + kept)]
    return Request(
        tunnel=False,
        host=host,
        port=port,
        head=b"\r\n".join(lines) + b"\r\n\r\n",
        length=length,
        waits=newer and [value.lower() for value in _values(headers, b"expect")] == [b"100-continue"],
    )


def _same_host(place: tuple[str, int], headers: list[tuple[bytes, bytes]], default: int, *, required: bool) -> None:
    """RFC 9112 section 3.2: one Host, and the one that is asked for; a shared server would answer for another."""
    values = _values(headers, b"host")
    if not values and not required:
        return
    if len(values) != 1:
        raise _bad("there must be one Host header")
    named = authority(values[0].decode("latin-1"), default)
    if named != place:
        text = values[0].decode("latin-1")
        raise RefusedError(
            403,
            "Host differs from the target",
            f"the Host header names `{shown(text)}`, the request goes to `{spelled(*place)}`",
            target=f"{spelled(*place)} as {shown(text)}",
        )


def _framing(headers: list[tuple[bytes, bytes]], *, newer: bool) -> int | None:
    """Length of the body, None where it is chunked. RFC 9112 section 6, without what it merely tolerates."""
    lengths, codings = _values(headers, b"content-length"), _values(headers, b"transfer-encoding")
    if codings:
        if lengths or len(codings) != 1 or codings[0].lower() != b"chunked" or not newer:
            raise _bad("the body's length is said in more than one way")
        return None
    if not lengths:
        return 0
    if len(lengths) != 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _bad("the body's length is not one number")
    return int(lengths[0])


async def read_body(reader: asyncio.StreamReader, request: Request) -> AsyncIterator[bytes]:
    """The body in pieces as the server is sent them: exactly as long as the head says. Raises RefusedError, and
    IncompleteReadError where the client stops before."""
    if request.length is not None:
        left = request.length
        while left:
            piece = await reader.read(min(left, _CHUNK))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield piece
        return
    while size := await _chunk_size(reader):
        left = size
        while left:
            piece = await reader.read(min(left, _CHUNK))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield b"%x\r\n%b\r\n" % (len(piece), piece)
        if await reader.readexactly(2) != b"\r\n":
            raise _bad("a chunk does not end where it says")
    if await reader.readexactly(2) != b"\r\n":
        raise _bad("trailers are not passed on")
    yield b"0\r\n\r\n"


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    try:
        found = _CHUNK_SIZE.fullmatch(await reader.readuntil(b"\r\n"))
    except asyncio.LimitOverrunError:
        found = None
    if found is None:
        raise _bad("a chunk's size is not one hexadecimal number")
    return int(found[1], 16)


def _values(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _bad(detail: str) -> RefusedError:
    return RefusedError(400, "Request not understood", detail)


def _unclear(text: str) -> RefusedError:
    return RefusedError(
        403,
        "Host not permitted",
        f"`{shown(text)}` is no host and port that can be compared with those permitted",
        target=shown(text),
    )
