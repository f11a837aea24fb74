"""The writer's side of the database. Only `audit.log` uses it, from one thread.

Guarantee: when `commit` returns, its rows, their tiles and (if due) a checkpoint are one committed transaction in a
WAL that was synced (`synchronous=FULL`); when it raises, nothing was acknowledged and the store must be recovered
before it is used again, because a failed commit may still have reached the disk.

What a commit asks of the kernel, in order: write the WAL frames, fdatasync the WAL; only then does the caller answer.
The newest checkpoint follows into its own file: write, fsync, rename, fsync of the directory.
"""

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from audit.batch import Batch, Result, Stamp
from audit.checkpoint import Checkpoint
from audit.entry import Encoded
from audit.errors import (
    AuditError,
    LogBusyError,
    LogDamagedError,
    LogExistsError,
    LogForeignError,
    LogMissingError,
    WriteFailedError,
)
from audit.kinds import KindTable
from audit.merkle import WIDTH, Edge
from audit.note import MAX_NOTE, SigningKey
from audit.schema import APPLICATION_ID, FORMAT, OBJECTS, check_schema, harden, translate, upgrade
from audit.state import TAIL, State, load

_INSERTS: Final = tuple(
    (rows, f"INSERT INTO entries(seq, leaf, leaf_hash) VALUES {','.join(['(?,?,?)'] * rows)}")  # noqa: S608 - fixed text
    for rows in (64, 32, 16, 8, 4, 2, 1)
)
_TILE: Final = "INSERT OR REPLACE INTO tiles VALUES (?, ?, ?)"
_CHECKPOINT: Final = "INSERT OR IGNORE INTO checkpoints VALUES (?, ?)"


class Store:
    """One open database, its lock and the state of its log. `opened` is the state in which it was found."""

    def __init__(self, path: Path, *, key: SigningKey, checkpoint_file: Path, kinds: KindTable, create: bool) -> None:
        """Take the lock, make the log if asked to, check it and load it. Raises LogError."""
        self._path = path
        self._key = key
        self._checkpoint_file = checkpoint_file
        self._kinds = kinds
        self._lock: int | None = None
        self._database: sqlite3.Connection | None = None
        self._inflight: list[bytes] = []
        self._places: list[tuple[int, int] | None] = []
        try:
            self._take_lock(create=create)
            if create:
                self._create()
            self.state = self.opened = self._connect(tail=TAIL)
            if self._read_file() != self.state.note:
                self.publish()
        except BaseException as error:
            self.close()
            raise self._explain(error) from error

    # -- opening -------------------------------------------------------------------------------------------------

    def _explain(self, error: BaseException) -> BaseException:
        if isinstance(error, sqlite3.Error):
            found: AuditError = translate(error, self._path)
            return found if isinstance(found, LogDamagedError | LogForeignError) else WriteFailedError(str(found))
        if isinstance(error, OSError):
            return WriteFailedError(f"cannot use `{error.filename or self._path}`: {error.strerror or error}")
        return error

    def _take_lock(self, *, create: bool) -> None:
        if not create and not os.path.lexists(self._path):
            raise LogMissingError(f"there is no log at `{self._path}`; restore it, or begin a new one on purpose")
        # A file of its own: closing any descriptor of the database would drop SQLite's locks on it.
        self._lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LogBusyError(f"another process writes `{self._path}`; stop it first") from error

    def _create(self) -> None:
        for path in (self._path, self._checkpoint_file):
            if os.path.lexists(path):
                raise LogExistsError(f"`{path}` exists; a new log never replaces one, move the old files away together")
        _sync_directory(self._checkpoint_file.parent)  # fails before anything is made if it is not there
        # Built aside and renamed: a crash leaves either no log or a whole empty one.
        draft = Path(f"{self._path}.new")
        for leftover in (draft, Path(f"{draft}-journal")):
            leftover.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(draft, isolation_level=None)
        try:
            for setting in ("synchronous = FULL", "fullfsync = ON"):
                database.execute(f"PRAGMA {setting}")
            database.execute("BEGIN IMMEDIATE")
            for sql in OBJECTS:
                database.execute(sql)
            database.execute("INSERT INTO meta VALUES ('log', ?)", (self._key.name,))
            # Signed from the first moment: no stage of a log's life is without a checkpoint.
            database.execute(_CHECKPOINT, (0, Checkpoint(self._key.name, 0, Edge().root()).sign(self._key)))
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {FORMAT}")
            database.execute("COMMIT")
        finally:
            database.close()
        os.rename(draft, self._path)
        _sync_directory(self._path.parent)

    def _connect(self, *, tail: int) -> State:
        database = sqlite3.connect(
            self._path, isolation_level=None, timeout=5.0, check_same_thread=False, cached_statements=64
        )
        self._database = database
        harden(database)
        version = check_schema(database)
        database.execute("PRAGMA journal_mode = WAL")
        for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
            database.execute(f"PRAGMA {setting}")
        if version != FORMAT:
            upgrade(database)
        state = load(
            database, self._key.verifier, outside=self._read_file(), outside_path=self._checkpoint_file, tail=tail
        )
        self._places = self._find_places()
        return state

    def _find_places(self) -> list[tuple[int, int] | None]:
        """Which files the paths of the database and its WAL lead to now."""
        return [_identity(Path(f"{self._path}{suffix}")) for suffix in ("", "-wal")]

    def _read_file(self) -> str | None:
        try:
            with open(os.open(self._checkpoint_file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                return file.read(MAX_NOTE + 1).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise LogDamagedError(f"`{self._checkpoint_file}` is no checkpoint; put back a copy") from error

    # -- writing -------------------------------------------------------------------------------------------------

    def commit(self, drafts: Sequence[Encoded], stamp: Stamp, *, seal: bool) -> list[Result]:
        """Write a group in one transaction. Raises WriteFailedError, LogDamagedError: then nothing is acknowledged.

        The unique index finds a repeated `call_id`; the group is then built again with every one looked up.
        """
        try:
            try:
                return self._transact(drafts, stamp, seal=seal, careful=False)
            except sqlite3.IntegrityError:
                return self._transact(drafts, stamp, seal=seal, careful=True)
        except sqlite3.Error as error:
            raise WriteFailedError(f"cannot write `{self._path}`: {error}; free the disk or replace it") from error

    def seal(self) -> None:
        """Sign the log as it stands, if it is not. Raises WriteFailedError; `publish` is a second step."""
        if self.state.sealed != self.state.size:
            self.commit((), Stamp(0, 0, ""), seal=True)

    def publish(self) -> None:
        """Write the newest checkpoint to its own file, durably. Raises WriteFailedError."""
        draft = Path(f"{self._checkpoint_file}.new")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(draft, flags, 0o600), "wb") as file:
                file.write(self.state.note.encode())
                file.flush()
                _sync(file.fileno())
            os.rename(draft, self._checkpoint_file)
            _sync_directory(self._checkpoint_file.parent)
        except OSError as error:
            raise WriteFailedError(
                f"cannot write the checkpoint to `{self._checkpoint_file}`: {error.strerror or error}; make room for it"
            ) from error

    def _transact(self, drafts: Sequence[Encoded], stamp: Stamp, *, seal: bool, careful: bool) -> list[Result]:
        database = self._open_database()
        database.execute("BEGIN IMMEDIATE")
        try:
            found = database.execute("SELECT coalesce(max(seq) + 1, 0) FROM entries").fetchone()[0]
            if found != self.state.size:
                raise LogDamagedError(f"somebody else wrote `{self._path}` since it was opened; stop and run `verify`")
            if self._find_places() != self._places:
                # SQLite would go on writing files that nobody can find any more.
                raise LogDamagedError(f"`{self._path}` or its WAL was moved or replaced; put it back and restart")
            batch = Batch(
                database,
                self.state,
                log=self._key.name,
                kinds=self._kinds,
                opened_at=self.opened.size,
                careful=careful,
            )
            batch.add(drafts, stamp)
            self._inflight = [digest for _, _, digest in batch.rows]
            self._write(batch)
            sealed, note = self.state.sealed, self.state.note
            if seal and batch.edge.size != sealed:
                sealed, note = batch.edge.size, self._sign(batch.edge)
            database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise
        self._inflight = []
        self.state = State(edge=batch.edge, prev=batch.prev, sealed=sealed, note=note)
        return batch.results

    def _write(self, batch: Batch) -> None:
        # INVARIANT: few statements. Each gives up the interpreter and must win it back from a busy event loop.
        database = self._open_database()
        left = batch.rows
        for rows, sql in _INSERTS:
            while len(left) >= rows:
                database.execute(sql, [value for row in left[:rows] for value in row])
                left = left[rows:]
        if batch.rows:
            for tile in (*batch.tiles, *batch.edge.partial()):
                database.execute(_TILE, tile)

    def _sign(self, edge: Edge) -> str:
        note = Checkpoint(self._key.name, edge.size, edge.root()).sign(self._key)
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
        except (sqlite3.Error, OSError) as error:
            raise self._explain(error) from error
        self._inflight = []
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
            database.execute("INSERT OR REPLACE INTO meta VALUES ('log', ?)", (self._key.name,))
            note = self._sign(state.edge)
            database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise
        self.state = State(edge=state.edge, prev=state.prev, sealed=state.size, note=note)

    def _disconnect(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            try:
                database.close()
            except sqlite3.Error:
                pass  # what a broken disk says while it is let go changes nothing

    def close(self) -> None:
        """Fold the WAL into the database, close it and let the lock go. Never raises."""
        if self._database is not None:
            try:
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error:
                pass  # a reader holds the WAL, or the disk is full: the WAL stays beside the database, nothing is lost
        self._disconnect()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _roll_back(database: sqlite3.Connection) -> None:
    try:
        if database.in_transaction:
            database.execute("ROLLBACK")
    except sqlite3.Error:
        pass  # the error that led here is the one to report; the store is reopened before it is used again


def _sync(descriptor: int) -> None:
    # macOS: fsync leaves the data in the drive's cache.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
