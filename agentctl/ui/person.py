"""Who sits at the terminal: where lines come from and text goes, and whether they can be asked."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

__all__ = ["Asked", "Person", "at_terminal"]


class Asked(StrEnum):
    """Who answers what Shield asks a person: one at this terminal, one elsewhere whom the Shield that was found waits
    for, or nobody: a Shield that was started for one task, or for lines from a pipe, has no one beside it."""

    HERE = "asks here"
    ELSEWHERE = "asks through `shield approvals`"
    NOBODY = "asks nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who sits at the terminal: where lines come from and text goes. `ask` gives the next line, None at the end."""

    out: TextIO
    talk: TextIO
    ask: Callable[[str], str | None]
    terminal: bool
    colour: bool


def at_terminal(person: Person | None) -> bool:
    """Whether a prompt can be put to them on the controlling terminal."""
    if person is None or not person.terminal:
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
