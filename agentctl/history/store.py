"""Conversations in SQLite: sessions, and their turns.

Guarantee: when `begin_turn` returns, the user's message survives a crash and a power cut (WAL, synchronous=FULL);
`finish_turn` stores what followed it in one transaction, so a turn is either there as a whole or was interrupted.
The file is the owner's alone (0600 in a 0700 directory): conversations hold what was read.
"""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from agentctl.errors import HistoryError
from agentctl.events import TurnEnd
from agentctl.history.codec import dump, load
from agentctl.turns.messages import Message

__all__ = ["History", "StoredSession", "StoredTurn"]

_APPLICATION = 0x61677463  # "agtc" in the file's header: another program's database is not opened
_VERSION = 1
_SCHEMA = """
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, workspace TEXT, title TEXT
) STRICT;
CREATE TABLE turns (
  session TEXT NOT NULL REFERENCES sessions(id), n INTEGER NOT NULL, started_at INTEGER NOT NULL,
  user TEXT NOT NULL, ended_at INTEGER, end TEXT, messages TEXT,
  PRIMARY KEY (session, n), CHECK ((end IS NULL) = (messages IS NULL) AND (end IS NULL) = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session as a list shows it. Times are unix milliseconds."""

    id: str
    created_at: int
    workspace: str | None
    title: str | None
    turns: int
    last_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """A turn; `end` is None where it was never finished: it is running, or it was interrupted."""

    n: int
    started_at: int
    user: str
    ended_at: int | None
    end: TurnEnd | None
    messages: tuple[Message, ...]


class History:
    """The session database at `path`, made where it does not exist. `now` gives unix milliseconds."""

    def __init__(self, path: str, *, now: Callable[[], int]) -> None:
        """Raises HistoryError where the file is not ours alone, damaged, foreign or of another version."""
        self._path = path
        self._now = now
        _make_private(path)
        with self._errors():
            self._db = sqlite3.connect(path, timeout=5.0, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def create_session(self, id_: str, workspace: str | None) -> None:
        """Raises HistoryError."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO sessions (id, created_at, workspace) VALUES (?, ?, ?)", (id_, self._now(), workspace)
            )

    def sessions(self, limit: int = 100) -> list[StoredSession]:
        """The sessions used last, newest first. Raises HistoryError."""
        return self._sessions("", (), limit)

    def session(self, prefix: str) -> StoredSession:
        """The one session whose id begins so. Raises HistoryError where there is none, or several."""
        found = self._sessions("WHERE substr(s.id, 1, length(?)) = ?", (prefix, prefix), 2) if prefix else []
        if len(found) != 1:
            what = "several sessions begin with" if found else "there is no session"
            raise HistoryError(f"{what} `{prefix}`; give the whole id of one")
        return found[0]

    def begin_turn(self, session: str, user: str) -> int:
        """Store the user's message; the turn's number. The first one's first line is the title. Raises HistoryError."""
        with self._transaction():
            (last,) = self._db.execute("SELECT coalesce(max(n), 0) FROM turns WHERE session = ?", (session,)).fetchone()
            n = int(last) + 1
            self._db.execute(
                "INSERT INTO turns (session, n, started_at, user) VALUES (?, ?, ?, ?)", (session, n, self._now(), user)
            )
            if n == 1:
                line = user.strip().partition("\n")[0][:80]
                self._db.execute("UPDATE sessions SET title = ? WHERE id = ?", (line, session))
        return n

    def finish_turn(self, session: str, n: int, messages: tuple[Message, ...], end: TurnEnd) -> None:
        """Store what followed the user's message, once. Raises HistoryError."""
        with self._transaction():
            done = self._db.execute(
                "UPDATE turns SET ended_at = ?, end = ?, messages = ? WHERE session = ? AND n = ? AND end IS NULL",
                (self._now(), end.value, dump(messages), session, n),
            )
            if done.rowcount != 1:
                raise HistoryError(f"turn {n} of session `{session}` is not open; it was finished elsewhere")

    def turns(self, session: str) -> list[StoredTurn]:
        """The turns of a session in order. Raises HistoryError."""
        with self._errors():
            rows = self._db.execute(
                "SELECT n, started_at, user, ended_at, end, messages FROM turns WHERE session = ? ORDER BY n",
                (session,),
            ).fetchall()
        try:
            return [
                StoredTurn(
                    n=n,
                    started_at=started_at,
                    user=user,
                    ended_at=ended_at,
                    end=None if end is None else TurnEnd(end),
                    messages=() if messages is None else load(messages),
                )
                for n, started_at, user, ended_at, end, messages in rows
            ]
        except ValueError:
            raise HistoryError(f"a stored turn cannot be read; `{self._path}` is damaged") from None

    def _sessions(self, where: str, values: tuple[str, ...], limit: int) -> list[StoredSession]:
        with self._errors():
            rows = self._db.execute(
                "SELECT s.id, s.created_at, s.workspace, s.title, count(t.n), coalesce(max(t.started_at), s.created_at)"  # noqa: S608 - `where` is one of two constants above
                f" FROM sessions s LEFT JOIN turns t ON t.session = s.id {where}"
                " GROUP BY s.id ORDER BY 6 DESC, s.id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return [
            StoredSession(id=id_, created_at=created, workspace=workspace, title=title, turns=turns, last_at=last)
            for id_, created, workspace, title, turns, last in rows
        ]

    def _prepare(self) -> None:
        with self._errors():
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA fullfsync = ON")
        with self._transaction():
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if (application, version) == (_APPLICATION, _VERSION):
                return
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if application or version or tables:
                raise HistoryError(
                    f"`{self._path}` is no session database of this version; move it away to begin a new one"
                )
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise HistoryError(
                f"the session database `{self._path}` cannot be used ({error}); check the disk, or move it away"
            ) from None


def _make_private(path: str) -> None:
    """The file, and its directory where that is missing, for the owner alone; a link or another's file is refused.

    SQLite gives the files beside it (`-wal`, `-shm`) the mode of the database.
    """
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HistoryError(f"`{path}` cannot be opened ({error.strerror}); check it and its directory") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            raise HistoryError(f"`{path}` is not a plain file of yours alone; move it away")
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
