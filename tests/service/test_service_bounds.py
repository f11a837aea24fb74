"""What a hostile client can do below the level of requests: heads, time, garbage."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service_harness import raw, running
from shield.service import protocol
from shield.service.protocol import HEAD_MAX, HEADERS_MAX
from shield.types import Role


@pytest.fixture(scope="module", params=[False, True], ids=["httptools-uvloop", "h11-asyncio"])
def service(request):
    with running(portable=request.param) as found:
        yield found


def test_a_large_head_is_refused(service):
    answer = raw(service.path, b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: " + b"a" * (HEAD_MAX + 10) + b"\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
    assert b"application/problem+json" in answer
    assert service.call("GET", "/healthz").status == 200


def test_a_large_target_is_refused(service):
    answer = raw(service.path, b"GET /" + b"a" * (HEAD_MAX + 10) + b" HTTP/1.1\r\nhost: x\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


def test_many_headers_are_refused(service):
    lines = b"".join(b"x%d: y\r\n" % number for number in range(HEADERS_MAX + 5))
    answer = raw(service.path, b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + lines + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 431")


def test_two_requests_on_one_connection(service):
    one = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    assert raw(service.path, one + last).count(b'{"status":"ok"}') == 2


def test_smuggling_lengths_are_refused(service):
    token = service.tokens[Role.AGENT].encode()
    head = (
        b"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer "
        + token
        + b"\r\ncontent-type: application/json\r\n"
    )
    for lengths in (
        b"content-length: 2\r\ncontent-length: 3\r\n",
        b"content-length: -1\r\n",
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n",
        b"transfer-encoding: gzip\r\n",
    ):
        before = len(service.judge.judged)
        answer = raw(service.path, head + lengths + b"connection: close\r\n\r\n{}", end=True)
        assert b" 200 " not in answer.split(b"\r\n")[0]
        assert len(service.judge.judged) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=400), st.binary(max_size=200).map(lambda tail: b"POST /v1/evaluate HTTP/1.1\r\n" + tail)
    )
)
def test_garbage_is_never_judged(service, data):
    before = len(service.judge.judged)
    answer = raw(service.path, data, end=True)
    assert not answer.startswith(b"HTTP/1.1 200")
    assert len(service.judge.judged) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_a_random_body_is_an_answered_refusal(service, body):
    before = len(service.judge.judged)
    answer = service.call("POST", "/v1/evaluate", body=body)
    assert answer.status in (400, 413)
    assert answer.json()["reason"].startswith("input.")
    assert len(service.judge.judged) == before


class Transport:
    def __init__(self):
        self.written = b""
        self.closed = False
        self.aborted = False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def abort(self):
        self.aborted = True

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name):
        return None


class Timer:
    def __init__(self, delay, action):
        self.delay, self.action, self.cancelled = delay, action, False

    def cancel(self):
        self.cancelled = True


class Loop:
    def __init__(self):
        self.timers = []

    def call_later(self, delay, action, *args):
        self.timers.append(Timer(delay, lambda: action(*args)))
        return self.timers[-1]


class Cycle:
    def __init__(self, complete):
        self.response_complete = complete


class Connection:
    def __init__(self):
        self.transport, self.loop, self.cycle, self.connections = Transport(), Loop(), None, set()

    async def app(self, scope, receive, send):
        raise AssertionError


def test_a_slow_head_is_timed_out_and_a_request_in_work_is_not():
    connection = Connection()
    guard = protocol._Guard(connection)
    guard.made(connection.transport)
    (first,) = connection.loop.timers
    assert first.delay == protocol.HEAD_TIMEOUT_S
    guard.fed()  # a piece of a head: the clock runs on, it is not wound up again
    assert connection.loop.timers == [first]
    connection.cycle = Cycle(complete=False)
    guard.fed()
    assert first.cancelled
    connection.cycle = Cycle(complete=True)
    guard.fed()  # a piece of the next head
    second = connection.loop.timers[-1]
    assert second is not first
    second.action()
    assert connection.transport.closed
    assert connection.transport.written.startswith(b"HTTP/1.1 408")


def test_connections_are_bounded():
    connection = Connection()
    connection.connections = set(range(protocol.CONNECTIONS_MAX + 1))
    guard = protocol._Guard(connection)
    guard.made(connection.transport)
    assert connection.transport.aborted
    assert guard.refused
    assert connection.loop.timers == []


def test_a_slow_body_is_timed_out():
    from shield.errors import InputError
    from shield.service import body

    async def main():
        async def receive():
            raise TimeoutError  # what asyncio.timeout makes of the wait

        first = {"type": "http.request", "body": b"{", "more_body": True}
        with pytest.raises(InputError) as refused:
            await body._rest({}, receive, first)
        assert refused.value.offset == 1

    asyncio.run(main())
