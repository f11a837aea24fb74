"""A town for the sandbox's proxy: names that lead where a test says, servers that note what they are told."""

import contextlib
import datetime
import http.server
import ipaddress
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentctl.sandbox.proxy import Limits, Proxy, SystemOutside
from shield.types import HostFact, IpClass

PUBLIC = "93.184.216.34"
PATIENCE_S = 20


def fact(host, *, scheme="https", port=None, ip_class=IpClass.NAME):
    return HostFact(url=f"{scheme}://{host}/", scheme=scheme, host=host, port=port, ip_class=ip_class)


class Town:
    """An Outside: every name is at a public address, and every connection goes to the server of that port here."""

    def __init__(self, ports, addresses=None):
        self.ports = ports
        self.addresses = addresses or {}
        self.asked = []
        self.connected = []

    def resolve(self, host, port):
        self.asked.append(host)
        found = self.addresses.get(host, [PUBLIC])
        if not found:
            raise OSError("no such name")
        return list(found)

    async def connect(self, address, port):
        self.connected.append((address, port))
        if port not in self.ports:
            raise ConnectionRefusedError(111, "Connection refused")
        return await SystemOutside().connect("127.0.0.1", self.ports[port])


@contextlib.contextmanager
def proxied(allow, town, **limits):
    """A running proxy and the port of its listener."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with Proxy(listener, allow, town, Limits(**limits)) as proxy:
        yield proxy, port


def connect(port):
    stream = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    stream.settimeout(PATIENCE_S)
    return stream


def said(stream):
    """Everything until the other side ends; a reset is an end."""
    pieces = []
    try:
        while piece := stream.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def exactly(stream, size):
    data = b""
    while len(data) < size and (piece := stream.recv(size - len(data))):
        data += piece
    return data


def asked(port, request):
    """What the proxy answers to these bytes, until it closes."""
    with connect(port) as stream:
        stream.sendall(request)
        return said(stream)


def established(stream, target):
    """Ask for a tunnel; the status line's code."""
    stream.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = stream.recv(1)
        if not piece:
            break
        answer += piece
    return int(answer.split(b" ")[1])


class Site(http.server.BaseHTTPRequestHandler):
    """Notes each request. It goes on reading whatever `Connection` says: what a smuggler hopes for."""

    protocol_version = "HTTP/1.1"
    timeout = 5

    def log_message(self, *args):
        pass

    def _any(self):
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append((self.command, self.path, list(self.headers.items()), body))
        answer = self.server.answer(self) if self.server.answer else b"hello " + body
        if answer is not None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            if answer.startswith(b"<!DOCTYPE html>"):
                self.send_header("Content-Type", "text/html")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)
        self.close_connection = self.server.closes

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_OPTIONS = _any  # noqa: N815  # the names http.server asks for


@contextlib.contextmanager
def site(answer=None, *, tls=None, closes=True) -> Iterator[http.server.ThreadingHTTPServer]:
    """A server on a port of the loopback; `seen` holds (method, path, headers, body) of every request."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.daemon_threads = False  # server_close waits for them: then all is noted
    server.seen = []
    server.answer = answer
    server.closes = closes
    server.handle_error = lambda *args: None
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Certificates:
    """A certificate for some names that nobody else trusts: contexts for both sides."""

    def __init__(self, folder, *names):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a town")])
        now = datetime.datetime.now(datetime.UTC)
        alternatives = [
            x509.IPAddress(ipaddress.ip_address(name)) if name.replace(".", "").isdigit() else x509.DNSName(name)
            for name in names
        ]
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.file = Path(folder) / "certificate.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        self._key = Path(folder) / "key.pem"
        self._key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )

    def server(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self._key)
        return context

    def client(self):
        return ssl.create_default_context(cafile=self.file)


@contextlib.contextmanager
def certificates(*names) -> Iterator[Certificates]:
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        yield Certificates(folder, *names)


def hello(name, *, context=None):
    """The bytes of a ClientHello that names this server."""
    context = context or ssl.create_default_context()
    if name is None:
        context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()
