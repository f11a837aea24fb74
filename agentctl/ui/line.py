"""A line of the person's at the terminal, given up while the approver asks: two may not read one keyboard.

The approver, a process of its own, reads key by key, with the terminal out of canonical mode. It knows by that mode
that line editing reads here, tells us by SIGURG (which does nothing to who does not listen), and begins when the mode
is canonical. We go on, with what was typed so far, when it is so again.
"""

import signal
import sys
import termios
import time
from types import FrameType
from typing import Final

__all__ = ["ask", "canonical"]

_GIVE_S: Final = 0.3  # until whoever asked for the keyboard has it
_LOOK_S: Final = 0.1
_LFLAG: Final = 3


class _YieldError(Exception):
    """Somebody else needs the keyboard."""


def canonical(descriptor: int) -> bool:
    """Whether nobody reads the terminal key by key; also where it is no terminal."""
    try:
        return bool(termios.tcgetattr(descriptor)[_LFLAG] & termios.ICANON)
    except termios.error:
        return True


def ask(prompt: str, *, pasted_whole: bool = False) -> str | None:
    """A line from standard input, with editing; empty after Ctrl-C, None at Ctrl-D. With `pasted_whole` lines that are
    pasted together are one, for the person to end, where the terminal tells of pastes."""
    line: str | None
    typed = ""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while True:
            try:
                _wait_for_the_keyboard()
                return _edited(prompt, typed, pasted_whole=pasted_whole)
            except _YieldError as given:
                typed = str(given)
                time.sleep(_GIVE_S)
    except KeyboardInterrupt:
        line = ""
    except EOFError:
        line = None  # the person is done
    finally:
        signal.signal(signal.SIGINT, before)
    sys.stdout.write("\n")
    sys.stdout.flush()
    return line


def _edited(prompt: str, typed: str, *, pasted_whole: bool) -> str:
    import readline

    readline.parse_and_bind(f"set enable-bracketed-paste {'on' if pasted_whole else 'off'}")

    def insert() -> None:
        readline.insert_text(typed)

    readline.set_startup_hook(insert if typed else None)
    before = signal.signal(signal.SIGURG, _told)
    try:
        try:
            return input(prompt)
        finally:
            signal.signal(signal.SIGURG, before)
    except _YieldError:
        signal.signal(signal.SIGURG, before)  # once more: the signal may have come in the line above
        raise _YieldError(readline.get_line_buffer()) from None
    finally:
        readline.set_startup_hook(None)


def _wait_for_the_keyboard() -> None:
    while not canonical(sys.stdin.fileno()):
        time.sleep(_LOOK_S)


def _told(_number: int, _frame: FrameType | None) -> None:
    raise _YieldError
