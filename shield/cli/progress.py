"""A line on a terminal that says how far a long run is; nothing where stderr is no terminal."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["Progress"]

_PATIENCE_S = 2.0  # after the first word of progress; a run that is shorter shows nothing
_BETWEEN_S = 0.1


class Progress:
    """Call it with what was done and how many; `with` removes the line at the end."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._done: dict[str, int] = {}
        self._next: float | None = None
        self._shown = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()

    def __call__(self, what: str, count: int) -> None:
        self._done[what] = self._done.get(what, 0) + count
        now = self._clock()
        if self._next is None:
            self._next = now + _PATIENCE_S
        if now < self._next or not self._stream.isatty():
            return
        self._next = now + _BETWEEN_S
        line = ", ".join(f"{number:,} {name}" for name, number in self._done.items())
        self._stream.write("\r" + line.ljust(self._shown))
        self._stream.flush()
        self._shown = len(line)
