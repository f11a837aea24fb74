"""The HTTP tool: one request to one judged host, over a socket that was opened to a permitted address.

The name is looked up once and the connection goes to that very address, so a second answer of the DNS changes nothing.
No proxy, cookie, credential file or environment variable takes part. A redirect is not followed: where it leads is
another host to judge, so it is given back to the model as what it is.
"""

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

from agentctl.errors import ToolError
from agentctl.tools.addresses import permitted_addresses
from agentctl.tools.output import MAX_CONTENT, Capture, Digest, Output
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.errors import PermitError
from shield.types import HostFact, Json

__all__ = ["Network", "SystemNetwork", "http_request"]

_T = TypeVar("_T")

TIMEOUT_S: Final = 60.0
REACH_S: Final = 15.0  # for the look-up, and for the connection
MAX_BODY: Final = 16 * 1024 * 1024  # bytes that are read; the rest is left out
_CHUNK: Final = 1 << 16
_METHOD: Final = re.compile(r"[A-Z]{3,16}")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.6.2
# What frames the message or steers the connection is ours to say (request smuggling).
_OURS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_SHOWN: Final = ("content-type", "location", "retry-after", "last-modified", "etag", "allow")


class Network(Protocol):
    """The way out: passed in, so that tests can lead a name anywhere."""

    def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host, literal, in the order to try. Raises OSError."""
        ...

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        """A connected stream. Raises OSError."""
        ...

    def secure(self, stream: socket.socket, host: str) -> socket.socket:
        """TLS over it, with the certificate checked for `host`. Raises OSError."""
        ...


class SystemNetwork:
    """The machine's resolver, sockets and certificate store."""

    def resolve(self, host: str, port: int) -> list[str]:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        return [str(entry[4][0]) for entry in found]

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        return socket.create_connection((address, port), timeout=timeout_s)

    def secure(self, stream: socket.socket, host: str) -> socket.socket:
        return ssl.create_default_context().wrap_socket(stream, server_hostname=host)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    method: str
    parts: SplitResult
    host: str
    port: int
    headers: Mapping[str, str]
    body: bytes | None


def http_request(
    warrant: Warrant, stop: Stop, network: Network, *, clock: Callable[[], float] = time.monotonic
) -> Output:
    """Payload: url; method (GET), headers, body. Raises ToolError, PermitError, CancelledTurnError."""
    request = _request(warrant)
    judged = _judged(warrant, request)
    stop.check()
    deadline = clock() + TIMEOUT_S
    address = _address(judged, request, network, stop)
    try:
        stream = _awaited(
            lambda: network.connect(address, request.port, REACH_S), stop, late=lambda stream: stream.close()
        )
    except OSError as error:
        raise ToolError(f"no connection to `{request.host}`: {error}") from None
    # INVARIANT: the stream is shut at the deadline and on a stop, whatever the other side dribbles; by a descriptor of
    # its own, because TLS takes over the first one
    guard = stream.dup()
    timer = threading.Timer(max(deadline - clock(), 0.0), _shut, (guard,))
    timer.daemon = True
    with guard, stream, stop.waking(lambda: _shut(guard)):
        timer.start()
        try:
            return _exchange(request, network, stream)
        except (OSError, http.client.HTTPException, ValueError) as error:
            stop.check()
            if clock() >= deadline:
                raise ToolError(f"`{request.host}` did not finish its answer within {TIMEOUT_S:g} s") from None
            raise ToolError(f"no answer from `{request.host}`: {type(error).__name__}: {error}") from None
        finally:
            timer.cancel()


def _request(warrant: Warrant) -> _Request:
    url = warrant.text("url")
    method = (warrant.optional_text("method") or "GET").upper()
    if not _METHOD.fullmatch(method) or method == "CONNECT":
        raise ToolError(f"`{method}` is no method; use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
    if not url.isascii() or any(ord(char) <= 0x20 or char in "\\\x7f" for char in url):
        raise ToolError("the url holds blanks, backslashes or characters that are not ASCII; percent-encode them")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ToolError(f"the url cannot be read: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ToolError("only http and https urls with a host are requested")
    if "@" in parts.netloc:
        raise ToolError("a url with a user name or password is not requested; leave that part out")
    body = warrant.payload.get("body")
    if body is not None and not isinstance(body, str):
        raise ToolError("`body` must be text; encode it as the server expects it")
    return _Request(
        method=method,
        parts=parts,
        host=host.rstrip("."),
        port=port if port is not None else (443 if parts.scheme == "https" else 80),
        headers=_headers(warrant.payload.get("headers")),
        body=None if body is None else body.encode("utf-8"),
    )


def _headers(value: Json) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolError("`headers` must be an object of texts")
    headers: dict[str, str] = {}
    for name, text in value.items():
        if not _TOKEN.fullmatch(name) or not isinstance(text, str) or not text.isascii() or not text.isprintable():
            raise ToolError(f"the header `{name}` has a name or value that cannot be sent")
        if name.lower() in _OURS:
            raise ToolError(f"the header `{name}` is set by the tool; leave it out")
        headers[name] = text
    return headers


def _judged(warrant: Warrant, request: _Request) -> HostFact:
    """The host of the receipt that this request goes to: host, port and scheme as they were judged."""
    for fact in warrant.receipt.allow_hosts:
        port = fact.port if fact.port is not None else (443 if fact.scheme == "https" else 80)
        same_host = fact.host.strip("[]").rstrip(".").lower() == request.host.lower()
        if same_host and port == request.port and fact.scheme == request.parts.scheme:
            return fact
    raise PermitError(f"the receipt does not name `{request.host}:{request.port}`; nothing was sent")


def _address(judged: HostFact, request: _Request, network: Network, stop: Stop) -> str:
    try:
        addresses = _awaited(lambda: network.resolve(request.host, request.port), stop)
    except TimeoutError:
        raise ToolError(f"the name service did not answer for `{request.host}` within {REACH_S:g} s") from None
    except (OSError, UnicodeError):
        raise ToolError(f"`{request.host}` is not known to the name service") from None
    allowed = permitted_addresses(judged.ip_class, addresses)
    if not allowed:
        raise ToolError(
            f"`{request.host}` leads to an address that was not judged; a name may only lead to public addresses"
        )
    return allowed[0]


def _awaited(work: Callable[[], _T], stop: Stop, *, late: Callable[[_T], object] = lambda _: None) -> _T:
    """What `work` gives within REACH_S. Neither a look-up nor a connect can be woken, and who answers them may take as
    long as it likes: what nobody waits for any more ends by itself, and `late` is given what it still brings.

    Raises what `work` raises, TimeoutError, CancelledTurnError.
    """
    found: Future[_T] = Future()

    def begin() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  # raised where it is waited for
            if found.set_running_or_notify_cancel():
                found.set_exception(error)
            return
        if found.set_running_or_notify_cancel():
            found.set_result(result)
        else:
            late(result)

    woken = threading.Event()
    found.add_done_callback(lambda _: woken.set())
    with stop.waking(woken.set):
        threading.Thread(target=begin, name="http-reach", daemon=True).start()
        woken.wait(REACH_S)
    # INVARIANT: either this takes it or `late` does
    if found.cancel():
        stop.check()
        raise TimeoutError("timed out")
    return found.result()


def _exchange(request: _Request, network: Network, stream: socket.socket) -> Output:
    stream.settimeout(TIMEOUT_S)
    secured = network.secure(stream, request.host) if request.parts.scheme == "https" else stream
    with secured:
        connection = http.client.HTTPConnection(request.host, request.port, timeout=TIMEOUT_S)
        connection.sock = secured
        target = (request.parts.path or "/") + (f"?{request.parts.query}" if request.parts.query else "")
        connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", request.parts.netloc)
        connection.putheader("Accept-Encoding", "identity")
        connection.putheader("Connection", "close")
        if not any(name.lower() == "user-agent" for name in request.headers):
            connection.putheader("User-Agent", "agentctl")
        for name, value in request.headers.items():
            connection.putheader(name, value)
        if request.body is not None or request.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(request.body or b"")))
        connection.endheaders(request.body)
        return _answer(connection.getresponse())


def _answer(response: http.client.HTTPResponse) -> Output:
    digest = Digest()
    head = Capture("status", 16 * 1024, digest)
    lines = [f"HTTP {response.status} {response.reason}"]
    lines += [f"{name}: {value}" for name, value in response.getheaders() if name.lower() in _SHOWN]
    head.add(("\n".join(lines) + "\n").encode("utf-8", "replace"))
    body = Capture("content", MAX_CONTENT - 16 * 1024, digest)
    more = False
    while chunk := response.read1(_CHUNK):
        if body.bytes + len(chunk) > MAX_BODY:
            more = True
            break
        body.add(chunk)
    pieces = [head.part(), body.part()]
    redirect = response.status in (301, 302, 303, 307, 308)
    return Output(
        parts=tuple(part for part, _ in pieces if part.text),
        bytes=digest.bytes,
        sha256=digest.sha256,
        truncated=more or any(cut for _, cut in pieces),
        note="a redirect is not followed: request the new address if it is wanted" if redirect else None,
    )


def _shut(stream: socket.socket) -> None:
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed already
