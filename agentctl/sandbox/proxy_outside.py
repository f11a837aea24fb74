"""Names and connections outside the sandbox, for the proxy."""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from agentctl.tools.web import SystemNetwork

__all__ = ["Names", "Outside", "SystemOutside"]


class Outside(Protocol):
    """The way out: passed in, so that tests can lead a name anywhere."""

    def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a name, literal, in the order to try. May block: it is given a thread. Raises OSError."""
        ...

    async def connect(self, address: str, port: int) -> socket.socket:
        """A connected stream that does not block. Raises OSError; ends at once when it is cancelled."""
        ...


class SystemOutside:
    """The machine's resolver and sockets."""

    def resolve(self, host: str, port: int) -> list[str]:
        return SystemNetwork().resolve(host, port)

    async def connect(self, address: str, port: int) -> socket.socket:
        stream = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            stream.setblocking(False)
            await asyncio.get_running_loop().sock_connect(stream, (address, port))
        except BaseException:
            stream.close()
            raise
        return stream


class Names:
    """INVARIANT: a name that was found is not looked up again in this call: a second answer of the DNS changes nothing.

    A look-up that is waited for no longer goes on; it is taken up again by who asks for the same name.
    """

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._asked: dict[str, asyncio.Future[list[str]]] = {}

    async def find(self, host: str, port: int) -> list[str]:
        """Raises OSError or UnicodeError where the name is not known."""
        pending = self._asked.get(host)
        if pending is None or (pending.done() and pending.exception() is not None):
            pending = self._asked[host] = _in_thread(lambda: self._outside.resolve(host, port))
        return await asyncio.shield(pending)


def _in_thread(work: Callable[[], list[str]]) -> asyncio.Future[list[str]]:
    """The result of a call that may block for long. Its thread holds nothing, and nobody waits for it at the end."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str], error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(found)

    def run() -> None:
        found: list[str] = []
        error: Exception | None = None
        try:
            found = work()
        except (OSError, UnicodeError) as caught:
            error = caught
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, found, error)

    threading.Thread(target=run, name="sandbox-look-up", daemon=True).start()
    return future
