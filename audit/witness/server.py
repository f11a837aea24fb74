"""The witness on a socket: `POST /add-checkpoint`, and for auditors `GET /` (its key) and `GET /checkpoint/<log>`.

Everything a stranger can use up is bounded: connections, in all and from one address, bytes, seconds. Plain HTTP: what
is sent is public and signed; put a proxy that speaks TLS in front where a client asks for it.
"""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from audit.witness.http import MAX_HEAD, HttpError, Request, answer, read_request
from audit.witness.judge import TEXT, Answer, Judge
from audit.witness.request import MAX_BODY, NAME

MAX_CONNECTIONS: Final = 64
PER_ADDRESS: Final = 16
"""Connections from one address, or from one /64 of IPv6, which is one customer's (RFC 6177); behind a proxy all are
from one."""
REQUEST_S: Final = 10.0
"""For one request to arrive, once its first byte has, and for its answer to be taken."""
SILENT_S: Final = 2.0
"""For a connection to say nothing, before its first request and between two."""
_CHECKPOINT: Final = "/checkpoint/"


async def serve(
    judge: Judge,
    host: str,
    port: int,
    *,
    stop: asyncio.Event,
    ready: Callable[[str, int], None],
    request_s: float = REQUEST_S,
    silent_s: float = SILENT_S,
) -> None:
    """Answer until `stop` is set; `ready` is told the address, once somebody can connect. Raises OSError."""
    server = Server(judge, request_s=request_s, silent_s=silent_s)
    listener = await asyncio.start_server(server.connected, host, port, limit=MAX_HEAD)
    try:
        ready(*listener.sockets[0].getsockname()[:2])
        await stop.wait()
    finally:
        listener.close()
        await server.close()


class Server:
    """The connections of one witness."""

    def __init__(self, judge: Judge, *, request_s: float = REQUEST_S, silent_s: float = SILENT_S) -> None:
        self._judge = judge
        self._request_s = request_s
        self._silent_s = silent_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._from: Counter[str] = Counter()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        # no name, where the client was gone before it could be asked for
        peer = counted_as((writer.get_extra_info("peername") or ("",))[0])
        if len(self._tasks) >= MAX_CONNECTIONS or self._from[peer] >= PER_ADDRESS:
            writer.write(_refuse(HTTPStatus.SERVICE_UNAVAILABLE))
            writer.close()
            return
        self._tasks.add(task)
        self._from[peer] += 1
        try:
            while await self._turn(reader, writer):
                pass
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the client is gone or too slow, or the witness ends: nobody is left to tell
        finally:
            self._tasks.discard(task)
            self._from[peer] -= 1
            if not self._from[peer]:
                del self._from[peer]
            writer.close()

    async def close(self) -> None:
        """End all connections; a request that is being judged is judged to its end, and remembered."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _turn(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        async with asyncio.timeout(self._silent_s):
            first = await reader.read(1)
        if not first:
            return False
        async with asyncio.timeout(self._request_s):
            try:
                request = await read_request(reader, writer, first, max_body=MAX_BODY)
            except HttpError as error:
                writer.write(_refuse(error.status))
                await writer.drain()
                return False
        if request is None:
            return False
        found = await self._answer(request)
        async with asyncio.timeout(self._request_s):
            writer.write(answer(found.status, found.kind, found.text, lasting=request.lasting))
            await writer.drain()
        return request.lasting

    async def _answer(self, request: Request) -> Answer:
        if request.target == f"/{NAME}":
            if request.method != "POST":
                return Answer(HTTPStatus.METHOD_NOT_ALLOWED, "POST a checkpoint here\n")
            # In a thread: a slow disk holds up those who wait for it and nobody else. Shielded: a connection that ends
            # must not leave it open whether the memory changed.
            return await asyncio.shield(asyncio.to_thread(self._judge.add_checkpoint, request.body))
        note = None
        if request.target == "/":
            note = f"{self._judge.key.verifier.line()}\n"
        elif request.target.startswith(_CHECKPOINT):
            note = self._judge.newest(request.target.removeprefix(_CHECKPOINT))
        if note is None:
            return Answer(HTTPStatus.NOT_FOUND, "not found\n")
        if request.method != "GET":
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, "only to be read\n")
        return Answer(HTTPStatus.OK, note)


def counted_as(host: str) -> str:
    """Whose a connection from the address `host` is, as far as connections are counted."""
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ipaddress.AddressValueError:
        return host
    return str(address.ipv4_mapped or ipaddress.IPv6Network((int(address), 64), strict=False))


def _refuse(status: HTTPStatus) -> bytes:
    return answer(status, TEXT, f"{status.phrase}\n", lasting=False)
