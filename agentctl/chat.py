"""`agentctl chat` and `agentctl run`: what is put together, and what happens in which order."""

import asyncio
import json
import secrets
import signal
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final, TextIO

from agentctl.config import Settings
from agentctl.errors import (
    AgentError,
    CancelledTurnError,
    GateError,
    ModelConfigError,
    SettingsError,
    SidecarError,
    ToolError,
)
from agentctl.events import CallFinished, TurnEnd
from agentctl.execute import ShieldGate
from agentctl.gateway import gateway
from agentctl.talk import cancelling, conversation, limits_of, model_of, provider_of
from agentctl.tools.registry import tool
from agentctl.turns.calls import Caller
from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolCall
from agentctl.ui.console import HELP, read_line
from agentctl.ui.person import Asked, Person
from agentctl.ui.private import keep_private
from agentctl.ui.screen import Screen, columns
from agentctl.ui.shown import NOT_PROPOSED, Shown
from agentctl.ui.spoken import Spoken
from shield.errors import ShieldError
from shield.types import Decision

__all__ = ["Exit", "chat", "once"]

_EXIT: Final = {
    TurnEnd.DONE: 0,
    TurnEnd.CUT_OFF: 4,
    TurnEnd.REFUSED: 4,
    TurnEnd.STEP_LIMIT: 4,
    TurnEnd.REPEATED_REFUSAL: 4,
    TurnEnd.MODEL_FAILED: 1,
    TurnEnd.BROKEN: 1,
    TurnEnd.GATE_FAILED: 3,
    TurnEnd.CANCELLED: 130,
}


_TALK_HELP: Final = """\
what you type goes to the model, and each of its tool calls to Shield
Ctrl-C stops an answer; /quit or Ctrl-D ends"""


class Exit:
    """Exit codes of `agentctl chat` and `agentctl run`."""

    DONE: Final = 0
    FAILED: Final = 1
    USAGE: Final = 2
    NO_SHIELD: Final = 3
    STOPPED: Final = 4
    INTERRUPTED: Final = 130


def chat(settings: Settings, workspace: Path, environ: Mapping[str, str], person: Person) -> int:
    """Talk until the person ends it. Returns an exit code."""
    screen, talk = _screen(person.out, person.colour), _screen(person.talk)
    return _whole(_guarded(_chat(settings, workspace, environ, person, screen), talk))


def once(
    settings: Settings,
    workspace: Path,
    environ: Mapping[str, str],
    person: Person,
    prompt: str,
    *,
    as_json: bool = False,
) -> int:
    """One turn with the model and nobody to ask: what needs a person is refused. Returns an exit code.

    `out` gets the answer alone, or one JSON object of it, and `talk` the rest.
    """
    talk = _screen(person.talk)
    return _whole(_guarded(_once(settings, workspace, environ, person, talk, prompt, as_json=as_json), talk))


def _screen(out: TextIO, colour: bool = False) -> Screen:
    return Screen(out, colour, columns(out))


def _whole(work: Coroutine[None, None, int]) -> int:
    keep_private()  # the keys of models stand in our environment
    try:
        with asyncio.Runner() as runner:
            return runner.run(work)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return Exit.INTERRUPTED


async def _guarded(work: Awaitable[int], talk: Screen) -> int:
    try:
        return await work
    except (GateError, SidecarError, ShieldError) as error:
        talk.line(f"agentctl: {error.detail}")
        return Exit.NO_SHIELD
    except (SettingsError, ModelConfigError) as error:
        talk.line(f"agentctl: {error.detail}")
        return Exit.USAGE
    except AgentError as error:
        talk.line(f"agentctl: {error.detail}")
        return Exit.FAILED


async def _chat(settings: Settings, workspace: Path, environ: Mapping[str, str], person: Person, screen: Screen) -> int:
    async with (
        model_of(settings.model, environ) as provider,
        gateway(settings, workspace, environ, screen, person=person) as (gate, asks),
    ):
        shown, waits = Shown(screen, asks=asks, echoes=person.terminal), asks is not Asked.NOBODY
        # from here on Ctrl-C stops a turn or a line, never the chat; a handler, since children would inherit SIG_IGN
        signal.signal(signal.SIGINT, lambda *_: None)
        if provider is None:
            await _console(gate, person, screen, shown, waits=waits)
            return Exit.DONE
        async with conversation(settings, provider, gate, screen, shown, waits=waits) as turn:
            # read in the main thread, where Ctrl-C ends the line: nothing else happens while the person types
            while (line := person.ask("you> ")) is not None:
                match line.strip():
                    case "":
                        continue
                    case "/quit" | "/exit":
                        break
                    case "/help":
                        screen.line(_TALK_HELP)
                        continue
                if await turn(line) is TurnEnd.GATE_FAILED:
                    return Exit.NO_SHIELD
    return Exit.DONE


async def _once(
    settings: Settings,
    workspace: Path,
    environ: Mapping[str, str],
    person: Person,
    talk: Screen,
    prompt: str,
    *,
    as_json: bool,
) -> int:
    if settings.model is None:
        raise SettingsError(f"no model is configured; set AGENTCTL_MODEL or `model` in `{settings.file}`")
    spoken = Spoken(talk, None if as_json else _screen(person.out), at_once=person.out.isatty())
    async with (
        aclosing(provider_of(settings.model, environ)) as provider,
        gateway(settings, workspace, environ, talk, person=None) as (gate, asks),
    ):
        shown = Shown(talk, asks=asks, spoken=spoken)
        async with conversation(settings, provider, gate, talk, shown, waits=asks is not Asked.NOBODY) as turn:
            end = await turn(prompt)
        code = _EXIT.get(end, Exit.FAILED)
        if as_json:
            calls = {name: shown.counts[name] for name in (*Decision, NOT_PROPOSED)}
            report = {"answer": spoken.answer, "end": end, "exit": code, "session": gate.session.id, "calls": calls}
            print(json.dumps(report), file=person.out, flush=True)
    return code


# --- the console -----------------------------------------------------------------------------------------------------


async def _console(gate: ShieldGate, person: Person, screen: Screen, shown: Shown, *, waits: bool) -> None:
    """Each line is a tool call of the person's own, judged like a model's."""
    screen.line("no model is configured: each line is a tool call. /help lists them, /quit ends")
    while (text := person.ask("agentctl> ")) is not None:
        match text.strip():
            case "":
                continue
            case "/quit" | "/exit":
                return
            case "/help":
                screen.line(HELP)
                continue
        try:
            line = read_line(text)
        except ToolError as error:
            screen.line(error.detail)
            continue
        call = ToolCall(id=secrets.token_hex(8), name=line.tool, arguments_text=line.arguments_text)
        proposal = Proposal(call=call, type=tool(line.tool).action_type, payload=line.payload)
        async with cancelling() as cancel:
            caller = Caller(gate, shown.event, cancel=cancel, limits=limits_of(waits=waits))
            try:
                verdict = await caller.judge(proposal)
                shown.event(CallFinished(call=call, result=await caller.carry_out(proposal, verdict)))
            except CancelledTurnError:
                shown.interrupted()
                screen.line("stopped")
