"""ULIDs (github.com/ulid/spec): 48 bits of unix milliseconds, 80 random bits, Crockford's base 32, 26 characters."""

import os
from collections.abc import Callable

__all__ = ["Entropy", "new_ulid"]

_DRAWN = 4096

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)  # two characters are ten bits
_SHIFTS = tuple(range(120, -1, -10))


class Entropy:
    """Unpredictable bytes, drawn from the kernel a page at a time: each system call lets another thread in between.

    Every byte is given out once. Not for keys. One event loop or thread owns it.
    """

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._left = b""

    def take(self, size: int) -> bytes:
        """`size` fresh bytes."""
        if len(self._left) < size:
            self._left = self._source(max(_DRAWN, size))
        taken, self._left = self._left[:size], self._left[size:]
        return taken


def new_ulid(time_ms: int, random: Callable[[int], bytes] = os.urandom) -> str:
    """A ULID for this time. `random` returns that many unpredictable bytes."""
    number = (time_ms & (1 << 48) - 1) << 80 | int.from_bytes(random(10), "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])
