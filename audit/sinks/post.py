"""One HTTP request with everything bounded: a deadline for all of it, no redirect, no proxy, a small answer."""

import http.client
import re
import socket
import ssl
import threading
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from audit.errors import SinkError

MAX_REPLY: Final = 64 * 1024
_URL = re.compile(r"[!-~]{1,2048}")


class Reply(NamedTuple):
    """Status code, media type without parameters, and body of an answer."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where requests go: the parts of an http(s) URL. A path's last slash does not matter."""

    host: str
    port: int | None
    path: str
    tls: ssl.SSLContext | None = field(repr=False, compare=False)

    @classmethod
    def parse(cls, url: str) -> "Place":
        """Raises SinkError for what is no plain http or https URL."""
        try:
            parts = urlsplit(url) if _URL.fullmatch(url) else None
            port = parts.port if parts is not None else None
        except ValueError:
            parts = port = None
        if (
            parts is None
            or parts.scheme not in ("http", "https")
            or not parts.hostname
            or "@" in parts.netloc
            or "?" in url
            or "#" in url
        ):
            raise SinkError(f"`{url}` is no URL such as https://witness.example/path")
        tls = ssl.create_default_context() if parts.scheme == "https" else None
        return cls(parts.hostname, port, parts.path.rstrip("/"), tls)

    def post(self, name: str, body: bytes, *, timeout_s: float) -> Reply:
        """POST `body` to `<path>/<name>`; all of it takes `timeout_s` at most, but for finding the host's address.

        Raises SinkError.
        """
        connection = _Connection(self.host, self.port, self.tls, timeout_s)
        overdue = threading.Event()
        watch = threading.Timer(timeout_s, _hang_up, (connection, overdue))
        watch.daemon = True
        watch.start()
        try:
            headers = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close"}
            connection.connect()
            if overdue.is_set():
                raise TimeoutError
            connection.request("POST", f"{self.path}/{name}", body, headers)
            answer = connection.getresponse()
            found = answer.read(MAX_REPLY + 1)
            if answer.length and len(found) <= MAX_REPLY:
                raise http.client.IncompleteRead(found, answer.length)
            kind = answer.getheader("Content-Type", "").partition(";")[0].strip().lower()
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = f"no answer within {timeout_s:g} s" if overdue.is_set() else str(error) or type(error).__name__
            raise SinkError(f"cannot reach `{self.host}`: {reason}") from error
        finally:
            watch.cancel()
            connection.close()
        if overdue.is_set():
            raise SinkError(f"cannot reach `{self.host}`: no answer within {timeout_s:g} s")
        if len(found) > MAX_REPLY:
            raise SinkError(f"`{self.host}` answers with more than {MAX_REPLY} bytes")
        return Reply(answer.status, kind, found)


class _Connection(http.client.HTTPConnection):
    """Keeps hold of its socket through the handshake and the answer, so that it can be hung up at any time."""

    def __init__(self, host: str, port: int | None, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        standard = 80 if tls is None else 443
        super().__init__(host, standard if port is None else port, timeout=timeout_s)
        self.default_port = standard  # for the header `Host`
        self._tls = tls
        self.line: socket.socket | None = None

    def connect(self) -> None:
        super().connect()
        if self._tls is None:
            self.line = self.sock
            return
        secured = self._tls.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
        self.sock = self.line = secured
        secured.do_handshake()


def _hang_up(connection: _Connection, overdue: threading.Event) -> None:
    """A timeout counts from byte to byte; a drip of bytes would never end."""
    overdue.set()
    if connection.line is not None:
        try:
            socket.socket.shutdown(connection.line, socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already
