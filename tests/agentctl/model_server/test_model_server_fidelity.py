"""The scripted model server speaks as the official clients expect, checked in their strict mode.

The clients take seconds to import, so only the tests that need them do.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from model_server import (
    Call,
    Fault,
    Request,
    ScriptedModel,
    Turn,
    Wire,
    anthropic_fault,
    cut,
    openai_fault,
    openai_reply,
)

if TYPE_CHECKING:
    import anthropic
    import openai

TOOLS = [
    {
        "type": "function",
        "function": {"name": "read_file", "description": "Read", "parameters": {"type": "object", "properties": {}}},
    }
]
ANTHROPIC_TOOLS = [{"name": "read_file", "description": "Read", "input_schema": {"type": "object", "properties": {}}}]
TURNS = [
    Turn(text="hällo 😀 wörld"),
    Turn(text="look", calls=(Call("read_file", {"path": "é.txt"}), Call("read_file", {}))),
    Turn(text="half", stop="length"),
]
ASK = [{"role": "user", "content": "hi"}]


def an_openai(model: ScriptedModel) -> "openai.OpenAI":
    import openai

    return openai.OpenAI(
        base_url=model.openai_url, api_key="k", max_retries=0, timeout=20, _strict_response_validation=True
    )


def an_anthropic(model: ScriptedModel) -> "anthropic.Anthropic":
    import anthropic

    return anthropic.Anthropic(
        base_url=model.url, api_key="k", max_retries=0, timeout=20, _strict_response_validation=True
    )


def test_openai_whole_answers_pass_the_official_client():
    with ScriptedModel(TURNS) as model, an_openai(model) as client:
        for turn in TURNS:
            answer = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS).choices[0]
            assert (answer.message.content or "") == turn.text
            assert [call.function.arguments for call in answer.message.tool_calls or []] == [c.text for c in turn.calls]


@pytest.mark.parametrize("split", [(), (1,), (3, 1, 50)])
def test_openai_streams_pass_the_official_client(split):
    script = [replace(turn, wire=Wire(split=split, comments=True, usage="null")) for turn in TURNS]
    with ScriptedModel(script) as model, an_openai(model) as client:
        for turn in script:
            text, calls, finish, usage = "", {}, None, None
            for chunk in client.chat.completions.create(
                model="m", messages=ASK, tools=TOOLS, stream=True, stream_options={"include_usage": True}
            ):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    finish = choice.finish_reason or finish
                    for call in choice.delta.tool_calls or []:
                        calls[call.index] = calls.get(call.index, "") + (call.function.arguments or "")
            assert text == turn.text
            assert list(calls.values()) == [call.text for call in turn.calls]
            assert finish == (turn.stop or ("tool_calls" if turn.calls else "stop"))
            assert usage.total_tokens == 18


def test_anthropic_whole_answers_pass_the_official_client():
    turns = [replace(TURNS[0], thinking="hm"), TURNS[1], replace(TURNS[2], stop="max_tokens")]
    with ScriptedModel(turns) as model, an_anthropic(model) as client:
        for turn in turns:
            answer = client.messages.create(model="m", max_tokens=9, messages=ASK, tools=ANTHROPIC_TOOLS)
            assert "".join(block.text for block in answer.content if block.type == "text") == turn.text
            assert [b.input for b in answer.content if b.type == "tool_use"] == [c.arguments for c in turn.calls]


@pytest.mark.parametrize("split", [(), (1,), (3, 1, 50)])
def test_anthropic_streams_pass_the_official_client(split):
    turns = [
        replace(TURNS[0], thinking="hm 😀", redacted_thinking="abc"),
        TURNS[1],
        replace(TURNS[2], stop="max_tokens"),
    ]
    script = [replace(turn, wire=Wire(split=split, comments=True)) for turn in turns]
    with ScriptedModel(script) as model, an_anthropic(model) as client:
        for turn in script:
            with client.messages.stream(model="m", max_tokens=9, messages=ASK, tools=ANTHROPIC_TOOLS) as stream:
                kinds = {event.type for event in stream}
                answer = stream.get_final_message()
            assert {"message_start", "content_block_start", "content_block_stop", "message_stop"} <= kinds
            assert "".join(block.text for block in answer.content if block.type == "text") == turn.text
            assert [b.input for b in answer.content if b.type == "tool_use"] == [c.arguments for c in turn.calls]
            assert answer.stop_reason == (turn.stop or ("tool_use" if turn.calls else "end_turn"))


def test_a_broken_twin_fails_in_the_official_clients():
    """If strict mode let this pass, the tests above would prove nothing."""

    import anthropic
    import openai

    bad = Turn(text="x", stop="banana")
    with ScriptedModel([bad] * 4) as model, an_openai(model) as client, an_anthropic(model) as other:
        with pytest.raises(openai.APIResponseValidationError):
            client.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(openai.APIResponseValidationError):
            list(client.chat.completions.create(model="m", messages=ASK, stream=True))
        with pytest.raises(anthropic.APIResponseValidationError):
            other.messages.create(model="m", max_tokens=9, messages=ASK)
        with pytest.raises(anthropic.APIResponseValidationError):
            list(other.messages.create(model="m", max_tokens=9, messages=ASK, stream=True))


def test_faults_look_like_faults_to_the_official_clients():
    import openai

    script = [
        Turn(fault=Fault(status=429, headers=(("retry-after", "1"),))),
        Turn(fault=Fault(status=500)),
        Turn(text="a long text that is cut", fault=Fault(cut_at=300)),
        Turn(text="x", fault=Fault(garbage_at=1)),
    ]
    with ScriptedModel(script) as model, an_openai(model) as client:
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(Exception, match=r"Connection error|peer closed"):
            list(client.chat.completions.create(model="m", messages=ASK, stream=True))
        with pytest.raises(ValueError, match="Expecting"):
            list(client.chat.completions.create(model="m", messages=ASK, stream=True))


def test_a_request_that_the_services_refuse_uses_up_no_turn():
    import openai

    def answer(request: Request) -> Turn:
        return Turn(text=f"{len(request.body['messages'])} message")

    open_call = [
        *ASK,
        {"role": "assistant", "tool_calls": openai_reply(TURNS[1])["choices"][0]["message"]["tool_calls"]},
    ]
    with ScriptedModel([answer]) as model, an_openai(model) as client:
        with pytest.raises(openai.BadRequestError, match="without a tool message"):
            client.chat.completions.create(model="m", messages=open_call)
        assert client.chat.completions.create(model="m", messages=ASK).choices[0].message.content == "1 message"
        with pytest.raises(openai.BadRequestError, match="the script is over"):
            client.chat.completions.create(model="m", messages=ASK)
        assert model.served == 1


USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "x", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([ASK[0], USE, {"role": "user", "content": [RESULT]}], None),
        ([ASK[0], USE, {"role": "user", "content": [RESULT, {"type": "text", "text": "go"}]}], None),
        ([ASK[0], USE], "each tool_use"),
        ([ASK[0], USE, ASK[0]], "each tool_use"),
        ([ASK[0], USE, {"role": "user", "content": [{"type": "text", "text": "go"}, RESULT]}], "first"),
        ([ASK[0], USE, {"role": "user", "content": [RESULT, RESULT]}], "each tool_use"),
        ([{"role": "user", "content": [{"type": "text", "text": " "}]}], "blank"),
        ([USE], "first message"),
        ([ASK[0], ASK[0]], "alternate"),
        ([ASK[0], {"role": "system", "content": "x"}], "alternate"),
    ],
)
def test_the_rules_of_anthropic(messages, fault):
    found = anthropic_fault({"max_tokens": 1, "messages": messages})
    assert (found is None) if fault is None else (fault in found)


def test_the_rules_of_openai():
    call = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    asked = [*ASK, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert openai_fault({"messages": [*asked, {"role": "tool", "tool_call_id": "c", "content": "ok"}]}) is None
    assert "without a tool message" in openai_fault({"messages": asked})
    assert "preceding" in openai_fault({"messages": [*asked, {"role": "tool", "tool_call_id": "d", "content": ""}]})
    broken = {**call, "function": {"name": "x", "arguments": "{"}}
    assert "json" in openai_fault({"messages": [*ASK, {"role": "assistant", "tool_calls": [broken]}]})


def test_cutting_loses_nothing():
    assert b"".join(cut(b"abcdefgh", (1, 3))) == b"abcdefgh"
    assert list(cut(b"abcde", (2,))) == [b"ab", b"cd", b"e"]
