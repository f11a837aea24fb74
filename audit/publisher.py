"""Gives a log's newest checkpoint to every sink: one thread a sink, so that a slow or broken one holds up no other.

What no sink has yet, whoever holds the log's key can still rewrite: `behind_ms` says for how long already.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from audit.clock import Clock
from audit.errors import AuditError
from audit.sinks import Sink

INTERVAL_S: Final = 5.0


class Source(Protocol):
    """What a publisher needs of a log; `audit.log.Log` has it. Both may be called from any thread, also when closed."""

    @property
    def note(self) -> str:
        """The newest checkpoint."""

    def prove_consistency(self, old: int, note: str) -> tuple[str, Sequence[bytes]]:
        """`note`, and the proof from the first `old` records to it. Raises AuditError."""


class SinkStatus(NamedTuple):
    """What is known of one sink. `size`, `at_ms`: the checkpoint it took last, and when (Unix time in ms), None before
    the first; `behind_ms`: for how long the log has had a newer one, 0 if it has not; `error`: why the last attempt
    failed; `warning`: what is remarkable though it did not.
    """

    name: str
    size: int | None
    at_ms: int | None
    behind_ms: int
    error: str | None
    warning: str | None


class Newest(NamedTuple):
    """The largest checkpoint that any sink took: its size, when (Unix time in ms), and for how long (ms) the log has
    had one that no sink has. No sink at all: behind since the publisher began.
    """

    size: int | None
    at_ms: int | None
    behind_ms: int


class Publisher:
    """Runs from its making to `close`. `status` and `newest` may be called from any thread."""

    def __init__(self, log: Source, sinks: Sequence[Sink], *, interval_s: float = INTERVAL_S, clock: Clock) -> None:
        """`interval_s`: how often the log is looked at, and a sink that failed is tried again."""
        self._clock = clock
        self._began_ns = clock.mono_ns()
        self._workers = [_Worker(log, sink, interval_s, clock) for sink in sinks]
        for worker in self._workers:
            worker.thread.start()

    def status(self) -> tuple[SinkStatus, ...]:
        """One a sink, in the order in which they were given."""
        return tuple(worker.status() for worker in self._workers)

    def newest(self) -> Newest:
        """The best of all sinks: how far the log is held from outside."""
        found = self.status()
        held = max((one for one in found if one.size is not None), key=lambda one: one.size or 0, default=None)
        behind = min((one.behind_ms for one in found), default=(self._clock.mono_ns() - self._began_ns) // 1_000_000)
        return Newest(None, None, behind) if held is None else Newest(held.size, held.at_ms, behind)

    def close(self, timeout_s: float = 5.0) -> None:
        """Have every sink take the newest checkpoint once more and stop; after `timeout_s` whatever is still under way
        is left to itself. Call it when the log is closed: only then is its last checkpoint the last.
        """
        for worker in self._workers:
            worker.stop()
        deadline = self._clock.mono_ns() + int(timeout_s * 1e9)
        for worker in self._workers:
            worker.thread.join(max(0.0, (deadline - self._clock.mono_ns()) / 1e9))


@dataclass(frozen=True, slots=True)
class _Held:
    note: str
    size: int
    at_ms: int


class _Worker:
    """One sink's thread. INVARIANT: at most one `send` is under way."""

    def __init__(self, log: Source, sink: Sink, interval_s: float, clock: Clock) -> None:
        self._log = log
        self._sink = sink
        self._interval_s = interval_s
        self._clock = clock
        self._stop = threading.Event()
        self._held: _Held | None = None
        self._behind_since: int | None = clock.mono_ns()
        self._error: str | None = None
        self.thread = threading.Thread(target=self._run, name=f"audit-sink-{sink.name}", daemon=True)

    def stop(self) -> None:
        self._stop.set()

    def status(self) -> SinkStatus:
        held, since = self._held, self._behind_since
        behind = 0 if since is None else max(0, self._clock.mono_ns() - since) // 1_000_000
        return SinkStatus(
            self._sink.name,
            None if held is None else held.size,
            None if held is None else held.at_ms,
            behind,
            self._error,
            self._sink.warning,
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            self._turn()
            self._stop.wait(self._interval_s)
        self._turn()

    def _turn(self) -> None:
        try:
            note = self._log.note
            if self._held is not None and self._held.note == note:
                self._behind_since = None
                return
            if self._behind_since is None:
                self._behind_since = self._clock.mono_ns()
            size = self._sink.send(note, lambda old: self._log.prove_consistency(old, note)[1])
            self._held = _Held(note, size, self._clock.time_ms())
            self._behind_since = self._error = None
        except AuditError as error:
            self._error = str(error)
        except Exception as error:  # noqa: BLE001 - whatever a sink does, it is tried again and the others go on
            self._error = f"{type(error).__name__}: {error}"
