"""Standard input, of which there may be none."""

import sys
from typing import BinaryIO

from shield.errors import ConfigError

__all__ = ["standard_input", "typed"]


def standard_input(what: str) -> BinaryIO:
    """Standard input, byte by byte. Raises ConfigError where it is closed; `what` is what to do then."""
    if sys.stdin is None:
        raise ConfigError(f"standard input is closed; {what}")
    return sys.stdin.buffer


def typed() -> bool:
    """Whether a person would have to type it."""
    return sys.stdin is not None and sys.stdin.isatty()
