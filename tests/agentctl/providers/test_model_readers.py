"""Every wire format's reader, on bytes: the cut changes nothing, and nothing torn passes for whole."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentctl.errors import ArgumentsError, ModelAnswerError, ModelError, ModelRefusedError, ModelUnreachableError
from agentctl.events import (
    Stop,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    ToolCallDelta,
    ToolCallDone,
    ToolCallStart,
    Usage,
)
from agentctl.providers.anthropic_stream import AnthropicReader
from agentctl.providers.ollama import OllamaReader
from agentctl.providers.openai_stream import OpenAiReader
from agentctl.providers.wire import MAX_CALLS
from agentctl.turns.messages import StopReason
from model_server import Call, Turn, Wire, anthropic_stream, cut, ollama_stream, openai_reply, openai_stream

FORMATS = {
    "openai": (OpenAiReader, openai_stream),
    "anthropic": (AnthropicReader, anthropic_stream),
    "ollama": (OllamaReader, ollama_stream),
}
TURN = Turn(
    text="grüße 😀 héllo",
    thinking="wägen 🤔",
    calls=(
        Call("read_file", {"path": "é 😀.txt"}),
        Call("list_directory", {}),
        Call("write_file", {"content": 'a\n"b"'}),
    ),
)


def events_of(reader, chunks):
    events = []
    for chunk in chunks:
        events += reader.feed(chunk)
    if not reader.done:
        events += reader.end()
    assert reader.done
    return events


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events):
    return [event.call for event in events if isinstance(event, ToolCallDone)]


def stop_of(events):
    stops = [event.reason for event in events if isinstance(event, Stop)]
    assert len(stops) == 1
    assert isinstance(events[-1], Stop)
    return stops[0]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_whole_answer_is_read(kind):
    make, stream = FORMATS[kind]
    events = events_of(make(), [stream(TURN)])
    assert text_of(events) == TURN.text
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == TURN.thinking
    assert [(call.name, call.arguments()) for call in calls_of(events)] == [(c.name, c.arguments) for c in TURN.calls]
    assert stop_of(events) is StopReason.TOOLS
    assert [event for event in events if isinstance(event, Usage)] == [Usage(input_tokens=11, output_tokens=7)]
    assert [event.name for event in events if isinstance(event, ToolCallStart)] == [call.name for call in TURN.calls]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_the_pieces_of_arguments_make_up_the_exact_text(kind):
    make, stream = FORMATS[kind]
    text = '{ "b" : 1.0,\n "a":"\\u00e9" }'
    events = events_of(make(), [stream(Turn(calls=(Call("x", text),)))])
    assert "".join(event.text for event in events if isinstance(event, ToolCallDelta)) == text
    assert calls_of(events)[0].arguments_text == text


plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
turns = st.builds(
    Turn,
    text=plain_text,
    thinking=plain_text,
    calls=st.lists(
        st.builds(Call, st.just("tool"), st.dictionaries(plain_text, plain_text, max_size=2)), max_size=3
    ).map(tuple),
    wire=st.builds(
        Wire,
        eol=st.sampled_from(["\n", "\r\n", "\r"]),
        comments=st.booleans(),
        escape=st.booleans(),
        fragment=st.integers(1, 9),
        final_blank=st.booleans(),
        usage=st.sampled_from(["last", "null", "none"]),
        id_everywhere=st.booleans(),
        done=st.booleans(),
    ),
)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=60, deadline=None)
@given(turn=turns, sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5))
@example(turn=replace(TURN, wire=Wire(eol="\r\n", escape=True, fragment=1)), sizes=[1])
def test_any_cut_of_the_bytes_gives_the_same_events(kind, turn, sizes):
    make, stream = FORMATS[kind]
    data = stream(turn)
    whole = events_of(make(), [data])
    assert events_of(make(), cut(data, sizes)) == whole
    assert text_of(whole) == turn.text
    assert [(call.name, call.arguments()) for call in calls_of(whole)] == [(c.name, c.arguments) for c in turn.calls]


@pytest.mark.parametrize("kind", FORMATS)
def test_an_answer_that_ends_early_never_passes_for_whole(kind):
    """Cut after every single byte: either an error, or (once the server has said why it ended) the very same calls."""
    make, stream = FORMATS[kind]
    data = stream(Turn(text="ok", calls=(Call("delete_file", {"path": "build/tmp"}), Call("list_directory", {}))))
    whole = calls_of(events_of(make(), [data]))
    passed = 0
    for end in range(len(data)):
        try:
            events = events_of(make(), [data[:end]])
        except ModelAnswerError:
            continue
        passed += 1
        assert calls_of(events) == whole
        assert stop_of(events) is StopReason.TOOLS
    assert passed < len(data) / 2


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_bytes_bring_anything_but_events_or_a_model_error(kind, data):
    make, stream = FORMATS[kind]
    raw = bytearray(stream(TURN))
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=6)):
        raw[at] = value
    try:
        events = events_of(make(), [bytes(raw)])
    except ModelError:
        return
    assert stop_of(events) in StopReason
    for call in calls_of(events):
        try:
            assert isinstance(call.arguments(), dict)
        except ArgumentsError:
            pass


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "tool_use", "text_delta", "stop"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "index",
                    "delta",
                    "choices",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "content",
                    "message",
                    "content_block",
                    "usage",
                    "id",
                    "error",
                    "partial_json",
                    "text",
                    "finish_reason",
                    "done",
                    "input",
                    "prompt_tokens",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
KINDS = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"]


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=200, deadline=None)
@given(values=st.lists(json_values, max_size=4), kinds=st.lists(st.sampled_from(KINDS), max_size=4))
def test_no_json_of_any_shape_brings_anything_but_events_or_a_model_error(kind, values, kinds):
    make, _ = FORMATS[kind]
    for value, type_ in zip(values, kinds, strict=False):
        if isinstance(value, dict):
            value["type"] = type_
    lines = [json.dumps(value) for value in values]
    raw = "".join(f"{line}\n" if kind == "ollama" else f"data: {line}\n\n" for line in lines).encode()
    try:
        events = events_of(make(), [raw])
    except ModelError:
        return
    assert stop_of(events) in StopReason


# --- arguments: the exact text, read strictly ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a", "path": "b"}',  # two readers could run two files
        '{"n": NaN}',
        '{"n": 1e400}',
        "[1]",
        '"x"',
        "{",
        '{"a":1}{"b":2}',
        '{"p": "\\ud800"}',
        "null",
    ],
)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_arguments_that_two_readers_could_read_differently_are_kept_but_refused(kind, text):
    make, stream = FORMATS[kind]
    (call,) = calls_of(events_of(make(), [stream(Turn(calls=(Call("write_file", text),)))]))
    assert call.arguments_text == text
    with pytest.raises(ArgumentsError):
        call.arguments()


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_half_a_surrogate_pair_in_arguments_is_refused_not_replaced(kind):
    """Replacing it would run something that the model did not write."""
    make, stream = FORMATS[kind]
    (call,) = calls_of(events_of(make(), [stream(Turn(calls=(Call("x", '{"p":"\ud83d"}'),), wire=Wire(escape=True)))]))
    with pytest.raises(ArgumentsError):
        call.arguments()


def test_half_a_surrogate_pair_in_text_is_replaced():
    for make, stream in FORMATS.values():
        turn = Turn(text="a\ud83d", wire=Wire(escape=True))
        assert text_of(events_of(make(), [stream(turn)])) == "a\ufffd"


def test_no_arguments_are_an_empty_object():
    openai = events_of(OpenAiReader(), [openai_stream(Turn(calls=(Call("x", ""),)))])
    anthropic = events_of(AnthropicReader(), [anthropic_stream(Turn(calls=(Call("x", "{}"),)))])
    assert [call.arguments() for call in calls_of(openai) + calls_of(anthropic)] == [{}, {}]


def test_an_envelope_with_a_duplicate_key_is_refused():
    data = openai_stream(Turn(text="x")).replace(b'"index":0', b'"index":1,"index":0', 1)
    with pytest.raises(ModelAnswerError, match="not valid json"):
        events_of(OpenAiReader(), [data])


# --- habits of OpenAI-compatible servers -----------------------------------------------------------------------------

TWO = Turn(calls=(Call("read_file", {"path": "a"}, "id_a"), Call("read_file", {"path": "b"}, "id_b")))


@pytest.mark.parametrize(
    "wire",
    [
        Wire(),
        Wire(omit_index=True),
        Wire(omit_index=True, id_everywhere=True),
        Wire(id_everywhere=True),
        Wire(zero_index=True),
        Wire(zero_index=True, id_everywhere=True),
        Wire(omit_id=True),
        Wire(omit_id=True, omit_index=True),
        Wire(done=False, usage="none"),
        Wire(done=False, final_blank=False),
    ],
)
def test_parallel_calls_are_told_apart_whatever_is_left_out(wire):
    calls = calls_of(events_of(OpenAiReader(), [openai_stream(replace(TWO, wire=wire))]))
    assert [call.arguments() for call in calls] == [{"path": "a"}, {"path": "b"}]
    assert [call.id for call in calls] == (["", ""] if wire.omit_id else ["id_a", "id_b"])


def chunk(*tool_calls, finish=None, **delta):
    delta = {**delta, "tool_calls": list(tool_calls)} if tool_calls else delta
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n".encode()


def test_interleaved_fragments_go_to_the_call_of_their_index():
    data = [
        chunk({"index": 0, "id": "a", "function": {"name": "x", "arguments": '{"a"'}}),
        chunk({"index": 1, "id": "b", "function": {"name": "y", "arguments": '{"b"'}}),
        chunk({"index": 0, "function": {"arguments": ":1}"}}, {"index": 1, "function": {"arguments": ":2}"}}),
        chunk(finish="tool_calls"),
    ]
    assert [call.arguments() for call in calls_of(events_of(OpenAiReader(), data))] == [{"a": 1}, {"b": 2}]


def test_a_new_id_in_each_fragment_does_not_part_a_call():
    data = [
        chunk({"index": 0, "id": "a1", "function": {"name": "x", "arguments": '{"a"'}}),
        chunk({"index": 0, "id": "a2", "function": {"name": None, "arguments": ":1}"}}),
        chunk(finish="tool_calls"),
    ]
    (call,) = calls_of(events_of(OpenAiReader(), data))
    assert (call.id, call.arguments()) == ("a1", {"a": 1})


def test_arguments_as_an_object_and_null_fields_are_read():
    data = [
        chunk({"index": 0, "id": "a", "function": {"name": "x", "arguments": {"a": 1}}}, content=None),
        b'data: {"choices":null,"usage":null}\n\n',
        chunk(finish="tool_calls"),
    ]
    (call,) = calls_of(events_of(OpenAiReader(), data))
    assert call.arguments() == {"a": 1}


def test_a_whole_answer_instead_of_a_stream_is_read():
    events = events_of(OpenAiReader(), cut(json.dumps(openai_reply(replace(TWO, text="hi"))).encode(), (5,)))
    assert text_of(events) == "hi"
    assert [call.arguments() for call in calls_of(events)] == [{"path": "a"}, {"path": "b"}]


@pytest.mark.parametrize(
    "data",
    [
        [chunk({"function": {"arguments": "{}"}}), chunk(finish="stop")],  # a piece of no call
        [chunk({"index": 0, "id": "a", "function": {"arguments": "{}"}}), chunk(finish="stop")],  # no name at all
        [chunk({"index": 0, "id": "a", "function": {"name": "x"}}), chunk({"index": 0, "function": {"name": "y"}})],
        [chunk({"index": -1, "id": "a", "function": {"name": "x"}})],
        [chunk({"index": True, "id": "a", "function": {"name": "x"}})],
        [chunk({"index": 0, "id": 5, "function": {"name": "x"}})],
        [chunk({"index": 0, "id": "a", "function": {"name": "x", "arguments": 5}})],
        [chunk(content="x")],  # no reason to have ended
        [b"data: [1]\n\n"],
        [b"data: {\n\n"],
        [b"data: \xff\n\n"],
        [b"data: " + b"[" * 100_000 + b"\n\n"],
        [chunk(finish="stop"), chunk({"index": 0, "id": "a", "function": {"name": "x"}})],
        [chunk(*({"index": n, "id": f"i{n}", "function": {"name": "x"}} for n in range(MAX_CALLS + 1)))],
    ],
)
def test_what_cannot_be_understood_is_refused(data):
    with pytest.raises(ModelAnswerError):
        events_of(OpenAiReader(), data)


@pytest.mark.parametrize(
    ("wire_word", "reason"),
    [
        ("stop", StopReason.END),
        ("tool_calls", StopReason.TOOLS),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSAL),
        ("something new", StopReason.UNKNOWN),
    ],
)
def test_why_an_openai_answer_ended(wire_word, reason):
    assert stop_of(events_of(OpenAiReader(), [openai_stream(Turn(text="x", stop=wire_word))])) is reason


def test_done_without_a_reason_is_not_taken_for_a_whole_answer():
    events = events_of(OpenAiReader(), [chunk({"index": 0, "id": "a", "function": {"name": "x"}}), b"data: [DONE]\n\n"])
    assert stop_of(events) is StopReason.UNKNOWN
    assert not StopReason.UNKNOWN.whole


def test_a_refusal_is_text_and_says_so():
    events = events_of(OpenAiReader(), [chunk(refusal="I will not"), chunk(finish="stop"), b"data: [DONE]\n\n"])
    assert (text_of(events), stop_of(events)) == ("I will not", StopReason.REFUSAL)


# --- Anthropic -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire_word", "reason"),
    [
        ("end_turn", StopReason.END),
        ("stop_sequence", StopReason.END),
        ("tool_use", StopReason.TOOLS),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("pause_turn", StopReason.PAUSE),
        ("refusal", StopReason.REFUSAL),
        ("something new", StopReason.UNKNOWN),
    ],
)
def test_why_an_anthropic_answer_ended(wire_word, reason):
    assert stop_of(events_of(AnthropicReader(), [anthropic_stream(Turn(text="x", stop=wire_word))])) is reason


def test_thinking_is_kept_with_its_signature():
    events = events_of(AnthropicReader(), [anthropic_stream(replace(TURN, redacted_thinking="opaque+/="))])
    first, second = [event.part for event in events if isinstance(event, ThinkingDone)]
    assert (first.text, first.signature) == (TURN.thinking, "sig/" + "A" * 20)
    assert (second.text, second.redacted) == ("", "opaque+/=")


def sse(*events):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


START = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {}},
}
PIECE = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}}
END = {"type": "content_block_stop", "index": 0}
STOP = {"type": "message_stop"}


@pytest.mark.parametrize(
    "events",
    [
        (START, PIECE, STOP),  # the call's block never ended
        (PIECE, STOP),
        (END, STOP),
        (START, START, STOP),
        (START, {**PIECE, "delta": {"type": "text_delta", "text": "x"}}),
        ({**START, "content_block": {"type": "tool_use", "id": "t", "input": {}}}, END, STOP),
        (START, PIECE, END),
    ],
)
def test_blocks_out_of_order_are_refused(events):
    with pytest.raises(ModelAnswerError):
        events_of(AnthropicReader(), [sse(*events)])


def test_a_whole_input_at_the_start_is_read():
    start = {**START, "content_block": {**START["content_block"], "input": {"a": 1}}}
    (call,) = calls_of(events_of(AnthropicReader(), [sse(start, END, STOP)]))
    assert call.arguments() == {"a": 1}


def test_what_is_unknown_is_skipped():
    strange = {"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use", "id": "s"}}
    events = events_of(AnthropicReader(), [sse({"type": "ping"}, {"type": "new_event"}, strange, PIECE, END, STOP)])
    assert [type(event) for event in events] == [Stop]


@pytest.mark.parametrize(
    ("type_", "error"),
    [("overloaded_error", ModelUnreachableError), ("api_error", ModelUnreachableError), ("other", ModelRefusedError)],
)
def test_an_error_in_the_stream_is_an_error(type_, error):
    data = sse({"type": "error", "error": {"type": type_, "message": "so\x1b[31m sorry"}})
    with pytest.raises(error, match=r"so\[31m sorry"):  # the escape is gone
        events_of(AnthropicReader(), [data])
    with pytest.raises(error):
        events_of(OpenAiReader(), [f"data: {json.dumps({'error': {'type': type_, 'message': 'x'}})}\n\n".encode()])


# --- Ollama ----------------------------------------------------------------------------------------------------------


def test_why_an_ollama_answer_ended():
    assert stop_of(events_of(OllamaReader(), [ollama_stream(Turn(text="x"))])) is StopReason.END
    assert stop_of(events_of(OllamaReader(), [ollama_stream(Turn(text="x", stop="length"))])) is StopReason.LENGTH
    assert stop_of(events_of(OllamaReader(), [ollama_stream(Turn(text="x", stop="load"))])) is StopReason.UNKNOWN


def test_an_ollama_error_and_a_missing_end_are_errors():
    with pytest.raises(ModelRefusedError, match="no such model"):
        events_of(OllamaReader(), [b'{"error":"no such model"}\n'])
    with pytest.raises(ModelAnswerError, match="ended early"):
        events_of(OllamaReader(), [b'{"message":{"content":"x"},"done":false}\n'])


def test_a_duplicate_key_in_ollama_arguments_is_refused():
    line = b'{"message":{"tool_calls":[{"function":{"name":"x","arguments":{"p":"a","p":"b"}}}]},"done":true}\n'
    with pytest.raises(ModelAnswerError):
        events_of(OllamaReader(), [line])


def test_half_a_surrogate_pair_in_ollama_arguments_is_refused():
    line = b'{"message":{"tool_calls":[{"function":{"name":"x","arguments":{"p":"\\ud83d"}}}]},"done":true}\n'
    (call,) = calls_of(events_of(OllamaReader(), [line]))
    with pytest.raises(ArgumentsError):
        call.arguments()


def test_nothing_that_is_kept_to_be_sent_back_holds_half_a_surrogate_pair():
    """Python would write it as an escape that servers refuse, in every later request of the conversation."""
    line = b'{"message":{"tool_calls":[{"function":{"name":"x","arguments":"\\ud800"}}]},"done":true}\n'
    (call,) = calls_of(events_of(OllamaReader(), [line]))
    assert call.arguments_text == "\\ud800"
    begun = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
    signed = {**PIECE, "delta": {"type": "signature_delta", "signature": "a\ud800"}}
    hidden = {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "redacted_thinking", "data": "\ud800b"},
    }
    events = events_of(AnthropicReader(), [sse(begun, signed, END, hidden, {**END, "index": 1}, STOP)])
    first, second = [event.part for event in events if isinstance(event, ThinkingDone)]
    assert (first.signature, second.redacted) == ("a\ufffd", "\ufffdb")
