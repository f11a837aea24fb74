"""How a program of ours is run as a child: its command, and the first line that it says."""

import os
import selectors
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["first_line", "import_path", "python_command"]

_LINE_MAX: Final = 16 * 1024


def python_command(module: str) -> list[str]:
    """How a module of ours is run: this interpreter, never importing from the current directory (`-P`), nor from what
    the environment or the user's own site says (`-I`) where we are installed."""
    return [sys.executable, "-P" if import_path() else "-I", "-m", module]


def import_path() -> dict[str, str]:
    """What a child needs to import the very package that runs here: nothing where it is installed."""
    root = Path(__file__).resolve().parent.parent
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    return {} if root in installed else {"PYTHONPATH": str(root)}


def first_line(descriptor: int, deadline: float, clock: Callable[[], float]) -> bytes:
    """Up to the first newline, or what came until the deadline or the end. Closes the descriptor."""
    line = b""
    os.set_blocking(descriptor, False)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while b"\n" not in line and len(line) < _LINE_MAX and (left := deadline - clock()) > 0:
            if selector.select(left):
                chunk = pipe.read(_LINE_MAX)
                if not chunk:
                    break
                line += chunk
    return line.partition(b"\n")[0]
