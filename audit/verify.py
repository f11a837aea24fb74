"""The offline verifier: needs a database and a public key, streams in constant memory, never imports the writer.

1. the database has exactly the objects of an audit log, and is the log the key names
2. every record: stored under its own number without a gap, well formed, of this log, linked to the one before,
   hashing to what is stored
3. every record's kind is in the table of its time, and refers as the table says
4. every stored tile is the one the records make
5. every stored checkpoint is signed by the key and its root is the one the records make
6. so is every checkpoint brought from outside, and the log holds at least what it covers
7. SQLite finds its own structures (indexes above all) consistent

Safe beside a running writer: the size is fixed first, and only records below it are looked at.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from audit.checkpoint import Checkpoint
from audit.entry import Envelope, decode
from audit.errors import AuditError, EntryError, LogDamagedError, NoteError, ReadError
from audit.kinds import OPEN, KindTable
from audit.merkle import HEIGHT, WIDTH, Edge, leaf_hash, root_at, tile_count
from audit.note import VerifyKey
from audit.reader import tile_reader
from audit.schema import check_schema, read_text, reading

NOTES: Final = 20
"""Notes of one sort that are spelled out; the rest is counted."""
_CHUNK: Final = 1024


class Outcome(Enum):
    """What a verification can come to; the values are the exit codes."""

    OK = 0
    TAMPERED = 1
    CANNOT_TELL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is known about a log. Trust reaches to `signed` records, whatever `outcome` says of the rest.

    `records`: in the log; `signed`: shown to be under a checkpoint of the key; `confirmed`: shown to be under a
    checkpoint brought from outside, None if there was none; `bad`: the first record that is wrong, or the first of
    those among which it is; `notes`: remarkable, but no tampering.
    """

    outcome: Outcome
    log: str
    records: int = 0
    signed: int = 0
    confirmed: int | None = None
    bad: int | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def unsealed(self) -> int:
        """Records beyond the newest checkpoint: chained, but signed by nobody yet."""
        return self.records - self.signed

    def as_json(self) -> dict[str, Any]:
        """The report for `--json`."""
        return {**asdict(self), "outcome": self.outcome.name.lower(), "unsealed": self.unsealed}


class _TamperedError(Exception):
    def __init__(self, reason: str, bad: int | None = None) -> None:
        super().__init__(reason)
        self.bad = bad


def verify_log(
    path: Path,
    key: VerifyKey,
    *,
    outside: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify the log at `path` against `key` and against checkpoints kept elsewhere (`outside`, note texts).

    `progress` is told (records done, records in all) now and then. Raises nothing: what cannot be established is
    CANNOT_TELL.
    """
    run = _Run(key, progress)
    try:
        anchors = [Checkpoint.open(note, key) for note in outside]
    except NoteError as error:
        reason = f"a checkpoint brought from outside is not one of this key: {error}"
        return replace(run.report(Outcome.CANNOT_TELL), reason=reason)
    try:
        with reading(path) as database:
            run.check(database, anchors)
    except _TamperedError as error:
        return replace(run.report(Outcome.TAMPERED), bad=error.bad, reason=str(error))
    except LogDamagedError as error:
        return replace(run.report(Outcome.TAMPERED), bad=run.edge.size if run.started else None, reason=str(error))
    except AuditError as error:
        return replace(run.report(Outcome.CANNOT_TELL), reason=str(error))
    except OSError as error:
        return replace(run.report(Outcome.CANNOT_TELL), reason=f"cannot read `{path}`: {error.strerror or error}")
    return run.report(Outcome.OK)


class _Remarks:
    """Notes of one sort, the first few in words."""

    def __init__(self, more: str) -> None:
        self._more = more
        self._count = 0
        self._notes: list[str] = []

    def add(self, note: str) -> None:
        self._count += 1
        if self._count <= NOTES:
            self._notes.append(note)

    def lines(self) -> list[str]:
        rest = self._count - NOTES
        return self._notes + ([f"{rest} more {self._more}"] if rest > 0 else [])


class _Run:
    """One pass over one log."""

    def __init__(self, key: VerifyKey, progress: Callable[[int, int], None] | None) -> None:
        self._key = key
        self._progress = progress
        self._size = 0
        self._signed = 0
        self._confirmed: int | None = None
        self._kinds: KindTable | None = None
        self._last: Envelope | None = None
        self._prev: str | None = None
        self._clock = _Remarks("steps back of the clock")
        self._open = _Remarks("records that wait for a counterpart")
        self._gaps = _Remarks("openings after an unsealed end")
        self.edge = Edge()
        self.started = False

    def report(self, outcome: Outcome) -> Report:
        return Report(
            outcome=outcome,
            log=self._key.name,
            records=self._size,
            signed=self._signed,
            confirmed=self._confirmed,
            notes=tuple(self._gaps.lines() + self._clock.lines() + self._open.lines()),
        )

    def check(self, database: sqlite3.Connection, anchors: Sequence[Checkpoint]) -> None:
        # 1
        check_schema(database)
        database.execute("BEGIN")
        names = [(read_text(name), read_text(value)) for name, value in database.execute("SELECT * FROM meta")]
        low, high = database.execute("SELECT min(seq), max(seq) FROM entries").fetchone()
        self._size = 0 if high is None else high + 1
        newest = database.execute("SELECT max(size) FROM checkpoints").fetchone()[0]
        tiles = database.execute("SELECT count(*) FROM tiles").fetchone()[0]
        edge_tiles = {place: tile_reader(database)(*place) for place in _partial(self._size)}
        database.execute("COMMIT")
        if names != [("log", self._key.name)]:
            found = dict(names).get("log")
            raise ReadError(f"the key is of the log `{self._key.name}`, the database says it is `{found}`")
        if low is not None and low < 0:
            raise _TamperedError(f"there is a record {low} before the first", bad=0)
        if newest is None:
            raise _TamperedError("the log holds no checkpoint, and every log begins with one", bad=0)
        # 2 to 5
        self.started = True
        self._stream(database)
        if newest > self._size:
            raise _TamperedError(
                f"a checkpoint covers {newest} records and the log ends after {self._size}", self._size
            )
        if tiles != tile_count(self._size) or any(
            edge_tiles.get((level, index)) != tile for level, index, tile in self.edge.partial()
        ):
            raise _TamperedError("the stored tiles are not those that the records make")
        # 6
        for anchor in anchors:
            self._anchor(database, anchor)
        # 7
        found = read_text(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            raise _TamperedError(f"the database contradicts itself: {found}")

    def _stream(self, database: sqlite3.Connection) -> None:
        checkpoints = _Checkpoints(database)
        self._seal(checkpoints)
        for row in _rows(database, self._size):
            envelope, digest = self._record(*row)
            self._relate(database, envelope)
            self._remark(envelope)
            for tile in self.edge.append(digest):
                if tile_reader(database)(*tile[:2]) != tile[2]:
                    raise _TamperedError(
                        f"the stored tile {tile[1]} of level {tile[0]} is not that of its records", envelope.seq
                    )
            self._last, self._prev = envelope, digest.hex()
            self._seal(checkpoints)
            if self._progress is not None and self.edge.size % _CHUNK == 0:
                self._progress(self.edge.size, self._size)
        if self.edge.size != self._size:
            raise _TamperedError(f"record {self.edge.size} is missing", self.edge.size)

    def _record(self, seq: object, leaf: object, stored: object) -> tuple[Envelope, bytes]:
        expected = self.edge.size
        if seq != expected:
            raise _TamperedError(f"record {expected} is missing", expected)
        if not isinstance(leaf, bytes) or not isinstance(stored, bytes):
            raise _TamperedError(f"record {expected} holds values of another type", expected)
        if leaf_hash(leaf) != stored:
            raise _TamperedError(f"record {expected} does not hash to its leaf hash", expected)
        try:
            envelope = decode(leaf)
        except EntryError as error:
            raise _TamperedError(f"record {expected} is malformed: {error}", expected) from error
        if envelope.seq != expected or envelope.log != self._key.name:
            raise _TamperedError(
                f"record {expected} says it is record {envelope.seq} of the log `{envelope.log}`", expected
            )
        if envelope.prev != self._prev:
            raise _TamperedError(f"record {expected} does not link to the one before", expected)
        return envelope, stored

    def _relate(self, database: sqlite3.Connection, record: Envelope) -> None:
        try:
            if record.kind == OPEN:
                self._opened(record)
            if self._kinds is None:
                raise EntryError(f"a log begins with `{OPEN}`")
            kind = self._kinds.check(record.kind, record.ref)
        except EntryError as error:
            raise _TamperedError(f"record {record.seq} breaks the table of kinds: {error}", record.seq) from error
        if record.ref is not None:
            row = database.execute("SELECT kind FROM entries WHERE seq = ?", (record.ref,)).fetchone()
            target = read_text(row[0]) if row is not None else None
            if target is None or (kind.to and target not in kind.to):
                raise _TamperedError(
                    f"record {record.seq} (`{record.kind}`) refers to record {record.ref}, which is `{target}`",
                    record.seq,
                )
            if kind.once and _referring(database, record.ref, (record.kind,), before=record.seq):
                raise _TamperedError(
                    f"record {record.seq} is a second `{record.kind}` for record {record.ref}", record.seq
                )
        if kind.then and not _referring(database, record.seq, sorted(kind.then), before=self._size):
            self._open.add(f"record {record.seq} (`{record.kind}`) has no `{'` or `'.join(sorted(kind.then))}`")

    def _opened(self, record: Envelope) -> None:
        found = record.body.get("log")
        if type(found) is not dict or found.keys() != {"kinds", "sealed", "size"}:
            raise EntryError(f"a `{OPEN}` record does not say how the log was found")
        size, sealed = found["size"], found["sealed"]
        if type(size) is not int or type(sealed) is not int or not 0 <= sealed <= size <= record.seq:
            raise EntryError(f"a `{OPEN}` record says impossible things of how the log was found")
        self._kinds = KindTable.parse(found["kinds"])
        if sealed < size:
            self._gaps.add(f"records {sealed} to {size - 1} were not sealed when the log was opened at {record.seq}")

    def _remark(self, record: Envelope) -> None:
        last = self._last
        if last is None:
            return
        if record.time < last.time:
            self._clock.add(f"the clock went back {last.time - record.time} ms at record {record.seq}")
        if record.boot_id == last.boot_id and int(record.mono_ns) < int(last.mono_ns):
            self._clock.add(f"the monotonic clock went back within one boot at record {record.seq}")

    def _seal(self, checkpoints: "_Checkpoints") -> None:
        """Compare the stored checkpoint of exactly this many records, if there is one."""
        note = checkpoints.at(self.edge.size)
        if note is None:
            if self.edge.size == 0:
                raise _TamperedError("the checkpoint of the empty log is missing, and every log begins with it", bad=0)
            return
        try:
            checkpoint = Checkpoint.open(note, self._key)
        except NoteError as error:
            raise _TamperedError(
                f"the checkpoint of {self.edge.size} records is forged: {error}", self._signed
            ) from error
        if checkpoint.size != self.edge.size:
            raise _TamperedError(
                f"a checkpoint of {checkpoint.size} records is stored as of {self.edge.size}", self._signed
            )
        if checkpoint.root != self.edge.root():
            raise _TamperedError(
                f"the checkpoint of {checkpoint.size} records signs others: one of the records {self._signed} to "
                f"{checkpoint.size - 1} was changed",
                self._signed,
            )
        self._signed = self.edge.size

    def _anchor(self, database: sqlite3.Connection, checkpoint: Checkpoint) -> None:
        if checkpoint.size > self._size:
            raise _TamperedError(
                f"a checkpoint from outside covers {checkpoint.size} records and the log ends after {self._size}",
                self._size,
            )
        # The tiles were shown to be those of the records, so the old root can be computed from them.
        if root_at(checkpoint.size, tile_reader(database)) != checkpoint.root:
            raise _TamperedError(
                f"a checkpoint from outside signs other first {checkpoint.size} records: the log was rewritten", bad=0
            )
        self._confirmed = max(self._confirmed or 0, checkpoint.size)


class _Checkpoints:
    """The stored checkpoints in the order of their sizes, a few at a time."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._rows = self._read(database)
        self._next = next(self._rows, None)

    def _read(self, database: sqlite3.Connection) -> Iterator[tuple[int, str]]:
        after = -(2**63)
        sql = "SELECT size, note FROM checkpoints WHERE size > ? ORDER BY size LIMIT ?"
        while rows := database.execute(sql, (after, _CHUNK)).fetchall():
            for size, note in rows:
                yield size, read_text(note)
            after = rows[-1][0]

    def at(self, size: int) -> str | None:
        """The checkpoint of exactly `size` records; sizes must be asked for in rising order."""
        if self._next is not None and self._next[0] < size:
            raise _TamperedError(f"there is a checkpoint of {self._next[0]} records out of order", 0)
        if self._next is None or self._next[0] != size:
            return None
        note = self._next[1]
        self._next = next(self._rows, None)
        return note


def _rows(database: sqlite3.Connection, size: int) -> Iterator[tuple[object, object, object]]:
    """The records below `size`, in short transactions: a long one would let a writer's WAL grow without bound."""
    after = -1
    sql = (
        "SELECT seq, CAST(leaf AS BLOB), leaf_hash FROM entries NOT INDEXED "
        "WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?"
    )
    while rows := database.execute(sql, (after, size, _CHUNK)).fetchall():
        yield from rows
        after = rows[-1][0]


def _referring(database: sqlite3.Connection, seq: int, kinds: Sequence[str], *, before: int) -> bool:
    marks = ",".join("?" * len(kinds))
    sql = f"SELECT 1 FROM entries WHERE ref = ? AND kind IN ({marks}) AND seq < ? LIMIT 1"  # noqa: S608 - only marks
    return database.execute(sql, (seq, *kinds, before)).fetchone() is not None


def _partial(size: int) -> Iterator[tuple[int, int]]:
    """Which tiles of a tree of `size` leaves are unfinished, as (level, index)."""
    level = 0
    while size:
        if size % WIDTH:
            yield level, size >> HEIGHT
        size >>= HEIGHT
        level += 1
