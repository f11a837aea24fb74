"""Standard output and error that behave: what a command cannot say is an error with a name, whatever the reason.

Python has None where a stream is closed, click ends with status 1 where nobody reads a pipe any more, and what is left
unwritten is written once more as the interpreter ends, which then has a status of its own. Status 1 is a verdict here.
"""

import errno
import os
import sys
from io import BufferedWriter, RawIOBase, TextIOWrapper
from typing import TYPE_CHECKING, Final, TextIO

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
    sys.stdout = _writer(sys.stdout, 1, needed=True)
    sys.stderr = _writer(sys.stderr, 2, needed=False)


def check_open() -> None:
    """For what must not be done without being heard. Raises OutputError: standard output is closed."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Raw):
        raw.fileno()


def _writer(stream: TextIO | None, descriptor: int, *, needed: bool) -> TextIO:
    raw = _Raw(None if stream is None else descriptor, needed=needed)
    old = stream if isinstance(stream, TextIOWrapper) else None
    return TextIOWrapper(
        BufferedWriter(raw),
        encoding=old.encoding if old is not None else "utf-8",
        errors=old.errors if old is not None else "backslashreplace",
        newline="\n",
        line_buffering=old is not None and old.line_buffering,
        write_through=old is not None and old.write_through,
    )


class _Raw(RawIOBase):
    """A descriptor that is not this object's to close; None is one that is closed."""

    def __init__(self, descriptor: int | None, *, needed: bool) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._needed = needed
        self._lost = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        if self._descriptor is None:
            raise OutputError(errno.EBADF, _CLOSED)
        return self._descriptor

    def isatty(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)

    def write(self, data: "ReadableBuffer", /) -> int:
        if not self._lost:
            try:
                return os.write(self.fileno(), data)
            except OSError as error:
                self._lost = True  # nothing held back may fail once more when Python ends
                if self._needed:
                    kind = _PipeError if isinstance(error, BrokenPipeError) else OutputError
                    raise kind(error.errno, error.strerror) from None
        return memoryview(data).nbytes
