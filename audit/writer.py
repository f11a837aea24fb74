"""The one thread that writes a log.

Guarantee: an acknowledgement (a future's result, a sink's call) happens only after the transaction that holds the
record was committed with `synchronous=FULL`. Whatever waits while the disk refuses is answered with an error; nothing
waits for ever.

The thread owns the database. It takes everything that waits, writes it as one group, answers, and takes the next; an
idle log writes at once, a busy one in larger groups. After any I/O error a latch closes: every append fails until the
database was reopened, found to be what this process wrote, and took a real transaction again.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Protocol

from audit.batch import Appended, Result, Stamp
from audit.clock import Clock
from audit.entry import Encoded
from audit.errors import (
    AuditError,
    EntryError,
    LogClosedError,
    LogDamagedError,
    PrivateError,
    QueueFullError,
    WriteFailedError,
)
from audit.store import Store

GROUP: Final = 256
"""Records in one transaction at most; 32 measured at 3.6k/s, 128 at 8.1k/s (facts of the design), little beyond."""
RETRY_S: Final = 1.0
"""How often a latched log tries to recover without being asked."""

Settled = tuple[object, Appended | AuditError]
"""What `submit_to` was given as token, and what became of the draft."""


class Sink(Protocol):
    """Takes the answers of a whole group with one call, from the writer's thread.

    It must neither block nor raise: what it raises stops the writer, and every later append fails.
    """

    def settled(self, answers: Sequence[Settled]) -> None:
        """Each token with its record or its error."""


class Health(NamedTuple):
    """Whether the log takes records; `reason` says why not."""

    ok: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A draft, and who is told what became of it: a future, or a sink together with its token."""

    draft: Encoded
    future: Future[Appended] | None = None
    sink: Sink | None = None
    token: object = None


@dataclass(frozen=True, slots=True)
class _Task:
    """Something the thread does between groups."""

    step: Callable[[], Any]
    future: Future[Any]


class _Stop:
    """The last thing in the queue."""


class Writer:
    """The thread and its queue. Every public method may be called from any thread."""

    def __init__(self, store: Store, *, clock: Clock, seal_every_ms: int, queue_limit: int) -> None:
        """Start it; from here on nobody else uses `store` but to read its `state`, `key` and `purged`."""
        self._store = store
        self._clock = clock
        self._seal_every_ms = seal_every_ms
        self._queue_limit = queue_limit
        self._queue: SimpleQueue[Waiting | _Task | _Stop] = SimpleQueue()
        self._door = threading.Lock()  # INVARIANT: nothing enters the queue after `_Stop`
        self._closed = False
        self._latch: str | None = None
        self._fatal = False
        self._dead = False
        self._sealed_at = clock.mono_ns()
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._thread.start()

    @property
    def unsealed(self) -> int:
        """Durable records that no checkpoint covers yet."""
        state = self._store.state
        return state.size - state.sealed

    @property
    def waiting(self) -> int:
        """Records that wait for the disk, about."""
        return self._queue.qsize()

    @property
    def healthy(self) -> Health:
        """Whether an append can succeed now."""
        if self._closed:
            return Health(False, "the log is closed")
        reason = self._latch
        return Health(reason is None, reason)

    def put(self, item: Waiting | _Task) -> None:
        """Queue it. Raises QueueFullError, LogClosedError."""
        with self._door:
            if self._closed or self._dead:
                raise LogClosedError(self._latch or "the log is closed; open it again")
            if self._queue.qsize() >= self._queue_limit:
                raise QueueFullError(f"{self._queue_limit} records wait for the disk; try again later")
            self._queue.put(item)

    def checkpoint(self) -> str:
        """Seal everything acknowledged so far; the note. Raises WriteFailedError, LogDamagedError, LogClosedError."""
        note: str = self._do(self._sealed_note)
        return note

    def record(self, write: Callable[[Stamp], Result]) -> Appended:
        """Have the thread write a record and a checkpoint that ends with it; raises what `write` raises or returns."""
        appended: Appended = self._do(lambda: self._recorded(write))
        return appended

    def close(self) -> None:
        """Write what waits, seal, and let the store go. Raises WriteFailedError if it stays unsealed."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(_Stop())
        self._thread.join()
        if self._latch is not None or self._store.due:
            raise WriteFailedError(f"the log was closed without its last checkpoint: {self._latch}")

    def _do(self, step: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self.put(_Task(step, future))
        return future.result()

    # -- in the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except BaseException as error:  # noqa: BLE001 - whatever ends the thread, nobody may wait for it for ever
            self._latch = f"the writer stopped: {type(error).__name__}: {error}; restart the process"
        finally:
            with self._door:
                self._dead = True
            self._store.close()
            self._refuse_rest()

    def _turn(self) -> bool:
        again = self._latch is not None or not self._store.purged
        wait = RETRY_S if again else self._seal_every_ms / 1000 if self._store.due else None
        try:
            item = self._queue.get(timeout=wait)
        except Empty:
            self._try(self._seal)
            return True
        group: list[Waiting] = []
        while isinstance(item, Waiting):
            group.append(item)
            if len(group) == GROUP:
                break
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
        if group:
            self._commit(group)
        if isinstance(item, _Task):
            self._answer(item)
        if isinstance(item, _Stop):
            self._try(self._seal)
            return False
        return True

    def _commit(self, group: list[Waiting]) -> None:
        now = self._clock.mono_ns()
        due = now - self._sealed_at >= self._seal_every_ms * 1_000_000
        try:
            self._ready()
            answers: Sequence[Appended | AuditError] = self._store.commit(
                [one.draft for one in group], self._stamp(now), seal=due
            )
        except AuditError as error:
            self._close_latch(error)
            answers = [type(error)(str(error)) for _ in group]
            due = False
        except BaseException as error:
            _settle(group, [LogClosedError(f"the writer stopped: {type(error).__name__}") for _ in group])
            raise
        _settle(group, answers)
        if due:
            self._sealed_at = now
            self._try(self._store.publish)

    def _stamp(self, now: int) -> Stamp:
        return Stamp(self._clock.time_ms(), now, self._clock.boot_id)

    def _answer(self, task: _Task) -> None:
        try:
            self._ready()
            result = task.step()
        except (EntryError, PrivateError) as error:  # refused: the log is as it was
            task.future.set_exception(error)
        except AuditError as error:
            self._close_latch(error)
            task.future.set_exception(error)
        except BaseException as error:
            task.future.set_exception(error)
            raise
        else:
            task.future.set_result(result)

    def _sealed_note(self) -> str:
        self._seal()
        return self._store.state.note

    def _recorded(self, write: Callable[[Stamp], Result]) -> Appended:
        now = self._clock.mono_ns()
        result = write(self._stamp(now))
        if isinstance(result, EntryError):
            raise result
        self._sealed_at = now
        self._store.publish()
        return result

    def _seal(self) -> None:
        self._ready()
        if self._store.due:
            self._store.seal()
            self._sealed_at = self._clock.mono_ns()
            self._store.publish()
        if not self._store.purged:
            self._store.purge()

    def _ready(self) -> None:
        """Open the latch if the store can be recovered; else raise why not."""
        if self._fatal:
            raise LogDamagedError(self._latch or "the log is damaged")
        if self._latch is not None:
            self._store.recover()
            self._latch = None

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except AuditError as error:
            self._close_latch(error)

    def _close_latch(self, error: AuditError) -> None:
        self._latch = str(error)
        self._fatal = isinstance(error, LogDamagedError)

    def _refuse_rest(self) -> None:
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return
            reason = LogClosedError(self._latch or "the log is closed; open it again")
            if isinstance(item, Waiting):
                _settle([item], [reason])
            elif isinstance(item, _Task):
                item.future.set_exception(reason)


def _settle(group: Sequence[Waiting], answers: Sequence[Appended | AuditError]) -> None:
    by_sink: dict[int, tuple[Sink, list[Settled]]] = {}
    for one, answer in zip(group, answers, strict=True):
        if one.sink is not None:
            by_sink.setdefault(id(one.sink), (one.sink, []))[1].append((one.token, answer))
        elif one.future is not None:
            if isinstance(answer, AuditError):
                one.future.set_exception(answer)
            else:
                one.future.set_result(answer)
    for sink, settled in by_sink.values():
        sink.settled(settled)
