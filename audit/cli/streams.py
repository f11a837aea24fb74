"""Standard output and error that behave: what a command cannot say is an error with a name, whatever the reason.

Python has None where a stream is closed, click ends with status 1 where nobody reads a pipe any more, and what is left
unwritten is written once more as the interpreter ends, which then has a status of its own. Status 1 is a verdict here.
"""

import errno
import sys
from io import BufferedWriter, RawIOBase, TextIOWrapper
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["OutputError", "check_open", "take_over"]

_CLOSED: Final = "it is closed"


class OutputError(OSError):
    """Standard output cannot be written. Said once; what is written after that is lost in silence."""

    def __str__(self) -> str:
        if self.strerror == _CLOSED:
            return "standard output is closed; open it, or send it to a file"
        return f"standard output cannot be written: {str(self.strerror).lower()}; see where it goes and try again"


class _PipeError(OutputError, BrokenPipeError):
    """Nobody reads the pipe any more."""


def take_over() -> None:
    """Stand in for `sys.stdout` and `sys.stderr`, those that are closed too. A message for people that nobody hears is
    no error: the exit status says it."""
    sys.stdout = _Stream(sys.stdout, needed=True)
    sys.stderr = _Stream(sys.stderr, needed=False)


def check_open() -> None:
    """For what must not be done without being heard. Raises OutputError: standard output is closed."""
    if isinstance(sys.stdout, _Stream):
        sys.stdout.fileno()


class _Stream(TextIOWrapper):
    """What `stream` writes to, or nothing where that is None."""

    def __init__(self, stream: TextIO | None, *, needed: bool) -> None:
        old = stream if isinstance(stream, TextIOWrapper) else None
        super().__init__(
            BufferedWriter(_Nowhere()) if stream is None else stream.buffer,
            encoding="utf-8" if old is None else old.encoding,
            errors="backslashreplace" if old is None else old.errors,
            newline="\n",
            line_buffering=old is not None and old.line_buffering,
            write_through=old is not None and old.write_through,
        )
        self._needed = needed
        self._lost = False

    def write(self, text: str, /) -> int:
        if isinstance(text, str) and not text:
            return 0  # click tries it so, and swallows that an unbuffered full disk refuses even nothing
        if not self._lost:
            try:
                return super().write(text)
            except OSError as error:
                self._lose(error)
        return len(text)

    def flush(self) -> None:
        if not self._lost:
            try:
                super().flush()
            except OSError as error:
                self._lose(error)

    def _lose(self, error: OSError) -> None:
        self._lost = True  # nothing held back may fail once more when Python ends
        if self._needed:
            kind = _PipeError if isinstance(error, BrokenPipeError) else OutputError
            raise kind(error.errno, error.strerror) from None


class _Nowhere(RawIOBase):
    """A stream that is closed."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> NoReturn:
        raise OutputError(errno.EBADF, _CLOSED)

    def isatty(self) -> bool:
        return False

    def write(self, data: "ReadableBuffer", /) -> NoReturn:  # noqa: ARG002 - the interface's
        self.fileno()
