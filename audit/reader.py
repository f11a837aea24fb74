"""The tree of a stored log: its tiles, its keys, its newest checkpoint, and proofs of a record and of growth."""

import sqlite3
from pathlib import Path
from typing import Final

from audit.chain import ROTATE, KeyChain, Rotation
from audit.checkpoint import Checkpoint, Proof
from audit.entry import decode
from audit.errors import EntryError, LogDamagedError, LogTruncatedError, NoteError, ProofError, ReadError
from audit.kinds import OPEN, KindTable
from audit.merkle import TileReader, prove_consistency, prove_inclusion, root_at
from audit.note import VerifyKey, split_note
from audit.schema import check_schema, read_leaf, read_text, reading


def tile_reader(database: sqlite3.Connection) -> TileReader:
    """Reads tiles; a missing one is empty, which the tree then refuses as too short."""

    def read(level: int, index: int) -> bytes:
        row = database.execute("SELECT hashes FROM tiles WHERE level = ? AND idx = ?", (level, index)).fetchone()
        return row[0] if row is not None and isinstance(row[0], bytes) else b""

    return read


MARKED: Final = "kind IN ('key.rotate', 'log.open')"  # the condition of the index `entries_marks`, word by word


def key_chain(database: sqlite3.Connection, trusted: VerifyKey) -> KeyChain:
    """All keys that the log's own records tell of; only the checkpoints show that the records are right.

    Raises LogForeignError if `trusted` is none of them, LogDamagedError if a record that changes the key is malformed.
    """
    sql = f"SELECT seq, CAST(leaf AS BLOB) FROM entries WHERE {MARKED} AND kind = ? ORDER BY seq"  # noqa: S608 - fixed
    try:
        rows = database.execute(sql, (ROTATE,))
        return KeyChain(trusted, [Rotation.parse(seq, decode(read_leaf(leaf, seq)).body) for seq, leaf in rows])
    except EntryError as error:
        raise LogDamagedError(f"a record that changes the key is malformed: {error}; run `verify`") from error


def kinds_in_force(path: Path) -> KindTable:
    """The table of kinds in the newest `log.open` record: to open a log with, where the program that writes it is not
    there to say. Raises ReadError if there is no such record yet, LogDamagedError, LogForeignError."""
    sql = f"SELECT CAST(leaf AS BLOB) FROM entries WHERE {MARKED} AND kind = ? ORDER BY seq DESC LIMIT 1"  # noqa: S608 - fixed
    with reading(path) as database:
        check_schema(database)
        row = database.execute(sql, (OPEN,)).fetchone()
    if row is None:
        raise ReadError(
            f"`{path}` holds no `{OPEN}` record yet, which says of which kinds its records are: the program that writes"
            " the log makes one when it starts; start it once"
        )
    try:
        opened = decode(read_leaf(row[0], OPEN)).body.get("log")
        return KindTable.parse(opened.get("kinds") if isinstance(opened, dict) else None)
    except EntryError as error:
        raise LogDamagedError(f"the newest `{OPEN}` record is malformed: {error}; run `verify`") from error


def newest_note(database: sqlite3.Connection) -> str:
    """The newest stored checkpoint, not yet verified. Raises LogDamagedError: every log begins with one."""
    row = database.execute("SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()
    if row is None:
        raise LogDamagedError("the log holds no checkpoint at all; restore it from a backup")
    return read_text(row[0])


def read_checkpoint(path: Path) -> str:
    """The newest checkpoint of the log at `path`: well formed, but not yet verified. Raises ReadError,
    LogDamagedError."""
    with reading(path) as database:
        check_schema(database)
        note = newest_note(database)
    try:
        Checkpoint.parse(split_note(note)[0])
    except NoteError as error:
        raise LogDamagedError(f"the newest checkpoint is malformed: {error}; run `verify`") from error
    return note


def check_covers(path: Path, note: str, key: VerifyKey) -> None:
    """Compare a checkpoint with the log's tiles, which only `verify` compares with the records.

    Raises LogTruncatedError if the log holds fewer records, LogDamagedError if it holds others; NoteError,
    SignatureError if `note` is no checkpoint of this log; ReadError, LogForeignError.
    """
    with reading(path) as database:
        check_schema(database)
        database.execute("BEGIN")  # one state of the log for tiles and records
        checkpoint = key_chain(database, key).open(note)
        size = database.execute("SELECT coalesce(max(seq) + 1, 0) FROM entries").fetchone()[0]
        if checkpoint.size > size:
            raise LogTruncatedError(f"the log holds {size} records and a checkpoint proves {checkpoint.size}")
        try:
            same = root_at(checkpoint.size, tile_reader(database)) == checkpoint.root
        except ProofError as error:
            raise LogDamagedError(f"the log's tree is damaged: {error}; run `verify`") from error
    if not same:
        raise LogDamagedError(f"a checkpoint signs other first {checkpoint.size} records: the log was rewritten")


def prove(path: Path, seq: int, key: VerifyKey) -> tuple[bytes, Proof]:
    """The leaf of record `seq` and a proof of it, checked before it is returned.

    Raises ReadError if no such record is sealed yet, LogDamagedError or SignatureError if the proof does not hold.
    """
    with reading(path) as database:
        check_schema(database)
        database.execute("BEGIN")  # one state of the log for tiles, checkpoint and record
        note = newest_note(database)
        chain = key_chain(database, key)
        checkpoint = chain.open(note)
        if not 0 <= seq < checkpoint.size:
            raise ReadError(f"no sealed record {seq}; the newest checkpoint covers {checkpoint.size} records from 0")
        row = database.execute("SELECT CAST(leaf AS BLOB) FROM entries WHERE seq = ?", (seq,)).fetchone()
        if row is None:
            raise LogDamagedError(f"record {seq} is missing and a checkpoint covers it; run `verify`")
        leaf = read_leaf(row[0], seq)
        try:
            proof = Proof(seq, tuple(prove_inclusion(seq, checkpoint.size, tile_reader(database))), note)
            proof.verify(leaf, chain.newest)
        except ProofError as error:
            raise LogDamagedError(f"record {seq} does not stand under the checkpoint: {error}; run `verify`") from error
        return leaf, proof


def prove_growth(path: Path, old: int, key: VerifyKey, *, note: str | None = None) -> tuple[str, tuple[bytes, ...]]:
    """The newest checkpoint, or the one in `note`, and the consistency proof from the first `old` records to it.

    The proof is empty from no record and from all (RFC 9162, 2.1.4). Raises ProofError if the checkpoint covers fewer
    than `old` records, NoteError or SignatureError if `note` is none of this log, ReadError, LogDamagedError.
    """
    with reading(path) as database:
        check_schema(database)
        database.execute("BEGIN")  # one state of the log for tiles and checkpoint
        note = newest_note(database) if note is None else note
        size = key_chain(database, key).open(note).size
        if not 0 <= old <= size:
            raise ProofError(f"nothing is provable from {old} records: the checkpoint covers {size}")
        try:
            return note, tuple(prove_consistency(old, size, tile_reader(database))) if old else ()
        except ProofError as error:
            raise LogDamagedError(f"the log's tree is damaged: {error}; run `verify`") from error
