"""Destroying what is kept beside records: which rows go, and what the record of it says.

Rows are deleted, and with them the key of every session concerned: what a session has left is sealed anew under a fresh
one. SQLite moves rows between pages and leaves copies of them in unused space, which `secure_delete` does not reach;
nothing opens those without the old key. No leaf, tile or checkpoint changes.
"""

import json
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, Final

from audit.errors import PrivateError
from audit.private import Vault
from audit.schema import check_schema, read_text, reading

REDACTED: Final = "redacted"
"""The member of the record's body that is written here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Beside which records everything is destroyed; all that is given must hold, and something must be given.

    `first` ≤ seq ≤ `last`; `seqs`: these; `session`: of this session (`""`: of none); `until`: recorded before this
    time, in ms.
    """

    first: int | None = None
    last: int | None = None
    seqs: tuple[int, ...] | None = None
    session: str | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        numbers = (self.first, self.last, self.until, *(self.seqs or ()))
        if any(type(one) is not int for one in numbers if one is not None) or type(self.session) not in {str, NoneType}:
            raise PrivateError("what to redact is said in whole numbers, and a session by its name")


@dataclass(frozen=True, slots=True)
class Redacted:
    """What went: the first and last record concerned, how many of them, and how many sessions lost their key."""

    first: int
    last: int
    records: int
    sessions: int

    def as_json(self) -> dict[str, int]:
        """The member `redacted` of the record's body."""
        return {"first": self.first, "last": self.last, "records": self.records, "sessions": self.sessions}


def count(path: Path, where: Redaction) -> Redacted:
    """What `destroy` would find in the log at `path`; no session's key is counted. Raises as that, and ReadError."""
    with reading(path) as database:
        if check_schema(database) < 2:
            raise PrivateError("a log of format 1 keeps nothing beside its records")
        return _count(database, *_chosen(where))


def destroy(database: sqlite3.Connection, where: Redaction, vault: Vault | None) -> Redacted:
    """Delete the rows, in the caller's transaction, with `secure_delete` on, and give the sessions that keep others a
    new key, which needs the `vault`. The caller rolls back what raises, and lets the vault forget what it knew.

    Raises PrivateError if there are none, or where a key has to be changed and cannot be; LogDamagedError.
    """
    chosen, values = _chosen(where)
    found = _count(database, chosen, values)
    # Only fixed clauses are joined.
    named = database.execute(f"SELECT DISTINCT session FROM private WHERE {chosen}", values)  # noqa: S608 - fixed text
    touched = [read_text(name) for (name,) in named]
    database.execute(f"DELETE FROM private WHERE {chosen}", values)  # noqa: S608 - fixed text
    gone = _drop_keys(database)
    _renew_keys(database, touched, vault)
    _rewrite_keys(database)
    return replace(found, sessions=gone)


def _chosen(where: Redaction) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    for clause, value in (
        ("seq >= ?", where.first),
        ("seq <= ?", where.last),
        ("seq IN (SELECT value FROM json_each(?))", None if where.seqs is None else json.dumps(where.seqs)),
        ("session = ?", where.session),
        ("(SELECT time FROM entries WHERE entries.seq = private.seq) < ?", where.until),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if not clauses:
        raise PrivateError("say beside which records to redact; everything is `first=0`")
    return " AND ".join(clauses), values


def _count(database: sqlite3.Connection, chosen: str, values: list[Any]) -> Redacted:
    # Only the fixed clauses above are joined; every value is bound.
    sql = f"SELECT min(seq), max(seq), count(*) FROM private WHERE {chosen}"  # noqa: S608 - fixed text
    try:
        first, last, records = database.execute(sql, values).fetchone()
    except (OverflowError, UnicodeEncodeError) as error:
        raise PrivateError("a number or text to look for is nothing that a record can hold") from error
    if not records:
        raise PrivateError("nothing is kept beside any of these records; nothing was redacted")
    return Redacted(first, last, records, 0)


def _drop_keys(database: sqlite3.Connection) -> int:
    """Delete the keys of sessions beside whose records nothing is kept any more; returns how many."""
    sql = "DELETE FROM private_keys WHERE session NOT IN (SELECT session FROM private)"
    return database.execute(sql).rowcount


def _renew_keys(database: sqlite3.Connection, sessions: list[str], vault: Vault | None) -> None:
    """A new key for each of the sessions that still has one, and everything left of it sealed anew."""
    sql = "SELECT session FROM private_keys WHERE session IN (SELECT value FROM json_each(?))"
    left = [read_text(name) for (name,) in database.execute(sql, (json.dumps(sessions),))]
    if not left:
        return
    if vault is None:
        raise PrivateError(
            f"the session `{left[0]}` keeps more than that, and sealing the rest anew needs the master key; give it "
            "or redact the whole session"
        )
    vault.renew(database, left)


def _rewrite_keys(database: sqlite3.Connection) -> None:
    """Leave no copy of a wrapped key that went: deleting all rows clears whole pages, their unused space too."""
    kept = database.execute("SELECT session, wrapped FROM private_keys").fetchall()
    database.execute("DELETE FROM private_keys")
    for session, wrapped in kept:
        database.execute("INSERT INTO private_keys VALUES (CAST(? AS TEXT), ?)", (session, wrapped))
