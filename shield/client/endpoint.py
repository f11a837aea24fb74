"""Where Shield is, and whether it is safe to talk to what is there."""

import ipaddress
import os
import socket
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shield.client.peer import peer_of
from shield.errors import ClientError, Reason

if TYPE_CHECKING:
    import httpx

__all__ = ["Endpoint", "agent_token", "async_transport", "base_url", "check_peer", "headers", "probe", "transport"]

_SOCKET_MAX = 107  # sun_path of unix(7), less the NUL
_TOKEN_MAX = 4096
_PROBE_S = 5.0
_RENEW = "`shield init --new-tokens`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where Shield listens: exactly one of a Unix socket's absolute path and an `http://` loopback address."""

    socket: Path | None = None
    url: str | None = None

    def check(self) -> None:
        """Raise ClientError (`service.unreachable`, `service.impostor`) unless it is safe to talk to."""
        if (self.socket is None) == (self.url is None):
            raise ClientError("name one socket or one address of Shield")
        if self.socket is not None:
            _check_socket(self.socket)
        elif self.url is not None:
            _check_loopback(self.url)


def agent_token(home: Path) -> str:
    """The agent's token of the Shield with this home: one line of a file that only its owner can read.

    Raises ClientError: `service.unreachable` where no Shield was ever begun there, which the next start makes good;
    `auth.missing` where it is gone or cannot be read, `auth.invalid` where it is a link, someone else's or open to
    others.
    """
    path = home / "tokens" / "agent.token"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.path.lexists(path.with_name("tokens.json")):
            raise ClientError(f"there is no agent token `{path}` yet; start Shield once") from None
        raise _no_token(path, error) from None
    try:
        entry = os.fstat(descriptor)
        if not stat.S_ISREG(entry.st_mode) or entry.st_uid != os.geteuid() or entry.st_mode & 0o077:
            raise ClientError(
                f"`{path}` is not a file of yours alone; make it 0600, or delete it and run {_RENEW}",
                reason=Reason.AUTH_INVALID,
            )
        token = os.read(descriptor, _TOKEN_MAX).strip()
    except OSError as error:
        raise _no_token(path, error) from None
    finally:
        os.close(descriptor)
    if not token or not token.isascii():
        raise ClientError(f"`{path}` holds no token; make a new one with {_RENEW}", reason=Reason.AUTH_INVALID)
    return token.decode("ascii")


def _no_token(path: Path, error: OSError) -> ClientError:
    return ClientError(
        f"the agent token `{path}` cannot be read ({error.strerror}); make a new one with {_RENEW}",
        reason=Reason.AUTH_MISSING,
    )


def probe(endpoint: Endpoint) -> None:
    """Raise ClientError unless a connection is taken there. Nothing is sent: no token is needed to find out."""
    endpoint.check()
    try:
        if endpoint.socket is not None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(_PROBE_S)
                connection.connect(str(endpoint.socket))
                check_peer(connection)
        else:
            parts = urlsplit(base_url(endpoint))
            socket.create_connection((parts.hostname or "", parts.port or 80), _PROBE_S).close()
    except OSError as error:
        where = endpoint.socket or endpoint.url
        raise ClientError(f"no Shield answers at `{where}` ({error}); start one with `shield serve`") from None


def _check_socket(path: Path) -> None:
    if not path.is_absolute() or len(os.fsencode(path)) > _SOCKET_MAX:
        raise ClientError(f"the socket path `{path}` is relative or longer than {_SOCKET_MAX} bytes; move the home")
    try:
        entry, folder = os.lstat(path), os.stat(path.parent)
    except OSError as error:
        raise ClientError(f"no Shield at `{path}` ({error.strerror}); start one with `shield serve`") from None
    ours = os.geteuid()
    if not stat.S_ISSOCK(entry.st_mode) or entry.st_uid != ours or entry.st_mode & 0o077:
        raise ClientError(
            f"`{path}` is not a socket of yours alone; nothing was sent, look who made it",
            reason=Reason.SERVICE_IMPOSTOR,
        )
    if folder.st_uid not in (ours, 0) or folder.st_mode & 0o022:
        raise ClientError(
            f"others can write in `{path.parent}`, so the socket there could be anyone's; make it 0700",
            reason=Reason.SERVICE_IMPOSTOR,
        )


def _check_loopback(url: str) -> None:
    try:
        parts = urlsplit(url)
        safe = parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback and not parts.username
        _ = parts.port
    except ValueError:
        safe = False
    if not safe:
        raise ClientError(
            f"`{url}` is not an `http://` address on the loopback interface, such as http://127.0.0.1:8470"
        )


def check_peer(connection: socket.socket, platform: str = sys.platform) -> None:
    """Raise ConnectionRefusedError unless a process of this user listens at the other end, as the kernel says.

    The file's owner says who bound it, this says who answers; it is looked at before a byte is sent.
    """
    peer = peer_of(connection, platform)
    if peer is None or peer.uid != os.geteuid():
        raise ConnectionRefusedError("another user's process listens there")


def transport(endpoint: Endpoint) -> "httpx.HTTPTransport":
    """A transport without TLS, proxies or environment, to a peer of ours, that leaves no socket behind on failure."""
    import httpcore
    import httpx
    from httpcore._backends.sync import SyncStream  # its own stream over a connected socket; nothing public makes one

    if endpoint.socket is None:
        return httpx.HTTPTransport(verify=False, trust_env=False)

    class Backend(httpcore.SyncBackend):
        """httpcore's own does not close the socket when connect(2) fails."""

        def connect_unix_socket(
            self, path: str, timeout: float | None = None, socket_options: Any = None
        ) -> httpcore.NetworkStream:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.settimeout(timeout)
                for option in socket_options or ():
                    connection.setsockopt(*option)
                connection.connect(path)
                check_peer(connection)
            except OSError as error:
                connection.close()
                kind = httpcore.ConnectTimeout if isinstance(error, TimeoutError) else httpcore.ConnectError
                raise kind(str(error)) from error
            return SyncStream(connection)

    class Transport(httpx.HTTPTransport):
        def __init__(self, uds: str) -> None:
            super().__init__(uds=uds, verify=False, trust_env=False)
            self._pool = httpcore.ConnectionPool(uds=uds, network_backend=Backend())

    return Transport(str(endpoint.socket))


def async_transport(endpoint: Endpoint) -> "httpx.AsyncHTTPTransport":
    """The same for an event loop."""
    import httpcore
    import httpx

    if endpoint.socket is None:
        return httpx.AsyncHTTPTransport(verify=False, trust_env=False)

    class Backend(httpcore.AnyIOBackend):
        async def connect_unix_socket(
            self,
            path: str,
            timeout: float | None = None,  # noqa: ASYNC109  # httpcore's signature
            socket_options: Any = None,
        ) -> httpcore.AsyncNetworkStream:
            stream = await super().connect_unix_socket(path, timeout, socket_options)
            try:
                check_peer(stream.get_extra_info("socket"))
            except OSError as error:
                await stream.aclose()
                raise httpcore.ConnectError(str(error)) from error
            return stream

    class Transport(httpx.AsyncHTTPTransport):
        def __init__(self, uds: str) -> None:
            super().__init__(uds=uds, verify=False, trust_env=False)
            self._pool = httpcore.AsyncConnectionPool(uds=uds, network_backend=Backend())

    return Transport(str(endpoint.socket))


def base_url(endpoint: Endpoint) -> str:
    return endpoint.url if endpoint.url is not None else "http://localhost"


def headers(token: str) -> dict[str, str]:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ClientError("the token is empty or not printable; read it again", reason=Reason.AUTH_INVALID)
    return {"Authorization": f"Bearer {token}", "Accept": "application/json", "Accept-Encoding": "identity"}
