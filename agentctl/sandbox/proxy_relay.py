"""Passing bytes on between a client of the proxy and the server it may reach, within the limits of the call."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from agentctl.sandbox.proxy_hello import SERVER_START, read_hello, read_second_hello, wants_second_hello
from agentctl.sandbox.proxy_note import Note
from agentctl.sandbox.proxy_request import Request, read_body

__all__ = ["GONE", "Budget", "Ends", "Limits", "cancelled", "forward", "opened", "tunnel"]

CHUNK: Final = 1 << 16
# One side went away, stood still or met a limit: so does the other.
GONE: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, EOFError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one call. Seconds and bytes; `up` is what the child sends, `down` what it is sent, over all connections."""

    connections: int = 64  # at a time
    accepted: int = 20_000  # in all
    head_s: float = 10.0  # until a request's head or a ClientHello is complete
    connect_s: float = 15.0  # for the look-up, and for each address
    idle_s: float = 120.0  # without a byte either way
    up: int = 64 * 1024 * 1024
    down: int = 8 * 1024 * 1024 * 1024


class Budget:
    """What may still pass in this call."""

    def __init__(self, limits: Limits, note: Note) -> None:
        self._limits = limits
        self._up = limits.up
        self._down = limits.down
        self._note = note

    def take_up(self, size: int) -> None:
        """Raises EOFError where it is spent."""
        self._up -= size
        if self._up < 0:
            self._note.stop(f"this call may send {self._limits.up} bytes")
            raise EOFError

    def take_down(self, size: int) -> None:
        """Raises EOFError where it is spent."""
        self._down -= size
        if self._down < 0:
            self._note.stop(f"this call may receive {self._limits.down} bytes")
            raise EOFError


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@asynccontextmanager
async def opened(connected: socket.socket, limit: int, limits: Limits) -> AsyncIterator[Ends]:
    """A socket's two ends. At the end what was written is sent, unless the other side does not take it in time."""
    ends = Ends(*await asyncio.open_connection(sock=connected, limit=limit))
    try:
        yield ends
        async with asyncio.timeout(limits.head_s):
            ends.writer.close()
            await ends.writer.wait_closed()
    finally:
        ends.writer.transport.abort()


async def forward(request: Request, client: Ends, server: Ends, budget: Budget, limits: Limits) -> None:
    """One request of plain HTTP and its answer. Raises RefusedError and what GONE names."""
    async with asyncio.timeout(limits.idle_s) as idle:
        passing = _Passing(budget, idle, limits)

        async def ask() -> None:
            await passing.up(server.writer, request.head)
            if request.waits and request.length != 0:
                client.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            async for piece in read_body(client.reader, request):
                await passing.up(server.writer, piece)

        # INVARIANT: what a client sends after its request goes nowhere. A server may answer before it has all of it.
        await _both(ask(), passing.answer(server.reader, client.writer), second_ends=True)


async def tunnel(request: Request, client: Ends, server: Ends, budget: Budget, limits: Limits) -> None:
    """TLS to the host of the request. Raises HelloError and what GONE names."""
    client.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    # 1. the hello names the host that was judged
    async with asyncio.timeout(limits.head_s):
        hello = await read_hello(client.reader, request.host)
    async with asyncio.timeout(limits.idle_s) as idle:
        passing = _Passing(budget, idle, limits)
        await passing.up(server.writer, hello)
        # 2. nothing more of the client until the server has said whether it wants another hello
        start = await _start(server.reader)
        await passing.down(client.writer, start)

        async def ask() -> None:
            # 3. the second hello is like the first
            if wants_second_hello(start):
                async for piece in read_second_hello(client.reader, request.host):
                    await passing.up(server.writer, piece)
            # 4. the rest, unread
            while piece := await client.reader.read(CHUNK):
                await passing.up(server.writer, piece)
            server.writer.write_eof()

        await _both(ask(), passing.answer(server.reader, client.writer))


class _Passing:
    """Every byte counts against the call's budget, and puts the end of an idle connection off."""

    def __init__(self, budget: Budget, idle: asyncio.Timeout, limits: Limits) -> None:
        self._budget = budget
        self._idle = idle
        self._limits = limits

    async def up(self, server: asyncio.StreamWriter, piece: bytes) -> None:
        self._budget.take_up(len(piece))
        await self._pass(server, piece)

    async def down(self, client: asyncio.StreamWriter, piece: bytes) -> None:
        self._budget.take_down(len(piece))
        await self._pass(client, piece)

    async def answer(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while piece := await server.read(CHUNK):
            await self.down(client, piece)
        client.write_eof()

    async def _pass(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        writer.write(piece)
        await writer.drain()
        self._idle.reschedule(asyncio.get_running_loop().time() + self._limits.idle_s)


async def _start(reader: asyncio.StreamReader) -> bytes:
    """Enough of the server's first record to know what it is; less where the server says less."""
    start = await reader.read(1)
    if start != b"\x16":
        return start
    try:
        return start + await reader.readexactly(SERVER_START - 1)
    except asyncio.IncompleteReadError as error:
        return start + error.partial


async def _both(
    first: Coroutine[None, None, None], second: Coroutine[None, None, None], *, second_ends: bool = False
) -> None:
    """Run both to their end or until one fails; with `second_ends` the end of the second is the end of both."""
    tasks = [asyncio.ensure_future(first), asyncio.ensure_future(second)]
    try:
        waiting = set(tasks)
        while waiting and not (second_ends and tasks[1].done()):
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        await cancelled(tasks)


async def cancelled(tasks: Sequence[asyncio.Future[None]]) -> None:
    """Cancel them and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
