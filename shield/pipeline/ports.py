"""What the pipeline is given: a clock, and a log that takes records."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from shield.types import Json

__all__ = ["Appended", "Clock", "Kept", "Recorder", "system_clock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """`now_ms` is unix milliseconds (a claim), `monotonic_ns` never goes back (what expiry is judged by) and goes on
    while the machine sleeps."""

    now_ms: Callable[[], int]
    monotonic_ns: Callable[[], int]


def system_clock() -> Clock:
    """This machine's clocks."""
    # INVARIANT: a permit of before the lid was closed is no permit of after. On Linux only CLOCK_BOOTTIME counts that
    # time, on macOS CLOCK_MONOTONIC does (clock_gettime(2), (3)), which Python's own `monotonic` is not there.
    counted = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return Clock(
        now_ms=lambda: time.time_ns() // 1_000_000,
        monotonic_ns=time.monotonic_ns if counted is None else partial(time.clock_gettime_ns, counted),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """Where a durable record stands."""

    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is sealed beside a record and can be deleted later: the salt of its commitments, and what they commit to
    (empty: only the salt)."""

    salt: bytes
    content: bytes = b""


class Recorder(Protocol):
    """The audit log as the pipeline sees it."""

    async def append(
        self,
        kind: str,
        body: Mapping[str, Json],
        *,
        session: str | None = None,
        agent: str | None = None,
        call_id: str | None = None,
        ref: int | None = None,
        kept: Kept | None = None,
    ) -> Appended:
        """Returns only after the record, and what is kept of it, is durable. Raises RecordError."""

    @property
    def healthy(self) -> bool:
        """Whether the log takes records."""
