"""How every command ends: without a traceback, with an exit code that says what went wrong, and never with a 0 where
something of its output was lost.

2 where the output cannot be written (also, without a word, where nobody reads it any more), 130 after Ctrl-C.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click

__all__ = ["ended"]

_WRONG = 2
_INTERRUPTED = 130


@contextmanager
def ended() -> Iterator[None]:
    """Run what is inside, and end the process where it cannot be gone on with."""
    try:
        _open_streams()
        try:
            yield
        finally:
            sys.stdout.flush()  # what cannot be written must show here, and not when Python ends
    except click.ClickException as error:
        _say(error.show)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _silence(sys.stdout)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        _silence(sys.stdout)
        sys.exit(_WRONG)
    except OSError as error:
        _silence(sys.stdout)
        said = f"agentctl: {_what(error)}: {error.strerror or error}"
        _say(lambda: click.echo(said, err=True))
        sys.exit(_WRONG)
    finally:
        _say(sys.stderr.flush)


def _what(error: OSError) -> str:
    if error.filename is not None:
        return f"`{error.filename}` cannot be used"
    if isinstance(error, FileNotFoundError):  # only of the directory we are in there is no name
        return "the current directory is no more, go to another one"
    return "the output cannot be written"


def _say(message: Callable[[], object]) -> None:
    """A message that cannot be shown changes no exit code."""
    try:
        message()
    except OSError:
        _silence(sys.stderr)


def _open_streams() -> None:
    """A closed input is an empty one, closed messages are for nobody: so no file of ours gets the number of either.

    Raises OSError where the output is closed.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115  # for as long as we live
    closed = sys.stdout is None
    if closed:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # as above
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # as above
    if closed:
        raise OSError(errno.EBADF, "it is closed")


def _silence(stream: TextIO) -> None:
    """Nothing that is still buffered may be written when Python ends: it would fail once more."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
