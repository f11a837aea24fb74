"""The writer's files beside its tables: the lock, the newest checkpoint, and a log's first moment."""

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Final

from audit.checkpoint import Checkpoint
from audit.durable import sync
from audit.errors import LogBusyError, LogDamagedError, LogExistsError, LogMissingError, WriteFailedError
from audit.keyfiles import sync_directory
from audit.merkle import EMPTY_ROOT
from audit.note import MAX_NOTE, SigningKey
from audit.schema import APPLICATION_ID, FORMAT, OBJECTS

_TAKEN: Final = "`{}` exists; a new log never replaces one, move the old files away together"


class CheckpointFile:
    """The newest checkpoint in a file of its own, better on another disk: what a log must at least hold."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str | None:
        """The note, None if there is no file. Raises LogDamagedError, OSError."""
        try:
            with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                return file.read(MAX_NOTE + 1).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise LogDamagedError(f"`{self.path}` is no checkpoint; put back a copy") from error

    def write(self, note: str) -> None:
        """Put `note` in the place of the one before, durably. Raises WriteFailedError."""
        draft = Path(f"{self.path}.new")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(draft, flags, 0o600), "wb") as file:
                file.write(note.encode())
                file.flush()
                sync(file.fileno())
            os.rename(draft, self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise WriteFailedError(
                f"cannot write the checkpoint to `{self.path}`: {error.strerror or error}; make room for it"
            ) from error


def take_lock(path: Path, *, create: bool) -> int:
    """The descriptor that makes this process the log's one writer. Raises LogMissingError, LogBusyError, OSError."""
    if not create and not is_there(path):
        raise LogMissingError(f"there is no log at `{path}`; restore it, or begin a new one on purpose")
    # A file of its own: closing any descriptor of the database would drop SQLite's locks on it.
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise LogBusyError(f"another process writes `{path}`; stop it first") from error
    return lock


def create_log(path: Path, checkpoint_file: Path, key: SigningKey) -> None:
    """Make an empty log, signed from its first moment. Raises LogExistsError, OSError, sqlite3.Error."""
    for taken in (path, checkpoint_file):
        if is_there(taken):
            raise LogExistsError(_TAKEN.format(taken))
    sync_directory(checkpoint_file.parent)  # fails before anything is made if it is not there
    # Built aside and renamed: a crash leaves either no log or a whole empty one.
    draft = Path(f"{path}.new")
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
        database.execute("INSERT INTO meta VALUES ('log', ?)", (key.name,))
        database.execute("INSERT INTO checkpoints VALUES (0, ?)", (Checkpoint(key.name, 0, EMPTY_ROOT).sign(key),))
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("COMMIT")
    finally:
        database.close()
    try:
        os.link(draft, path)  # as a rename would, but never in the place of another
    except FileExistsError as error:
        raise LogExistsError(_TAKEN.format(path)) from error
    os.unlink(draft)
    sync_directory(path.parent)


def is_there(path: Path | str) -> bool:
    """Whether anything is at `path`. Raises OSError where that cannot be told: absence is a reason to begin anew."""
    return _identity(path) is not None


def places(path: Path) -> list[tuple[int, int] | None]:
    """Which files the paths of a database and its WAL lead to now. Raises OSError."""
    return [_identity(path), _identity(f"{path}-wal")]


def _identity(path: Path | str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
