"""The loop with everything real but the model's mind and Shield's: sockets, files, child processes, the history."""

import asyncio
import os
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentctl.events import CallRunning, TurnEnd
from agentctl.execute import ShieldGate
from agentctl.history.store import History
from agentctl.loop import Loop
from agentctl.providers.anthropic import AnthropicProvider
from agentctl.providers.http import Endpoint
from agentctl.providers.openai import OpenAiProvider
from agentctl.providers.provider import ModelSettings
from agentctl.sessions.session import Session
from agentctl.tools.registry import Registry
from agentctl.turns.cancel import Cancel
from agentctl.turns.context import instructions
from agentctl.turns.messages import ToolMessage
from fake_shield import TOKEN, fake_shield
from model_server import Call, ScriptedModel, Turn, Wire
from shield.client import AsyncClient

PROVIDERS = [(OpenAiProvider, "/v1"), (AnthropicProvider, "")]


@pytest.fixture
def workspace():
    with tempfile.TemporaryDirectory(prefix="ws") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def fake():
    with fake_shield() as fake:
        yield fake


@asynccontextmanager
async def looping(fake, workspace, model, kind, events):
    make, suffix = kind
    provider = make(Endpoint(base_url=model.url + suffix, api_key="k"), ModelSettings(model="m"))
    locks = str(workspace / ".sessions" / "locks")
    with (
        History(str(workspace / ".sessions" / "db"), now=lambda: 1) as history,
        Session.start(history, locks=locks, workspace=str(workspace), new_id=lambda: "s") as session,
    ):
        async with AsyncClient(fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(workspace)]))
            try:
                yield Loop(
                    provider=provider,
                    gate=gate,
                    tools=Registry(),
                    journal=session,
                    system=instructions(gate.cwd),
                    emit=events.append,
                )
            finally:
                await provider.aclose()


def results_of(report):
    return [result for message in report.messages if isinstance(message, ToolMessage) for result in message.results]


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_turn_with_files_a_command_and_a_block(fake, workspace, kind):
    fake.judge = lambda action: "BLOCK" if action["payload"].get("path") == "secret" else "ALLOW"
    (workspace / "secret").write_text("the secret")
    script = [
        Turn(
            text="I write, run and read.",
            calls=(
                Call("write_file", {"path": "a.txt", "content": "héllo\n"}),
                Call("execute_command", {"command": "cat a.txt; echo more >> a.txt"}),
                Call("read_file", {"path": "secret"}),
                Call("read_file", {"path": "a.txt"}),
            ),
            wire=Wire(split=(3, 17)),
        ),
        Turn(text="done"),
    ]

    async def run(model):
        async with looping(fake, workspace, model, kind, []) as loop:
            return await asyncio.wait_for(loop.turn("go", cancel=Cancel()), 30)

    with ScriptedModel(script) as model:
        report = asyncio.run(run(model))
        told = str(model.requests[1].body)
    written, ran, blocked, read = results_of(report)
    assert report.end is TurnEnd.DONE
    assert (workspace / "a.txt").read_text() == "héllo\nmore\n"
    assert "héllo" in ran.content
    assert "more" in read.content
    assert not written.is_error
    assert blocked.is_error
    assert "do something else" in told
    assert "the secret" not in told
    assert [body["intent"] for body in fake.sent("/v1/evaluate")] == ["I write, run and read."] * 4
    assert fake.statuses() == ["ok"] * 3


@pytest.mark.parametrize("kind", PROVIDERS)
def test_cancelling_ends_the_command_and_its_children(fake, workspace, kind):
    fifo = workspace / "fifo"
    os.mkfifo(fifo)
    # The grandchild holds the fifo open for writing: its end is seen by the reader, without any waiting.
    command = "sleep 300 > fifo & echo $! > fifo; wait"
    script = [
        Turn(calls=(Call("execute_command", {"command": command}), Call("write_file", {"path": "b", "content": "b"}))),
        Turn(text="hello again"),
    ]

    async def run(model):
        events = []
        async with looping(fake, workspace, model, kind, events) as loop:
            cancel = Cancel()
            turn = asyncio.ensure_future(loop.turn("go", cancel=cancel))
            reader = await asyncio.wait_for(asyncio.to_thread(open, fifo), 20)
            with reader:
                begun = await asyncio.wait_for(asyncio.to_thread(reader.readline), 20)
                cancel.set()
                first = await asyncio.wait_for(turn, 20)
                rest = await asyncio.wait_for(asyncio.to_thread(reader.read), 20)
            second = await asyncio.wait_for(loop.turn("and now?", cancel=Cancel()), 20)
            return begun, rest, first, second, events

    with ScriptedModel(script) as model:
        begun, rest, first, second, events = asyncio.run(run(model))
    assert begun.strip().isdigit()
    assert rest == ""  # the end of the fifo: whoever held it is gone
    assert (first.end, second.end) == (TurnEnd.CANCELLED, TurnEnd.DONE)
    assert ["cancelled" in result.content for result in results_of(first)] == [True, True]
    assert sum(isinstance(event, CallRunning) for event in events) == 1
    assert not (workspace / "b").exists()
    assert fake.statuses() == ["cancelled"]


def test_when_shield_dies_between_two_calls_nothing_more_runs(fake, workspace):
    calls = tuple(Call("write_file", {"path": name, "content": name}) for name in "abc")

    def kill_after_the_first(content):
        fake.answers["/v1/permits/redeem"] = (500, "text/plain", b"")
        return content

    fake.content = kill_after_the_first

    async def run(model):
        async with looping(fake, workspace, model, PROVIDERS[0], []) as loop:
            return [await asyncio.wait_for(loop.turn(text, cancel=Cancel()), 20) for text in ("go", "go on")]

    with ScriptedModel([Turn(calls=calls), Turn(calls=calls)]) as model:
        first, second = asyncio.run(run(model))
    assert (first.end, second.end) == (TurnEnd.GATE_FAILED, TurnEnd.GATE_FAILED)
    assert sorted(path.name for path in workspace.iterdir() if path.is_file()) == ["a"]
    assert [result.is_error for result in results_of(first)] == [False, True, True]
