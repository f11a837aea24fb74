"""The proxy of a call: only to the hosts of the receipt, only where they may lead, and gone when the call is."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

from agentctl.sandbox.proxy import Proxy
from proxied import (
    PUBLIC,
    Town,
    asked,
    certificates,
    connect,
    established,
    exactly,
    fact,
    hello,
    proxied,
    said,
    site,
)
from shield.types import IpClass


@pytest.fixture(scope="module")
def papers():
    with certificates("a.example", "b.example", PUBLIC) as made:
        yield made


def get(stream, host="a.example"):
    stream.sendall(f"GET /x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    return said(stream)


# --- tunnels ---------------------------------------------------------------------------------------------------------


def test_tls_to_a_permitted_host_passes(papers):
    with site(tls=papers.server()) as server:
        town = Town({443: server.server_port})
        with proxied([fact("a.example")], town) as (proxy, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            with papers.client().wrap_socket(stream, server_hostname="a.example") as secured:
                assert get(secured).endswith(b"hello ")
        assert town.connected == [(PUBLIC, 443)]
        assert town.asked == ["a.example"]
        assert proxy.note is None


def test_much_passes_both_ways_unchanged(papers):
    big = os.urandom(5_000_000)
    with (
        site(tls=papers.server()) as server,
        proxied([fact("a.example")], Town({443: server.server_port})) as (_, port),
    ):
        with connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            with papers.client().wrap_socket(stream, server_hostname="a.example") as secured:
                head = f"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: {len(big)}\r\n\r\n".encode()
                secured.sendall(head + big)  # one thread: a TLS connection is not for two at a time
                answer = said(secured)
        assert answer.split(b"\r\n\r\n", 1)[1] == b"hello " + big


@pytest.mark.parametrize(
    "target",
    [
        "b.example:443",
        "a.example:80",
        "a.example:8443",
        "a.example.b.example:443",
        "x.a.example:443",
        "93.184.216.34:443",
        "127.0.0.1:443",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "user@a.example:443",
        "a%2eexample:443",
        "a.example",
        "a.example:443:443",
        "a.example:443/",
        "http://a.example:443/",
        "https://a.example/",
        "a.example:0443",
        "localhost:443",
        "0:443",
        "//a.example:443",
    ],
)
def test_a_tunnel_elsewhere_is_refused(target):
    town = Town({443: 9, 80: 9})
    with proxied([fact("a.example")], town) as (proxy, port), connect(port) as stream:
        assert established(stream, target) == 403
        body = said(stream)
        assert b"agentctl's sandbox:" in body
    assert proxy.note.startswith("network refused: ")
    assert len(proxy.refused) == 1
    assert town.asked == []
    assert town.connected == []


def test_a_refusal_says_which_host_and_what_to_do():
    with proxied([fact("a.example"), fact("c.example", scheme="http")], Town({})) as (proxy, port):
        answer = asked(port, b"GET http://b.example/secret HTTP/1.1\r\nHost: b.example\r\n\r\n").decode()
        assert answer.startswith("HTTP/1.1 403 Host not permitted\r\n")
        assert "may not reach `b.example:80`; it was allowed to reach `a.example:443`, `c.example:80`" in answer
        assert "secret" not in answer
        wrong = asked(port, b"GET http://a.example:443/ HTTP/1.1\r\nHost: a.example:443\r\n\r\n").decode()
        assert "may only be reached by https" in wrong
    assert proxy.note == "network refused: b.example:80; a.example:443"
    with proxied([], Town({})) as (_, port):
        assert b"it was allowed no host" in asked(port, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")


def test_refusals_are_bounded_and_shown_without_their_power():
    with proxied([], Town({})) as (proxy, port):
        asked(port, b"CONNECT \x1b[31mx:443 HTTP/1.1\r\n\r\n")
        asked(port, b"CONNECT [31m`x`:443 HTTP/1.1\r\n\r\n")
        for number in range(20):
            asked(port, b"CONNECT %d%b.example:443 HTTP/1.1\r\n\r\n" % (number, b"n" * 5000))
    assert len(proxy.refused) == 8
    assert proxy.note.endswith("; and others")
    assert len(proxy.note) < 1500
    assert all(char.isprintable() and char != "`" for char in proxy.note)


@pytest.mark.parametrize("name", ["b.example", None])
def test_another_server_name_is_refused(papers, name):
    """Domain fronting: the address of a.example serves b.example, too."""
    with site(tls=papers.server()) as server:
        with proxied([fact("a.example")], Town({443: server.server_port})) as (proxy, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            stream.sendall(hello(name))
            assert said(stream) == b"\x15\x03\x03\x00\x02\x02\x70"
        assert proxy.refused == (
            "a.example:443 as b.example" if name else "a.example:443 (the ClientHello names no server)",
        )


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", b"SSH-2.0-x\r\n", b"\x00" * 600])
def test_what_is_not_tls_does_not_pass(data):
    with socket.create_server(("127.0.0.1", 0)) as server:
        town = Town({443: server.getsockname()[1]})
        with proxied([fact("a.example")], town) as (proxy, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            stream.sendall(data)
            said(stream)
            peer, _ = server.accept()
            with peer:
                assert said(peer) == b""
        assert proxy.refused == ("a.example:443 (what is sent is not TLS)",)


def test_a_hello_sent_together_with_the_request_is_read(papers):
    for name, passes in (("a.example", True), ("b.example", False)):
        with (
            site(tls=papers.server()) as server,
            proxied([fact("a.example")], Town({443: server.server_port})) as (_, port),
            connect(port) as stream,
        ):
            stream.sendall(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n" + hello(name))
            head = b"HTTP/1.1 200 Connection established\r\n\r\n"
            assert exactly(stream, len(head)) == head
            assert stream.recv(1) == (b"\x16" if passes else b"\x15")


def retrying(papers):
    """A server that wants another key share, so that clients say hello twice."""
    context = papers.server()
    context.set_ecdh_curve("secp384r1")
    return context


def test_the_second_hello_of_a_retry_passes(papers):
    with site(tls=retrying(papers)) as server:
        with proxied([fact("a.example")], Town({443: server.server_port})) as (proxy, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            with papers.client().wrap_socket(stream, server_hostname="a.example") as secured:
                assert secured.version() == "TLSv1.3"
                assert get(secured).endswith(b"hello ")
        assert proxy.note is None


@pytest.mark.parametrize("early", [True, False])
def test_the_second_hello_of_a_retry_names_the_same_host(papers, early):
    with site(tls=retrying(papers)) as server:
        with proxied([fact("a.example")], Town({443: server.server_port})) as (proxy, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            stream.sendall(hello("a.example"))
            if early:  # without waiting for the server's answer
                stream.sendall(hello("b.example"))
            answer = stream.recv(1024)
            if not early:
                stream.sendall(hello("b.example"))
            answer += said(stream)
            assert answer.startswith(b"\x16\x03\x03")
            assert answer.endswith(b"\x15\x03\x03\x00\x02\x02\x70")
        assert proxy.refused == ("a.example:443 as b.example",)


def test_one_end_may_close_its_half(papers):
    """Bytes still come after the client has said its last."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        town = Town({443: server.getsockname()[1]})
        with proxied([fact("a.example")], town) as (_, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            data = hello("a.example")
            stream.sendall(data)
            peer, _ = server.accept()
            with peer:
                peer.settimeout(20)
                assert exactly(peer, len(data)) == data
                peer.sendall(b"\x15first")
                assert exactly(stream, 6) == b"\x15first"
                stream.sendall(b"last words")
                stream.shutdown(socket.SHUT_WR)
                assert said(peer) == b"last words"
                peer.sendall(b"and an answer")
            assert said(stream) == b"and an answer"


# --- names and addresses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.8", "192.168.1.1", "169.254.169.254", "169.254.1.1", "::1", "::ffff:10.0.0.1", "fd00:ec2::254",
     "fe80::1", "0.0.0.0", "100.64.0.1", "64:ff9b::7f00:1", "not an address"],
)  # fmt: skip
def test_a_name_leads_to_public_addresses_only(address):
    town = Town({443: 9}, {"a.example": [address]})
    with proxied([fact("a.example")], town) as (proxy, port), connect(port) as stream:
        assert established(stream, "a.example:443") == 403
        assert b"was not judged" in said(stream)
    assert town.connected == []
    assert proxy.refused == ("a.example:443 at an address that is not public",)


def test_each_public_address_is_tried_and_no_other():
    with site() as server:
        town = Town({80: server.server_port}, {"a.example": ["10.0.0.8", "93.184.216.34", "127.0.0.1"]})
        with proxied([fact("a.example", scheme="http")], town) as (_, port):
            assert b"200 OK" in asked(port, b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert town.connected == [("93.184.216.34", 80)]
    town = Town({}, {"a.example": ["93.184.216.34", "10.0.0.8", "2606:2800:220:1::1"]})
    with proxied([fact("a.example")], town) as (_, port), connect(port) as stream:
        assert established(stream, "a.example:443") == 502
        assert b"Connection refused" in said(stream)
    assert town.connected == [("93.184.216.34", 443), ("2606:2800:220:1::1", 443)]


def test_a_second_answer_of_the_name_service_changes_nothing():
    """DNS rebinding."""
    with site() as server:
        town = Town({80: server.server_port})
        with proxied([fact("a.example", scheme="http")], town) as (_, port):
            for address in (PUBLIC, "127.0.0.1", "10.0.0.8"):
                town.addresses["a.example"] = [address]
                assert b"200 OK" in asked(port, b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert town.asked == ["a.example"]
    assert {address for address, _ in town.connected} == {PUBLIC}


def test_a_name_that_is_not_known_may_be_asked_again():
    with site() as server:
        town = Town({80: server.server_port}, {"a.example": []})
        with proxied([fact("a.example", scheme="http")], town) as (_, port):
            request = b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
            assert b"502 Host not found" in asked(port, request)
            town.addresses.clear()
            assert b"200 OK" in asked(port, request)


@pytest.mark.parametrize(("host", "kind", "target"), [
    (PUBLIC, IpClass.PUBLIC, f"{PUBLIC}:443"),
    ("10.0.0.8", IpClass.PRIVATE, "10.0.0.8:443"),
    ("2606:2800:220:1::1", IpClass.PUBLIC, "[2606:2800:0220:0001:0:0:0:1]:443"),
])  # fmt: skip
def test_an_address_that_was_judged_is_not_looked_up(papers, host, kind, target):
    with site(tls=papers.server()) as server:
        town = Town({443: server.server_port})
        with proxied([fact(host, ip_class=kind)], town) as (_, port), connect(port) as stream:
            assert established(stream, target) == 200
            context = papers.client()
            context.check_hostname = False
            with context.wrap_socket(stream) as secured:
                assert get(secured, host).endswith(b"hello ")
        assert town.asked == []
        assert town.connected == [(host, 443)]


def test_an_address_is_reached_only_in_the_class_it_was_judged_as():
    town = Town({443: 9})
    with proxied([fact("10.0.0.8", ip_class=IpClass.PUBLIC)], town) as (_, port), connect(port) as stream:
        assert established(stream, "10.0.0.8:443") == 403
    assert town.connected == []


# --- clients as they are ---------------------------------------------------------------------------------------------


def test_curl_and_python_use_it_by_their_environment(papers):
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    with site(tls=papers.server()) as server, site() as plain:
        town = Town({443: server.server_port, 80: plain.server_port})
        with proxied([fact("a.example", scheme="")], town) as (proxy, port):
            env = {"https_proxy": f"http://127.0.0.1:{port}", "http_proxy": f"http://127.0.0.1:{port}", "PATH": "/bin"}
            for url, ends in (("https://a.example/", "hello "), ("http://a.example/", "hello ")):
                done = subprocess.run([curl, "-sS", "--cacert", papers.file, url], env=env, capture_output=True,
                                      text=True, timeout=20)  # fmt: skip
                assert (done.stdout, done.returncode) == (ends, 0), done.stderr
            done = subprocess.run(
                [curl, "-sS", "https://b.example/"], env=env, capture_output=True, text=True, timeout=20
            )
            assert "403" in done.stderr
            code = (
                "import ssl, urllib.request as u, sys\n"
                "c = ssl.create_default_context(cafile=sys.argv[1])\n"
                "print(u.urlopen('https://a.example/', context=c).read())\n"
                "try: u.urlopen('https://b.example/')\n"
                "except OSError as e: print(e)\n"
            )
            done = subprocess.run([sys.executable, "-P", "-I", "-c", code, papers.file], env=env, capture_output=True,
                                  text=True, timeout=20)  # fmt: skip
            assert "hello" in done.stdout, done.stderr
            assert "403 Host not permitted" in done.stdout
        assert proxy.refused == ("b.example:443",)


# --- limits ----------------------------------------------------------------------------------------------------------


def test_a_head_that_does_not_come_is_not_waited_for():
    with proxied([fact("a.example")], Town({}), head_s=0.2) as (_, port), connect(port) as stream:
        stream.sendall(b"CONNECT a.exam")
        assert said(stream) == b""


def test_a_hello_that_does_not_come_is_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as server:
        town = Town({443: server.getsockname()[1]})
        with proxied([fact("a.example")], town, head_s=0.3) as (_, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            stream.sendall(hello("a.example")[:50])
            assert said(stream) == b""


def test_an_idle_tunnel_ends():
    with socket.create_server(("127.0.0.1", 0)) as server:
        town = Town({443: server.getsockname()[1]})
        with proxied([fact("a.example")], town, idle_s=0.3) as (_, port), connect(port) as stream:
            assert established(stream, "a.example:443") == 200
            stream.sendall(hello("a.example"))
            assert said(stream) == b""


def test_no_more_connections_than_the_limit_are_held_and_the_next_one_waits():
    with proxied([], Town({}), connections=2, head_s=60) as (_, port):
        first, second, third = connect(port), connect(port), connect(port)
        with second, third:
            third.sendall(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
            third.settimeout(0.3)
            with pytest.raises(TimeoutError):
                third.recv(1)
            first.close()
            third.settimeout(20)
            assert said(third).startswith(b"HTTP/1.1 403")


def test_a_call_opens_no_more_connections_than_its_limit():
    with proxied([], Town({}), accepted=3) as (proxy, port):
        for _ in range(3):
            assert b"403" in asked(port, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
        until(lambda: proxy.note.endswith("network stopped: this call may open 3 connections"))
        with pytest.raises(ConnectionRefusedError):
            connect(port).close()
    assert not ours()


def test_a_call_receives_no_more_than_its_limit():
    with site(lambda request: b"x" * 300_000) as server:
        town = Town({80: server.server_port})
        with proxied([fact("a.example", scheme="http")], town, down=500_000) as (proxy, port):
            request = b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
            assert asked(port, request).count(b"x") == 300_000
            assert asked(port, request).count(b"x") < 200_000
    assert proxy.note == "network stopped: this call may receive 500000 bytes"


def test_a_call_sends_no_more_than_its_limit():
    with site() as server:
        town = Town({80: server.server_port})
        with proxied([fact("a.example", scheme="http")], town, up=100_000) as (proxy, port):
            for size in (90_000, 90_000):
                asked(port, b"PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: %d\r\n\r\n%b"
                      % (size, b"x" * size))  # fmt: skip
            # the second is cut off; how much of it came is left to its server
            assert sum(len(body) for _, _, _, body in server.seen) <= 100_000
    assert proxy.note == "network stopped: this call may send 100000 bytes"


# --- its end ---------------------------------------------------------------------------------------------------------


def ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("sandbox-")]


def until(holds):
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def descriptors():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_nothing_is_left_of_a_proxy_that_nobody_used():
    before = descriptors()
    listener = socket.create_server(("127.0.0.1", 0))
    with Proxy(listener, []) as proxy:
        assert ours()
    assert not ours()
    assert listener.fileno() == -1
    assert descriptors() == before
    assert proxy.note is None
    proxy.close()
    unstarted = Proxy(socket.create_server(("127.0.0.1", 0)), [])
    unstarted.close()
    assert descriptors() == before


def test_a_call_that_ends_ends_every_connection(papers):
    """In the head, in the hello, in the middle of TLS, in a body, in an answer."""
    before = descriptors()
    gate = threading.Event()
    with site(lambda request: gate.wait(20) and b"", tls=None) as server, site(tls=papers.server()) as secure:
        town = Town({80: server.server_port, 443: secure.server_port})
        allow = [fact("a.example"), fact("a.example", scheme="http")]
        streams = []
        with proxied(allow, town) as (_, port):
            streams += [connect(port) for _ in range(5)]
            head, greeting, tls, body, answer = streams
            head.sendall(b"CONNECT a.")
            assert established(greeting, "a.example:443") == 200
            assert established(tls, "a.example:443") == 200
            tls = papers.client().wrap_socket(tls, server_hostname="a.example")
            streams.append(tls)
            body.sendall(b"PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100\r\n\r\nx")
            answer.sendall(b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
        assert not ours()
        for stream in (head, greeting, body, answer):
            assert said(stream) == b""
        assert said(tls) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(port)
        for stream in streams:
            stream.close()
        gate.set()
    until(lambda: descriptors() <= before)  # the sites close theirs in threads of their own


def test_a_name_service_that_hangs_does_not_hold_the_call():
    gate = threading.Event()

    class Slow(Town):
        def resolve(self, host, port):
            self.asked.append(host)
            gate.wait(20)
            return [PUBLIC]

    town = Slow({443: 9})
    with proxied([fact("a.example")], town) as (_, port):
        streams = [connect(port) for _ in range(3)]
        for stream in streams:
            stream.sendall(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
        until(lambda: town.asked)
    # only the look-up itself is left, and it holds nothing; one for all three
    assert [thread.name for thread in ours()] == ["sandbox-look-up"]
    left = ours()
    gate.set()
    for thread in left:
        thread.join(20)
    assert not ours()
    assert town.connected == []
    assert len(town.asked) == 1
    for stream in streams:
        assert said(stream) == b""
        stream.close()


def test_a_look_up_that_takes_too_long_is_an_error_for_the_client():
    gate = threading.Event()

    class Slow(Town):
        def resolve(self, host, port):
            gate.wait(20)
            return [PUBLIC]

    try:
        with proxied([fact("a.example")], Slow({}), connect_s=0.2) as (_, port):
            assert b"502 Host not found" in asked(port, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
    finally:
        gate.set()
