"""The person at the controlling terminal, and nobody else: what a pipe, a file, an agent's shell says is not heard."""

import getpass
import os
import termios
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from shield.client.keyboard import Keyboard
from shield.errors import ConfigError

__all__ = ["confirm", "tell", "terminal", "unseen"]

TERMINAL = "/dev/tty"
_PATIENCE_S = 600.0


@contextmanager
def terminal() -> Iterator[TextIOWrapper]:
    """The controlling terminal, what was typed before thrown away. Raises ConfigError where there is none."""
    try:
        descriptor = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise ConfigError("this asks a person, and there is no terminal; run it by hand in one") from None
    with TextIOWrapper(os.fdopen(descriptor, "r+b", buffering=0), write_through=True) as line:
        try:
            termios.tcflush(descriptor, termios.TCIFLUSH)
        except termios.error:
            raise ConfigError(f"`{TERMINAL}` is no terminal; run it by hand in one") from None
        yield line


def confirm(question: str, *, term: str, word: str = "yes") -> bool:
    """Whether the person typed exactly `word`, key by key. There is no default answer, and a paste is none.

    `term` is the terminal's type, `$TERM`.
    """
    with terminal() as line:
        line.write(f"{question}\n")
        with Keyboard(line.fileno(), term=term) as keyboard:
            while True:
                line.write(f"type `{word}` to confirm: ")
                line.flush()
                try:
                    said = keyboard.line(_PATIENCE_S)
                except EOFError:
                    said = None
                if said is None:
                    line.write("\n")
                    return False
                if said.typed:
                    return said.text.strip() == word
                line.write("that was not typed key by key: an answer is never taken from a paste\n")


def unseen(prompt: str) -> str:
    """What the person typed without seeing it, for a secret. Raises ConfigError where there is no terminal."""
    with terminal():
        pass
    with warnings.catch_warnings():
        # without a terminal of its own it would read standard input, and show what is typed
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(prompt)
        except (EOFError, OSError, getpass.GetPassWarning):
            raise ConfigError("nothing was typed; run it by hand in a terminal") from None


def tell(text: str) -> None:
    """Show `text` on the terminal alone, never on an output that may be a file."""
    with terminal() as line:
        line.write(text)
        line.flush()
