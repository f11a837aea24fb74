"""`agentctl chat` and `agentctl run`: what is put together, and what happens in which order."""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from agentctl.config import ModelChoice, ProviderName, Settings
from agentctl.errors import (
    AgentError,
    CancelledTurnError,
    GateError,
    HistoryError,
    ModelConfigError,
    SettingsError,
    SidecarError,
    ToolError,
)
from agentctl.events import CallFinished, CallJudged, CallRunning, CallWaiting, LoopEvent, TextDelta, TurnEnd
from agentctl.execute import ShieldGate
from agentctl.sandbox.confinement import Confinement, choose
from agentctl.sandbox.offer import Offer
from agentctl.sidecar import Sidecar, find, import_path, open_gate, python_command, start
from agentctl.tools.registry import Registry, tool
from agentctl.turns.calls import Caller
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolCall, ToolResult
from agentctl.ui.console import HELP, read_line
from agentctl.ui.private import keep_private
from agentctl.ui.screen import Screen, columns
from agentctl.ui.text import described, single_line
from shield.client import AsyncClient
from shield.errors import ClientError, Reason, ShieldError
from shield.types import Decision, Isolation

if TYPE_CHECKING:
    from agentctl.providers.provider import Provider

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
        _model(settings.model, environ) as provider,
        _gate(settings, workspace, environ, screen, person=person) as (gate, asks),
    ):
        shown = _Shown(screen, asks=asks, echoes=person.terminal)
        # from here on Ctrl-C stops a turn or a line, never the chat; a handler, since children would inherit SIG_IGN
        signal.signal(signal.SIGINT, lambda *_: None)
        if provider is None:
            await _console(gate, person, screen, shown)
            return Exit.DONE
        async with _conversation(settings, provider, gate, screen, shown) as turn:
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
        aclosing(_provider(settings.model, environ)) as provider,
        _gate(settings, workspace, environ, talk, person=None) as (gate, asks),
        _conversation(settings, provider, gate, screen, _Shown(screen, asks=asks)) as turn,
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


async def _console(gate: ShieldGate, person: Person, screen: Screen, shown: "_Shown") -> None:
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
        with _cancelling() as cancel:
            caller = Caller(gate, shown.event, cancel=cancel)
            try:
                verdict = await caller.judge(proposal)
                shown.event(CallFinished(call=call, result=await caller.carry_out(proposal, verdict)))
            except CancelledTurnError:
                shown.interrupted()
                screen.line("stopped")


@contextmanager
def _cancelling() -> Iterator[Cancel]:
    """A switch that Ctrl-C sets while a turn runs. A request to end, or a terminal that is gone, cancels the task: the
    tool that runs is stopped before we are."""
    cancel = Cancel()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    actions: dict[signal.Signals, Callable[[], object]] = {signal.SIGINT: cancel.set}
    if task is not None:
        actions |= {signal.SIGTERM: task.cancel, signal.SIGHUP: task.cancel}
    before = {}
    for number, action in actions.items():
        with contextlib.suppress(ValueError, RuntimeError):  # not in the main thread: somebody else handles signals
            before[number] = signal.getsignal(number)
            loop.add_signal_handler(number, action)
    try:
        yield cancel
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


class _Shown:
    """Prints what happens. Text streams as it comes, so a verdict begins a new line after it.

    Where `asks`, the approver prompt shows an escalated call by itself, on the same terminal and perhaps first: it is
    not shown twice. Where `echoes`, the terminal has written `^C` where Ctrl-C was pressed.
    """

    def __init__(self, screen: Screen, *, asks: bool, echoes: bool = False) -> None:
        self._screen = screen
        self._asks = asks
        self._echoes = echoes
        self._midline = False
        self._said: dict[str, Decision] = {}
        self._last: str | None = None

    def event(self, event: LoopEvent) -> None:
        match event:
            case TextDelta():
                self._screen.stream(event.text)
                self._midline = not event.text.endswith("\n")
                self._last = None
            case CallJudged() | CallWaiting():
                verdict = event.verdict
                if verdict.decision is not Decision.ESCALATE or verdict.approval is None:
                    self._verdict(event.call, verdict.decision, verdict.reason, verdict.advice)
                elif not self._asks:
                    waits = f"waiting for a person: `shield approvals show {verdict.approval}`"
                    self._verdict(event.call, Decision.ESCALATE, verdict.reason, waits)
            case CallRunning():
                self._verdict(event.call, Decision.ALLOW, "a person approved it")
            case CallFinished():
                self._finished(event.call, event.result)
                self._said.pop(event.call.id, None)
            case _:
                pass

    def end(self) -> None:
        if self._midline:
            self._screen.line()
            self._midline = False

    def interrupted(self) -> None:
        """Ctrl-C was pressed: what is said next begins a line."""
        if self._echoes:
            self._screen.line()
            self._midline = False
        self.end()

    def _finished(self, call: ToolCall, result: ToolResult) -> None:
        if result.decision is not None and result.decision is not Decision.ALLOW:
            self._verdict(call, result.decision, result.reason or "", result.advice)
            return
        self.end()
        if self._last != call.id:
            self._screen.label(described(call))
            self._last = call.id
        # a call that never reached Shield: its content is worded for the model
        unsent = result.decision is None and result.reason is not None
        self._screen.output(result.reason or "" if unsent else result.content, error=result.is_error)

    def _verdict(self, call: ToolCall, decision: Decision, reason: str, advice: str | None = None) -> None:
        """One line, once for each decision on a call."""
        if self._said.get(call.id) is decision:
            return
        self._said[call.id] = decision
        self._last = call.id
        self.end()
        self._screen.verdict(decision, described(call), reason, advice)


# --- the model -------------------------------------------------------------------------------------------------------

Turn = Callable[[str], Awaitable[TurnEnd]]


@asynccontextmanager
async def _conversation(
    settings: Settings, provider: "Provider", gate: ShieldGate, screen: Screen, shown: _Shown
) -> AsyncIterator[Turn]:
    """A function that takes a turn with the model, over a new session of the history."""
    from agentctl.history.store import History
    from agentctl.loop import Loop
    from agentctl.sessions.session import Session
    from agentctl.turns.context import instructions

    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HistoryError(f"`{settings.data}` cannot be made: {error.strerror}; set XDG_DATA_HOME elsewhere") from None
    with (
        History(str(settings.history), now=lambda: time.time_ns() // 1_000_000) as history,
        Session.start(
            history,
            locks=str(settings.data / "locks"),
            workspace=gate.cwd,
            new_id=lambda: secrets.token_hex(8),
        ) as session,
    ):
        loop = Loop(
            provider=provider,
            gate=gate,
            tools=Registry(),
            journal=session,
            system=instructions(gate.cwd),
            emit=shown.event,
        )

        async def turn(text: str) -> TurnEnd:
            with _cancelling() as cancel:
                report = await loop.turn(text, cancel=cancel)
            if report.end is TurnEnd.CANCELLED:
                shown.interrupted()
            shown.end()
            if report.end is not TurnEnd.DONE:
                screen.line(f"[{report.end.value}] {single_line(report.detail or '', 1000)}")
            return report.end

        yield turn


@asynccontextmanager
async def _model(choice: ModelChoice | None, environ: Mapping[str, str]) -> AsyncIterator["Provider | None"]:
    """The model before anything is started: what is wrong with its settings is said at once. None without one."""
    if choice is None:
        yield None
        return
    async with aclosing(_provider(choice, environ)) as provider:
        yield provider


def _provider(choice: ModelChoice, environ: Mapping[str, str]) -> "Provider":
    from agentctl.providers.anthropic import AnthropicProvider
    from agentctl.providers.http import Endpoint
    from agentctl.providers.ollama import OllamaProvider
    from agentctl.providers.openai import OpenAiProvider
    from agentctl.providers.provider import ModelSettings

    key = environ.get(choice.key_env) if choice.key_env else None
    if choice.key_needed and not key:
        raise SettingsError(
            f"{choice.key_env} is not set; put the api key for `{choice.base_url}` there, or name another variable with"
            " `key_env`"
        )
    endpoint = Endpoint(base_url=choice.base_url, api_key=key or None, key_env=choice.key_env, proxy=choice.proxy)
    asked = ModelSettings(model=choice.model, max_tokens=choice.max_tokens)
    match choice.provider:
        case ProviderName.OPENAI:
            return OpenAiProvider(endpoint, asked)
        case ProviderName.ANTHROPIC:
            return AnthropicProvider(endpoint, asked)
        case ProviderName.OLLAMA:
            return OllamaProvider(endpoint, asked)
