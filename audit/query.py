"""Reading records back, by filter, next to a running writer.

What comes out is what the database says; only `audit.verify` shows that it is also what was signed.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.entry import MAX_INT, Envelope, decode
from audit.errors import EntryError, LogDamagedError
from audit.schema import FORMAT, check_schema, reading
from audit.shape import Shapes

_CHUNK: Final = 256
_MANY: Final = 4_096  # to learn a shape takes as long as to read some hundreds of records
_WINDOW: Final = 32_768  # records that one statement looks at where no index leads to the right ones
# The conditions of partial indexes, word by word: only then SQLite may use them.
_REFUSED: Final = "json_extract(leaf, '$.body.decision') <> 'ALLOW'"
_MARKED: Final = "kind IN ('key.rotate', 'log.open')"
_MARKS: Final = frozenset({"key.rotate", "log.open"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records; every field that is not None must match.

    `start` ≤ seq < `stop`; `since` ≤ time < `until`, in ms. `kind`: one, or any of several. `decision`, `type`, `tier`
    and `rule` are members that a body has by convention (SPEC.md, section 9). `grep`: this text stands somewhere in the
    record, in whatever case. `limit` counts matching records from the start, or with `reverse` from the end.
    """

    start: int = 0
    stop: int | None = None
    since: int | None = None
    until: int | None = None
    kind: str | tuple[str, ...] | None = None
    session: str | None = None
    agent: str | None = None
    call_id: str | None = None
    ref: int | None = None
    decision: str | None = None
    type: str | None = None
    tier: int | None = None
    rule: str | None = None
    grep: str | None = None
    limit: int | None = None
    reverse: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds asked for; none means any."""
        return (self.kind,) if isinstance(self.kind, str) else self.kind or ()


@dataclass(frozen=True, slots=True)
class Record:
    """One stored record: the exact bytes of its leaf, the stored hash of them, and what they say."""

    leaf: bytes
    leaf_hash: bytes
    envelope: Envelope


Row = tuple[int, bytes, bytes]
"""seq, leaf and stored leaf hash of a record whose content nobody looked at."""


def select(path: Path, where: Filter) -> Iterator[Record]:
    """The matching records in the order of `seq`, or newest first. Raises ReadError or LogDamagedError.

    Reads a few hundred rows at a time, each in a transaction of its own: a reader that held one open would let the
    writer's WAL grow without bound. Which record is the last one is settled at the beginning.
    """
    with reading(path) as database:
        yield from select_from(database, where)


def select_from(
    database: sqlite3.Connection, where: Filter, *, chunk: int = _CHUNK, many: int = _MANY
) -> Iterator[Record]:
    """As `select`, through a connection that `audit.schema.reading` gave, after `many` records by their shapes."""
    count, shapes = 0, None
    for page in _pages(database, where, chunk=chunk):
        if shapes is None:
            for row in page:
                record = record_of(*row)
                yield record
            count += len(page)
            shapes = Shapes(record.envelope.log, marks=frozenset()) if count >= many else None
        else:
            yield from _records(page, shapes)


def _records(page: Sequence[Row], shapes: Shapes) -> Iterator[Record]:
    """As `record_of` each row, with all leaves looked at together if nothing is to be said of any."""
    try:
        envelopes = shapes.envelopes([leaf for _, leaf, _ in page])
    except EntryError:
        envelopes = []
    for place, row in enumerate(page):
        seq, leaf, digest = row
        good = place < len(envelopes) and envelopes[place].seq == seq
        yield Record(leaf, digest, envelopes[place]) if good else record_of(*row)


def rows(database: sqlite3.Connection, where: Filter, *, chunk: int = _CHUNK, window: int = _WINDOW) -> Iterator[Row]:
    """As `select_from`, with the leaves not yet read. See `_pages`."""
    for page in _pages(database, where, chunk=chunk, window=window):
        yield from page


def _pages(
    database: sqlite3.Connection, where: Filter, *, chunk: int = _CHUNK, window: int = _WINDOW
) -> Iterator[list[Row]]:
    """The rows that one statement found after those of another, never none.

    One statement returns at most `chunk` rows and, where no index leads to the right ones, looks at `window` records.
    """
    version = check_schema(database)
    stop = size_of(database) if where.stop is None else min(where.stop, size_of(database))
    # 1. which index, if any, leads to few records; the planner is not asked, so that no statistics can mislead it
    index, clauses, values = _clauses(where, version)
    if where.grep is not None:
        database.create_function("holds", 1, _Finder(where.grep), deterministic=True)
        clauses.append("holds(CAST(leaf AS BLOB))")
    by = "NOT INDEXED" if index is None else f"INDEXED BY {index}"
    order = "DESC" if where.reverse else "ASC"
    # Only fixed texts are joined; every value is bound.
    sql = (
        f"SELECT seq, CAST(leaf AS BLOB), leaf_hash FROM entries {by} "  # noqa: S608 - fixed texts
        f"WHERE {' AND '.join(['seq >= ?', 'seq < ?', *clauses])} ORDER BY seq {order} LIMIT ?"
    )
    low, high, left = max(where.start, 0), stop, where.limit
    while low < high and (left is None or left > 0):
        # 2. a stretch of the log that takes one short transaction, however few of it match
        wanted = chunk if left is None else min(chunk, left)
        reach = high - low if index is not None else window if clauses else wanted
        first, last = (max(low, high - reach), high) if where.reverse else (low, min(high, low + reach))
        try:
            found = database.execute(sql, (first, last, *values, wanted)).fetchall()
        except sqlite3.OperationalError as error:
            if "malformed JSON" in str(error):
                raise LogDamagedError("a record is no JSON; run `verify`") from error
            raise
        for place, (seq, leaf, digest) in enumerate(found):
            if not isinstance(leaf, bytes) or not isinstance(digest, bytes):
                if place:
                    yield found[:place]
                raise LogDamagedError(f"record {seq} holds values of another type; run `verify`")
        if found:
            yield found
        # 3. on from the last one found, or from the end of the stretch and over whatever is missing there
        full = len(found) == wanted
        if where.reverse:
            high = found[-1][0] if full else _end_below(database, first)
        else:
            low = found[-1][0] + 1 if full else _next_from(database, last)
        left = None if left is None else left - len(found)


def size_of(database: sqlite3.Connection) -> int:
    """How many records the database says it holds: the largest `seq` and one."""
    return _end_below(database, 2**63 - 1)


def _end_below(database: sqlite3.Connection, seq: int) -> int:
    """One more than the last record before `seq`; 0 if there is none."""
    found = database.execute("SELECT max(seq) FROM entries WHERE seq < ?", (seq,)).fetchone()[0]
    if found is not None and not found < MAX_INT:
        raise LogDamagedError(f"there is a record {found}, and none can have that number; run `verify`")
    return 0 if found is None else max(0, int(found) + 1)


def _next_from(database: sqlite3.Connection, seq: int) -> int:
    """The first record from `seq` on; the largest number there is if there is none."""
    found = database.execute("SELECT min(seq) FROM entries WHERE seq >= ?", (seq,)).fetchone()[0]
    return MAX_INT if found is None else int(found)


def record_of(seq: int, leaf: bytes, digest: bytes) -> Record:
    """The record in a row. Raises LogDamagedError."""
    try:
        envelope = decode(leaf)
    except EntryError as error:
        raise LogDamagedError(f"record {seq} is malformed: {error}; run `verify`") from error
    if envelope.seq != seq:
        raise LogDamagedError(f"record {seq} says it is record {envelope.seq}; run `verify`")
    return Record(leaf, digest, envelope)


def _clauses(where: Filter, version: int) -> tuple[str | None, list[str], list[int | str]]:
    """The index to go by, what must hold, and the values bound to it."""
    clauses: list[str] = []
    values: list[int | str] = []
    for clause, value in (
        ("call_id = ?", where.call_id),
        ("ref = ?", where.ref),
        ("session = ?", where.session),
        ("time >= ?", where.since),
        ("time < ?", where.until),
        ("agent = ?", where.agent),
        ("json_extract(leaf, '$.body.decision') = ?", where.decision),
        ("json_extract(leaf, '$.body.type') = ?", where.type),
        ("json_extract(leaf, '$.body.tier') = ?", where.tier),
        ("json_extract(leaf, '$.body.rule') = ?", where.rule),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if where.kinds:
        clauses.append(f"kind IN ({','.join('?' * len(where.kinds))})")
        values.extend(where.kinds)
    for index, applies in (
        ("entries_call", where.call_id is not None),
        ("entries_ref", where.ref is not None),
        ("entries_session", where.session is not None),
    ):
        if applies:
            return index, clauses, values
    if version == FORMAT:
        if where.kinds and _MARKS.issuperset(where.kinds):
            return "entries_marks", [*clauses, _MARKED], values
        if where.decision not in {None, "ALLOW"}:
            return "entries_refused", [*clauses, _REFUSED], values
    return None, clauses, values


class _Finder:
    """Whether a leaf holds a text, in whatever case: as it was typed, or as JSON writes it."""

    def __init__(self, text: str) -> None:
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        self._wanted = tuple({text.casefold(), escaped.casefold()})

    def __call__(self, leaf: object) -> bool:
        if not isinstance(leaf, bytes):
            return False
        text = leaf.decode("utf-8", "replace").casefold()
        return any(wanted in text for wanted in self._wanted)
