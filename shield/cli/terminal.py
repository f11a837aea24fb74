"""The person at the controlling terminal, and nobody else: what a pipe, a file, an agent's shell says is not heard."""

import os
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from shield.errors import ConfigError

__all__ = ["confirm", "tell", "terminal"]

TERMINAL = "/dev/tty"


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


def confirm(question: str, *, word: str = "yes") -> bool:
    """Whether the person typed exactly `word`. There is no default answer."""
    with terminal() as line:
        line.write(f"{question}\ntype `{word}` to confirm: ")
        line.flush()
        return line.readline(64).strip() == word


def tell(text: str) -> None:
    """Show `text` on the terminal alone, never on an output that may be a file."""
    with terminal() as line:
        line.write(text)
        line.flush()
