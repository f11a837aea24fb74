"""Which policy files need no proof when they are loaded: those of this release, by the SHA-256 of their bytes.

Of any other file every example is checked, and every condition is read by a second parser. That of these was done
when the release was made.

`proven.txt` beside this module is in the form of sha256sum(1). It is written by `tests/policy_proven.py`, which does
all of that first, and belongs to the package: whoever can change it can change the code that reads it. A file with
one byte changed is not in it, wherever it lies and whatever it is called.
"""

import hashlib
from functools import cache
from importlib.resources import files

__all__ = ["is_proven", "proven"]


@cache
def proven() -> frozenset[str]:
    """The digests, in hexadecimal. Without the file nothing is proven beforehand."""
    try:
        lines = (files(__package__) / "proven.txt").read_text("ascii").splitlines()
    except FileNotFoundError:
        return frozenset()
    return frozenset(line.partition("  ")[0] for line in lines)


def is_proven(raw: bytes) -> bool:
    """Whether a file of this content was proven when it was released."""
    return hashlib.sha256(raw).hexdigest() in proven()
