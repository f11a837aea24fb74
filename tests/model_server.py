"""A scripted language model on a real socket, in the OpenAI, Anthropic and Ollama wire formats.

    with ScriptedModel([Turn(calls=(Call("read_file", {"path": "README.md"}),)), Turn(text="done")]) as model:
        ...  # model.openai_url, model.url; model.requests afterwards

Each request takes the next turn of the script (a `Turn`, or a function from the `Request` to one). Requests are held
to the rules that the real services enforce: one that they would refuse is answered 400 and uses up no turn.
`tests/agentctl/model_server` proves the shapes with the official clients in strict mode.
"""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

CREATED = 1_795_000_000
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `arguments` as an object, or as the exact text to send."""

    name: str
    arguments: Any = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How an answer is put on the wire. `split` are the sizes of the writes, in turn; empty is one write.

    `fragment` is the number of characters in a delta. `escape` writes non-ASCII as JSON escapes, and cuts surrogate
    pairs in two. The rest are habits of OpenAI-compatible servers.
    """

    split: tuple[int, ...] = ()
    eol: str = "\n"
    comments: bool = False
    fragment: int = 7
    escape: bool = False
    omit_index: bool = False
    omit_id: bool = False
    id_everywhere: bool = False
    zero_index: bool = False
    usage: str = "last"  # last | null | none
    done: bool = True
    final_blank: bool = True
    keep_open: bool = False  # the connection is not closed and the body not ended after the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong. `status` answers with an error; `cut_at` breaks the connection after so many bytes of the body
    (-1: before any answer), `hang_at` goes silent there (-1: before any answer) until the client
    leaves; `garbage_at` inserts a line that is not JSON."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    cut_at: int | None = None
    hang_at: int | None = None
    garbage_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer. `stop` is the wire's own word where it is not the usual one."""

    text: str = ""
    thinking: str = ""
    redacted_thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: str | None = None
    usage: tuple[int, int] = (11, 7)
    wire: Wire = field(default_factory=Wire)
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    refused: str | None = None


Step = Turn | Callable[[Request], Turn]


# --- the three formats, as pure functions ----------------------------------------------------------------------------


def pieces(text: str, wire: Wire) -> list[str]:
    """The text in deltas; with `escape` cut in UTF-16 units, so that pairs are torn as real servers tear them."""
    if wire.escape:
        units = text.encode("utf-16-le", "surrogatepass")
        step = 2 * wire.fragment
        return [units[at : at + step].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), step)]
    return [text[at : at + wire.fragment] for at in range(0, len(text), wire.fragment)]


def encode(value: Any, wire: Wire) -> str:
    return json.dumps(value, ensure_ascii=wire.escape, separators=(",", ":"))


def sse(events: Sequence[tuple[str | None, str]], wire: Wire) -> bytes:
    """`events` are the event field, None for none, and the data."""
    out: list[str] = []
    for at, (name, data) in enumerate(events):
        if wire.comments:
            out.append(f": keep-alive {at}{wire.eol}")
            out.append(wire.eol)
        if name is not None:
            out.append(f"event: {name}{wire.eol}")
        out.append(f"data: {data}{wire.eol}")
        if at < len(events) - 1 or wire.final_blank:
            out.append(wire.eol)
    return "".join(out).encode()


def openai_usage(turn: Turn) -> dict[str, int]:
    given, written = turn.usage
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


def openai_stop(turn: Turn) -> str:
    return turn.stop or ("tool_calls" if turn.calls else "stop")


def openai_reply(turn: Turn, model: str = "m") -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.thinking:
        message["reasoning_content"] = turn.thinking
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id or f"call_{at}", "type": "function", "function": {"name": call.name, "arguments": call.text}}
            for at, call in enumerate(turn.calls)
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": openai_stop(turn), "logprobs": None}],
        "usage": openai_usage(turn),
    }


def openai_stream(turn: Turn, model: str = "m", *, usage: bool = True) -> bytes:
    wire = turn.wire

    def chunk(choices: list[Any], **more: Any) -> tuple[None, str]:
        shape = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": CREATED, "model": model}
        if wire.usage == "null":
            more.setdefault("usage", None)
        return None, encode({**shape, "choices": choices, **more}, wire)

    def delta(content: dict[str, Any], finish: str | None = None) -> tuple[None, str]:
        return chunk([{"index": 0, "delta": content, "finish_reason": finish, "logprobs": None}])

    events = [delta({"role": "assistant", "content": ""})]
    events += [delta({"reasoning_content": piece}) for piece in pieces(turn.thinking, wire)]
    events += [delta({"content": piece}) for piece in pieces(turn.text, wire)]
    for at, call in enumerate(turn.calls):
        place: dict[str, Any] = {} if wire.omit_index else {"index": 0 if wire.zero_index else at}
        name = {} if wire.omit_id else {"id": call.id or f"call_{at}"}
        every = name if wire.id_everywhere else {}
        events.append(
            delta(
                {
                    "tool_calls": [
                        {**place, **name, "type": "function", "function": {"name": call.name, "arguments": ""}}
                    ]
                }
            )
        )
        events += [
            delta({"tool_calls": [{**place, **every, "function": {"arguments": piece}}]})
            for piece in pieces(call.text, wire)
        ]
    events.append(delta({}, openai_stop(turn)))
    if usage and wire.usage != "none":
        events.append(chunk([], usage=openai_usage(turn)))
    if wire.done:
        events.append((None, "[DONE]"))
    return sse(events, wire)


def anthropic_stop(turn: Turn) -> str:
    return turn.stop or ("tool_use" if turn.calls else "end_turn")


def anthropic_blocks(turn: Turn) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if turn.thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": "sig/" + "A" * 20})
    if turn.redacted_thinking:
        blocks.append({"type": "redacted_thinking", "data": turn.redacted_thinking})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text, "citations": None})
    for at, call in enumerate(turn.calls):
        blocks.append({"type": "tool_use", "id": call.id or f"toolu_{at}", "name": call.name, "input": call.arguments})
    return blocks


def anthropic_message(turn: Turn, model: str, blocks: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": turn.usage[0], "output_tokens": turn.usage[1] if stop else 1},
    }


def anthropic_reply(turn: Turn, model: str = "m") -> dict[str, Any]:
    return anthropic_message(turn, model, anthropic_blocks(turn), anthropic_stop(turn))


def anthropic_stream(turn: Turn, model: str = "m") -> bytes:
    wire = turn.wire
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": anthropic_message(turn, model, [], None)},
        {"type": "ping"},
    ]
    for at, block in enumerate(anthropic_blocks(turn)):
        kind = block["type"]
        deltas: list[dict[str, Any]] = []
        if kind == "text":
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], wire)]
        elif kind == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], wire)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif kind == "tool_use":
            start = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
            text = next(call.text for call in turn.calls if call.arguments is block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": ""}]
            deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text, wire)]
            if text == "{}":
                deltas = []
        else:
            start = block
        events.append({"type": "content_block_start", "index": at, "content_block": start})
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": anthropic_stop(turn), "stop_sequence": None},
            "usage": {"output_tokens": turn.usage[1]},
        }
    )
    events.append({"type": "message_stop"})
    return sse([(event["type"], encode(event, wire)) for event in events], wire)


def ollama_message(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.thinking:
        message["thinking"] = turn.thinking
    if turn.calls:
        message["tool_calls"] = [
            {"function": {"index": at, "name": call.name, "arguments": call.arguments}}
            | ({} if call.id is None else {"id": call.id})
            for at, call in enumerate(turn.calls)
        ]
    return message


def ollama_final(turn: Turn, model: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": model,
        "created_at": "2026-11-21T20:00:00Z",
        "message": message,
        "done": True,
        "done_reason": turn.stop or "stop",
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_count": turn.usage[0],
        "prompt_eval_duration": 1,
        "eval_count": turn.usage[1],
        "eval_duration": 1,
    }


def ollama_reply(turn: Turn, model: str = "m") -> dict[str, Any]:
    return ollama_final(turn, model, ollama_message(turn))


def ollama_stream(turn: Turn, model: str = "m") -> bytes:
    wire = turn.wire

    def line(message: dict[str, Any]) -> dict[str, Any]:
        return {"model": model, "created_at": "2026-11-21T20:00:00Z", "message": message, "done": False}

    empty = {"role": "assistant", "content": ""}
    lines = [line({**empty, "thinking": piece}) for piece in pieces(turn.thinking, wire)]
    lines += [line({"role": "assistant", "content": piece}) for piece in pieces(turn.text, wire)]
    if turn.calls:
        lines.append(line({**empty, "tool_calls": ollama_message(turn)["tool_calls"]}))
    lines.append(ollama_final(turn, model, empty))
    return "".join(encode(entry, wire) + wire.eol for entry in lines).encode()


# --- what the real services refuse -----------------------------------------------------------------------------------


def openai_fault(body: Mapping[str, Any]) -> str | None:
    """Why OpenAI would answer 400, None if it would not."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages must not be empty"
    waiting: list[str] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return "a tool message must answer a preceding tool call"
            waiting.remove(message["tool_call_id"])
            if not isinstance(message.get("content"), str):
                return "a tool message needs content"
            continue
        if waiting:
            return f"tool calls without a tool message: {waiting}"
        if role == "assistant":
            calls = message.get("tool_calls") or []
            if not calls and not message.get("content"):
                return "an assistant message needs content or tool calls"
            for call in calls:
                try:
                    json.loads(call["function"]["arguments"])
                except ValueError:
                    return "the arguments of a tool call must be json"
            waiting = [call["id"] for call in calls]
            if len(set(waiting)) != len(waiting):
                return "tool call ids must be unique"
        elif role not in ("system", "user", "developer") or not isinstance(message.get("content"), str | list):
            return f"bad message {role}"
    if waiting:
        return f"tool calls without a tool message: {waiting}"
    for tool in body.get("tools", []):
        if not NAME.fullmatch(tool["function"]["name"]) or tool["function"]["parameters"].get("type") != "object":
            return "bad tool"
    return None


def anthropic_fault(body: Mapping[str, Any]) -> str | None:
    """Why Anthropic would answer 400, None if it would not."""
    messages = body.get("messages")
    if not isinstance(body.get("max_tokens"), int) or not isinstance(messages, list) or not messages:
        return "max_tokens and messages are required"
    if messages[0]["role"] != "user":
        return "the first message must be the user's"
    waiting: list[str] = []
    seen: set[str] = set()
    roles = [message["role"] for message in messages]
    if any(role not in ("user", "assistant") for role in roles) or any(map(str.__eq__, roles, roles[1:])):
        return "roles must alternate"  # the service joins neighbours nowadays, servers that imitate it do not
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            return "content must not be empty"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return "text blocks must not be blank"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            return "tool results must come first"
        if sorted(results) != sorted(waiting):
            return "each tool_use must have its tool_result in the next message"
        waiting = []
        if message["role"] == "assistant":
            for block in blocks:
                if block["type"] == "tool_use":
                    if block["id"] in seen or not NAME.fullmatch(block["id"]) or not isinstance(block["input"], dict):
                        return "bad tool_use"
                    seen.add(block["id"])
                    waiting.append(block["id"])
                if block["type"] == "thinking" and not block["signature"]:
                    return "thinking needs its signature"
    if waiting:
        return "each tool_use must have its tool_result in the next message"
    for tool in body.get("tools", []):
        if not NAME.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            return "bad tool"
    return None


# --- the server ------------------------------------------------------------------------------------------------------


class ScriptedModel:
    """The server, in a thread of its own with an event loop of its own. `hanging` is set while an answer hangs."""

    def __init__(self, script: Sequence[Step] = ()) -> None:
        self.script = list(script)
        self.requests: list[Request] = []
        self.hanging = threading.Event()
        self._served = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self.port = 0

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        assert self._ready.wait(10), "the scripted model did not start"
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the scripted model did not stop"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def served(self) -> int:
        """How many turns of the script were used."""
        return self._served

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        open_ones: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            open_ones.add(task)
            try:
                await self._connection(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                writer.transport.abort()
            finally:
                writer.close()
                open_ones.discard(task)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(open_ones):
            task.cancel()
        if open_ones:
            await asyncio.wait(set(open_ones), timeout=5)
        await server.wait_closed()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        kind = next((kind for kind in _FORMATS if path.endswith(kind)), None)
        if method != "POST" or kind is None:
            await _answer(writer, 404, {"error": {"type": "not_found_error", "message": f"no route {path}"}})
            return
        body = json.loads(raw)
        fault = _FORMATS[kind].fault(body)
        request = Request(path=path, headers=headers, body=body, refused=fault)
        self.requests.append(request)
        if fault is None and self._served >= len(self.script):
            fault = "the script is over"
        if fault is not None:
            error = {"type": "invalid_request_error", "message": fault}
            await _answer(writer, 400, {"type": "error", "error": error})
            return
        step = self.script[self._served]
        self._served += 1
        turn = step if isinstance(step, Turn) else step(request)
        await self._play(_FORMATS[kind], turn, request, reader, writer)

    async def _play(
        self, shape: "_Format", turn: Turn, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        fault = turn.fault or Fault()
        if fault.status is not None:
            body = fault.body or json.dumps(
                {"type": "error", "error": {"type": "scripted_error", "message": "scripted"}}
            )
            await _answer(writer, fault.status, body, fault.headers)
            return
        if fault.cut_at == -1:
            writer.transport.abort()
            return
        if fault.hang_at == -1:
            self.hanging.set()
            await reader.read()
            return
        model = request.body.get("model", "m")
        streamed = bool(request.body.get("stream", shape.streams_by_default))
        if not streamed:
            await _answer(writer, 200, shape.reply(turn, model))
            return
        data = shape.stream(turn, model, request.body)
        if fault.garbage_at is not None:
            lines = data.split(b"\n\n")
            data = b"\n\n".join([*lines[: fault.garbage_at], b"data: {not json", *lines[fault.garbage_at :]])
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: "
            + shape.media_type.encode()
            + b"\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        stop_at = next((at for at in (fault.cut_at, fault.hang_at) if at is not None), len(data))
        for piece in cut(data[:stop_at], turn.wire.split):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        if fault.cut_at is not None:
            return  # closed without the last chunk: what was sent arrives, and the client sees that it is torn
        if fault.hang_at is not None or turn.wire.keep_open:
            self.hanging.set()
            await reader.read()
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()


def cut(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    """The data in pieces of these sizes, in turn."""
    if not sizes:
        if data:
            yield data
        return
    at = 0
    for size in cycle(sizes):
        if at >= len(data):
            return
        yield data[at : at + size]
        at += size


async def _answer(
    writer: asyncio.StreamWriter, status: int, body: Any, headers: Sequence[tuple[str, str]] = ()
) -> None:
    raw = (body if isinstance(body, str) else json.dumps(body)).encode()
    named = {
        "content-type": "application/json",
        "content-length": str(len(raw)),
        "connection": "close",
        **dict(headers),
    }
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + raw)
    await writer.drain()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    fault: Callable[[Mapping[str, Any]], str | None]
    reply: Callable[[Turn, str], dict[str, Any]]
    stream: Callable[[Turn, str, Mapping[str, Any]], bytes]
    media_type: str = "text/event-stream"
    streams_by_default: bool = False


_FORMATS = {
    "/chat/completions": _Format(
        fault=openai_fault,
        reply=openai_reply,
        stream=lambda turn, model, body: openai_stream(
            turn, model, usage=bool((body.get("stream_options") or {}).get("include_usage"))
        ),
    ),
    "/v1/messages": _Format(
        fault=anthropic_fault, reply=anthropic_reply, stream=lambda turn, model, body: anthropic_stream(turn, model)
    ),
    "/api/chat": _Format(
        fault=lambda body: None,
        reply=ollama_reply,
        stream=lambda turn, model, body: ollama_stream(turn, model),
        media_type="application/x-ndjson",
        streams_by_default=True,
    ),
}
