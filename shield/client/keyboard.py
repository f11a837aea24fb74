"""What a person types at a terminal, key by key; what is pasted, typed ahead or sent in one piece is no answer.

While a `Keyboard` is open the terminal is in non-canonical mode without echo: each key arrives by itself. More than one
byte at a time is no key that a person pressed (a paste, an injected line, an arrow key) and spoils the line. Terminals
that can are asked to bracket what is pasted (xterm's mode 2004), so that a slow paste begins with such a piece, too.
"""

import os
import select
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Keyboard", "Line"]

_TOGETHER_S: Final = 0.005  # two keys come further apart than this, two bytes of one piece do not
_QUIET_S: Final = 0.1  # what belongs to one piece has come when nothing came for so long
_ENDLESS_S: Final = 5.0
_SIGNAL_S: Final = 0.25  # a signal that came just before a wait is seen when it is over
_LONGEST: Final = 64
_CHUNK: Final = 4096
_PASTE_ON, _PASTE_OFF = b"\x1b[?2004h", b"\x1b[?2004l"
_DUMB: Final = frozenset({"", "dumb", "unknown"})
_ERASE: Final = frozenset(b"\x7f\x08")
_END, _KILL, _INTERRUPT = 4, 21, 3
_IFLAG, _LFLAG, _CC = 0, 3, 6


@dataclass(frozen=True, slots=True)
class Line:
    """One answer. `typed` is False where it, or a part of it, did not come key by key; `text` is then empty."""

    text: str
    typed: bool = True


class Keyboard:
    """Reads from an open terminal while it is entered, and leaves the terminal as it was.

    `term` is the terminal's type, `$TERM`. Ctrl-C stays a signal; Ctrl-Z and Ctrl-\\ do nothing meanwhile, so that the
    terminal is not left in this mode.
    """

    def __init__(self, descriptor: int, *, term: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._descriptor = descriptor
        self._brackets = term not in _DUMB
        self._clock = clock
        self._before: list[Any] | None = None
        self._line = bytearray()
        self._spoiled = False

    def __enter__(self) -> Self:
        """Raises termios.error where the descriptor is no terminal."""
        self._before = termios.tcgetattr(self._descriptor)
        mode = termios.tcgetattr(self._descriptor)
        mode[_IFLAG] = (mode[_IFLAG] | termios.ICRNL) & ~(termios.INLCR | termios.IGNCR)
        mode[_LFLAG] = (mode[_LFLAG] | termios.ISIG) & ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        controls = mode[_CC]
        disabled = os.fpathconf(self._descriptor, "PC_VDISABLE").to_bytes(1, "big")
        for name in ("VQUIT", "VSUSP", "VDSUSP"):
            if hasattr(termios, name):
                controls[getattr(termios, name)] = disabled
        controls[termios.VMIN], controls[termios.VTIME] = 1, 0
        # INVARIANT: TCSAFLUSH: nothing typed before this moment is an answer
        termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, mode)
        if self._brackets:
            self._show(_PASTE_ON)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._brackets:
            self._show(_PASTE_OFF)
        if self._before is not None:
            # what came after the answer is no input of whoever reads next
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._before)

    def flush(self) -> None:
        """Throw away what was typed so far."""
        termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._line.clear()
        self._spoiled = False

    def line(self, timeout_s: float) -> Line | None:
        """The next line; None if it did not come to its end in time (what came is kept). Each key is echoed.

        Raises EOFError for Ctrl-D on an empty line and where the terminal is gone, KeyboardInterrupt for Ctrl-C.
        """
        limit = self._clock() + timeout_s
        while (left := limit - self._clock()) > 0 and self._waits(left):
            piece = self._read()
            if len(piece) == 1 and self._waits(_TOGETHER_S):
                piece += self._read()
            if len(piece) > 1:
                self._swallow()
                return Line("", typed=False)
            done = self._key(piece[0])
            if done is not None:
                return done
        return None

    def _key(self, key: int) -> Line | None:
        match key:
            case 0x0A | 0x0D:
                self._show(b"\n")
                line = Line("" if self._spoiled else self._line.decode("ascii"), typed=not self._spoiled)
                self._line.clear()
                self._spoiled = False
                return line
            case _ if key == _INTERRUPT:
                raise KeyboardInterrupt
            case _ if key == _END:
                if not self._line:
                    raise EOFError
            case _ if key == _KILL:
                self._show(b"\b \b" * len(self._line))
                self._line.clear()
            case _ if key in _ERASE:
                if self._line:
                    self._line.pop()
                    self._show(b"\b \b")
            case _ if 0x20 <= key < 0x7F and len(self._line) < _LONGEST:
                self._line.append(key)
                self._show(bytes([key]))
            case _:
                self._spoiled = True  # no letter of an answer: not dropped, or the rest could be one
        return None

    def _swallow(self) -> None:
        """Take the rest of what came in one piece, and nothing that a person types after it."""
        limit = self._clock() + _ENDLESS_S
        while self._waits(_QUIET_S) and self._clock() < limit:
            self._read()
        self.flush()
        self._show(b"\n")

    def _waits(self, timeout_s: float) -> bool:
        while True:
            # poll(2) and kqueue(2) know nothing of terminals on macOS
            if select.select([self._descriptor], [], [], min(max(0.0, timeout_s), _SIGNAL_S))[0]:
                return True
            timeout_s -= _SIGNAL_S
            if timeout_s <= 0:
                return False

    def _read(self) -> bytes:
        try:
            piece = os.read(self._descriptor, _CHUNK)
        except OSError:
            raise EOFError from None  # the terminal is gone
        if not piece:
            raise EOFError
        return piece

    def _show(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]
