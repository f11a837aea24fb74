"""How a start of Shield differs: embedded or by hand, and what tells it to stop or to read its policy again."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from shield.service.tokens import TokenBook

__all__ = ["Hooks", "Listening", "asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What is said once, when requests are answered. `address` is the socket's path or `127.0.0.1:PORT`."""

    address: str
    public_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """How a start differs: embedded or by hand, in a process of its own or in a test's thread.

    `overrides` are the environment's settings, `environ` where the tools' variables come from. `book` adds tokens that
    live in memory. `parent` is a descriptor whose end of file stops the service. `portable` = h11 and asyncio.
    `passphrase` is asked where the audit key needs one, None where nobody can be asked.
    """

    environ: Mapping[str, str]
    overrides: Mapping[str, str]
    listening: Callable[[Listening], None]
    said: Callable[[str], None]
    book: Callable[[TokenBook], TokenBook] = lambda book: book
    parent: int | None = None
    signals: bool = True
    portable: bool = False
    passphrase: Callable[[], str] | None = None
    stop: Callable[[Callable[[], None]], None] = lambda _stop: None


@contextmanager
def asked(
    loop: asyncio.AbstractEventLoop, hooks: Hooks, stop: Callable[[], None], reload: Callable[[], None]
) -> Iterator[None]:
    """Listen to signals, to the parent's pipe and to the test that started us."""

    def from_afar() -> None:
        loop.call_soon_threadsafe(stop)

    hooks.stop(from_afar)
    handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload} if hooks.signals else {}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    if hooks.parent is not None:
        parent = hooks.parent
        os.set_blocking(parent, False)

        def heard() -> None:
            try:
                gone = os.read(parent, 4096) == b""
            except BlockingIOError:
                return
            except OSError:
                gone = True
            if gone:
                loop.remove_reader(parent)
                stop()

        loop.add_reader(parent, heard)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
        if hooks.parent is not None:
            loop.remove_reader(hooks.parent)
