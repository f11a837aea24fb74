"""Against llama.cpp's own server (`pip install xllamacpp`) with a tiny model: a peer that nobody here wrote."""

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from agentctl.events import Stop, TextDelta, ToolCallDelta, ToolCallDone
from agentctl.providers.anthropic import AnthropicProvider
from agentctl.providers.http import Endpoint
from agentctl.providers.openai import OpenAiProvider
from agentctl.providers.provider import ModelSettings
from agentctl.turns.cancel import Cancel
from agentctl.turns.context import assemble
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import AssistantMessage, StopReason, ToolMessage, ToolResult, UserMessage
from shared_data import shared
from shield.types import Decision

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="`xllamacpp` is not installed"),
]

SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx, params.n_parallel, params.use_jinja = sys.argv[1], 0, 2048, 1, True
params.cpuparams.n_threads = 1
params.sampling.temp = 0.0
server = xllamacpp.Server(params)
print("up", server.listening_address, flush=True)
sys.stdin.read()
"""
TOOL = ToolSpec(
    name="shell_exec",  # the tool that the tiny model knows by heart
    description="Run a shell command",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "maxLength": 20}},
        "required": ["command"],
        "additionalProperties": False,
    },
    action_type="execute_command",
)


@contextmanager
def llama():
    model = shared("prototypes/llm/tiny.gguf")
    command = [sys.executable, "-c", SERVER, str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            line = next(line for line in child.stdout if line.startswith("up "))
            yield line.split()[1]
        finally:
            child.kill()


async def answer(provider, messages, tools):
    events = [event async for event in provider.stream(messages, tools, cancel=Cancel())]
    assert isinstance(events[-1], Stop)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return text, [event.call for event in events if isinstance(event, ToolCallDone)], events


@pytest.mark.parametrize(("make", "suffix"), [(OpenAiProvider, "/v1"), (AnthropicProvider, "")])
def test_text_a_call_in_fragments_and_its_result(make, suffix):
    async def run(url):
        settings = ModelSettings(model="m", max_tokens=120, temperature=0.0)
        provider = make(Endpoint(base_url=f"{url}{suffix}"), settings)
        try:
            text, calls, events = await answer(provider, [UserMessage(text="hello")], [])
            assert (text, calls) == ("Hello, I am tiny.", [])
            asked = [UserMessage(text="list files")]
            _, (call,), events = await answer(provider, asked, [TOOL])
            assert call.arguments() == {"command": "ls -la /tmp"}
            assert sum(isinstance(event, ToolCallDelta) for event in events) > 3
            assert events[-1] == Stop(reason=StopReason.TOOLS)
            told = ToolResult(id=call.id, content="a b c", decision=Decision.ALLOW)
            history = [*asked, AssistantMessage(parts=(call,), stop=StopReason.TOOLS), ToolMessage(results=(told,))]
            _, _, events = await answer(provider, assemble("", history, budget=9999)[1:], [TOOL])
        finally:
            await provider.aclose()

    with llama() as url:
        asyncio.run(asyncio.wait_for(run(url), 60))
