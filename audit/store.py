"""The writer's side of the database. Only `audit.writer` uses it, from one thread.

Guarantee: when `commit` returns, its rows, their tiles and (if due) a checkpoint are one committed transaction in a
WAL that was synced (`synchronous=FULL`); when it raises, nothing was acknowledged and the store must be recovered
before it is used again, because a failed commit may still have reached the disk.

Whenever it opens the database it folds a WAL that it finds into it, and syncs that: after a failed fdatasync a page may
stand in memory alone although a later one succeeds, and a killed writer may have left deleted bytes there.

What a commit asks of the kernel, in order: write the WAL frames, fdatasync the WAL; only then does the caller answer.
The newest checkpoint follows into its own file: write, fsync, rename, fsync of the directory.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from audit.batch import Batch, Result, Stamp
from audit.checkpoint import Checkpoint
from audit.disk import CheckpointFile, create_log, places, take_lock
from audit.entry import Encoded
from audit.errors import AuditError, EntryError, LogDamagedError, LogForeignError, ReadError, WriteFailedError
from audit.kinds import KindTable
from audit.merkle import WIDTH, Edge
from audit.note import SigningKey
from audit.private import MasterKey, Vault
from audit.reader import key_chain
from audit.redaction import Redacted, Redaction, destroy
from audit.schema import FORMAT, check_files, check_schema, harden, translate, upgrade
from audit.state import TAIL, State, load

# what SQLite says of a damaged schema quotes it, and may be no text that Python can put into its own error
TROUBLE: Final = (sqlite3.Error, UnicodeDecodeError)
_TILE: Final = "INSERT OR REPLACE INTO tiles VALUES (?, ?, ?)"
_CHECKPOINT: Final = "INSERT OR IGNORE INTO checkpoints VALUES (?, ?)"


def _inserts(into: str) -> tuple[tuple[int, str], ...]:
    """Statements for 64 rows at a time, then fewer: every one gives up the interpreter."""
    return tuple((rows, f"{into} VALUES {','.join(['(?,?,?)'] * rows)}") for rows in (64, 32, 16, 8, 4, 2, 1))


_ENTRIES: Final = _inserts("INSERT INTO entries(seq, leaf, leaf_hash)")
# Nobody else writes this table, but who did could else hold up the log by taking the next row.
_PRIVATE: Final = _inserts("INSERT OR REPLACE INTO private")


class Store:
    """One open database, its lock and the state of its log. `opened` is the state in which it was found, `key` the one
    in force; `purged` is False while bytes that were redacted still stand in the WAL."""

    def __init__(
        self,
        path: Path,
        *,
        key: SigningKey,
        checkpoint_file: Path,
        kinds: KindTable,
        create: bool,
        master: MasterKey | None = None,
        outside: Sequence[str] = (),
    ) -> None:
        """Take the lock, make the log if asked to, check it and load it. Raises LogError."""
        self._path = path
        self._file = CheckpointFile(checkpoint_file)
        self._kinds = kinds
        self._vault = None if master is None else Vault(key.name, master)
        self._lock: int | None = None
        self._database: sqlite3.Connection | None = None
        self._inflight: list[bytes] = []
        self._successor: SigningKey | None = None
        self._places: list[tuple[int, int] | None] = []
        self.key = key
        self.purged = True
        try:
            self._lock = take_lock(path, create=create)
            if create:
                create_log(path, checkpoint_file, key)
            self.state = self.opened = self._connect(tail=TAIL, outside=outside)
            if self._file.read() != self.state.note:
                self.publish()
        except BaseException as error:
            self.close()
            raise self._explain(error) from error

    @property
    def keeps(self) -> bool:
        """Whether anything may be kept beside the records."""
        return self._vault is not None

    @property
    def due(self) -> bool:
        """Whether there is something to sign."""
        return self._signable(self.state.size, self.state.sealed)

    def _signable(self, size: int, sealed: int) -> bool:
        # INVARIANT: an end that was found unsealed, which anyone could have written, is not signed before the record
        # that says so: nothing that was signed is without it.
        return size not in (sealed, self.opened.size)

    # -- opening -------------------------------------------------------------------------------------------------

    def _explain(self, error: BaseException) -> BaseException:
        if isinstance(error, TROUBLE):
            found: AuditError = translate(error, self._path)
            return found if isinstance(found, LogDamagedError | LogForeignError) else WriteFailedError(str(found))
        if isinstance(error, OSError):
            return WriteFailedError(f"cannot use `{error.filename or self._path}`: {error.strerror or error}")
        return error

    def _connect(self, *, tail: int, outside: Sequence[str] = ()) -> State:
        try:
            check_files(self._path)
        except ReadError as error:
            raise LogDamagedError(str(error)) from error
        database = sqlite3.connect(
            self._path, isolation_level=None, timeout=5.0, check_same_thread=False, cached_statements=64
        )
        self._database = database
        harden(database)
        version = check_schema(database)
        database.execute("PRAGMA journal_mode = WAL")
        for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "secure_delete = ON"):
            database.execute(f"PRAGMA {setting}")
        if version != FORMAT:
            upgrade(database)
        self._settle_key(database)
        file = self._file.read()
        state = load(database, self.key.verifier, file=file, file_path=self._file.path, outside=outside, tail=tail)
        if self._vault is not None:
            self._vault.forget()  # a transaction that failed may have made keys that are not there
            self._vault.check(database)
        self.purge()
        self._places = places(self._path)
        return state

    def _settle_key(self, database: sqlite3.Connection) -> None:
        """After a change of the key whose commit failed: it may have reached the disk."""
        successor = self._successor
        if successor is not None and key_chain(database, self.key.verifier).newest == successor.verifier:
            self.key = successor

    # -- writing -------------------------------------------------------------------------------------------------

    def commit(self, drafts: Sequence[Encoded], stamp: Stamp, *, seal: bool) -> list[Result]:
        """Write a group in one transaction. Raises WriteFailedError, LogDamagedError: then nothing is acknowledged.

        The unique index finds a repeated `call_id`; the group is then built again with every one looked up.
        """
        try:
            return self._transact(lambda batch: batch.add(drafts, stamp), seal=seal)
        except sqlite3.IntegrityError:
            return self._transact(lambda batch: batch.add(drafts, stamp), seal=seal, careful=True)

    def seal(self) -> None:
        """Sign the log as it stands, if that is due. Raises WriteFailedError; `publish` is a second step."""
        if self.due:
            self._transact(_nothing, seal=True, careful=True)

    def rotate(self, new: SigningKey, draft: Encoded, stamp: Stamp) -> Result:
        """Write the record that changes the key, and the checkpoint that ends with it, signed by both keys; from then
        on only `new` signs. Raises as `commit`, and EntryError if `new` cannot follow."""
        try:
            chain = key_chain(self._open_database(), self.key.verifier)
        except TROUBLE as error:
            raise WriteFailedError(f"cannot read `{self._path}`: {error}; free the disk or replace it") from error
        if new.name != self.key.name or new.verifier.id in {key.id for key in chain.keys}:
            raise EntryError(f"the new key must be of the log `{self.key.name}` and have an id that none before had")
        return self._transact(lambda batch: batch.add([draft], stamp), seal=True, careful=True, successor=new)[0]

    def redact(self, where: Redaction, draft: Callable[[Redacted], Encoded], stamp: Stamp) -> Result:
        """Destroy what is kept beside records, and write the record that says so, in one transaction; then `purge`.

        Raises as `commit`, PrivateError if there is nothing or a session's key has to be changed and cannot be, and
        EntryError if the record is refused."""

        def work(batch: Batch) -> None:
            batch.add([draft(destroy(self._open_database(), where, self._vault))], stamp)
            if isinstance(refused := batch.results[0], EntryError):
                raise refused

        done = self._transact(work, seal=True, careful=True)[0]
        if self._vault is not None:
            self._vault.forget()
        self.purged = False
        self.purge()
        return done

    def purge(self) -> None:
        """Fold the WAL into the database and empty it: what was deleted stands in it until then.

        A reader may be in the way; then as much as can be is done, and `purged` is False. Raises WriteFailedError.
        """
        database = self._open_database()
        try:
            database.execute("PRAGMA busy_timeout = 0")
            self.purged = not database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            database.execute("PRAGMA busy_timeout = 5000")
        except TROUBLE as error:
            raise WriteFailedError(f"cannot empty the WAL of `{self._path}`: {error}; see to the disk") from error

    def publish(self) -> None:
        """Write the newest checkpoint to its own file, durably. Raises WriteFailedError."""
        self._file.write(self.state.note)

    def _transact(
        self,
        work: Callable[[Batch], None],
        *,
        seal: bool,
        careful: bool = False,
        successor: SigningKey | None = None,
    ) -> list[Result]:
        """One transaction. Raises sqlite3.IntegrityError only where `careful` could help."""
        try:
            return self._transacted(work, seal=seal, careful=careful, successor=successor)
        except (*TROUBLE, OSError) as error:
            if isinstance(error, sqlite3.IntegrityError) and not careful:
                raise
            raise WriteFailedError(f"cannot write `{self._path}`: {error}; free the disk or replace it") from error

    def _transacted(
        self, work: Callable[[Batch], None], *, seal: bool, careful: bool, successor: SigningKey | None
    ) -> list[Result]:
        database = self._open_database()
        database.execute("BEGIN IMMEDIATE")
        try:
            found = database.execute("SELECT coalesce(max(seq) + 1, 0) FROM entries").fetchone()[0]
            if found != self.state.size:
                raise LogDamagedError(f"somebody else wrote `{self._path}` since it was opened; stop and run `verify`")
            if places(self._path) != self._places:
                # SQLite would go on writing files that nobody can find any more.
                raise LogDamagedError(f"`{self._path}` or its WAL was moved or replaced; put it back and restart")
            batch = Batch(
                database,
                self.state,
                log=self.key.name,
                kinds=self._kinds,
                opened_at=self.opened.size,
                careful=careful,
            )
            work(batch)
            self._inflight = [digest for _, _, digest in batch.rows]
            self._successor = successor if batch.rows else None
            self._write(batch)
            sealed, note = self.state.sealed, self.state.note
            if seal and self._signable(batch.edge.size, sealed):
                keys = [self.key] if self._successor is None else [self.key, self._successor]
                sealed, note = batch.edge.size, self._sign(batch.edge, *keys)
            database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise
        self._inflight = []
        self.key, self._successor = self._successor or self.key, None
        self.state = State(edge=batch.edge, prev=batch.prev, sealed=sealed, note=note)
        return batch.results

    def _write(self, batch: Batch) -> None:
        # INVARIANT: few statements. Each gives up the interpreter and must win it back from a busy event loop.
        database = self._open_database()
        _insert(database, _ENTRIES, batch.rows)
        if batch.private:
            assert self._vault is not None  # the log's door refuses such drafts
            _insert(database, _PRIVATE, self._vault.seal(database, batch.private))
        if batch.rows:
            for tile in (*batch.tiles, *batch.edge.partial()):
                database.execute(_TILE, tile)

    def _sign(self, edge: Edge, *keys: SigningKey) -> str:
        note = Checkpoint(self.key.name, edge.size, edge.root()).sign(*keys)
        self._open_database().execute(_CHECKPOINT, (edge.size, note))
        return note

    def _open_database(self) -> sqlite3.Connection:
        if self._database is None:
            raise WriteFailedError("the database is not open; it is reopened with the next attempt")
        return self._database

    # -- after a failure -----------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Reopen, check the log again, and show with a real transaction that the disk takes writes.

        INVARIANT: the log is what this process wrote, with or without the group whose commit failed: a commit that
        failed may have reached the disk. Anything else is damage.
        Raises WriteFailedError if it is still not possible, LogDamagedError if it will not be.
        """
        self._disconnect()
        try:
            state = self._connect(tail=WIDTH)
            self._check_same(state)
            self._probe(state)
        except (*TROUBLE, OSError) as error:
            raise self._explain(error) from error
        self._inflight, self._successor = [], None
        self.publish()

    def _check_same(self, state: State) -> None:
        database, size = self._open_database(), self.state.size
        before = database.execute("SELECT leaf_hash FROM entries WHERE seq = ?", (size - 1,)).fetchone()
        after = database.execute("SELECT leaf_hash FROM entries WHERE seq >= ? ORDER BY seq", (size,)).fetchall()
        same = (None if before is None else before[0]) == self.state.prev and state.size >= size
        if not same or [row[0] for row in after] not in ([], self._inflight):
            raise LogDamagedError(f"`{self._path}` is not what this process wrote; stop and run `verify`")

    def _probe(self, state: State) -> None:
        database = self._open_database()
        database.execute("BEGIN IMMEDIATE")
        try:
            for tile in state.edge.partial():
                database.execute(_TILE, tile)
            database.execute("INSERT OR REPLACE INTO meta VALUES ('log', ?)", (self.key.name,))
            # A checkpoint of this size may be there, signed by two keys: it is not made again.
            sealed, note = state.sealed, state.note
            if self._signable(state.size, sealed):
                sealed, note = state.size, self._sign(state.edge, self.key)
            database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise
        self.state = State(edge=state.edge, prev=state.prev, sealed=sealed, note=note)

    def _disconnect(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            try:
                database.close()
            except TROUBLE:
                pass  # what a broken disk says while it is let go changes nothing

    def close(self) -> None:
        """Fold the WAL into the database, close it and let the lock go. Never raises."""
        if self._database is not None:
            try:
                busy = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                self.purged = self.purged or not busy
            except TROUBLE:
                pass  # a reader holds the WAL, or the disk is full: the WAL stays beside the database, nothing is lost
        self._disconnect()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _roll_back(database: sqlite3.Connection) -> None:
    try:
        if database.in_transaction:
            database.execute("ROLLBACK")
    except TROUBLE:
        pass  # the error that led here is the one to report; the store is reopened before it is used again


def _nothing(batch: Batch) -> None:
    """The work of a transaction that only signs."""


def _insert(
    database: sqlite3.Connection, statements: Sequence[tuple[int, str]], rows: Sequence[tuple[object, ...]]
) -> None:
    left = rows
    for count, sql in statements:
        while len(left) >= count:
            database.execute(sql, [value for row in left[:count] for value in row])
            left = left[count:]
