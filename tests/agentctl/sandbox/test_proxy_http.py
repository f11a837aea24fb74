"""Plain HTTP through the proxy: written anew, framed by us, to one host, once."""

import asyncio
import itertools
import re
import socket
import time

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.sandbox.proxy_request import MAX_HEAD, RefusedError, read_body, read_request
from proxied import Town, asked, connect, fact, proxied, said, site

ALLOW = [fact("a.example", scheme="http"), fact("a.example", scheme="http", port=8080), fact("a.example")]


def through(request):
    """The answer to these bytes, all that the site was told, and what was refused.

    The site reads on after a request; that the proxy closes is its end.
    """
    with site(closes=False) as server:
        town = Town(dict.fromkeys((80, 443, 8080), server.server_port))
        with proxied(ALLOW, town) as (proxy, port), connect(port) as stream:
            stream.sendall(request)
            stream.shutdown(socket.SHUT_WR)
            answer = b""
            while not whole(answer) and (piece := stream.recv(65536)):
                answer += piece
    return answer, server.seen, proxy.refused


def whole(answer):
    """Whether this holds the site's answer to its end."""
    found = re.search(rb"HTTP/1.1 200 .*?Content-Length: (\d+)\r\n\r\n", answer, re.DOTALL)
    return found is not None and len(answer) - found.end() >= int(found[1])


def test_a_request_is_written_anew():
    answer, seen, refused = through(
        b"GET http://user.a.example/ HTTP/1.1\r\nHost: user.a.example\r\n\r\n".replace(b"user.", b"")
    )
    assert answer.endswith(b"hello ")
    assert seen == [("GET", "/", [("host", "a.example"), ("connection", "close")], b"")]
    assert refused == ()


def test_hop_by_hop_headers_and_the_proxys_own_are_left_out():
    _, seen, _ = through(
        b"POST http://A.example.:8080/p?q=1 HTTP/1.1\r\n"
        b"Host: a.EXAMPLE:8080\r\n"
        b"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nproxy-x: 1\r\n"
        b"Connection: keep-alive, X-Mine, Upgrade\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\n"
        b"Upgrade: websocket\r\nHTTP2-Settings: x\r\nTE: trailers\r\nTrailer: X\r\n"
        b"X-Kept:  two  words\t\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc"
    )
    assert seen == [
        (
            "POST",
            "/p?q=1",
            [("host", "a.example:8080"), ("connection", "close"), ("content-length", "3"),
             ("x-kept", "two  words"), ("accept", "*/*")],
            b"abc",
        )
    ]  # fmt: skip


def test_a_chunked_body_is_framed_again():
    _, seen, _ = through(
        b"PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked\r\n\r\n"
        b"3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n"
    )
    assert [(headers[-1], body) for _, _, headers, body in seen] == [
        (("transfer-encoding", "chunked"), b"abc0123456789")
    ]


def test_a_client_that_waits_to_send_its_body_is_told_to():
    answer, seen, _ = through(
        b"PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
    )
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert seen[0][3] == b"abc"
    assert "expect" not in dict(seen[0][2])


@pytest.mark.parametrize(("target", "path"), [
    (b"http://a.example", "/"), (b"http://a.example?x", "/?x"), (b"HTTP://a.example/%2e%2e//x", "/%2e%2e//x"),
    (b"http://a.example//b.example/", "//b.example/"), (b"http://a.example/http://b.example/", "/http://b.example/"),
    (b"http://a.example:80/@b.example", "/@b.example"),
])  # fmt: skip
def test_paths_are_passed_on_as_they_are(target, path):
    _, seen, _ = through(b"GET " + target + b" HTTP/1.1\r\nHost: a.example\r\n\r\n")
    # http.server itself takes a second slash away
    assert [entry[1] for entry in seen] == [path.replace("//b", "/b") if path.startswith("//") else path]


def test_an_old_client_is_served():
    answer, seen, _ = through(b"GET http://a.example/ HTTP/1.0\r\n\r\n")
    assert answer.endswith(b"hello ")
    assert len(seen) == 1


@pytest.mark.parametrize(
    "rest",
    [
        b"GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        b"GET /evil HTTP/1.1\r\nHost: b.example\r\n\r\n",
        b"CONNECT b.example:443 HTTP/1.1\r\n\r\n",
        b"GET http://a.example/second HTTP/1.1\r\nHost: a.example\r\n\r\n",
    ],
)
@pytest.mark.parametrize("first", [
    b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n",
    b"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc",
    b"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
])  # fmt: skip
def test_a_second_request_on_a_connection_goes_nowhere(first, rest):
    """Pipelining, keep-alive to another host, upgrades: the site would read on, and is told no more."""
    answer, seen, _ = through(first + rest)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert [entry[1] for entry in seen] == ["/"]


HEAD = b"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        # one length, said once
        HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        HEAD + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
        HEAD + b"Content-Length: 3, 3\r\n\r\nabc",
        HEAD + b"Content-Length: +3\r\n\r\nabc",
        HEAD + b"Content-Length: 0x3\r\n\r\nabc",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length:\r\n\r\n",
        HEAD + "Content-Length: ³\r\n\r\n".encode("latin-1"),
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: identity\r\n\r\n",
        HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding:\x0cchunked\r\n\r\n0\r\n\r\n",
        HEAD.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        # headers on one line each
        HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"X: 1\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b" X: 1\r\n\r\n",
        HEAD + b"X: a\nTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"X: a\rY: b\r\n\r\n",
        HEAD + b"X: a\x00b\r\n\r\n",
        HEAD + b"X\r\n\r\n",
        HEAD + b": x\r\n\r\n",
        HEAD + b"X\x00: x\r\n\r\n",
        HEAD + "Héader: x\r\n\r\n".encode(),
        # one host, the one that is asked for
        b"GET http://a.example/ HTTP/1.1\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example@b.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET http://a.example/ HTTP/1.0\r\nHost: b.example\r\n\r\n",
        # a request line with one reading
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET //a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http:a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http:///a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://b.example@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        b"GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a%2eexample/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/#b HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1 HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET\thttp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1 \r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ http/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/\r\nHost: a.example\r\n\r\n",
        b"get http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/é HTTP/1.1\r\nHost: a.example\r\n\r\n".encode(),
        b"\r\nGET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"TRACE http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        b"CONNECT a.example:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
        b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
        # bounds
        HEAD + b"X: " + b"x" * MAX_HEAD + b"\r\n\r\n",
        HEAD + b"X: x\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\x05\x01\x00\r\n\r\n",
    ],
)
def test_what_two_readers_could_read_differently_is_refused(request_bytes):
    answer, seen, _ = through(request_bytes)
    assert answer.split(b" ")[1] in (b"400", b"403", b"405", b"431"), answer
    assert seen == []


@pytest.mark.parametrize(
    "body",
    [
        b"g\r\n",
        b"3;x=1\r\nabc\r\n0\r\n\r\n",
        b"3 \r\nabc\r\n0\r\n\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"3\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\nabc\n0\r\n\r\n",
        b"000000003\r\nabc\r\n0\r\n\r\n",
        b"\r\n3\r\nabc\r\n0\r\n\r\n",
        b"0\r\nX-Trailer: 1\r\n\r\n",
        b"0\r\n\nGET /evil HTTP/1.1\r\n\r\n",
        b"3\r\nabc\r\n" + b"0" * 100_000,
    ],
)
def test_a_chunked_body_that_is_not_plain_never_becomes_a_request(body):
    _, seen, _ = through(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    assert [entry[1] for entry in seen if entry[1] != "/"] == []
    sent, _, complete = passed_on(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    assert not complete
    assert not sent.endswith(b"0\r\n\r\n")


def test_a_body_that_is_cut_short_is_no_whole_request():
    sent, _, complete = passed_on(HEAD + b"Content-Length: 100\r\n\r\nabc")
    assert sent.endswith(b"content-length: 100\r\n\r\nabc")
    assert not complete


def test_a_server_may_answer_with_what_it_likes_until_it_ends():
    big = b"\xff\x00" * 700_000
    with site(lambda request: big) as server, proxied(ALLOW, Town({80: server.server_port})) as (_, port):
        assert asked(port, b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n").endswith(big)
        assert b"Content-Length: 1400000\r\n" in asked(
            port, b"HEAD http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
        )


def trickle(stream):
    """Send on until it is refused, or for 20 s."""
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        stream.sendall(b"x")
        time.sleep(0.01)


def test_a_server_may_answer_before_it_has_the_whole_request():
    with socket.create_server(("127.0.0.1", 0)) as server:
        town = Town({80: server.getsockname()[1]})
        with proxied(ALLOW, town) as (_, port), connect(port) as stream:
            stream.sendall(HEAD + b"Content-Length: 10000000\r\n\r\nabc")
            peer, _ = server.accept()
            with peer:
                peer.recv(10)
                peer.sendall(b"HTTP/1.1 413 Too much\r\n\r\n")
                peer.shutdown(socket.SHUT_WR)
                assert said(stream) == b"HTTP/1.1 413 Too much\r\n\r\n"
                # the end of the answer is the end of both: the rest is not waited for
                with pytest.raises(ConnectionError):
                    trickle(stream)


# --- the same bytes, read by another parser --------------------------------------------------------------------------


class Reader:
    """What llhttp makes of the bytes that the server is sent."""

    def __init__(self):
        self.urls, self.headers, self.body, self.messages = [], [], b"", 0

    def on_url(self, url):
        self.urls.append(url)

    def on_header(self, name, value):
        self.headers.append((name, value))

    def on_body(self, piece):
        self.body += piece

    def on_message_complete(self):
        self.messages += 1


def passed_on(data):
    """The bytes that a server is sent for these of a client, the request, and whether its body came to an end."""

    async def reading():
        reader = asyncio.StreamReader(limit=MAX_HEAD)
        reader.feed_data(data)
        reader.feed_eof()
        try:
            request = await read_request(reader)
        except RefusedError:
            return None
        if request is None or request.tunnel:
            return None
        sent, whole = request.head, True
        try:
            async for piece in read_body(reader, request):
                sent += piece
        except (RefusedError, asyncio.IncompleteReadError):
            whole = False
        return sent, request, whole

    return asyncio.run(reading())


LINES = st.lists(
    st.sampled_from(
        [
            b"Host: a.example", b"Host: b.example", b"host:a.example", b"Content-Length: 5", b"Content-Length: 0",
            b"content-length: 05", b"Transfer-Encoding: chunked", b"transfer-encoding: CHUNKED", b"Connection: close",
            b"Connection: content-length, transfer-encoding, host", b"Upgrade: x", b"Expect: 100-continue",
            b" folded", b"X: \t y \t", b"X:", b"X-Y: \xff", b"Proxy-Connection: x", b"bad line", b"X: a\nY: b",
        ]
    ),
    max_size=6,
)  # fmt: skip
BODIES = st.sampled_from(
    [b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"0\r\n\r\n", b"GET /evil HTTP/1.1\r\nHost: b.example\r\n\r\n",
     b"5\r\nhello\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n", b"ffffffff\r\n"]
)  # fmt: skip
TARGETS = st.sampled_from(
    [b"http://a.example/", b"http://a.example", b"http://a.example:80/x?y", b"http://A.EXAMPLE./", b"http://b.example/",
     b"http://a.example:8080/", b"/x", b"http://a.example/\xff", b"http://a.example /"]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(
    method=st.sampled_from([b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"get"]),
    target=TARGETS,
    version=st.sampled_from([b"HTTP/1.1", b"HTTP/1.0"]),
    lines=LINES,
    body=BODIES,
)
def test_the_server_reads_one_request_for_the_host_that_was_checked(method, target, version, lines, body):
    data = b"\r\n".join([b" ".join([method, target, version]), *lines, b"", b""]) + body
    result = passed_on(data)
    if result is None:
        return
    sent, request, whole = result
    reader = Reader()
    parser = httptools.HttpRequestParser(reader)
    parser.feed_data(sent)
    hosts = [value for name, value in reader.headers if name.lower() == b"host"]
    assert len(reader.urls) == 1
    assert hosts == [request.target.removesuffix(":80").encode()]
    assert reader.messages == (1 if whole else 0)
    assert b"/evil" not in reader.urls[0]
    names = [name.lower() for name, _ in reader.headers]
    assert not {b"upgrade", b"expect", b"proxy-connection"} & set(names)
    assert len([name for name in names if name in (b"content-length", b"transfer-encoding")]) <= 1


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_bytes_are_one_request_or_refused(data):
    """A good request with bytes changed, added or taken away."""
    whole = bytearray(HEAD + b"X: y\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    result = passed_on(bytes(whole))
    if result is None:
        return
    sent, request, complete = result
    reader = Reader()
    httptools.HttpRequestParser(reader).feed_data(sent)
    assert len(reader.urls) == 1
    assert reader.messages == int(complete)
    assert [value for name, value in reader.headers if name.lower() == b"host"] == [
        request.target.removesuffix(":80").encode()
    ]


def test_a_head_of_blanks_is_read_in_one_pass():
    """Steps grow with the length, not with its square: a pattern that tries every split of the blanks does not end."""
    for name, pad in itertools.product((b"X:", b"X: a"), (b" ", b"\t")):
        assert passed_on(HEAD + name + pad * (MAX_HEAD - 200) + b"\x00\r\n\r\n") is None
