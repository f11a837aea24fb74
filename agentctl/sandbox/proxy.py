"""The one way out of a confined call: a proxy that leads to the hosts of its receipt and to nothing else.

It speaks CONNECT (TLS only) and plain HTTP by absolute URL, one request a connection. It runs in agentctl, outside the
sandbox; the child has no more than a connection to its listening socket. Names are looked up here, once a call and only
names that the receipt permits: a look-up is itself a message. A name leads to public addresses only, as in the HTTP
tool. Nothing of it outlives `close`.

What it cannot see: what is said inside TLS. A permitted host can be told anything, and a server for many sites may
answer for another one of them.
"""

import asyncio
import os
import select
import socket
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from agentctl.sandbox.proxy_hosts import Hosts
from agentctl.sandbox.proxy_note import Note
from agentctl.sandbox.proxy_outside import Outside, SystemOutside
from agentctl.sandbox.proxy_relay import Limits, cancelled
from agentctl.sandbox.proxy_session import Session
from shield.types import HostFact

__all__ = ["Limits", "Outside", "Proxy", "SystemOutside"]

_PAUSE_S: Final = 0.05  # when no connection can be taken


class Proxy:
    """Serves on `listener` from `start` to `close`, in a thread of its own; takes the listener over.

    The thread waits without an event loop until somebody connects: most calls never do.
    """

    def __init__(
        self,
        listener: socket.socket,
        allow: Sequence[HostFact],
        outside: Outside | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._listener = listener
        self._hosts = Hosts(allow)
        self._outside = outside or SystemOutside()
        self._limits = limits or Limits()
        self._note = Note()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._wait, name="sandbox-proxy", daemon=True)
        self._closed = False

    def start(self) -> None:
        self._listener.setblocking(False)
        self._thread.start()

    def close(self) -> None:
        """End every connection and the thread. What was refused can be read then. Does nothing the second time."""
        if self._closed:
            return
        self._closed = True
        os.write(self._wake_write, b"\0")
        if self._thread.ident is not None:
            self._thread.join()
        self._listener.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def refused(self) -> tuple[str, ...]:
        """What the child asked for and did not get: the first few, each once, safe to show."""
        return self._note.refused

    @property
    def note(self) -> str | None:
        """For the call's note, None where there is nothing to say."""
        return self._note.text

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        poll.register(self._listener, select.POLLIN)
        if any(descriptor == self._wake_read for descriptor, _ in poll.poll()):
            return
        # a loop of our own kind, whatever policy the program runs under
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_silent)
        over = asyncio.Event()
        loop.add_reader(self._wake_read, over.set)
        session = Session(self._hosts, self._outside, self._limits, self._note)
        accepting = asyncio.ensure_future(self._accept(session))
        await over.wait()
        loop.remove_reader(self._wake_read)
        await cancelled([accepting])

    async def _accept(self, session: Session) -> None:
        loop = asyncio.get_running_loop()
        # INVARIANT: no more connections than the limit are held; the next ones wait in the kernel's queue
        free = asyncio.Semaphore(self._limits.connections)
        calls: set[asyncio.Task[None]] = set()

        async def serve(client: socket.socket) -> None:
            try:
                await session.serve(client)
            finally:
                free.release()

        try:
            for _ in range(self._limits.accepted):
                await free.acquire()
                try:
                    client, _ = await loop.sock_accept(self._listener)
                except OSError:  # out of descriptors, or it went away while it waited
                    free.release()
                    await asyncio.sleep(_PAUSE_S)
                    continue
                task = asyncio.ensure_future(serve(client))
                calls.add(task)
                task.add_done_callback(calls.discard)
            self._note.stop(f"this call may open {self._limits.accepted} connections")
            self._listener.close()
            await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await cancelled(list(calls))


def _silent(_loop: asyncio.AbstractEventLoop, _context: Mapping[str, Any]) -> None:
    """A connection's trouble is nobody's news; it was refused or has ended."""
