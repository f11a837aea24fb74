"""As much of HTTP/1.1 (RFC 9112) as a witness needs: requests and answers with a length, nothing unbounded."""

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

MAX_HEAD: Final = 16 * 1024
_REQUEST = re.compile(r"([A-Z]{1,16}) (/[!-~]{0,2047}) HTTP/1\.([01])")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_READ: Final = frozenset({"connection", "content-length", "expect", "transfer-encoding"})
_LENGTH = re.compile(r"[0-9]{1,9}")


class HttpError(Exception):
    """A request that is answered with `status` and nothing else; the connection ends."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """Method, target as it was sent, and body; `lasting`: more requests may follow on the connection."""

    method: str
    target: str
    body: bytes
    lasting: bool


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes, *, max_body: int
) -> Request | None:
    """The next request, whose `first` bytes were read already; None where the client hung up before it was complete.

    Raises HttpError."""
    try:
        head = first + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from error
    begin, *lines = head[:-4].decode("latin-1").split("\r\n")
    start, found = _REQUEST.fullmatch(begin), [_HEADER.fullmatch(line) for line in lines]
    headers: dict[str, str] = {}
    for one in found:
        name = "" if one is None else one[1].lower()
        # Twice the same: nobody can know which of them whoever stands between has believed.
        if one is None or (name in _READ and name in headers):
            raise HttpError(HTTPStatus.BAD_REQUEST)
        headers[name] = one[2].strip(" \t")
    if start is None:
        raise HttpError(HTTPStatus.BAD_REQUEST)
    if "transfer-encoding" in headers:
        raise HttpError(HTTPStatus.NOT_IMPLEMENTED)
    length = headers.get("content-length", "0" if start[1] in ("GET", "HEAD") else "")
    if not length:
        raise HttpError(HTTPStatus.LENGTH_REQUIRED)
    if not _LENGTH.fullmatch(length):
        raise HttpError(HTTPStatus.BAD_REQUEST)
    if int(length) > max_body:
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        body = await reader.readexactly(int(length))
    except asyncio.IncompleteReadError:
        return None
    lasting = start[3] == "1" and "close" not in headers.get("connection", "").lower()
    return Request(start[1], start[2], body, lasting)


def answer(status: HTTPStatus, kind: str, content: str, *, lasting: bool) -> bytes:
    """The bytes of an answer."""
    body = content.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"Connection: {'keep-alive' if lasting else 'close'}\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n"
    )
    return head.encode("ascii") + body
