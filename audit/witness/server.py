"""The witness on a socket: `POST /add-checkpoint`, and for auditors `GET /` (its key) and `GET /checkpoint/<log>`.

Everything a stranger can use up is bounded: connections, bytes, seconds. Plain HTTP: what is sent is public and
signed; put a proxy that speaks TLS in front where a client asks for it.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from audit.witness.http import MAX_HEAD, HttpError, Request, answer, read_request
from audit.witness.judge import TEXT, Answer, Judge
from audit.witness.request import MAX_BODY, NAME

MAX_CONNECTIONS: Final = 64
REQUEST_S: Final = 10.0
"""For one request to arrive and its answer to be taken, and for a connection to stay silent in between."""
_CHECKPOINT: Final = "/checkpoint/"


async def serve(
    judge: Judge,
    host: str,
    port: int,
    *,
    stop: asyncio.Event,
    ready: Callable[[str, int], None],
    request_s: float = REQUEST_S,
) -> None:
    """Answer until `stop` is set; `ready` is told the address, once somebody can connect. Raises OSError."""
    server = Server(judge, request_s=request_s)
    listener = await asyncio.start_server(server.connected, host, port, limit=MAX_HEAD)
    try:
        ready(*listener.sockets[0].getsockname()[:2])
        await stop.wait()
    finally:
        listener.close()
        await server.close()


class Server:
    """The connections of one witness."""

    def __init__(self, judge: Judge, *, request_s: float = REQUEST_S) -> None:
        self._judge = judge
        self._request_s = request_s
        self._tasks: set[asyncio.Task[None]] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= MAX_CONNECTIONS:
            writer.write(_refuse(HTTPStatus.SERVICE_UNAVAILABLE))
            writer.close()
            return
        self._tasks.add(task)
        try:
            while await self._turn(reader, writer):
                pass
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the client is gone or too slow, or the witness ends: nobody is left to tell
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        """End all connections; a request that is being judged is judged to its end, and remembered."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _turn(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        async with asyncio.timeout(self._request_s):
            try:
                request = await read_request(reader, writer, max_body=MAX_BODY)
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


def _refuse(status: HTTPStatus) -> bytes:
    return answer(status, TEXT, f"{status.phrase}\n", lasting=False)
