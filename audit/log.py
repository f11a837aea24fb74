"""An open log: what programs write with. `audit.writer` says when a record counts as written."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from audit.batch import Appended, Result, Stamp
from audit.chain import ROTATE, Rotation
from audit.checkpoint import Proof
from audit.clock import Clock
from audit.entry import Draft, Encoded, encode
from audit.errors import AppendTimeoutError, AuditError, EntryError, LogDamagedError, ReadError
from audit.kinds import OPEN, KindTable, Ref
from audit.note import SigningKey, VerifyKey
from audit.private import MasterKey
from audit.query import Filter, Record, select
from audit.reader import check_covers, prove, prove_growth
from audit.redaction import REDACTED, Redacted, Redaction
from audit.store import Store
from audit.writer import Health, Sink, Waiting, Writer

if TYPE_CHECKING:
    from audit.verify import Report


class Log:
    """An open log. Every method may be called from any thread."""

    def __init__(self, store: Store, writer: Writer, *, path: Path, checkpoint_file: Path, kinds: KindTable) -> None:
        """Use `Log.open`."""
        self._store = store
        self._writer = writer
        self._path = path
        self._checkpoint_file = checkpoint_file
        self._kinds = kinds
        # What every `log.open` record of this opening says, in the signed body: `sealed` < `size` means the last
        # writer ended without sealing, and that anyone could have written the records between.
        self._opening = {"kinds": kinds.as_json(), "sealed": store.opened.sealed, "size": store.opened.size}

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
        master: MasterKey | None = None,
        outside: Sequence[str] = (),
    ) -> Self:
        """Open the log at `path`, or begin one (`create`); exactly one process may have it open.

        The newest checkpoint is kept in `checkpoint_file`, better on another disk. The first record to append is
        `log.open`. With `master`, drafts may have something private kept beside them. `outside` are checkpoints (notes)
        remembered elsewhere: the log must hold what they cover. Raises LogMissingError, LogExistsError, LogBusyError,
        LogForeignError, LogDamagedError, LogTruncatedError, WriteFailedError.
        """
        path = Path(os.path.realpath(path))  # one log has one lock, whichever link leads to it
        file = Path(os.path.realpath(checkpoint_file))
        store = Store(path, key=key, checkpoint_file=file, kinds=kinds, create=create, master=master, outside=outside)
        writer = Writer(store, clock=clock, seal_every_ms=seal_every_ms, queue_limit=queue_limit)
        return cls(store, writer, path=path, checkpoint_file=file, kinds=kinds)

    # -- for callers ---------------------------------------------------------------------------------------------

    def submit(self, draft: Draft) -> Future[Appended]:
        """Queue a record; the future resolves once it is durable. It cannot be cancelled: it will be written.

        Raises EntryError (also BodyTooLargeError, KindError), QueueFullError, LogClosedError at once; the future may
        raise KindError, ConflictError, WriteFailedError, LogDamagedError.
        """
        future: Future[Appended] = Future()
        future.set_running_or_notify_cancel()
        self._writer.put(Waiting(self._encode(draft), future))
        return future

    def submit_to(self, draft: Draft, sink: Sink, token: object) -> None:
        """As `submit`, but the answer goes to `sink` together with the rest of its group: one wake-up, not one each."""
        self._writer.put(Waiting(self._encode(draft), None, sink, token))

    def append(self, draft: Draft, *, timeout_s: float | None = None) -> Appended:
        """Record and wait until it is durable. Raises what `submit` and its future raise, or AppendTimeoutError."""
        try:
            return self.submit(draft).result(timeout_s)
        except TimeoutError as error:
            raise AppendTimeoutError(f"not durable after {timeout_s} s; treat the record as not written") from error

    def checkpoint(self) -> str:
        """Seal everything acknowledged so far; returns the signed note. Raises WriteFailedError, LogClosedError.

        What was found unsealed is sealed only after the `log.open` record that says so."""
        return self._writer.checkpoint()

    def rotate(self, new: SigningKey, body: Mapping[str, Any]) -> Appended:
        """Record that from here on `new` signs; the checkpoint that ends with this record is signed by both keys.

        `audit.rotation.rotate` changes the key's files too. Raises EntryError (nothing changed), WriteFailedError,
        LogDamagedError, LogClosedError.
        """
        told, successor = dict(body), new.verifier

        def write(stamp: Stamp) -> Result:
            change = Rotation(self.size, self.key, successor).as_json()
            draft = Draft(kind=ROTATE, body=_with(told, "log", change, ROTATE))
            return self._store.rotate(new, encode(draft, log=self.name), stamp)

        return self._writer.record(write)

    def redact(self, where: Redaction, body: Mapping[str, Any], *, kind: str = "redaction") -> Appended:
        """Destroy what is kept beside records, for good, and record it: `ref` is the first of them, and the body gets
        a member `redacted` of what went. Leaves, proofs and checkpoints stay what they are.

        The sessions concerned lose their keys; what is left of one is sealed anew under a fresh key, for which the log
        must have been opened with `master`. No file of the log holds what opens the deleted once `purged` is True: at
        once, or after a reader that holds the WAL. Raises PrivateError if there is nothing or the master key lacks,
        EntryError (both: nothing was destroyed), WriteFailedError, LogDamagedError, LogClosedError.
        """
        told, refers = dict(body), self._kinds.get(kind).ref is not Ref.NEVER

        def draft(done: Redacted) -> Encoded:
            full = _with(told, REDACTED, done.as_json(), kind)
            return self._encode(Draft(kind=kind, body=full, ref=done.first if refers else None))

        return self._writer.record(lambda stamp: self._store.redact(where, draft, stamp))

    def verify(self) -> "Report":
        """Verify the whole log, beside the writer, and compare it with its own checkpoint file. Raises nothing.

        It tells what a stranger's check would tell, from within: trust that only with checkpoints kept elsewhere, which
        the log's own file is not (`confirmed` stays None).
        """
        from audit.verify import Outcome, verify_log

        try:
            note = self._checkpoint_file.read_text(encoding="utf-8", errors="replace")  # before: the log only grows
        except OSError:
            note = None
        report = verify_log(self._path, self.key)
        if note is None or report.outcome is not Outcome.OK:
            return report
        try:
            check_covers(self._path, note, self.key)
        except LogDamagedError as error:
            return replace(report, outcome=Outcome.TAMPERED, reason=str(error))
        except AuditError as error:
            return replace(report, outcome=Outcome.CANNOT_TELL, reason=f"the log's own checkpoint file: {error}")
        return report

    def prove(self, seq: int) -> Proof:
        """The inclusion proof of a durable record, sealing the log first if need be. Raises ReadError, LogError."""
        if not 0 <= seq < self.size:
            raise ReadError(f"there is no record {seq}; the log holds {self.size} from 0")
        if seq >= self._store.state.sealed:
            self.checkpoint()
        return prove(self._path, seq, self.key)[1]

    def prove_consistency(self, old: int, note: str | None = None) -> tuple[str, tuple[bytes, ...]]:
        """The newest checkpoint, or `note`, and the consistency proof from the first `old` records to it.

        For a witness that has seen `old` records; seals nothing. Raises ProofError if the checkpoint covers fewer,
        ReadError, NoteError, SignatureError, LogDamagedError.
        """
        return prove_growth(self._path, old, self.key, note=note)

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """The durable records with `start` ≤ seq < `stop`, read beside the writer. Raises as `select`."""
        size = self.size
        return select(self._path, Filter(start=max(0, start), stop=size if stop is None else min(stop, size)))

    @property
    def name(self) -> str:
        """The log's name, the origin of its checkpoints."""
        return self._store.key.name

    @property
    def key(self) -> VerifyKey:
        """The public key in force."""
        return self._store.key.verifier

    @property
    def purged(self) -> bool:
        """Whether nothing is left in the log's files that opens what was redacted."""
        return self._store.purged

    @property
    def note(self) -> str:
        """The newest signed checkpoint, as it is; `checkpoint` seals what came after it."""
        return self._store.state.note

    @property
    def size(self) -> int:
        """Durable records."""
        return self._store.state.size

    @property
    def taken_over(self) -> range:
        """The records that no checkpoint covered when the log was opened: the writer before ended without sealing, and
        whoever could write the database could have written them. The `log.open` record says so, too."""
        return range(self._store.opened.sealed, self._store.opened.size)

    @property
    def unsealed(self) -> int:
        """Durable records that no checkpoint covers yet."""
        return self._writer.unsealed

    @property
    def waiting(self) -> int:
        """Records that wait for the disk, about."""
        return self._writer.waiting

    @property
    def healthy(self) -> Health:
        """Whether an append can succeed now."""
        return self._writer.healthy

    def close(self) -> None:
        """Write what waits, seal, fold the WAL in and let the log go. Raises WriteFailedError if it stays unsealed."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _encode(self, draft: Draft) -> Encoded:
        self._kinds.check(draft.kind, draft.ref)
        if draft.private is not None and not self._store.keeps:
            raise EntryError("the log was opened without a master key; nothing can be kept beside its records")
        if draft.kind == ROTATE:
            raise EntryError(f"a `{ROTATE}` record is written by `rotate` alone")
        if draft.kind == OPEN:
            draft = replace(draft, body=_with(draft.body, "log", self._opening, OPEN))
        return encode(draft, log=self.name)


def _with(body: Mapping[str, Any], member: str, value: Any, kind: str) -> dict[str, Any]:
    if member in body:
        raise EntryError(f"the member `{member}` of a `{kind}` record is the log's own; name it otherwise")
    return {**body, member: value}
