"""Laws: whatever the model says, Shield answers and the user stops, nothing runs without an ALLOW, every call has one
result, and the next request is one that the real services take."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.errors import GateError, ModelAnswerError
from agentctl.events import CallRunning, Stop, TextDelta, ThinkingDone, ToolCallDone, TurnEnd
from agentctl.history.codec import dump, load
from agentctl.loop import Loop, LoopLimits
from agentctl.providers.anthropic import anthropic_body
from agentctl.providers.openai import openai_body
from agentctl.providers.provider import ModelSettings
from agentctl.turns.calls import CallLimits
from agentctl.turns.cancel import Cancel
from agentctl.turns.context import assemble
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import (
    AssistantMessage,
    StopReason,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from model_server import anthropic_fault, openai_fault
from shield.types import Decision, Verdict

SPECS = (
    ToolSpec(name="read", description="d", parameters={"type": "object"}, action_type="read_file", reads_only=True),
    ToolSpec(name="write", description="d", parameters={"type": "object"}, action_type="write_file"),
)
CANCEL = "cancel"
FAIL = "fail"

texts = st.sampled_from(["", " ", "hello", "\n"])
calls = st.builds(
    ToolCall,
    id=st.sampled_from(["", "c", "c", "é", "x" * 99]),
    name=st.sampled_from(["read", "write", "write", "nothing"]),
    arguments_text=st.sampled_from(["{}", "", '{"a":1}', "[]", "{", '{"a":1,"a":2}', '{"b":"\\ud800"}']),
)
pieces = (
    texts.map(lambda text: TextDelta(text=text))
    | calls.map(lambda call: ToolCallDone(index=0, call=call))
    | st.sampled_from(
        [ThinkingDone(part=ThinkingPart(text="t", signature="s")), ThinkingDone(part=ThinkingPart(text="t"))]
    )
)
answers = st.tuples(
    st.lists(pieces, max_size=4),
    st.sampled_from([*StopReason, StopReason.TOOLS, StopReason.TOOLS, StopReason.TOOLS, FAIL, CANCEL]),
)
gate_answers = st.lists(
    st.sampled_from([*Decision, Decision.ALLOW, Decision.ALLOW, FAIL, CANCEL]), min_size=1, max_size=9
)


@dataclass
class Script:
    """Answers in turn, the last one for ever; sets the switch where it says so."""

    answers: list
    cancel: Cancel
    at: int = 0

    def next(self):
        answer = self.answers[min(self.at, len(self.answers) - 1)]
        self.at += 1
        if answer == CANCEL:
            self.cancel.set()
        return answer


@dataclass
class FakeProvider:
    script: Script
    end: Cancel

    async def stream(self, messages, tools, *, cancel):
        check(messages)
        events, stop = self.script.next()
        for event in events:
            yield event
        if stop == FAIL:
            raise ModelAnswerError("torn")
        if stop == CANCEL:
            self.end.set()
            await cancel.guard(lambda: asyncio.sleep(0))
        yield Stop(reason=stop)

    async def aclose(self):
        pass


@dataclass
class FakeGate:
    script: Script
    ran: list = field(default_factory=list)

    def verdict(self):
        answer = self.script.next()
        if answer == FAIL:
            raise GateError("gone")
        if answer == CANCEL:
            answer = Decision.ALLOW  # the switch is set: it must not run any more
        return Verdict(id="i", evaluation="e", decision=answer, approval="a", permit="p")

    async def propose(self, proposal):
        return self.verdict()

    async def wait(self, verdict):
        return self.verdict()

    async def run(self, proposal, verdict):
        assert verdict.decision is Decision.ALLOW
        assert not self.script.cancel.is_set
        verdict = self.verdict()
        if verdict.decision is not Decision.ALLOW:
            return verdict
        self.ran.append(proposal.call.id)
        return ToolResult(id="someone else's", content="", decision=Decision.ALLOW)


@dataclass
class Memory:
    messages: tuple = ()
    ends: list = field(default_factory=list)

    def begin(self, message):
        self.messages = (*self.messages, message)

    def finish(self, messages, end):
        self.messages = (*self.messages, *messages)
        self.ends.append(end)


class Tools:
    def specs(self):
        return SPECS


def check(messages):
    """The request is one that the services take, and each call has its result right after it."""
    settings_ = ModelSettings(model="m")
    assert openai_fault(openai_body(messages, SPECS, settings_)) is None
    assert anthropic_fault(anthropic_body(messages, SPECS, settings_)) is None
    waiting = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert [result.id for result in message.results] == waiting
            waiting = []
        else:
            assert waiting == []
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
    assert waiting == []


@settings(max_examples=150, deadline=None)
@given(model=st.lists(answers, min_size=1, max_size=4), shield=gate_answers)
def test_whatever_happens_the_conversation_goes_on_and_nothing_runs_unallowed(model, shield):
    async def run():
        journal, events = Memory(), []
        for text in ("go", "go on"):
            cancel = Cancel()
            gate = FakeGate(Script(shield, cancel))
            loop = Loop(
                provider=FakeProvider(Script(model, cancel), cancel),
                gate=gate,
                tools=Tools(),
                journal=journal,
                system="s",
                emit=events.append,
                limits=LoopLimits(steps=5, calls=CallLimits(polls=3)),
                new_id=iter(f"{text[-1]}{n}" for n in range(10_000)).__next__,
            )
            report = await asyncio.wait_for(loop.turn(text, cancel=cancel), 20)
            assert report.end is not TurnEnd.BROKEN
            assert len(gate.ran) <= sum(isinstance(event, CallRunning) for event in events)
            shown = {
                result.id: result
                for message in report.messages
                if isinstance(message, ToolMessage)
                for result in message.results
            }
            assert set(gate.ran) <= shown.keys()
            for id_, result in shown.items():
                assert result.is_error or id_ in gate.ran  # nothing is told as done that was not
        check(assemble("s", (*journal.messages, UserMessage(text="and?")), budget=100_000))
        assert load(dump(journal.messages)) == journal.messages

    asyncio.run(run())
