"""What a stored log must show before it may grow: the checks of every opening, and the state they yield.

1. the database is this log (its name is the key's) and lacks no record
2. the tiles are those of a tree of that size
3. the newest stored checkpoint is signed by the key and its root is the tree's
4. so are the checkpoints kept outside; they cover no more than the log holds
5. the last records, at least all unsealed ones, hash to their tiles, link to each other and are well formed

Older records are held by the tree, whose root 3 and 4 compare; `audit.verify` re-hashes every one.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.chain import KeyChain
from audit.entry import decode
from audit.errors import (
    EntryError,
    LogDamagedError,
    LogForeignError,
    LogTruncatedError,
    LogUnprovenError,
    NoteError,
    ProofError,
    SignatureError,
)
from audit.merkle import HASH, WIDTH, Edge, TileReader, leaf_hash, root_at, tile_count
from audit.note import VerifyKey
from audit.reader import key_chain, newest_note, tile_reader
from audit.schema import read_leaf, read_text

TAIL: Final = 4096
"""Records at the log's end that are re-hashed whenever it is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A log between two commits: `size` records, the newest's hash, and how many the newest checkpoint covers."""

    edge: Edge
    prev: bytes | None
    sealed: int
    note: str

    @property
    def size(self) -> int:
        """Records in the log."""
        return self.edge.size


def load(
    database: sqlite3.Connection,
    key: VerifyKey,
    *,
    file: str | None,
    file_path: Path,
    outside: Sequence[str] = (),
    tail: int,
) -> State:
    """Check the log as listed above. `file` is the note in the checkpoint file, None if that file is missing; `outside`
    are notes remembered elsewhere; at least the last `tail` records are hashed.

    Raises LogForeignError, LogDamagedError, LogTruncatedError.
    """
    size = _count(database, key)
    read = tile_reader(database)
    chain = key_chain(database, key)
    if chain.newest != key:
        raise LogForeignError("the key was replaced by a newer one; open the log with that")
    try:
        edge = Edge.load(size, read)
        tiles = database.execute("SELECT count(*) FROM tiles").fetchone()[0]
        if tiles != tile_count(size) or any(read(level, index) != tile for level, index, tile in edge.partial()):
            raise ProofError("the stored tiles are not those of the tree")
        note = newest_note(database)
        sealed = _check_note(note, "its own newest checkpoint", size, chain, read)
        if file is not None:
            _check_note(file, f"the checkpoint in `{file_path}`", size, chain, read)
        elif sealed:
            raise LogUnprovenError(f"`{file_path}` is missing: nothing shows the log is whole; put it back")
        for remembered in outside:
            _check_note(remembered, "a checkpoint remembered elsewhere", size, chain, read)
        prev = _check_tail(database, key, min(sealed, max(0, size - tail)), size)
    except ProofError as error:
        raise LogDamagedError(f"the log's tree is damaged: {error}; run `verify`") from error
    return State(edge=edge, prev=prev, sealed=sealed, note=note)


def _count(database: sqlite3.Connection, key: VerifyKey) -> int:
    found = [(read_text(name), read_text(value)) for name, value in database.execute("SELECT name, value FROM meta")]
    if found != [("log", key.name)]:
        raise LogForeignError(f"the database is another log than `{key.name}`; restore the key that belongs to it")
    size, count = database.execute("SELECT coalesce(max(seq) + 1, 0), count(*) FROM entries").fetchone()
    if size != count:
        raise LogDamagedError(f"{size - count} records are missing before record {size}; run `verify`")
    return int(size)


def _check_note(note: str, what: str, size: int, chain: KeyChain, read: TileReader) -> int:
    try:
        checkpoint = chain.open(note)
    except SignatureError as error:
        raise LogForeignError(f"{what} is not signed by this log's key: {error}") from error
    except NoteError as error:
        raise LogDamagedError(f"{what} is malformed: {error}; put back a copy") from error
    if checkpoint.size > size:
        raise LogTruncatedError(f"the log holds {size} records and {what} proves {checkpoint.size}; run `verify`")
    if root_at(checkpoint.size, read) != checkpoint.root:
        raise LogDamagedError(f"the log contradicts {what} at {checkpoint.size} records; run `verify`")
    return checkpoint.size


def _check_tail(database: sqlite3.Connection, key: VerifyKey, start: int, size: int) -> bytes | None:
    """Hash the records from `start` on; returns the last one's leaf hash."""
    read = tile_reader(database)
    start = max(0, min(start, size - 1))  # the newest record is always hashed: the next one links to it
    prev: bytes | None = None
    index, tile = -1, b""
    sql = "SELECT seq, CAST(leaf AS BLOB), leaf_hash FROM entries WHERE seq >= ? ORDER BY seq"
    for expected, (seq, leaf, stored) in enumerate(database.execute(sql, (start,)), start):
        digest = leaf_hash(read_leaf(leaf, seq))
        if seq // WIDTH != index:
            index = seq // WIDTH
            tile = read(0, index)
        try:
            envelope = decode(leaf)
        except EntryError as error:
            raise LogDamagedError(f"record {seq} is malformed: {error}; run `verify`") from error
        linked = expected == start or envelope.prev == (prev.hex() if prev else None)
        at = seq % WIDTH * HASH
        hashed = digest == stored == tile[at : at + HASH]
        if not (linked and hashed and seq == expected == envelope.seq and envelope.log == key.name):
            raise LogDamagedError(f"record {seq} was changed, moved or replaced; run `verify`")
        prev = digest
    if size and prev is None:
        raise LogDamagedError("the newest records cannot be read; run `verify`")
    return prev
