"""ULIDs (github.com/ulid/spec): 48 bits of unix milliseconds, 80 random bits, Crockford's base 32, 26 characters."""

import os
from collections.abc import Callable

__all__ = ["new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_ulid(time_ms: int, random: Callable[[int], bytes] = os.urandom) -> str:
    """A ULID for this time. `random` returns that many unpredictable bytes."""
    number = (time_ms & (1 << 48) - 1) << 80 | int.from_bytes(random(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
