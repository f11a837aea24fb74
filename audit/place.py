"""Where a pass over a log stands between two records, and what was remarked on the way there."""

from dataclasses import dataclass, field
from typing import Final

from audit.entry import decode
from audit.errors import EntryError, ProofError
from audit.kinds import KindTable
from audit.merkle import Edge, leaf_hash
from audit.source import Source

NOTES: Final = 20
"""Notes of one sort that are spelled out; the rest is counted."""


class Remarks:
    """Notes of one sort, the first few in words."""

    def __init__(self, more: str) -> None:
        self._more = more
        self.count = 0
        self.first: list[str] = []

    def add(self, note: str) -> None:
        """One more."""
        self.count += 1
        if self.count <= NOTES:
            self.first.append(note)

    def clear(self) -> None:
        """Take back what was noted."""
        self.count = 0
        self.first.clear()

    def merge(self, later: "Remarks") -> None:
        """What was remarked on later records."""
        self.count += later.count
        self.first = (self.first + later.first)[:NOTES]

    def lines(self) -> list[str]:
        """The notes, and how many more there were."""
        rest = self.count - NOTES
        return self.first + ([f"{rest} more {self._more}"] if rest > 0 else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Between two records: the tree's edge, the last record's hash and clock, what is signed and the table in force."""

    edge: Edge
    prev: bytes | None = None
    clock: tuple[int, int, bytes] | None = None
    """`time`, `mono_ns` and `boot_id` of the last record."""
    kinds: KindTable | None = None
    signed: int = 0

    @classmethod
    def beginning(cls) -> "Place":
        """Before the first record."""
        return cls(edge=Edge())

    @classmethod
    def stored(cls, source: Source, at: int) -> "Place | None":
        """What the source says of the place before record `at`; None where it says nothing that could be so."""
        leaf, opening = source.leaf(at - 1), source.opening(at)
        try:
            edge = Edge.load(at, source.tile)
            table = decode(source.leaf(opening) or b"").body["log"]["kinds"] if opening is not None else None
            last = decode(leaf or b"")
            kinds = KindTable.parse(table)
        except (EntryError, ProofError, KeyError, TypeError):
            return None
        clock = (last.time, int(last.mono_ns), last.boot_id.encode())
        return cls(edge=edge, prev=leaf_hash(leaf or b""), clock=clock, kinds=kinds, signed=max(0, source.sealed(at)))


@dataclass(slots=True)
class Findings:
    """What was remarked on the way."""

    gaps: Remarks = field(default_factory=lambda: Remarks("openings after an unsealed end"))
    clock: Remarks = field(default_factory=lambda: Remarks("steps back of the clock"))
    open: Remarks = field(default_factory=lambda: Remarks("records that wait for a counterpart"))

    def merge(self, later: "Findings") -> None:
        """What was seen of later records."""
        self.gaps.merge(later.gaps)
        self.clock.merge(later.clock)
        self.open.merge(later.open)

    def notes(self) -> tuple[str, ...]:
        """All notes."""
        return (*self.gaps.lines(), *self.clock.lines(), *self.open.lines())
