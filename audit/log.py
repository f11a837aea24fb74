"""The one writer of a log.

Guarantee: an acknowledgement (a future's result, a sink's call, the return of `append`) happens only after the
transaction that holds the record was committed with `synchronous=FULL`. Whatever waits while the disk refuses is
answered with an error; nothing waits for ever.

One thread owns the database. It takes everything that waits, writes it as one group, answers, and takes the next;
an idle log writes at once, a busy one in larger groups. After any I/O error a latch closes: every append fails until
the database was reopened, found to be what this process wrote, and took a real transaction again.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, Protocol, Self

from audit.batch import Appended, Stamp
from audit.checkpoint import Proof
from audit.clock import Clock
from audit.entry import Draft, Encoded, encode
from audit.errors import (
    AppendTimeoutError,
    AuditError,
    EntryError,
    LogClosedError,
    LogDamagedError,
    QueueFullError,
    ReadError,
    WriteFailedError,
)
from audit.kinds import OPEN, KindTable
from audit.note import SigningKey
from audit.query import Filter, Record, select
from audit.reader import prove
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
class _Waiting:
    draft: Encoded
    future: Future[Appended] | None
    sink: Sink | None
    token: object


@dataclass(frozen=True, slots=True)
class _Seal:
    future: Future[str]


class _Stop:
    """The last thing in the queue."""


class Log:
    """An open log. Every method may be called from any thread."""

    def __init__(
        self,
        store: Store,
        *,
        path: Path,
        key: SigningKey,
        kinds: KindTable,
        clock: Clock,
        seal_every_ms: int,
        queue_limit: int,
    ) -> None:
        """Use `Log.open`."""
        self._store = store
        self._path = path
        self._key = key
        self._kinds = kinds
        self._clock = clock
        self._seal_every_ms = seal_every_ms
        self._queue_limit = queue_limit
        self._queue: SimpleQueue[_Waiting | _Seal | _Stop] = SimpleQueue()
        self._door = threading.Lock()  # INVARIANT: nothing enters the queue after `_Stop`
        self._closed = False
        self._latch: str | None = None
        self._fatal = False
        self._dead = False
        self._sealed_at = clock.mono_ns()
        # What every `log.open` record of this opening says, in the signed body: `sealed` < `size` means the last
        # writer ended without sealing, and that anyone could have written the records between.
        self._opening = {"kinds": kinds.as_json(), "sealed": store.opened.sealed, "size": store.opened.size}
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._thread.start()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        key: SigningKey,
        checkpoint_file: Path,
        kinds: KindTable,
        clock: Clock,
        create: bool = False,
        seal_every_ms: int = 250,
        queue_limit: int = 8192,
    ) -> Self:
        """Open the log at `path`, or begin one (`create`); exactly one process may have it open.

        The newest checkpoint is kept in `checkpoint_file`, better on another disk. The first record to append is
        `log.open`. Raises LogMissingError, LogExistsError, LogBusyError, LogForeignError, LogDamagedError,
        LogTruncatedError, WriteFailedError.
        """
        path = Path(os.path.realpath(path))  # one log has one lock, whichever link leads to it
        file = Path(os.path.realpath(checkpoint_file))
        store = Store(path, key=key, checkpoint_file=file, kinds=kinds, create=create)
        return cls(
            store, path=path, key=key, kinds=kinds, clock=clock, seal_every_ms=seal_every_ms, queue_limit=queue_limit
        )

    # -- for callers ---------------------------------------------------------------------------------------------

    def submit(self, draft: Draft) -> Future[Appended]:
        """Queue a record; the future resolves once it is durable. It cannot be cancelled: it will be written.

        Raises EntryError (also BodyTooLargeError, KindError), QueueFullError, LogClosedError at once; the future may
        raise KindError, ConflictError, WriteFailedError, LogDamagedError.
        """
        future: Future[Appended] = Future()
        future.set_running_or_notify_cancel()
        self._enqueue(_Waiting(self._encode(draft), future, None, None))
        return future

    def submit_to(self, draft: Draft, sink: Sink, token: object) -> None:
        """As `submit`, but the answer goes to `sink` together with the rest of its group: one wake-up, not one each."""
        self._enqueue(_Waiting(self._encode(draft), None, sink, token))

    def append(self, draft: Draft, *, timeout_s: float | None = None) -> Appended:
        """Record and wait until it is durable. Raises what `submit` and its future raise, or AppendTimeoutError."""
        try:
            return self.submit(draft).result(timeout_s)
        except TimeoutError as error:
            raise AppendTimeoutError(f"not durable after {timeout_s} s; treat the record as not written") from error

    def checkpoint(self) -> str:
        """Seal everything acknowledged so far; returns the signed note. Raises WriteFailedError, LogClosedError."""
        future: Future[str] = Future()
        self._enqueue(_Seal(future))
        return future.result()

    def prove(self, seq: int) -> Proof:
        """The inclusion proof of a durable record, sealing the log first if need be. Raises ReadError, LogError."""
        if not 0 <= seq < self.size:
            raise ReadError(f"there is no record {seq}; the log holds {self.size} from 0")
        if seq >= self._store.state.sealed:
            self.checkpoint()
        return prove(self._path, seq, self._key.verifier)[1]

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """The durable records with `start` ≤ seq < `stop`, read beside the writer. Raises as `select`."""
        size = self.size
        return select(self._path, Filter(start=max(0, start), stop=size if stop is None else min(stop, size)))

    @property
    def name(self) -> str:
        """The log's name, the origin of its checkpoints."""
        return self._key.name

    @property
    def size(self) -> int:
        """Durable records."""
        return self._store.state.size

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

    def close(self) -> None:
        """Write what waits, seal, fold the WAL in and let the log go. Raises WriteFailedError if it stays unsealed."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(_Stop())
        self._thread.join()
        if self._latch is not None or self.unsealed:
            raise WriteFailedError(f"the log was closed without its last checkpoint: {self._latch}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _encode(self, draft: Draft) -> Encoded:
        self._kinds.check(draft.kind, draft.ref)
        if draft.kind == OPEN:
            if "log" in draft.body:
                raise EntryError(f"the member `log` of a `{OPEN}` record is the log's own; name it otherwise")
            draft = replace(draft, body={**draft.body, "log": self._opening})
        return encode(draft, log=self._key.name)

    def _enqueue(self, item: _Waiting | _Seal) -> None:
        with self._door:
            if self._closed or self._dead:
                raise LogClosedError(self._latch or "the log is closed; open it again")
            if self._queue.qsize() >= self._queue_limit:
                raise QueueFullError(f"{self._queue_limit} records wait for the disk; try again later")
            self._queue.put(item)

    # -- the writer's thread -------------------------------------------------------------------------------------

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
        wait = RETRY_S if self._latch is not None else self._seal_every_ms / 1000 if self.unsealed else None
        try:
            item = self._queue.get(timeout=wait)
        except Empty:
            self._try(self._seal)
            return True
        group: list[_Waiting] = []
        while isinstance(item, _Waiting):
            group.append(item)
            if len(group) == GROUP:
                break
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
        if group:
            self._commit(group)
        if isinstance(item, _Seal):
            self._answer_seal(item)
        if isinstance(item, _Stop):
            self._try(self._seal)
            return False
        return True

    def _commit(self, group: list[_Waiting]) -> None:
        now = self._clock.mono_ns()
        due = now - self._sealed_at >= self._seal_every_ms * 1_000_000
        stamp = Stamp(self._clock.time_ms(), now, self._clock.boot_id)
        try:
            self._ready()
            answers: Sequence[Appended | AuditError] = self._store.commit([one.draft for one in group], stamp, seal=due)
        except AuditError as error:
            self._close_latch(error)
            answers = [type(error)(str(error)) for _ in group]
            due = False
        _settle(group, answers)
        if due:
            self._sealed_at = now
            self._try(self._store.publish)

    def _answer_seal(self, item: _Seal) -> None:
        try:
            self._ready()
            self._seal()
        except AuditError as error:
            self._close_latch(error)
            item.future.set_exception(error)
        else:
            item.future.set_result(self._store.state.note)

    def _seal(self) -> None:
        self._ready()
        if self.unsealed:
            self._store.seal()
            self._sealed_at = self._clock.mono_ns()
            self._store.publish()

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
            if isinstance(item, _Waiting):
                _settle([item], [reason])
            elif isinstance(item, _Seal):
                item.future.set_exception(reason)


def _settle(group: Sequence[_Waiting], answers: Sequence[Appended | AuditError]) -> None:
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
