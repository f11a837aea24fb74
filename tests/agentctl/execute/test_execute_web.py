"""The HTTP tool: only to the judged host, only to an address of the judged class, one request and no more."""

import http.server
import socket
import ssl
import subprocess
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.tools.addresses import address_class, permitted
from agentctl.tools.web import SystemNetwork
from fake_shield import loopback
from shield.types import HostFact, IpClass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def _any(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(400):
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass
            self.close_connection = True
            return
        answer = b"hello " + body
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("X-Ignored", "yes")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_POST = do_HEAD = _any  # noqa: N815  # the names that http.server asks for


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Leads:
    """A network whose name service says what a test wants, and notes whom we connect to."""

    def __init__(self, *addresses, port=None):
        self.addresses = list(addresses)
        self.port = port
        self.asked = 0
        self.connected = []
        self._system = SystemNetwork()

    def resolve(self, host, port):
        self.asked += 1
        return self.addresses

    def connect(self, address, port, timeout_s):
        self.connected.append((address, port))
        return self._system.connect("127.0.0.1", self.port or port, timeout_s)

    def secure(self, stream, host):
        return self._system.secure(stream, host)


def test_get_and_post(bench, site):
    port = site.server_port
    bench.fake.hosts = (loopback(port),)
    got = bench.do("http_request", url=f"http://127.0.0.1:{port}/a?b=1")
    assert got.content == "HTTP 200 OK\nContent-Type: text/plain\nhello "
    posted = bench.do("http_request", url=f"http://127.0.0.1:{port}/p", method="post", body="é", headers={"X-A": "1"})
    assert "hello é" in posted.content
    (_, path, _, _), (method, _, headers, body) = site.seen
    assert (path, method, body) == ("/a?b=1", "POST", "é".encode())
    assert headers["X-A"] == "1"
    assert headers["Host"] == f"127.0.0.1:{port}"
    assert "HTTP 200" in bench.do("http_request", url=f"http://127.0.0.1:{port}/", method="HEAD").content


def test_a_redirect_is_given_back_and_not_followed(bench, site):
    bench.fake.hosts = (loopback(site.server_port),)
    result = bench.do("http_request", url=f"http://127.0.0.1:{site.server_port}/redirect")
    assert "HTTP 302" in result.content
    assert "http://169.254.169.254/latest" in result.content
    assert "not followed" in result.content
    assert len(site.seen) == 1


def test_an_endless_answer_is_cut(bench, site):
    bench.fake.hosts = (loopback(site.server_port),)
    bench.do("http_request", url=f"http://127.0.0.1:{site.server_port}/endless")
    report = bench.fake.sent("/v1/outcomes")[-1]
    assert report["truncated"]
    assert report["bytes"] <= 17 * 1024 * 1024


def test_proxies_of_the_environment_are_not_used(bench, site, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    bench.fake.hosts = (loopback(site.server_port),)
    assert not bench.do("http_request", url=f"http://127.0.0.1:{site.server_port}/").is_error


def named(port, host="api.example", scheme="http"):
    return HostFact(url=f"{scheme}://{host}/", scheme=scheme, host=host, port=port, ip_class=IpClass.NAME)


def test_a_name_is_looked_up_once_and_only_leads_to_public_addresses(bench, site):
    port = site.server_port
    bench.fake.hosts = (named(port),)
    for address in ("127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00:ec2::254", "0.0.0.0"):
        network = Leads(address)
        result = bench.do_with({"network": network}, "http_request", url=f"http://api.example:{port}/")
        assert result.is_error, address
        assert network.connected == []
    network = Leads("10.0.0.8", "93.184.216.34")
    assert not bench.do_with({"network": network}, "http_request", url=f"http://api.example:{port}/").is_error
    assert network.connected == [("93.184.216.34", port)]
    assert network.asked == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://other.example:{port}/",
        "http://api.example:1/",
        "https://api.example:{port}/",
        "http://api.example.evil:{port}/",
    ],
)
def test_a_host_that_the_receipt_does_not_name_is_not_contacted(bench, site, url):
    bench.fake.hosts = (named(site.server_port),)
    network = Leads("93.184.216.34", port=site.server_port)
    result = bench.do_with({"network": network}, "http_request", url=url.format(port=site.server_port))
    assert result.is_error
    assert network.connected == []
    assert bench.fake.statuses() == ["not_run"]


@pytest.mark.parametrize(
    "payload",
    [
        {"url": "ftp://127.0.0.1/"},
        {"url": "http://user:pass@127.0.0.1/"},
        {"url": "http://127.0.0.1\\@evil/"},
        {"url": "http://127.0.0.1/ x"},
        {"url": "http://127.0.0.1/\r\nX: y"},
        {"url": "http://[::1"},
        {"url": "http://127.0.0.1:99999/"},
        {"url": "http:///x"},
        {"url": "http://bücher.example/"},
        {"url": "http://127.0.0.1/", "method": "CONNECT"},
        {"url": "http://127.0.0.1/", "method": "GET / HTTP/1.1\r\nX:"},
        {"url": "http://127.0.0.1/", "headers": {"X": "a\r\nY: b"}},
        {"url": "http://127.0.0.1/", "headers": {"X Y": "a"}},
        {"url": "http://127.0.0.1/", "headers": {"Host": "evil"}},
        {"url": "http://127.0.0.1/", "headers": {"Content-Length": "3"}},
        {"url": "http://127.0.0.1/", "headers": {"transfer-encoding": "chunked"}},
        {"url": "http://127.0.0.1/", "headers": "X: y"},
        {"url": "http://127.0.0.1/", "body": {"a": 1}},
    ],
)
def test_requests_that_two_parsers_could_read_differently_are_not_sent(bench, payload):
    network = Leads("127.0.0.1")
    bench.fake.hosts = (loopback(80),)
    assert bench.do_with({"network": network}, "http_request", **payload).is_error
    assert network.connected == []


@pytest.fixture
def secure_site(tmp_path):
    """TLS with a certificate that nobody trusts."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=api.example", "-addext", "subjectAltName=DNS:api.example", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    server.handle_error = lambda *args: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server, certificate
    server.shutdown()
    server.server_close()


def test_certificates_are_checked_for_the_name(bench, secure_site):
    server, certificate = secure_site
    port = server.server_port

    class Trusting(Leads):
        def __init__(self, cafile):
            super().__init__("93.184.216.34", port=port)
            self.cafile = cafile

        def secure(self, stream, host):
            return ssl.create_default_context(cafile=self.cafile).wrap_socket(stream, server_hostname=host)

    bench.fake.hosts = (named(port, scheme="https"), named(port, "other.example", "https"))
    for network, host, ok in (
        (Trusting(certificate), "api.example", True),
        (Trusting(certificate), "other.example", False),
        (Leads("93.184.216.34", port=port), "api.example", False),
    ):
        result = bench.do_with({"network": network}, "http_request", url=f"https://{host}:{port}/")
        assert result.is_error is not ok, result.content
    assert len(server.seen) == 1


def test_a_server_that_dribbles_is_shut_at_a_stop(bench):
    """The stop reaches a connection that is waiting for its peer."""
    import asyncio

    from agentctl.execute import ShieldGate
    from fake_shield import TOKEN, proposed
    from shield.client import AsyncClient

    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    bench.fake.hosts = (loopback(port),)

    async def stopped():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]))
            proposal = proposed("http_request", {"url": f"http://127.0.0.1:{port}/"})
            task = asyncio.ensure_future(gate.run(proposal, await gate.propose(proposal)))
            peer, _ = await asyncio.to_thread(silent.accept)
            await asyncio.to_thread(peer.recv, 4096)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            peer.close()

    with silent:
        asyncio.run(asyncio.wait_for(stopped(), 20))
    assert bench.fake.statuses() == ["cancelled"]


@pytest.mark.parametrize("step", ["resolve", "connect"])
def test_a_look_up_that_does_not_end_and_a_connect_keep_nobody_from_stopping(bench, step):
    """Who answers the name service, or drops what is sent to a port, chooses how long that takes."""
    import asyncio

    from agentctl.execute import ShieldGate
    from fake_shield import TOKEN, proposed
    from shield.client import AsyncClient

    begun, release, ours = threading.Event(), threading.Event(), socket.socketpair()

    class Hangs(Leads):
        def _hang(self):
            begun.set()
            assert release.wait(60)

        def resolve(self, host, port):
            if step == "resolve":
                self._hang()
            return super().resolve(host, port)

        def connect(self, address, port, timeout_s):
            self._hang()
            return ours[0]

    bench.fake.hosts = (named(80),)

    async def stopped():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]), network=Hangs("93.184.216.34"))
            proposal = proposed("http_request", {"url": "http://api.example/"})
            task = asyncio.ensure_future(gate.run(proposal, await gate.propose(proposal)))
            assert await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            ended, _ = await asyncio.wait({task}, timeout=10)
            release.set()
            assert ended == {task}
            assert task.cancelled()

    asyncio.run(asyncio.wait_for(stopped(), 30))
    assert bench.fake.statuses() == ["cancelled"]
    if step == "connect":  # what came too late is closed
        ours[1].settimeout(20)
        assert ours[1].recv(1) == b""
    for end in ours:
        end.close()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("93.184.216.34", IpClass.PUBLIC),
        ("2606:2800:220:1::1", IpClass.PUBLIC),
        ("10.1.2.3", IpClass.PRIVATE),
        ("100.64.0.1", IpClass.PRIVATE),
        ("192.168.0.1", IpClass.PRIVATE),
        ("198.18.0.1", IpClass.PRIVATE),
        ("224.0.0.1", IpClass.PRIVATE),
        ("255.255.255.255", IpClass.PRIVATE),
        ("fd12::1", IpClass.PRIVATE),
        ("127.9.9.9", IpClass.LOOPBACK),
        ("0.0.0.0", IpClass.LOOPBACK),
        ("::", IpClass.LOOPBACK),
        ("::1", IpClass.LOOPBACK),
        ("::ffff:127.0.0.1", IpClass.LOOPBACK),
        ("::ffff:8.8.8.8", IpClass.PUBLIC),
        ("2002:7f00:0001::", IpClass.LOOPBACK),
        ("64:ff9b::7f00:1", IpClass.LOOPBACK),
        ("64:ff9b::a9fe:a9fe", IpClass.METADATA),
        ("::127.0.0.1", IpClass.LOOPBACK),
        ("169.254.1.1", IpClass.LINK_LOCAL),
        ("fe80::1%eth0", IpClass.LINK_LOCAL),
        ("169.254.169.254", IpClass.METADATA),
        ("fd00:ec2::254", IpClass.METADATA),
        ("100.100.100.200", IpClass.METADATA),
    ],
)
def test_classes_of_addresses(address, expected):
    assert address_class(address) is expected


@given(st.ip_addresses())
def test_a_name_never_leads_to_anything_but_a_public_address(address):
    if permitted(IpClass.NAME, address_class(str(address))):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_loopback
