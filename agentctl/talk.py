"""A talk with a model: which one, over which session of the history, and what ends a turn."""

import asyncio
import contextlib
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from agentctl.config import ModelChoice, ProviderName, Settings
from agentctl.errors import HistoryError, SettingsError
from agentctl.events import TurnEnd
from agentctl.execute import ShieldGate
from agentctl.tools.registry import Registry
from agentctl.turns.calls import CallLimits
from agentctl.turns.cancel import Cancel
from agentctl.ui.screen import Screen
from agentctl.ui.shown import Shown
from agentctl.ui.text import single_line

if TYPE_CHECKING:
    from agentctl.providers.provider import Provider

__all__ = ["Turn", "cancelling", "conversation", "limits_of", "model_of", "provider_of"]

Turn = Callable[[str], Awaitable[TurnEnd]]


@asynccontextmanager
async def conversation(
    settings: Settings, provider: "Provider", gate: ShieldGate, screen: Screen, shown: Shown, *, waits: bool
) -> AsyncIterator[Turn]:
    """A function that takes a turn with the model, over a new session of the history. Where it `waits` for nobody, what
    needs a person is refused at once."""
    from agentctl.history.store import History
    from agentctl.loop import Loop, LoopLimits
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
            limits=LoopLimits(calls=limits_of(waits=waits)),
        )

        async def turn(text: str) -> TurnEnd:
            async with cancelling() as cancel:
                report = await loop.turn(text, cancel=cancel)
            if report.end is TurnEnd.CANCELLED:
                shown.interrupted()
            shown.end()
            if report.end is not TurnEnd.DONE:
                screen.line(f"[{report.end.value}] {single_line(report.detail or '', 1000)}")
            return report.end

        yield turn


def limits_of(*, waits: bool) -> CallLimits:
    """How long a call waits for a person: not at all where nobody is asked."""
    return CallLimits() if waits else CallLimits(polls=0)


@asynccontextmanager
async def model_of(choice: ModelChoice | None, environ: Mapping[str, str]) -> AsyncIterator["Provider | None"]:
    """The model before anything is started: what is wrong with its settings is said at once. None without one."""
    if choice is None:
        yield None
        return
    async with aclosing(provider_of(choice, environ)) as provider:
        yield provider


def provider_of(choice: ModelChoice, environ: Mapping[str, str]) -> "Provider":
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


@asynccontextmanager
async def cancelling() -> AsyncIterator[Cancel]:
    """A switch that Ctrl-C sets while a turn runs. A request to end, or a terminal that is gone, cancels the task: the
    tool that runs is stopped before we are. Both are for this turn alone: a Ctrl-C that comes as one ends is not left
    for the next."""
    cancel = Cancel()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before = {}

    def on(number: signal.Signals, action: Callable[[], object]) -> None:
        with contextlib.suppress(ValueError, RuntimeError):  # not in the main thread: somebody else handles signals
            before[number] = signal.getsignal(number)
            loop.add_signal_handler(number, action)

    try:
        if task is not None:
            on(signal.SIGTERM, task.cancel)
            on(signal.SIGHUP, task.cancel)
        await _signals_taken()
        on(signal.SIGINT, cancel.set)
        yield cancel
        await _signals_taken()
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def _signals_taken() -> None:
    """The loop keeps the numbers of signals that came until it looks, and gives them to whatever handler there is then:
    one round until it looks, one that reads them, one that does what they call for."""
    for _ in range(3):
        await asyncio.sleep(0)
