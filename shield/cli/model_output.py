"""What `shield model` says on standard output; one that does not take it is an error like any other."""

import os
import sys
from contextlib import suppress

import click

from shield.errors import ConfigError

__all__ = ["check_output", "say"]


def check_output() -> None:
    """For what must not run without being heard. Raises ConfigError: standard output is closed."""
    if sys.stdout is None:
        raise ConfigError("standard output is closed; open it, or send it to a file")


def say(line: str) -> None:
    """One line, at once. Raises ConfigError: it cannot be written."""
    check_output()
    try:
        click.echo(line)
    except OSError as error:
        _let_go()
        why = (error.strerror or str(error)).lower()
        raise ConfigError(f"standard output cannot be written: {why}; see where it goes and try again") from None


def _let_go() -> None:
    """Python writes what is held back once more at its end, and would then end with a code of its own."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
