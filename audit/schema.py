"""The database: what is in it, how it is opened, and what every reader does before it believes a row."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from audit.errors import LogDamagedError, LogForeignError, ReadError

APPLICATION_ID: Final = 0x61756474
"""`audt`, in the database's header."""
FORMAT: Final = 2
"""`user_version` of the database's header. Format 1 lacked what is kept beside the records; a writer adds it."""

_ENTRIES: Final = (
    "CREATE TABLE entries(seq INTEGER PRIMARY KEY, leaf TEXT NOT NULL, leaf_hash BLOB NOT NULL, "
    "kind TEXT GENERATED ALWAYS AS (json_extract(leaf, '$.kind')) VIRTUAL, "
    "time INTEGER GENERATED ALWAYS AS (json_extract(leaf, '$.time')) VIRTUAL, "
    "session TEXT GENERATED ALWAYS AS (json_extract(leaf, '$.session')) VIRTUAL, "
    "agent TEXT GENERATED ALWAYS AS (json_extract(leaf, '$.agent')) VIRTUAL, "
    "call_id TEXT GENERATED ALWAYS AS (json_extract(leaf, '$.call_id')) VIRTUAL, "
    "ref INTEGER GENERATED ALWAYS AS (json_extract(leaf, '$.ref')) VIRTUAL) STRICT"
)
_MAX_VALUE: Final = 2 * 1024 * 1024  # bytes; what is private to a record, the largest there is, takes half of it
_BODY: Final = "json_extract(leaf, '$.body') AS body FROM entries"
_REFUSE: Final = "BEGIN SELECT raise(ABORT, 'entries are append-only'); END"
_BOTH: Final = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    _ENTRIES,
    "CREATE TABLE tiles(level INTEGER, idx INTEGER, hashes BLOB NOT NULL, PRIMARY KEY(level, idx)) STRICT",
    "CREATE TABLE checkpoints(size INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT",
    # Partial on purpose: a plain index on a column with few values tempts the planner away from the right one.
    "CREATE UNIQUE INDEX entries_call ON entries(call_id, kind) WHERE call_id IS NOT NULL",
    "CREATE INDEX entries_session ON entries(session, seq) WHERE session IS NOT NULL",
    "CREATE INDEX entries_ref ON entries(ref, kind) WHERE ref IS NOT NULL",
    # Against accidents only: whoever can write the file can drop a trigger.
    f"CREATE TRIGGER entries_update BEFORE UPDATE ON entries {_REFUSE}",
    f"CREATE TRIGGER entries_delete BEFORE DELETE ON entries {_REFUSE}",
    f"CREATE VIEW records AS SELECT seq, time, kind, session, agent, call_id, ref, {_BODY}",
)
_DECISIONS_1: Final = (
    f"CREATE VIEW decisions AS SELECT seq, time, session, agent, call_id, {_BODY} WHERE kind = 'decision'"
)
_DECISIONS: Final = (
    "CREATE VIEW decisions AS SELECT seq, strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS at, "
    "json_extract(leaf, '$.body.decision') AS decision, json_extract(leaf, '$.body.tier') AS tier, "
    "json_extract(leaf, '$.body.type') AS type, json_extract(leaf, '$.body.rule') AS rule, "
    "json_extract(leaf, '$.body.reason') AS reason, session, agent, call_id, ref, "
    f"{_BODY} WHERE kind = 'decision'"
)
_ADDED: Final = (
    # What a leaf must not hold, sealed with keys that can be destroyed; deleting it changes no leaf.
    "CREATE TABLE private(seq INTEGER PRIMARY KEY, session TEXT NOT NULL, sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE private_keys(session TEXT PRIMARY KEY, wrapped BLOB NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX entries_marks ON entries(seq) WHERE kind IN ('key.rotate', 'log.open')",
    "CREATE INDEX entries_refused ON entries(seq) WHERE json_extract(leaf, '$.body.decision') <> 'ALLOW'",
    _DECISIONS,
)
OBJECTS: Final = (*_BOTH, *_ADDED)
FORMATS: Final = {1: (*_BOTH, _DECISIONS_1), FORMAT: OBJECTS}
_UPGRADE: Final = ("DROP VIEW decisions", *_ADDED, f"PRAGMA user_version = {FORMAT}")
_AUTOMATIC: Final = {("index", "sqlite_autoindex_tiles_1", "tiles", None)}


def _expected(version: int) -> set[tuple[str | None, ...]]:
    found: set[tuple[str | None, ...]] = set(_AUTOMATIC)
    for sql in FORMATS[version]:
        words = sql.replace("UNIQUE ", "").split()
        kind, name = words[1].lower(), words[2].partition("(")[0]
        owner = words[words.index("ON") + 1].partition("(")[0] if kind in {"index", "trigger"} else name
        found.add((kind, name, owner, sql))
    return found


def check_schema(database: sqlite3.Connection) -> int:
    """The database's format. Raises LogForeignError unless this is an audit log of a known format, LogDamagedError if
    its objects were changed.

    A forged view, index or trigger lies to whoever queries, so every object's SQL is compared.
    """
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    if application != APPLICATION_ID:
        raise LogForeignError("the database is not an audit log; check the path")
    if version not in FORMATS:
        raise LogForeignError(f"the log has format {version}, this program reads up to {FORMAT}; use a newer one")
    rows = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    found = {tuple(None if value is None else read_text(value) for value in row) for row in rows}
    if found != _expected(version):
        names = sorted({str(row[1]) for row in found ^ _expected(version)})
        raise LogDamagedError(
            f"the database's schema was changed at `{', '.join(names)[:200]}`; keep a copy and verify it"
        )
    return version


def upgrade(database: sqlite3.Connection) -> None:
    """Bring a checked database of format 1 to the newest, in one transaction; no record is touched."""
    database.execute("BEGIN IMMEDIATE")
    try:
        for sql in _UPGRADE:
            database.execute(sql)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def harden(database: sqlite3.Connection) -> None:
    """Settings for a file that somebody else may have prepared.

    Not `trusted_schema = OFF`: SQLite before 3.41 counts `json_extract` in a generated column as unsafe. Instead the
    schema is compared with the known one before anything in it is used.
    """
    database.execute("PRAGMA cell_size_check = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
    database.text_factory = bytes


def read_text(value: object) -> str:
    """A TEXT value as the database returned it. Raises LogDamagedError if it is no UTF-8 text."""
    if not isinstance(value, bytes):
        raise LogDamagedError("a text of the database has another type; keep a copy and verify it")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise LogDamagedError("a text of the database is not UTF-8; keep a copy and verify it") from error


def read_leaf(value: object, seq: object) -> bytes:
    """The leaf of record `seq` as the database returned it. Raises LogDamagedError if it is none: of a damaged page
    SQLite makes NULL."""
    if not isinstance(value, bytes):
        raise LogDamagedError(f"record {seq} is damaged; run `verify`")
    return value


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection that outlives no `with`; SQLite's errors leave it as ReadError or LogDamagedError.

    Works next to a running writer and, for a finished copy, in a directory that cannot be written.
    """
    if not os.path.isfile(path):
        raise ReadError(f"there is no database at `{path}`")
    database = _connect(path)
    try:
        yield database
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise translate(error, path) from error
    except (OverflowError, UnicodeEncodeError) as error:  # what SQLite cannot even be asked
        raise ReadError("a number or text to look for is nothing that a record can hold") from error
    finally:
        database.close()


def check_files(path: Path) -> None:
    """Raise ReadError where what SQLite opens beside the database is no regular file: a pipe would hold it for ever.

    Also raises OSError.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        try:
            found = os.lstat(f"{path}{suffix}") if suffix else os.stat(path)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(found.st_mode):
            raise ReadError(f"`{path}{suffix}` is no regular file; keep a copy of what is there and remove it")


def _connect(path: Path) -> sqlite3.Connection:
    try:
        check_files(path)
    except OSError as error:
        raise ReadError(f"cannot look at `{error.filename}`: {error.strerror}") from error
    plain = f"file:{quote(os.path.abspath(path))}?mode=ro"
    # A WAL database cannot be opened where its -shm file can be neither found nor made. Only without a WAL is the
    # file alone the whole log, and only then may it be read as immutable.
    finished = not os.path.exists(f"{path}-wal") or os.path.getsize(f"{path}-wal") == 0
    for uri in (plain, f"{plain}&immutable=1") if finished else (plain,):
        database = None
        try:
            database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
            harden(database)
            database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if database is not None:
                database.close()
            if _code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                raise translate(error, path) from error
        else:
            return database
    raise ReadError(f"cannot open `{path}`; copy it with its `-wal` file to a directory you can write")


def translate(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> ReadError | LogDamagedError | LogForeignError:
    """The error of this package that says what SQLite's means for a reader."""
    code = _code(error)
    if code == sqlite3.SQLITE_NOTADB:
        return LogForeignError(f"`{path}` is not a database; check the path")
    if code == sqlite3.SQLITE_TOOBIG:
        return LogDamagedError(f"`{path}` holds a value larger than any of a log; keep a copy and verify it")
    if code == sqlite3.SQLITE_CORRUPT:
        return LogDamagedError(f"`{path}` is damaged: {error}; keep a copy and restore a backup")
    return ReadError(f"cannot read `{path}`: {error}")


def _code(error: sqlite3.Error | UnicodeDecodeError) -> int:
    # SQLite's words for a damaged schema quote it, and are then not always UTF-8 that Python can put into an error
    return (
        sqlite3.SQLITE_CORRUPT
        if isinstance(error, UnicodeDecodeError)
        else getattr(error, "sqlite_errorcode", 0) & 0xFF
    )
