"""`agentctl chat` and `agentctl run`: what is put together, and what happens in which order."""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
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
from agentctl.sandbox.confinement import Confinement, choose
from agentctl.sandbox.offer import Offer
from agentctl.sidecar import Sidecar, find, import_path, open_gate, python_command, start
from agentctl.talk import cancelling, conversation, model_of, provider_of
from agentctl.tools.registry import tool
from agentctl.turns.calls import Caller
from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolCall
from agentctl.ui.console import HELP, read_line
from agentctl.ui.private import keep_private
from agentctl.ui.screen import Screen, columns
from agentctl.ui.shown import Shown
from agentctl.ui.text import single_line
from shield.client import AsyncClient
from shield.errors import ClientError, Reason, ShieldError
from shield.types import Isolation

__all__ = ["Exit", "Person", "chat", "once"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who sits at the terminal: where lines come from and text goes. `ask` gives the next line, None at the end."""

    out: TextIO
    talk: TextIO
    ask: Callable[[str], str | None]
    terminal: bool
    colour: bool


def chat(settings: Settings, workspace: Path, environ: Mapping[str, str], person: Person) -> int:
    """Talk until the person ends it. Returns an exit code."""
    screen, talk = _screen(person.out, person.colour), _screen(person.talk)
    return _whole(_guarded(_chat(settings, workspace, environ, person, screen), talk))


def once(settings: Settings, workspace: Path, environ: Mapping[str, str], person: Person, prompt: str) -> int:
    """One turn with the model and nobody to ask: what needs a person is refused. Returns an exit code."""
    screen, talk = _screen(person.out), _screen(person.talk)
    return _whole(_guarded(_once(settings, workspace, environ, screen, talk, prompt), talk))


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
        _gate(settings, workspace, environ, screen, person=person) as (gate, asks),
    ):
        shown = Shown(screen, asks=asks, echoes=person.terminal)
        # from here on Ctrl-C stops a turn or a line, never the chat; a handler, since children would inherit SIG_IGN
        signal.signal(signal.SIGINT, lambda *_: None)
        if provider is None:
            await _console(gate, person, screen, shown)
            return Exit.DONE
        async with conversation(settings, provider, gate, screen, shown) as turn:
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
    settings: Settings, workspace: Path, environ: Mapping[str, str], screen: Screen, talk: Screen, prompt: str
) -> int:
    if settings.model is None:
        raise SettingsError(f"no model is configured; set AGENTCTL_MODEL or `model` in `{settings.file}`")
    async with (
        aclosing(provider_of(settings.model, environ)) as provider,
        _gate(settings, workspace, environ, talk, person=None) as (gate, asks),
        conversation(settings, provider, gate, screen, Shown(screen, asks=asks)) as turn,
    ):
        return _EXIT.get(await turn(prompt), Exit.FAILED)


# --- Shield ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _gate(
    settings: Settings, workspace: Path, environ: Mapping[str, str], screen: Screen, *, person: Person | None
) -> AsyncIterator[tuple[ShieldGate, bool]]:
    """A gate, and whether a person is asked here: the home's Shield, or an embedded one with the prompt."""
    async with AsyncExitStack() as stack:
        sidecar = await find(settings.home)
        asks = False
        if sidecar is None:
            sidecar, asks = stack.enter_context(
                _embedded(settings, workspace, environ, with_person=_at_terminal(person))
            )
        confinement = await asyncio.to_thread(choose, settings, workspace, environ=environ)
        try:
            gate = await stack.enter_async_context(_session(settings, workspace, environ, sidecar, confinement))
        except ClientError as error:
            if error.reason is not Reason.WORKSPACE_UNTRUSTED or not _at_terminal(person):
                raise
            screen.line(f"`{workspace}` is not trusted as a workspace yet")
            if not await asyncio.to_thread(_trust, settings, workspace, environ):
                raise SidecarError("nothing is run in a directory that is not trusted") from None
            gate = await stack.enter_async_context(_session(settings, workspace, environ, sidecar, confinement))
        screen.line(await _start_line(sidecar, gate, confinement.offer, asks=asks))
        yield gate, asks


def _session(
    settings: Settings, workspace: Path, environ: Mapping[str, str], sidecar: Sidecar, confinement: Confinement
) -> "contextlib.AbstractAsyncContextManager[ShieldGate]":
    return open_gate(
        home=settings.home,
        workspace=workspace,
        environ=environ,
        label="agentctl",
        sidecar=sidecar,
        confinement=confinement,
    )


@contextmanager
def _embedded(
    settings: Settings, workspace: Path, environ: Mapping[str, str], *, with_person: bool
) -> Iterator[tuple[Sidecar, bool]]:
    """A Shield of ours, and whether an approver prompt runs beside it.

    INVARIANT: the approver's token goes from Shield to the prompt; this process never reads the pipe it goes through.
    """
    if not with_person:
        with start(settings.home, workspace=workspace, environ=environ) as sidecar:
            yield sidecar, False
        return
    token_read, token_write = os.pipe()
    prompt: subprocess.Popen[bytes] | None = None
    try:
        try:
            sidecar = start(settings.home, workspace=workspace, environ=environ, approver_fd=token_write)
        finally:
            os.close(token_write)
        with sidecar:
            with _interrupts_wait():
                prompt = subprocess.Popen(  # noqa: S603  # our own program
                    [
                        *python_command("agentctl.ui.approver"),
                        "--socket",
                        str(sidecar.endpoint.socket),
                        "--token-fd",
                        str(token_read),
                        "--term",
                        environ.get("TERM") or "dumb",
                    ],
                    env=_plain(settings, environ),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    cwd="/",
                    pass_fds=(token_read,),
                )
            os.close(token_read)
            token_read = -1
            yield sidecar, True
    finally:
        if token_read >= 0:
            os.close(token_read)
        if prompt is not None:
            prompt.terminate()
            prompt.wait()


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C waits meanwhile, and for a child begun here until it says otherwise: none dies of it while it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _trust(settings: Settings, workspace: Path, environ: Mapping[str, str]) -> bool:
    """`shield trust DIR` asks the person on the terminal; what they say is Shield's business."""
    asked = subprocess.run(  # noqa: S603  # our own program
        [*python_command("shield"), "trust", str(workspace)], env=_plain(settings, environ), cwd="/", check=False
    )
    return asked.returncode == 0


def _plain(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    kept = ("HOME", "LANG", "PATH", "TERM", "USER", "LOGNAME")
    env = {name: environ[name] for name in kept if name in environ}
    return env | {"SHIELD_HOME": str(settings.home)} | import_path()


async def _start_line(sidecar: Sidecar, gate: ShieldGate, offer: Offer, *, asks: bool) -> str:
    log = ""
    async with AsyncClient(sidecar.endpoint, sidecar.token) as client:
        with contextlib.suppress(ClientError):
            said = (await client.ready()).report.get("log")
            if isinstance(said, dict) and isinstance(said.get("size"), int):
                # who knows the log's own name notices that another was begun
                name = single_line(str(said.get("id", "")).rpartition("/")[2])
                log = f" · log {name}, {said['size']} records"
    shield = "embedded, started here" if sidecar.embedded else "found"
    person = "asks here" if asks else "asks nobody" if sidecar.embedded else "asks through `shield approvals`"
    return (
        f"Shield: {shield} · {person}{log}\n"
        f"session {gate.session.id} · isolation {gate.isolation.value}{_sandbox_line(offer)}\n"
        f"workspace {gate.cwd}"
    )


def _sandbox_line(offer: Offer) -> str:
    """What holds the level; where nothing does, what will be asked about and how to change that."""
    if offer.means is not None and offer.strongest is Isolation.CONFINED:
        return f" ({offer.means.value})"
    why = "".join(f"\n  {reason}" for reason in offer.reasons)
    if offer.means is not None and offer.strongest is Isolation.STATE_HIDDEN:
        return f" ({offer.means.value}): installing packages is asked about{why}"
    return f" (no sandbox): tests, builds, scripts and installing packages are asked about{why}"


def _at_terminal(person: Person | None) -> bool:
    if person is None or not person.terminal:
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


# --- the console -----------------------------------------------------------------------------------------------------


async def _console(gate: ShieldGate, person: Person, screen: Screen, shown: Shown) -> None:
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
        with cancelling() as cancel:
            caller = Caller(gate, shown.event, cancel=cancel)
            try:
                verdict = await caller.judge(proposal)
                shown.event(CallFinished(call=call, result=await caller.carry_out(proposal, verdict)))
            except CancelledTurnError:
                shown.interrupted()
                screen.line("stopped")
