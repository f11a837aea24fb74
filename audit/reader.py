"""The tree of a stored log: its tiles, its newest checkpoint, and the proof of one record."""

import sqlite3
from pathlib import Path
from typing import Final

from audit.chain import ROTATE, KeyChain, Rotation
from audit.checkpoint import Proof
from audit.entry import decode
from audit.errors import EntryError, LogDamagedError, ProofError, ReadError
from audit.merkle import TileReader, prove_inclusion
from audit.note import VerifyKey
from audit.schema import check_schema, read_text, reading


def tile_reader(database: sqlite3.Connection) -> TileReader:
    """Reads tiles; a missing one is empty, which the tree then refuses as too short."""

    def read(level: int, index: int) -> bytes:
        row = database.execute("SELECT hashes FROM tiles WHERE level = ? AND idx = ?", (level, index)).fetchone()
        return row[0] if row is not None and isinstance(row[0], bytes) else b""

    return read


_MARKED: Final = "kind IN ('key.rotate', 'log.open')"  # the condition of the index `entries_marks`, word by word


def key_chain(database: sqlite3.Connection, trusted: VerifyKey) -> KeyChain:
    """All keys that the log's own records tell of; only the checkpoints show that the records are right.

    Raises LogForeignError if `trusted` is none of them, LogDamagedError if a record that changes the key is malformed.
    """
    sql = f"SELECT seq, CAST(leaf AS BLOB) FROM entries WHERE {_MARKED} AND kind = ? ORDER BY seq"  # noqa: S608 - fixed
    try:
        rows = database.execute(sql, (ROTATE,))
        return KeyChain(trusted, [Rotation.parse(seq, decode(leaf).body) for seq, leaf in rows])
    except EntryError as error:
        raise LogDamagedError(f"a record that changes the key is malformed: {error}; run `verify`") from error


def newest_note(database: sqlite3.Connection) -> str:
    """The newest stored checkpoint, not yet verified. Raises LogDamagedError: every log begins with one."""
    row = database.execute("SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()
    if row is None:
        raise LogDamagedError("the log holds no checkpoint at all; restore it from a backup")
    return read_text(row[0])


def read_checkpoint(path: Path) -> str:
    """The newest checkpoint of the log at `path`, not yet verified. Raises ReadError, LogDamagedError."""
    with reading(path) as database:
        check_schema(database)
        return newest_note(database)


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
        try:
            proof = Proof(seq, tuple(prove_inclusion(seq, checkpoint.size, tile_reader(database))), note)
            proof.verify(row[0], chain.newest)
        except ProofError as error:
            raise LogDamagedError(f"record {seq} does not stand under the checkpoint: {error}; run `verify`") from error
        return row[0], proof
