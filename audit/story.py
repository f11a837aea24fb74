"""The story of one call: the records that refer to each other, in order, and what vouches for them.

A proof is of the records that are there. Which ones refer to another the database says: that it hides none is shown
only by `audit.verify`.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.chain import KeyChain
from audit.checkpoint import Checkpoint
from audit.entry import Envelope
from audit.errors import LogDamagedError, NoteError, ProofError, ReadError
from audit.merkle import TileReader, leaf_hash, prove_inclusion, root_at, verify_inclusion
from audit.note import VerifyKey, split_note
from audit.query import Filter, Record, select_from
from audit.reader import key_chain, newest_note, tile_reader
from audit.schema import check_schema, reading

STEPS: Final = 24
"""Records of one story that are read; those nearest to the one asked for."""


@dataclass(frozen=True, slots=True)
class Step:
    """A record and the time since the step before in µs: of the monotonic clock within one boot, else as claimed."""

    record: Record
    after_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Steps in the order of `seq`. `more`: there are others that are not here.

    `sealed`: the newest checkpoint's size; `proven`: all steps below it were proven under its verified signature, None
    where no key was given. `confirmed`: the largest checkpoint from elsewhere under which steps were proven.
    """

    seq: int
    steps: tuple[Step, ...]
    more: bool
    sealed: int
    proven: bool | None
    confirmed: int | None


def tell(path: Path, seq: int, *, key: VerifyKey | None = None, outside: Sequence[str] = ()) -> Story:
    """The story that record `seq` is part of.

    Raises ReadError if there is no such record, LogDamagedError or SignatureError where it is not what was signed.
    """
    with reading(path) as database:
        check_schema(database)
        database.execute("BEGIN")  # one state of the log; a story is short
        records, more = _gather(database, seq)
        note = newest_note(database)
        proven: bool | None = None
        confirmed: int | None = None
        if key is None:
            sealed = _size(note)
        else:
            chain, read = key_chain(database, key), tile_reader(database)
            sealed = _prove(chain.open(note), records, read, "the newest checkpoint")
            proven = True
            confirmed = max((_confirm(other, chain, records, sealed, read) for other in outside), default=None)
    return Story(seq=seq, steps=_timed(records), more=more, sealed=sealed, proven=proven, confirmed=confirmed)


def _gather(database: sqlite3.Connection, seq: int) -> tuple[list[Record], bool]:
    """The record, the ones it goes back to, and all that refer to one of these; nearest first until it is enough."""
    found = {seq: _one(database, seq)}
    line = [seq]
    while len(found) < STEPS and (back := found[line[-1]].envelope.ref) is not None:
        found[back] = _one(database, back)
        line.append(back)
    more = found[line[-1]].envelope.ref is not None
    for start in line:
        waiting = [start]
        while waiting:
            referring = select_from(database, Filter(ref=waiting.pop(0), limit=STEPS + 1))
            for record in referring:
                if record.envelope.seq in found:
                    continue
                if len(found) == STEPS:
                    more = True
                    break
                found[record.envelope.seq] = record
                waiting.append(record.envelope.seq)
    return [found[at] for at in sorted(found)], more


def _one(database: sqlite3.Connection, seq: int) -> Record:
    record = next(select_from(database, Filter(start=seq, stop=seq + 1)), None)
    if record is None:
        raise ReadError(f"there is no record {seq}; `list` shows which there are")
    return record


def _size(note: str) -> int:
    try:
        return Checkpoint.parse(split_note(note)[0]).size
    except NoteError as error:
        raise LogDamagedError(f"the newest checkpoint is malformed: {error}; run `verify`") from error


def _prove(checkpoint: Checkpoint, records: Sequence[Record], read: TileReader, what: str) -> int:
    """Prove the covered records under a checkpoint whose signature was verified; its size."""
    for record in records:
        seq = record.envelope.seq
        if seq >= checkpoint.size:
            continue
        try:
            path = prove_inclusion(seq, checkpoint.size, read)
            digest = leaf_hash(record.leaf)
            verify_inclusion(index=seq, size=checkpoint.size, digest=digest, proof=path, root=checkpoint.root)
        except ProofError as error:
            raise LogDamagedError(f"record {seq} does not stand under {what}: {error}; run `verify`") from error
    return checkpoint.size


def _confirm(note: str, chain: KeyChain, records: Sequence[Record], sealed: int, read: TileReader) -> int:
    checkpoint = chain.open(note)
    if checkpoint.size > sealed:
        raise LogDamagedError(
            f"a checkpoint from outside covers {checkpoint.size} records and the log's newest {sealed}; run `verify`"
        )
    try:
        same = root_at(checkpoint.size, read) == checkpoint.root
    except ProofError as error:
        raise LogDamagedError(f"the log's tree is damaged: {error}; run `verify`") from error
    if not same:
        raise LogDamagedError(f"a checkpoint from outside signs other first {checkpoint.size} records; run `verify`")
    return _prove(checkpoint, records, read, "a checkpoint from outside")


def _timed(records: Sequence[Record]) -> tuple[Step, ...]:
    before = [None, *(record.envelope for record in records)]
    return tuple(Step(record, _after(last, record.envelope)) for last, record in zip(before, records, strict=False))


def _after(last: Envelope | None, one: Envelope) -> int | None:
    if last is None:
        return None
    if last.boot_id == one.boot_id:
        return (int(one.mono_ns) - int(last.mono_ns)) // 1000
    return (one.time - last.time) * 1000
