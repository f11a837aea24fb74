"""Where checkpoints go so that whoever holds the log's key cannot rewrite what they cover: one module a kind.

A sink is given every newest checkpoint. What it remembers is compared with the log whenever that is opened or
verified; until then it is the exposure window that a sink makes small.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

Growth = Callable[[int], Sequence[bytes]]
"""The consistency proof (RFC 9162, 2.1.4) from the first so many records to the checkpoint that is being sent."""


class Sink(Protocol):
    """Remembers checkpoints of one log. Only one thread at a time calls it."""

    @property
    def name(self) -> str:
        """Short, and different from that of the log's other sinks."""

    @property
    def warning(self) -> str | None:
        """What is remarkable about it, though the last `send` was taken; mostly None."""

    def send(self, note: str, growth: Growth) -> int:
        """Have the checkpoint in `note` remembered, durably if the sink can; the size that is remembered now.

        Raises SinkError where that is not possible, and where the sink remembers what contradicts the checkpoint;
        AuditError from `growth`.
        """

    def remembered(self) -> Sequence[str]:
        """The notes that the log has to agree with when it is opened. Raises SinkError if they cannot be read."""
