"""`state.db`: questions to people.

One SQLite file, WAL, `synchronous=FULL`, one process. A row is durable when the call that wrote it returns.

A person cannot judge what they do not see, so an open question holds its whole action in clear, secrets included. Once
it is settled the action is nobody's business any more: it goes from the row, the file's free space and the WAL.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from shield.errors import Reason, RefusedError, StateError
from shield.types import Approval, ApprovalState, Json, Scope

__all__ = ["StateStore"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS approvals (
  id TEXT PRIMARY KEY, state TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  request TEXT NOT NULL, facts TEXT NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL, scopes TEXT NOT NULL,
  pattern TEXT, evaluation TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, answered_by TEXT, note TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS approvals_by_state ON approvals (state, created_at);
"""
_VERSION = 1
KEPT = 1_000  # settled questions, the newest: without their actions, a few hundred bytes each
_CLEARED = "request='{}', facts='{}', pattern=NULL"
_COLUMNS = (
    "id, state, created_at, expires_at, request, facts, rule, reason, scopes, pattern, evaluation, session, agent, "
    "answered_by, note"
)


class StateStore:
    """The one connection to `state.db`, safe to call from several threads."""

    def __init__(self, connection: sqlite3.Connection, *, kept: int) -> None:
        self._connection = connection
        self._kept = kept
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str, *, kept: int = KEPT) -> "StateStore":
        """Open or create; at most `kept` settled questions stay in it.

        Raises StateError where the file is damaged or of another version.
        """
        try:
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise StateError(
                    f"`{path}` has version {version}, this Shield reads {_VERSION}; use the Shield that wrote it"
                )
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version={_VERSION}")
        except sqlite3.Error as error:
            raise StateError(f"`{path}` cannot be opened: {error}; {_advice(error)}") from None
        return cls(connection, kept=kept)

    def close(self) -> None:
        """Close the file; every later call raises StateError."""
        with self._lock:
            self._connection.close()

    # --- approvals ---------------------------------------------------------------------------------------------------

    def add_approval(self, approval: Approval) -> None:
        """Store a new question."""
        row = (
            approval.id,
            approval.state.value,
            approval.created_at,
            approval.expires_at,
            json.dumps(approval.request),
            json.dumps(approval.facts),
            approval.rule,
            approval.reason,
            ",".join(scope.value for scope in approval.scopes),
            approval.pattern,
            approval.evaluation,
            approval.session,
            approval.agent,
            approval.answered_by,
            approval.note,
        )
        with self._writing() as cursor:
            cursor.execute(f"INSERT INTO approvals ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", row)  # noqa: S608  # constant columns

    def settle_approval(
        self, approval_id: str, state: ApprovalState, *, by: str | None, note: str | None
    ) -> tuple[Approval, bool]:
        """Move a pending question to `state`, once. Returns the row as it now is, and whether this call changed it.

        Its action and facts are gone with that; where the disk has no room to fold the WAL, with the next one that is
        settled. Raises RefusedError `approval.unknown`.
        """
        with self._writing() as cursor:
            cursor.execute(
                f"UPDATE approvals SET state=?, answered_by=?, note=?, {_CLEARED} WHERE id=? AND state='pending'",  # noqa: S608  # constant text
                (state.value, by, note, approval_id),
            )
            changed = cursor.rowcount == 1
            self._prune(cursor)
        # INVARIANT: what is committed counts, so it is never told as failed: who said yes and heard of an error would
        # take it back, and the yes would stand
        with suppress(StateError):
            self._fold()
        return self.approval(approval_id), changed

    def approval(self, approval_id: str) -> Approval:
        """One question. Raises RefusedError `approval.unknown`."""
        rows = list(self._approvals("WHERE id=?", (approval_id,)))
        if not rows:
            raise RefusedError(
                f"there is no approval `{approval_id[:64]}`; `shield approvals list` names the open ones",
                reason=Reason.APPROVAL_UNKNOWN,
            )
        return rows[0]

    def pending_approvals(self) -> tuple[Approval, ...]:
        """Open questions, oldest first."""
        return tuple(self._approvals("WHERE state='pending' ORDER BY created_at, id", ()))

    def expire_pending(self) -> int:
        """Close every open question: those of a Shield that is gone can no longer lead to a permit."""
        with self._writing() as cursor:
            cursor.execute("UPDATE approvals SET state='expired' WHERE state='pending'")
            closed = cursor.rowcount
            # those, and what a Shield that did not clear them has left
            cursor.execute(f"UPDATE approvals SET {_CLEARED} WHERE request<>'{{}}' OR facts<>'{{}}'")  # noqa: S608  # constant text
            self._prune(cursor)
        self._fold()
        return closed

    def _prune(self, cursor: sqlite3.Cursor) -> None:
        cursor.execute(
            "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE state<>'pending'"
            " ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ?)",
            (self._kept,),
        )

    def _fold(self) -> None:
        """Take the WAL into the file and empty it: it holds what the rows were before."""
        try:
            with self._lock:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            raise StateError(f"the state database cannot be written: {error}; free space, then try again") from None

    def _approvals(self, where: str, values: tuple[Any, ...]) -> Iterator[Approval]:
        try:
            with self._lock:
                rows = self._connection.execute(f"SELECT {_COLUMNS} FROM approvals {where}", values).fetchall()  # noqa: S608  # constant text
        except sqlite3.Error as error:
            raise StateError(f"the state database cannot be read: {error}") from None
        for row in rows:
            yield Approval(
                id=row[0],
                state=ApprovalState(row[1]),
                created_at=row[2],
                expires_at=row[3],
                request=_object(row[4]),
                facts=_object(row[5]),
                rule=row[6],
                reason=row[7],
                scopes=tuple(Scope(word) for word in row[8].split(",") if word),
                pattern=row[9],
                evaluation=row[10],
                session=row[11],
                agent=row[12],
                answered_by=row[13],
                note=row[14],
            )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Cursor]:
        try:
            with self._lock:
                cursor = self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield cursor
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StateError(f"the state database cannot be written: {error}; free space, then try again") from None


def _advice(error: sqlite3.Error) -> str:
    # the low byte is the primary code (sqlite.org/rescode.html)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return "free space, or make the disk writable, and start again"
    return "move it away to start without open questions"


def _object(text: str) -> Mapping[str, Json]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise StateError("the state database holds a row of another shape; restore it from a backup")
    return value
