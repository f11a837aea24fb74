"""From a client's first byte to a connection with a host of the receipt, or to a refusal that says why."""

import asyncio
import socket
from contextlib import suppress
from typing import Final

from agentctl.sandbox.proxy_hello import ALERT, HelloError
from agentctl.sandbox.proxy_hosts import Hosts, is_address
from agentctl.sandbox.proxy_note import Note
from agentctl.sandbox.proxy_outside import Names, Outside
from agentctl.sandbox.proxy_relay import CHUNK, GONE, Budget, Ends, Limits, forward, opened, tunnel
from agentctl.sandbox.proxy_request import MAX_HEAD, RefusedError, Request, read_request
from agentctl.tools.addresses import permitted_addresses
from shield.types import HostFact

__all__ = ["Session"]

_LISTED: Final = 8  # permitted hosts that a refusal names
_LINGER_S: Final = 1.0


class Session:
    """What the connections of one call share: the hosts and where they lead, and how much has passed."""

    def __init__(self, hosts: Hosts, outside: Outside, limits: Limits, note: Note) -> None:
        self._hosts = hosts
        self._outside = outside
        self._names = Names(outside)
        self._limits = limits
        self._budget = Budget(limits, note)
        self._note = note

    async def serve(self, connected: socket.socket) -> None:
        """One connection, from its first byte to its last; takes the socket over."""
        with connected, suppress(*GONE):
            async with opened(connected, MAX_HEAD, self._limits) as client:
                try:
                    await self._answer(client)
                except RefusedError as error:
                    await self._refuse(client, error)

    async def _answer(self, client: Ends) -> None:
        # 1. what is asked for, in one reading
        async with asyncio.timeout(self._limits.head_s):
            request = await read_request(client.reader)
        if request is None:
            return
        # 2. the receipt names it
        fact = self._hosts.find(request.host, request.port, secure=request.tunnel)
        if fact is None:
            raise self._denied(request)
        # 3. it leads where such a host may lead
        connected = await self._connect(fact, request)
        # 4. what is said goes to that host
        async with opened(connected, CHUNK, self._limits) as server:
            if not request.tunnel:
                await forward(request, client, server, self._budget, self._limits)
                return
            try:
                await tunnel(request, client, server, self._budget, self._limits)
            except HelloError as error:
                why = f"as {error.named}" if error.named is not None else f"({error.detail})"
                self._note.refuse(f"{request.target} {why}")
                client.writer.write(ALERT)

    def _denied(self, request: Request) -> RefusedError:
        """What is not permitted, and what to do."""
        names = self._hosts.names()
        if self._hosts.find(request.host, request.port, secure=not request.tunnel) is not None:
            why = f"`{request.target}` may only be reached by {'http' if request.tunnel else 'https'}"
        elif names:
            listed = ", ".join(f"`{name}`" for name in names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
            why = f"this command may not reach `{request.target}`; it was allowed to reach {listed}"
        else:
            why = f"this command may not reach `{request.target}`; it was allowed no host"
        advice = "name the url in the command itself, so that it can be judged, or ask the user"
        return RefusedError(403, "Host not permitted", f"{why}; {advice}", target=request.target)

    async def _connect(self, fact: HostFact, request: Request) -> socket.socket:
        found = [request.host]
        if not is_address(request.host):
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    found = await self._names.find(request.host, request.port)
            except (OSError, UnicodeError):
                detail = f"`{request.host}` is not known to the name service"
                raise RefusedError(502, "Host not found", detail) from None
        addresses = permitted_addresses(fact.ip_class, found)
        if not addresses:
            raise RefusedError(
                403,
                "Host not permitted",
                f"`{request.host}` leads to an address that was not judged; a name may only lead to public addresses",
                target=f"{request.target} at an address that is not public",
            )
        why = ""
        for address in addresses:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    return await self._outside.connect(address, request.port)
            except OSError as error:
                why = error.strerror or "no answer in time"
        raise RefusedError(502, "No connection", f"no connection to `{request.target}`: {why}")

    async def _refuse(self, client: Ends, error: RefusedError) -> None:
        if error.target is not None:
            self._note.refuse(error.target)
        body = f"agentctl's sandbox: {error.detail}\n".encode()
        head = (
            f"HTTP/1.1 {error.status} {error.reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        client.writer.write(head.encode() + body)
        client.writer.write_eof()
        # what is still coming is read, or the kernel would throw the answer away with it
        async with asyncio.timeout(_LINGER_S):
            while await client.reader.read(CHUNK):
                pass
