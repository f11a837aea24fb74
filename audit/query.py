"""Reading records back, by filter, next to a running writer.

What comes out is what the database says; only `audit.verify` shows that it is also what was signed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.entry import Envelope, decode
from audit.errors import EntryError, LogDamagedError
from audit.schema import check_schema, reading

_CHUNK: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records; every field that is not None must match. `start` ≤ seq < `stop`, `since` ≤ time < `until` (ms)."""

    start: int = 0
    stop: int | None = None
    since: int | None = None
    until: int | None = None
    kind: str | None = None
    session: str | None = None
    agent: str | None = None
    call_id: str | None = None
    ref: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One stored record: the exact bytes of its leaf, the stored hash of them, and what they say."""

    leaf: bytes
    leaf_hash: bytes
    envelope: Envelope


def select(path: Path, where: Filter) -> Iterator[Record]:
    """The matching records in the order of `seq`. Raises ReadError or LogDamagedError.

    Reads a few hundred rows at a time, each in a transaction of its own: a reader that held one open would let the
    writer's WAL grow without bound.
    """
    clauses = ["seq >= ?"]
    values: list[int | str] = []
    for clause, value in (
        ("seq < ?", where.stop),
        ("time >= ?", where.since),
        ("time < ?", where.until),
        ("kind = ?", where.kind),
        ("session = ?", where.session),
        ("agent = ?", where.agent),
        ("call_id = ?", where.call_id),
        ("ref = ?", where.ref),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    # Only the fixed clauses above are joined; every value is bound.
    sql = (
        f"SELECT seq, CAST(leaf AS BLOB), leaf_hash FROM entries WHERE {' AND '.join(clauses)} "  # noqa: S608 - fixed text
        "ORDER BY seq LIMIT ?"
    )
    with reading(path) as database:
        check_schema(database)
        cursor, left = where.start, where.limit
        while left is None or left > 0:
            wanted = _CHUNK if left is None else min(_CHUNK, left)
            rows = database.execute(sql, (cursor, *values, wanted)).fetchall()
            for seq, leaf, digest in rows:
                yield _record(seq, leaf, digest)
            if len(rows) < wanted:
                return
            cursor = rows[-1][0] + 1
            left = None if left is None else left - len(rows)


def _record(seq: object, leaf: object, digest: object) -> Record:
    if not isinstance(leaf, bytes) or not isinstance(digest, bytes):
        raise LogDamagedError(f"record {seq} holds values of another type; run `verify`")
    try:
        envelope = decode(leaf)
    except EntryError as error:
        raise LogDamagedError(f"record {seq} is malformed: {error}; run `verify`") from error
    if envelope.seq != seq:
        raise LogDamagedError(f"record {seq} says it is record {envelope.seq}; run `verify`")
    return Record(leaf, digest, envelope)
