"""Whether two walks in different orders met the same pairs, without keeping any: a keyed sum over all of them.

Each pair of a text and a record's number adds hash(text) · hash(number) to a sum of whole numbers. Python's hash of
bytes is keyed with random bytes of the process (SipHash, PEP 456), so whoever prepared the pairs cannot know the
values; two different collections then have the same sum with a probability of at most 2 in 2^64 (Schwartz-Zippel, for
a polynomial of degree 2). Texts hold a character that is no digit, so that no text can pass for a number. Sums are
comparable within one process and those forked from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import mul


@dataclass(slots=True)
class Tally:
    """How many pairs there were, and their sum."""

    count: int = 0
    total: int = 0

    def add(self, texts: Iterable[int], numbers: Sequence[int]) -> None:
        """Count pairs of hashes: `texts` of as many texts as there are `numbers`."""
        self.count += len(numbers)
        self.total += sum(map(mul, texts, numbers))

    def merge(self, other: "Tally") -> None:
        """Count also what `other` counted."""
        self.count += other.count
        self.total += other.total


@dataclass(slots=True)
class Tallies:
    """One tally for each index that lists a text of each record."""

    calls: Tally = field(default_factory=Tally)
    sessions: Tally = field(default_factory=Tally)
    refs: Tally = field(default_factory=Tally)

    def merge(self, other: "Tallies") -> None:
        """Count also what `other` counted."""
        self.calls.merge(other.calls)
        self.sessions.merge(other.sessions)
        self.refs.merge(other.refs)


class SessionHashes(dict[bytes, int]):
    """The hashes of sessions, each computed once in a while; a session alone could consist of digits."""

    def __missing__(self, session: bytes) -> int:
        if len(self) > 4096:
            self.clear()
        found = self[session] = hash(b"session " + session)
        return found
