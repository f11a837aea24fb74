"""Think, act, observe: over the scripted model on a real socket, with a gate that implements the protocol."""

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest

from agentctl.errors import GateError
from agentctl.events import CallFinished, CallRunning, CallWaiting, TextDelta, TurnEnd, TurnEnded
from agentctl.loop import Loop, LoopLimits
from agentctl.providers.anthropic import AnthropicProvider, anthropic_body
from agentctl.providers.http import Endpoint, HttpLimits, ModelHttp
from agentctl.providers.ollama import OllamaProvider, ollama_body
from agentctl.providers.openai import OpenAiProvider, openai_body
from agentctl.providers.provider import ModelSettings
from agentctl.turns.calls import CallLimits
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import (
    AssistantMessage,
    Message,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from model_server import Call, Fault, ScriptedModel, Turn, Wire
from shield import canonical
from shield.errors import ClientError
from shield.types import Decision, Verdict

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
SPECS = (
    ToolSpec(name="read_file", description="Read", parameters=SCHEMA, action_type="read_file", reads_only=True),
    ToolSpec(name="write_file", description="Write", parameters=SCHEMA, action_type="write_file"),
)


class Tools:
    def specs(self):
        return SPECS


@dataclass
class FakeGate:
    """`verdicts` by path: a decision, a list of decisions (the first is the verdict, each wait takes the next one),
    or an exception. Anything not named is allowed. `hang` are the steps that wait until they are cancelled."""

    verdicts: dict = field(default_factory=dict)
    runs: dict = field(default_factory=dict)
    hang: frozenset = frozenset()
    log: list = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    side_by_side: asyncio.Barrier | None = None

    async def _maybe_hang(self, step, path):
        self.log.append((step, path))
        if (step, path) in self.hang:
            self.reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.log.append((f"{step} cancelled", path))

    async def propose(self, proposal):
        path = proposal.payload.get("path")
        await self._maybe_hang("propose", path)
        if self.side_by_side is not None:
            await self.side_by_side.wait()
        self.pending = list(self.verdicts[path]) if isinstance(self.verdicts.get(path), list) else []
        answer = self.pending.pop(0) if self.pending else self.verdicts.get(path, Decision.ALLOW)
        if isinstance(answer, Exception):
            raise answer
        return self._verdict(answer, path)

    def _verdict(self, answer, path):
        if isinstance(answer, Verdict):
            return answer
        return Verdict(
            id="i",
            evaluation=str(path),
            decision=answer,
            reason=f"{path} is {answer}",
            advice="ask for less",
            rule="secret.rule",
            evidence=("secret evidence",),
            permit="p" if answer is Decision.ALLOW else None,
            approval="a" if answer is Decision.ESCALATE else None,
        )

    async def wait(self, verdict):
        await self._maybe_hang("wait", verdict.evaluation)
        return self._verdict(self.pending.pop(0), verdict.evaluation) if self.pending else verdict

    async def run(self, proposal, verdict):
        assert verdict.decision is Decision.ALLOW
        path = proposal.payload.get("path")
        await self._maybe_hang("run", path)
        outcome = self.runs.get(path, f"content of {path}")
        if isinstance(outcome, list):
            outcome = outcome.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if isinstance(outcome, str):
            return ToolResult(id=proposal.call.id, content=outcome, decision=Decision.ALLOW, reason="ok")
        return outcome

    def ran(self):
        return [path for step, path in self.log if step == "run"]


@dataclass
class Memory:
    """A journal in memory that is as strict as the stored one."""

    messages: tuple[Message, ...] = ()
    stored: list = field(default_factory=list)
    open: bool = False

    def begin(self, message):
        assert not self.open
        self.open = True
        self.messages = (*self.messages, message)

    def finish(self, messages, end):
        assert self.open
        self.open = False
        self.messages = (*self.messages, *messages)
        self.stored.append(end)


def provider_of(kind, model):
    endpoint = Endpoint(base_url=model.openai_url if kind == "openai" else model.url, api_key="sk-secret-key")
    http = ModelHttp(endpoint, limits=HttpLimits(attempts=1))
    make = {"openai": OpenAiProvider, "anthropic": AnthropicProvider, "ollama": OllamaProvider}[kind]
    return make(endpoint, ModelSettings(model="m"), http=http)


@dataclass
class Played:
    reports: list
    journal: Memory
    events: list
    requests: list

    @property
    def report(self):
        return self.reports[-1]

    @property
    def results(self):
        return [
            result
            for message in self.journal.messages
            if isinstance(message, ToolMessage)
            for result in message.results
        ]


def play(script, gate, *asked, kind="openai", limits=None, cancel_when=None, journal=None):
    """Runs a turn for each of `asked`; `cancel_when(model, gate)` is awaited beside the first and then cancels it."""

    async def run(model):
        events = []
        memory = journal if journal is not None else Memory()
        provider = provider_of(kind, model)
        loop = Loop(
            provider=provider,
            gate=gate,
            tools=Tools(),
            journal=memory,
            system="be good",
            emit=events.append,
            limits=limits,
        )
        reports = []
        try:
            for at, text in enumerate(asked or ("go",)):
                cancel = Cancel()
                turn = asyncio.ensure_future(loop.turn(text, cancel=cancel))
                if at == 0 and cancel_when is not None:
                    await asyncio.wait_for(cancel_when(model, gate), 20)
                    cancel.set()
                reports.append(await asyncio.wait_for(turn, 20))
        finally:
            await provider.aclose()
        assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()], "something goes on"
        return Played(reports, memory, events, model.requests)

    with ScriptedModel(script) as model:
        return asyncio.run(run(model))


def calling(*calls, **more):
    return Turn(calls=tuple(Call(name, {"path": path}) for name, path in calls), **more)


KINDS = ["openai", "anthropic", "ollama"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_is_proposed_run_and_seen(kind):
    gate = FakeGate()
    script = [calling(("read_file", "a.txt"), text="let me look"), Turn(text="it says hi")]
    played = play(script, gate, kind=kind)
    assert played.report.end is TurnEnd.DONE
    assert gate.log == [("propose", "a.txt"), ("run", "a.txt")]
    assert "content of a.txt" in json.dumps(played.requests[1].body)
    assert "untrusted" in json.dumps(played.requests[1].body)
    assert played.report.usage.input_tokens == 22
    assert "".join(event.text for event in played.events if isinstance(event, TextDelta)) == "let me lookit says hi"
    assert isinstance(played.events[-1], TurnEnded)


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_goes_back_with_reason_and_advice_and_nothing_else(kind):
    gate = FakeGate({"k": Decision.BLOCK})
    played = play([calling(("read_file", "k")), Turn(text="I may not")], gate, kind=kind)
    assert played.report.end is TurnEnd.DONE
    assert gate.ran() == []
    (result,) = played.results
    assert result.is_error
    assert json.loads(result.content) == {"decision": "BLOCK", "reason": "k is BLOCK", "advice": "ask for less"}
    assert "secret" not in json.dumps(played.requests[1].body)
    assert "sk-secret-key" not in json.dumps(played.requests[1].body)


def test_an_escalation_waits_and_then_runs():
    gate = FakeGate({"x": [Decision.ESCALATE, Decision.ESCALATE, Decision.ALLOW]})
    played = play([calling(("write_file", "x")), Turn(text="ok")], gate)
    assert gate.log == [("propose", "x"), ("wait", "x"), ("wait", "x"), ("run", "x")]
    assert sum(isinstance(event, CallWaiting) for event in played.events) == 1


def test_an_escalation_that_is_denied_does_not_run():
    gate = FakeGate({"x": [Decision.ESCALATE, Decision.BLOCK]})
    played = play([calling(("write_file", "x")), Turn(text="ok")], gate)
    assert gate.ran() == []
    assert played.results[0].decision is Decision.BLOCK


def test_an_escalation_that_nobody_answers_ends():
    gate = FakeGate({"x": Decision.ESCALATE})
    limits = LoopLimits(calls=CallLimits(polls=3))
    played = play([calling(("write_file", "x")), Turn(text="ok")], gate, limits=limits)
    assert gate.log == [("propose", "x")] + [("wait", "x")] * 3
    assert played.results[0].is_error
    assert "nobody has approved" in played.results[0].content


def test_an_escalation_without_an_approval_is_a_refusal():
    verdict = Verdict(id="i", evaluation="e", decision=Decision.ESCALATE, reason="no_approver")
    gate = FakeGate({"x": verdict})
    play([calling(("write_file", "x")), Turn(text="ok")], gate)
    assert gate.log == [("propose", "x")]


def test_a_verdict_with_nothing_in_it_runs_nothing():
    gate = FakeGate({"x": Verdict(id="i", evaluation="e")})
    play([calling(("write_file", "x")), Turn(text="ok")], gate)
    assert gate.ran() == []


def test_what_went_stale_is_judged_again_and_not_for_ever():
    again = Verdict(id="i", evaluation="x", decision=Decision.ALLOW, permit="p")
    gate = FakeGate(runs={"x": [again] * 9})
    played = play([calling(("write_file", "x")), Turn(text="ok")], gate)
    assert gate.ran() == ["x"] * 3
    assert played.results[0].decision is Decision.BLOCK
    assert "kept changing" in played.results[0].reason


def test_what_went_stale_and_is_blocked_now_is_a_block():
    gate = FakeGate(runs={"x": Verdict(id="i", evaluation="x", decision=Decision.BLOCK, reason="now it is a link")})
    played = play([calling(("write_file", "x")), Turn(text="ok")], gate)
    assert gate.ran() == ["x"]
    assert json.loads(played.results[0].content)["reason"] == "now it is a link"


# --- parallel calls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_parallel_calls_are_answered_together_in_order(kind):
    gate = FakeGate({"b": Decision.BLOCK})
    calls = [("read_file", "a"), ("write_file", "b"), ("write_file", "c")]
    played = play([calling(*calls), Turn(text="ok")], gate, kind=kind)
    assert [result.is_error for result in played.results] == [False, True, False]
    assert gate.ran() == ["a", "c"]  # one after the other, in the model's order
    (answer,) = [message for message in played.journal.messages if isinstance(message, ToolMessage)]
    asked = played.journal.messages[1]
    assert [result.id for result in answer.results] == [call.id for call in asked.calls]


def test_calls_are_proposed_side_by_side():
    gate = FakeGate(side_by_side=asyncio.Barrier(3))  # each waits for the two others
    played = play([calling(*(("write_file", name) for name in "abc")), Turn(text="ok")], gate)
    assert played.report.end is TurnEnd.DONE
    assert gate.ran() == ["a", "b", "c"]


def test_one_call_that_is_no_json_does_not_stop_the_others():
    gate = FakeGate()
    script = [
        Turn(calls=(Call("write_file", '{"path": "a", "path": "b"}'), Call("write_file", {"path": "c"}))),
        Turn(text="ok"),
    ]
    played = play(script, gate)
    assert gate.log == [("propose", "c"), ("run", "c")]
    assert "twice" in played.results[0].content
    assert played.results[0].decision is None
    asked = played.journal.messages[1]
    assert asked.calls[0].arguments_text == '{"path": "a", "path": "b"}'  # kept as it came


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_call_that_is_no_json_leaves_the_next_request_valid(kind):
    played = play([Turn(calls=(Call("write_file", '{"path": '),)), Turn(text="ok")], FakeGate(), kind=kind)
    assert played.report.end is TurnEnd.DONE
    assert "INVALID_JSON" in json.dumps(played.requests[1].body)


@pytest.mark.parametrize("body", [anthropic_body, ollama_body, openai_body])
@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '"\\ud800"', "1" * 4000, "[" * 400 + "]" * 400])
def test_what_only_python_takes_for_json_is_not_sent_back(body, value):
    """One such call would make every later request of the conversation one that the server refuses."""
    call = ToolCall(id="c", name="write_file", arguments_text=f'{{"path": "a", "mode": {value}}}')
    answer = AssistantMessage(parts=(call,), stop=StopReason.TOOLS)
    sent = body([UserMessage(text="go"), answer], SPECS, ModelSettings(model="m"))
    texts = [json.dumps(sent)]
    if body is openai_body:  # the arguments are JSON within JSON, and templates of servers read them
        texts.append(sent["messages"][1]["tool_calls"][0]["function"]["arguments"])
    for text in texts:
        assert canonical.parse(text.encode())


def test_a_tool_that_does_not_exist_is_not_proposed():
    gate = FakeGate()
    played = play([calling(("sudo", "x")), Turn(text="ok")], gate)
    assert gate.log == []
    assert "read_file, write_file" in played.results[0].content


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_ids_are_made_usable_and_unique(kind):
    """Servers repeat ids, leave them out, or use characters that the others refuse; results must not get mixed up."""
    calls = tuple(
        Call("read_file", {"path": path}, id_) for path, id_ in zip("abcd", ["x", "x", "", "é:1" * 40], strict=True)
    )
    played = play([Turn(calls=calls), Turn(calls=calls), Turn(text="ok")], FakeGate(), kind=kind)
    assert played.report.end is TurnEnd.DONE
    ids = [result.id for result in played.results]
    assert len(set(ids)) == 8
    assert [result.content for result in played.results] == [f"content of {path}" for path in "abcdabcd"]


def test_a_result_can_not_be_given_another_calls_id():
    gate = FakeGate(runs={"a": ToolResult(id="other", content="x", decision=Decision.ALLOW)})
    played = play([calling(("read_file", "a")), Turn(text="ok")], gate)
    assert played.results[0].id == "call_0"


# --- limits ----------------------------------------------------------------------------------------------------------


def test_the_same_refused_call_three_times_stops_the_turn():
    gate = FakeGate({"k": Decision.BLOCK})
    spelled = ['{"path":"k"}', '{ "path" : "k" }', '{"path": "\\u006b"}', '{"path":"k"}']
    script = [Turn(calls=(Call("write_file", text),)) for text in spelled]
    played = play(script, gate)
    assert played.report.end is TurnEnd.REPEATED_REFUSAL
    assert "`write_file`" in played.report.detail
    assert len(gate.log) == 3


def test_different_refused_calls_do_not_stop_the_turn():
    gate = FakeGate({str(n): Decision.BLOCK for n in range(5)})
    played = play([*(calling(("write_file", str(n))) for n in range(5)), Turn(text="ok")], gate)
    assert played.report.end is TurnEnd.DONE


def test_steps_are_limited():
    script = [calling(("read_file", str(n))) for n in range(9)]
    played = play(script, FakeGate(), limits=LoopLimits(steps=4))
    assert (played.report.end, played.report.steps) == (TurnEnd.STEP_LIMIT, 4)
    assert len(played.requests) == 4


def test_nothing_is_left_out_of_what_was_judged():
    text = "a" * 50_000 + "z" * 50_000
    played = play([calling(("read_file", "big")), Turn(text="ok")], FakeGate(runs={"big": text}))
    assert played.results[0].content == text


@pytest.mark.parametrize(("stop", "end"), [("length", TurnEnd.CUT_OFF), ("content_filter", TurnEnd.REFUSED)])
def test_a_call_of_an_answer_that_was_cut_off_is_not_proposed(stop, end):
    """`rm -r build` may be the beginning of `rm -r build/tmp`; no arguments yet is not no arguments."""
    gate = FakeGate()
    played = play([calling(("write_file", "x"), stop=stop), Turn(text="later")], gate, "go", "continue")
    assert [report.end for report in played.reports] == [end, TurnEnd.DONE]
    assert gate.log == []
    assert "cut off" in played.results[0].content


def test_a_pause_goes_on():
    played = play([Turn(text="one ", stop="pause_turn"), Turn(text="two")], FakeGate(), kind="anthropic")
    assert played.report.end is TurnEnd.DONE
    assert played.report.steps == 2


def test_thinking_goes_back_to_anthropic_as_it_came():
    script = [calling(("read_file", "a"), thinking="hm", redacted_thinking="opaque"), Turn(text="ok")]
    played = play(script, FakeGate(), kind="anthropic")
    blocks = played.requests[1].body["messages"][1]["content"]
    assert blocks[:2] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig/" + "A" * 20},
        {"type": "redacted_thinking", "data": "opaque"},
    ]


# --- trouble: the history stays valid, and nothing more runs ---------------------------------------------------------


@pytest.mark.parametrize("error", [GateError("shield is gone"), ClientError("shield is gone")])
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_when_shield_is_gone_nothing_more_runs_and_the_next_turn_is_valid(kind, error):
    gate = FakeGate(runs={"b": error})
    calls = [("write_file", path) for path in "abc"]
    played = play([calling(*calls), Turn(text="hello again")], gate, "go", "hello?", kind=kind)
    assert [report.end for report in played.reports] == [TurnEnd.GATE_FAILED, TurnEnd.DONE]
    assert "shield is gone" in played.reports[0].detail
    assert gate.ran() == ["a", "b"]
    assert [result.is_error for result in played.results] == [False, True, True]


def test_when_a_proposal_fails_nothing_runs():
    gate = FakeGate({"b": GateError("no verdict")})
    played = play([calling(("read_file", "a"), ("read_file", "b"))], gate)
    assert played.report.end is TurnEnd.GATE_FAILED
    assert gate.ran() == []


def test_a_defect_in_the_gate_is_stored_as_such_and_goes_through():
    gate = FakeGate(runs={"a": RuntimeError("boom")})
    journal = Memory()
    with pytest.raises(RuntimeError, match="boom"):
        play([calling(("read_file", "a"), ("read_file", "b"))], gate, journal=journal)
    assert journal.stored == [TurnEnd.BROKEN]
    assert len(journal.messages[-1].results) == 2


@pytest.mark.parametrize(
    "fault", [Fault(status=400), Fault(status=500), Fault(cut_at=150), Fault(cut_at=-1), Fault(garbage_at=2)]
)
def test_when_the_model_fails_the_turn_ends_and_the_next_is_valid(fault):
    played = play([Turn(text="x" * 99, fault=fault), Turn(text="ok")], FakeGate(), "go", "again")
    assert [report.end for report in played.reports] == [TurnEnd.MODEL_FAILED, TurnEnd.DONE]
    assert "sk-secret-key" not in played.reports[0].detail


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_connection_that_breaks_inside_a_call_runs_nothing(kind):
    whole = calling(("write_file", "x"), text="t")
    for cut_at in range(200, 900, 97):
        gate = FakeGate()
        played = play([replace(whole, fault=Fault(cut_at=cut_at)), Turn(text="ok")], gate, "go", "again", kind=kind)
        assert [report.end for report in played.reports] == [TurnEnd.MODEL_FAILED, TurnEnd.DONE]
        assert gate.log == []


# --- cancelling ------------------------------------------------------------------------------------------------------


async def gate_reached(model, gate):
    await gate.reached.wait()


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("step", ["propose", "wait", "run"])
def test_cancelling_leaves_every_call_with_a_result_and_nothing_running(kind, step):
    gate = FakeGate({"b": [Decision.ESCALATE] * 3} if step == "wait" else {}, hang=frozenset({(step, "b")}))
    script = [calling(*(("write_file", name) for name in "abc")), Turn(text="hello")]
    played = play(script, gate, "go", "and now?", kind=kind, cancel_when=gate_reached)
    assert [report.end for report in played.reports] == [TurnEnd.CANCELLED, TurnEnd.DONE]
    assert (f"{step} cancelled", "b") in gate.log
    assert "c" not in gate.ran()
    assert len(played.results) == 3
    assert ["cancelled" in result.content for result in played.results] == [step == "propose", True, True]


def test_cancelling_while_the_model_talks_keeps_what_was_said():
    async def hanging(model, gate):
        await asyncio.to_thread(model.hanging.wait, 20)

    script = [Turn(text="0123456789", wire=Wire(fragment=1), fault=Fault(hang_at=900)), Turn(text="yes?")]
    played = play(script, FakeGate(), "go", "hello?", cancel_when=hanging)
    assert [report.end for report in played.reports] == [TurnEnd.CANCELLED, TurnEnd.DONE]
    torn = played.reports[0].messages
    assert all(isinstance(message, AssistantMessage) and "0123456789".startswith(message.text) for message in torn)


def test_a_cancel_that_was_set_before_does_nothing_at_all():
    async def run(model):
        journal, gate = Memory(), FakeGate()
        provider = provider_of("openai", model)
        loop = Loop(provider=provider, gate=gate, tools=Tools(), journal=journal, system="", emit=lambda event: None)
        cancel = Cancel()
        cancel.set()
        report = await loop.turn("go", cancel=cancel)
        await provider.aclose()
        assert report.end is TurnEnd.CANCELLED
        assert journal.messages == (UserMessage(text="go"),)

    with ScriptedModel([Turn(text="x")]) as model:
        asyncio.run(run(model))
        assert model.requests == []


def test_a_task_that_is_cancelled_from_outside_is_stored_and_goes_on_being_cancelled():
    async def run(model):
        journal, gate = Memory(), FakeGate(hang=frozenset({("run", "a")}))
        provider = provider_of("openai", model)
        loop = Loop(provider=provider, gate=gate, tools=Tools(), journal=journal, system="", emit=lambda event: None)
        turn = asyncio.ensure_future(loop.turn("go", cancel=Cancel()))
        await asyncio.wait_for(gate.reached.wait(), 20)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        await provider.aclose()
        assert journal.stored == [TurnEnd.CANCELLED]
        assert len(journal.messages[-1].results) == 1
        assert ("run cancelled", "a") in gate.log

    with ScriptedModel([calling(("read_file", "a"))]) as model:
        asyncio.run(run(model))


def test_the_users_message_is_stored_before_the_model_is_asked():
    class Refusing(Memory):
        def begin(self, message):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        play([Turn(text="x")], gate := FakeGate(), journal=Refusing())
    assert gate.log == []


def test_every_event_of_a_call_is_shown():
    gate = FakeGate()
    played = play([calling(("write_file", "a")), Turn(text="ok")], gate)
    kinds = [type(event) for event in played.events]
    assert kinds.index(CallRunning) < kinds.index(CallFinished)


def test_text_from_a_terminal_that_is_no_unicode_is_stored_and_sent_as_unicode():
    played = play([Turn(text="ok")], FakeGate(), "caf\udce9 \ud83d\ude00")
    assert played.journal.messages[0] == UserMessage(text="caf\ufffd 😀")
