"""The one module that knows HTTP, against real sockets: what is repeated, what is refused, what is never told."""

import asyncio
import logging
import time

import httpx
import pytest

from agentctl.errors import (
    CancelledTurnError,
    ModelAnswerError,
    ModelConfigError,
    ModelError,
    ModelRefusedError,
    ModelUnreachableError,
)
from agentctl.events import Stop, TextDelta, ToolCallDone
from agentctl.providers.anthropic import AnthropicProvider
from agentctl.providers.endpoint import place
from agentctl.providers.http import Endpoint, HttpLimits, ModelHttp
from agentctl.providers.ollama import OllamaProvider
from agentctl.providers.openai import OpenAiProvider
from agentctl.providers.provider import ModelSettings
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import SystemMessage, UserMessage
from model_server import Call, Fault, ScriptedModel, Turn, Wire

KEY = "sk-very-secret-0123456789"
MESSAGES = [SystemMessage(text="be good"), UserMessage(text="hi")]
TOOLS = [ToolSpec(name="x", description="d", parameters={"type": "object"}, action_type="read_file")]
PROVIDERS = {"openai": OpenAiProvider, "anthropic": AnthropicProvider, "ollama": OllamaProvider}


def ask(script, *, kind="openai", limits=None, settings=None, slept=None, headers=None):
    """Every event of one answer, and the model."""

    async def run(model):
        async def sleep(seconds):
            if slept is not None:
                slept.append(seconds)

        endpoint = Endpoint(
            base_url=model.openai_url if kind == "openai" else model.url, api_key=KEY, headers=headers or {}
        )
        http = ModelHttp(endpoint, limits=limits or HttpLimits(), sleep=sleep, jitter=lambda: 1.0)
        provider = PROVIDERS[kind](endpoint, settings or ModelSettings(model="m"), http=http)
        try:
            return [event async for event in provider.stream(MESSAGES, TOOLS, cancel=Cancel())]
        finally:
            await provider.aclose()

    with ScriptedModel(script) as model:
        return asyncio.run(asyncio.wait_for(run(model), 20)), model


@pytest.mark.parametrize("kind", PROVIDERS)
@pytest.mark.parametrize("split", [(), (1,), (2, 31)])
def test_an_answer_over_a_real_socket(kind, split):
    turn = Turn(text="grüße 😀", calls=(Call("x", {"a": "é"}),), wire=Wire(split=split))
    events, model = ask([turn], kind=kind)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "grüße 😀"
    assert [event.call.arguments() for event in events if isinstance(event, ToolCallDone)] == [{"a": "é"}]
    assert isinstance(events[-1], Stop)
    (request,) = model.requests
    assert request.refused is None
    assert request.body["stream"] is True


def test_what_each_service_is_sent():
    settings = ModelSettings(model="m", max_tokens=5, temperature=0.5, extra={"seed": 1})
    sent = {kind: ask([Turn(text="x")], kind=kind, settings=settings)[1].requests[0] for kind in PROVIDERS}
    assert sent["openai"].headers["authorization"] == f"Bearer {KEY}"
    assert sent["anthropic"].headers["x-api-key"] == KEY
    assert sent["anthropic"].headers["anthropic-version"] == "2023-06-01"
    assert sent["anthropic"].body["system"] == "be good"
    assert sent["openai"].body["messages"][0] == {"role": "system", "content": "be good"}
    assert sent["ollama"].body["options"] == {"num_predict": 5, "temperature": 0.5}
    for request in sent.values():
        assert request.body["seed"] == 1
        assert request.headers["accept-encoding"] == "identity"
        assert "python" not in request.headers["user-agent"]


@pytest.mark.parametrize("kind", PROVIDERS)
def test_extra_fields_may_not_replace_ours(kind):
    endpoint = Endpoint(base_url="http://127.0.0.1:1")
    for field in ("messages", "tools", "model", "stream"):
        with pytest.raises(ModelConfigError, match=field):
            PROVIDERS[kind](endpoint, ModelSettings(model="m", extra={field: []}))


def test_a_server_that_keeps_the_connection_open_after_the_end_is_not_waited_for():
    for kind in PROVIDERS:
        events, _ = ask([Turn(text="x", wire=Wire(keep_open=True))], kind=kind)
        assert isinstance(events[-1], Stop)


# --- repeating -------------------------------------------------------------------------------------------------------


def failing(*statuses, **more):
    return [Turn(fault=Fault(status=status, **more)) for status in statuses]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_can_help_is_asked_again(status):
    slept = []
    events, model = ask([*failing(status, status), Turn(text="ok")], slept=slept)
    assert isinstance(events[-1], Stop)
    assert slept == [0.5, 1.0]
    assert len(model.requests) == 3


def test_asking_again_is_bounded():
    slept = []
    with pytest.raises(ModelUnreachableError, match="529"):
        ask(failing(*[529] * 9), slept=slept)
    assert len(slept) == 3


def test_the_time_that_the_server_names_is_kept():
    slept = []
    ask([*failing(429, headers=(("retry-after", "7"),)), Turn(text="ok")], slept=slept)
    assert slept == [7.0]


def test_a_date_counts_from_the_servers_own_clock():
    def at(seconds):
        return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))

    slept = []
    headers = (("date", at(1000)), ("retry-after", at(1009)))
    ask([*failing(503, headers=headers), Turn(text="ok")], slept=slept)
    assert slept == [9.0]


@pytest.mark.parametrize("value", ["", "soon", "-5", "٣", "nan", "Mon"])
def test_a_time_that_cannot_be_read_is_no_time(value):
    slept = []
    raw = value.encode().decode("latin-1")
    ask([*failing(429, headers=(("retry-after", raw),)), Turn(text="ok")], slept=slept)
    assert slept == [0.5]


def test_a_wait_that_is_too_long_is_told_and_not_waited():
    slept = []
    with pytest.raises(ModelUnreachableError, match="429") as error:
        ask(failing(429, headers=(("retry-after", "99999999999999"),)), slept=slept)
    assert error.value.status == 429
    assert slept == []


@pytest.mark.parametrize(
    "said",
    [
        '{"error": {"message": "This model\'s maximum context length is 8192 tokens.", "code": "context_length_exceeded"}}',
        '{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}}',
        '{"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it"}}',
    ],
)
def test_a_talk_that_has_grown_too_long_is_told_from_other_mistakes(said):
    with pytest.raises(ModelRefusedError, match="begin a new chat, or choose a model that reads more"):
        ask([Turn(fault=Fault(status=400, body=said))])
    with pytest.raises(ModelRefusedError) as other:
        ask([Turn(fault=Fault(status=400, body='{"error": {"message": "the model does not exist"}}'))])
    assert "new chat" not in str(other.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_cannot_help_is_not_asked_again(status):
    with pytest.raises(ModelRefusedError) as error:
        ask([*failing(status), Turn(text="ok")])
    assert error.value.status == status


def test_a_broken_connection_is_asked_again_only_before_the_first_byte():
    before, model = ask([Turn(text="x", fault=Fault(cut_at=-1)), Turn(text="ok")], slept=[])
    assert isinstance(before[-1], Stop)
    assert len(model.requests) == 2
    slept = []
    with pytest.raises(ModelAnswerError, match="broke"):
        ask([Turn(text="x" * 99, fault=Fault(cut_at=200)), Turn(text="ok")], slept=slept)
    assert slept == []


def test_an_overload_inside_the_stream_is_not_asked_again():
    slept = []
    with pytest.raises(ModelError):
        ask([Turn(text="x", fault=Fault(garbage_at=2)), Turn(text="ok")], kind="anthropic", slept=slept)
    assert slept == []


def test_nobody_there():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async def run():
        endpoint = Endpoint(base_url="http://127.0.0.1:1/v1", api_key=KEY)
        http = ModelHttp(endpoint, sleep=sleep)
        try:
            with pytest.raises(ModelUnreachableError, match=r"`127\.0\.0\.1:1`"):
                await anext(http.post("x", b"", {}, cancel=Cancel()))
        finally:
            await http.aclose()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert len(slept) == 3


# --- refused ---------------------------------------------------------------------------------------------------------


def test_redirects_are_not_followed():
    script = [Turn(fault=Fault(status=302, headers=(("location", "http://127.0.0.1:1/"),))), Turn(text="ok")]
    with pytest.raises(ModelRefusedError, match="redirect"):
        ask(script)


PAGE = "<!doctype html>\n<title>Welcome</title>"


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_web_page_is_no_answer_and_the_address_is_named(kind):
    """The address of a model's website, or one that lacks its path: asking again would not help."""
    html = (("content-type", "text/HTML; charset=utf-8"),)
    for status, error in ((200, ModelAnswerError), (404, ModelRefusedError)):
        script = [Turn(fault=Fault(status=status, headers=html, body=PAGE))]
        with pytest.raises(error, match="check `base_url`") as said:
            ask(script, kind=kind)
        assert "ask again" not in said.value.detail


@pytest.mark.parametrize("kind", PROVIDERS)
@pytest.mark.parametrize("body", ["ok\n", "\n", '{"detail": "hello"}', PAGE])
def test_a_server_that_says_nothing_of_a_model_may_be_another_one(kind, body):
    if kind == "anthropic" and body.startswith("{"):
        body = f"data: {body}"
    with pytest.raises(ModelAnswerError) as said:
        ask([Turn(fault=Fault(status=200, headers=(("content-type", "text/plain"),), body=body))], kind=kind)
    assert "check `base_url` and `provider`" in said.value.detail


@pytest.mark.parametrize("kind", PROVIDERS)
def test_an_answer_that_began_and_broke_off_is_asked_for_again(kind):
    with pytest.raises(ModelError) as said:
        ask([Turn(text="hello " * 99, fault=Fault(cut_at=300))], kind=kind)
    assert "base_url" not in said.value.detail


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.example/v1", "x.example:443"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://[::1]/v1", "[::1]:80"),
    ],
)
def test_a_server_is_named_with_its_port(url, shown):
    parts = httpx.URL(url)
    assert place(parts.scheme, parts.host, parts.port) == shown


def test_a_compressed_answer_is_refused():
    script = [Turn(fault=Fault(status=200, headers=(("content-encoding", "gzip"),), body="x"))]
    with pytest.raises(ModelAnswerError, match="compressed"):
        ask(script)


def test_an_answer_that_is_too_long_is_refused():
    with pytest.raises(ModelAnswerError, match="longer than 2000 bytes"):
        ask([Turn(text="x" * 9000)], limits=HttpLimits(answer_bytes=2000))


def test_an_answer_that_takes_too_long_is_refused():
    """The clock is passed in: it moves an hour with every look."""

    async def run(model):
        ticks = iter(range(0, 3600 * 1000, 3600))
        endpoint = Endpoint(base_url=model.openai_url)
        http = ModelHttp(endpoint, clock=lambda: float(next(ticks)))
        provider = OpenAiProvider(endpoint, ModelSettings(model="m"), http=http)
        try:
            with pytest.raises(ModelUnreachableError, match="took longer"):
                [event async for event in provider.stream(MESSAGES, [], cancel=Cancel())]
        finally:
            await provider.aclose()

    with ScriptedModel([Turn(text="x")]) as model:
        asyncio.run(asyncio.wait_for(run(model), 20))


def test_a_silent_server_is_given_up():
    with pytest.raises(ModelUnreachableError, match="silent"):
        ask([Turn(text="x" * 99, fault=Fault(hang_at=150))], limits=HttpLimits(read_s=0.2))


@pytest.mark.parametrize("limits", [HttpLimits(read_s=0.2), HttpLimits(total_s=0.2)])
def test_a_server_that_does_not_begin_is_given_up_and_not_asked_again(limits):
    """It may be at work already; a second request would only add to its load."""
    slept = []
    with pytest.raises(ModelUnreachableError, match="did not begin"):
        ask([Turn(fault=Fault(hang_at=-1)), Turn(text="ok")], limits=limits, slept=slept)
    assert slept == []


def test_an_error_page_without_end_is_not_read_to_its_end():
    with pytest.raises(ModelRefusedError) as error:
        ask([Turn(fault=Fault(status=404, body="<html>" + "x" * 1_000_000))])
    assert len(error.value.detail) < 500


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://x/",
        "file:///etc/passwd",
        "https://",
        "https://user:pass@x/",
        "https://x/?key=1",
        "https://x/#f",
        "http://model.example/v1",  # the key would be readable on the way
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://[::2]/",
    ],
)
def test_addresses_that_are_not_safe_are_refused(url):
    with pytest.raises(ModelConfigError):
        ModelHttp(Endpoint(base_url=url, api_key=KEY))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://x.example/v1", KEY),
        ("http://localhost:1/v1", KEY),
        ("http://[::1]:1", KEY),
        ("http://127.8.8.8", KEY),
        ("http://lan.example:11434", None),
    ],
)
def test_addresses_that_are_safe_are_kept_as_they_are(url, key):
    http = ModelHttp(Endpoint(base_url=url, api_key=key))
    assert str(http._base) == url
    assert http.without_secrets(KEY) == ("[key]" if key else KEY)
    asyncio.run(http.aclose())


@pytest.mark.parametrize("key", ["a\nb", "a\r\nx-evil: 1", "ключ", "a\x00"])
def test_a_key_that_would_break_the_header_is_refused(key):
    with pytest.raises(ModelConfigError) as error:
        ModelHttp(Endpoint(base_url="https://x.example", api_key=key))
    assert key not in str(error.value)


# --- never told ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 500])
def test_the_key_is_in_no_message_and_no_log(status, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "Basic c2VjcmV0LXNlY3JldA=="
    body = f'{{"error":{{"message":"bad key {KEY} or {secret}","type":"auth"}}}}'
    with pytest.raises(ModelError) as error:
        ask(failing(*[status] * 4, body=body), headers={"x-proxy-auth": secret})
    told = f"{error.value!r} {error.value.detail} {error.getrepr(showlocals=False, style='short')} {caplog.text}"
    assert "[key]" in error.value.detail
    assert KEY not in told.replace(body, "")
    assert secret not in told.replace(body, "")


def test_the_key_in_an_error_inside_the_stream_is_not_told():
    body = f'data: {{"error":{{"message":"bad key {KEY}","type":"auth"}}}}\n\n'
    with pytest.raises(ModelRefusedError) as error:
        ask([Turn(fault=Fault(status=200, body=body))])
    assert "[key]" in error.value.detail
    assert KEY not in error.value.detail


def test_the_key_is_in_no_repr():
    endpoint = Endpoint(base_url="https://x.example", api_key=KEY, headers={"a": KEY}, proxy=f"http://u:{KEY}@p:1")
    assert KEY not in repr(endpoint)


def test_proxies_are_not_taken_from_the_environment(monkeypatch):
    """A variable that a project's shell hook could set must not redirect the conversation."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    events, _ = ask([Turn(text="x")])
    assert isinstance(events[-1], Stop)


# --- cancelling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PROVIDERS)
def test_cancelling_ends_the_connection(kind):
    """The server's hanging answer ends only when the client has gone."""

    async def run(model):
        cancel = Cancel()
        endpoint = Endpoint(base_url=model.openai_url if kind == "openai" else model.url)
        provider = PROVIDERS[kind](endpoint, ModelSettings(model="m"))

        async def consume():
            return [event async for event in provider.stream(MESSAGES, [], cancel=cancel)]

        task = asyncio.ensure_future(consume())
        await asyncio.to_thread(model.hanging.wait, 10)
        cancel.set()
        with pytest.raises(CancelledTurnError):
            await task
        await provider.aclose()

    with ScriptedModel([Turn(text="x" * 99, fault=Fault(hang_at=300))]) as model:
        asyncio.run(asyncio.wait_for(run(model), 20))


def test_cancelling_ends_a_wait_between_attempts():
    async def run(model):
        cancel = Cancel()
        endpoint = Endpoint(base_url=model.openai_url)

        async def sleep(seconds):
            cancel.set()
            await asyncio.Event().wait()

        http = ModelHttp(endpoint, sleep=sleep)
        provider = OpenAiProvider(endpoint, ModelSettings(model="m"), http=http)
        with pytest.raises(CancelledTurnError):
            [event async for event in provider.stream(MESSAGES, [], cancel=cancel)]
        await provider.aclose()

    with ScriptedModel(failing(503, 503)) as model:
        asyncio.run(asyncio.wait_for(run(model), 20))
        assert len(model.requests) == 1
