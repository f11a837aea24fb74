"""What is kept beside the records, sealed so that it can be destroyed (SPEC.md, section 5.1).

A session key seals each content, the master key wraps the session keys; the master key is no part of the log. Deleting
a row, or the wrapped key of a session, makes its content unreadable and changes no record.
"""

import json
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from audit.entry import SALT, Private
from audit.errors import KeyFileError, LogDamagedError, LogForeignError, PrivateError
from audit.keyfiles import make_directory, read_file, sync_directory, write_file
from audit.schema import check_schema, read_text, reading

FILE: Final = "private.key"
"""The master key's file in the log's key directory: 64 hex digits and a newline."""
KEY: Final = 32
NONCE: Final = 12
BATCH: Final = 256
"""Rows looked up at a time where a session's key is changed; they are sealed one by one."""
CACHED: Final = 1024
"""Session keys held in memory, of the sessions that wrote last."""

Entropy = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class MasterKey:
    """32 bytes that open everything kept beside the records; AES-256-GCM."""

    raw: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.raw) != KEY:
            raise KeyFileError(f"a master key is {KEY} bytes")

    def wrap(self, key: bytes, *, log: str, session: str, entropy: Entropy = os.urandom) -> bytes:
        """The session key as `private_keys` holds it."""
        return _seal(self.raw, key, f"{log} {session}", entropy)

    def unwrap(self, wrapped: bytes, *, log: str, session: str) -> bytes:
        """The session key. Raises PrivateError."""
        key = _open(self.raw, wrapped, f"{log} {session}")
        if key is None or len(key) != KEY:
            raise PrivateError(
                f"the key of the session `{session}` does not open with this master key; get the right `{FILE}`, "
                "or redact the session"
            )
        return key


class Vault:
    """The writer's session keys. What is new counts only once the transaction that holds it is committed."""

    def __init__(self, log: str, master: MasterKey, entropy: Entropy = os.urandom) -> None:
        self._log = log
        self._master = master
        self._entropy = entropy
        self._keys: OrderedDict[str, AESGCM] = OrderedDict()

    def check(self, database: sqlite3.Connection) -> None:
        """Raise LogForeignError if what is kept already is another master key's."""
        row = database.execute("SELECT session, wrapped FROM private_keys LIMIT 1").fetchone()
        if row is not None:
            try:
                self._master.unwrap(row[1], log=self._log, session=read_text(row[0]))
            except PrivateError as error:
                raise LogForeignError(str(error)) from error

    def seal(
        self, database: sqlite3.Connection, rows: Sequence[tuple[int, str, Private]]
    ) -> list[tuple[int, str, bytes]]:
        """The rows of `private` for (seq, session, content), with whatever session keys they need written.

        Raises PrivateError if a session's key does not open: what is sealed with a key nobody has would be lost.
        """
        return [
            (seq, session, self._sealed(self._key(database, session), private, f"{self._log} {seq}"))
            for seq, session, private in rows
        ]

    def renew(self, database: sqlite3.Connection, sessions: Sequence[str]) -> None:
        """Give each session a new key, and seal what is kept of it under that, in the caller's transaction.

        A row that the old key does not open stays as it is: nobody could read it before. The keys in memory are not
        touched: `forget` once it is committed. Raises PrivateError if a session's key does not open.
        """
        keys: dict[str, tuple[bytes, AESGCM]] = {}
        for session in sessions:
            row = database.execute("SELECT wrapped FROM private_keys WHERE session = ?", (session,)).fetchone()
            old, new = self._master.unwrap(row[0], log=self._log, session=session), self._entropy(KEY)
            wrapped = self._master.wrap(new, log=self._log, session=session, entropy=self._entropy)
            database.execute("UPDATE private_keys SET wrapped = ? WHERE session = ?", (wrapped, session))
            keys[session] = old, AESGCM(new)
        sql = (
            "SELECT seq, session FROM private WHERE seq > ? AND session IN (SELECT value FROM json_each(?)) "
            "ORDER BY seq LIMIT ?"
        )
        names, last = json.dumps(sessions), -(2**63)
        while rows := database.execute(sql, (last, names, BATCH)).fetchall():
            for seq, name in rows:
                self._reseal(database, seq, *keys[read_text(name)])
            last = rows[-1][0]

    def _reseal(self, database: sqlite3.Connection, seq: int, old: bytes, new: AESGCM) -> None:
        place = f"{self._log} {seq}"
        sealed = database.execute("SELECT sealed FROM private WHERE seq = ?", (seq,)).fetchone()[0]
        plain = _open(old, sealed, place)
        if plain is not None:
            nonce = self._entropy(NONCE)
            fresh = nonce + new.encrypt(nonce, plain, place.encode())
            database.execute("UPDATE private SET sealed = ? WHERE seq = ?", (fresh, seq))

    def forget(self) -> None:
        """The database may not hold what this remembers: a transaction failed, or rows were deleted."""
        self._keys.clear()

    def _sealed(self, key: AESGCM, private: Private, place: str) -> bytes:
        nonce = self._entropy(NONCE)
        return nonce + key.encrypt(nonce, private.salt + private.content, place.encode())

    def _key(self, database: sqlite3.Connection, session: str) -> AESGCM:
        known = self._keys.get(session)
        if known is not None:
            self._keys.move_to_end(session)
            return known
        row = database.execute("SELECT wrapped FROM private_keys WHERE session = ?", (session,)).fetchone()
        if row is None:
            raw = self._entropy(KEY)
            wrapped = self._master.wrap(raw, log=self._log, session=session, entropy=self._entropy)
            database.execute("INSERT INTO private_keys VALUES (?, ?)", (session, wrapped))
        else:
            raw = self._master.unwrap(row[0], log=self._log, session=session)
        self._keys[session] = key = AESGCM(raw)
        if len(self._keys) > CACHED:
            self._keys.popitem(last=False)
        return key


def create_master(directory: Path) -> MasterKey:
    """Make the master key in a log's key directory. Never replaces one. Raises KeyFileError."""
    master = MasterKey(os.urandom(KEY))
    try:
        make_directory(directory)
        write_file(directory / FILE, f"{master.raw.hex()}\n".encode())
        sync_directory(directory)
    except FileExistsError as error:
        raise KeyFileError(f"`{directory / FILE}` exists already; what it sealed opens with no other key") from error
    except OSError as error:
        raise KeyFileError(f"cannot write the master key to `{directory}`: {error.strerror}") from error
    return master


def load_master(file: Path) -> MasterKey:
    """The master key in a file of mode 0600, or in `private.key` of a key directory. Raises KeyFileError."""
    file = file / FILE if os.path.isdir(file) else file
    text = read_file(file, private=True)
    try:
        raw = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        raw = b""
    if text != f"{raw.hex()}\n".encode() or len(raw) != KEY:
        raise KeyFileError(f"`{file}` holds no master key; put back a copy")
    return MasterKey(raw)


def open_private(path: Path, seq: int, master: MasterKey) -> Private:
    """What is kept beside record `seq` of the log at `path`.

    Compare it with what the record says (`commitment`). Raises PrivateError if there is nothing, or if it does not
    open; ReadError, LogDamagedError, LogForeignError.
    """
    with reading(path) as database:
        if check_schema(database) < 2:
            raise PrivateError("a log of format 1 keeps nothing beside its records")
        database.execute("BEGIN")  # the row and its key as of one moment
        named = database.execute("SELECT value FROM meta WHERE name = 'log'").fetchone()
        if named is None:
            raise LogDamagedError("the database says of no log that it is its; run `verify`")
        log = read_text(named[0])
        row = database.execute("SELECT session, sealed FROM private WHERE seq = ?", (seq,)).fetchone()
        if row is None:
            raise PrivateError(f"nothing is kept beside record {seq}: nothing was, or it was redacted")
        session = read_text(row[0])
        key = database.execute("SELECT wrapped FROM private_keys WHERE session = ?", (session,)).fetchone()
    if key is None:
        raise PrivateError(f"the key of the session of record {seq} is gone; nothing opens what is kept beside it")
    plain = _open(master.unwrap(key[0], log=log, session=session), row[1], f"{log} {seq}")
    if plain is None or len(plain) < SALT:
        raise PrivateError(f"what is kept beside record {seq} was changed or moved; nothing opens it")
    return Private(salt=plain[:SALT], content=plain[SALT:])


def commitment(salt: bytes, content: bytes) -> str:
    """What a record's body says in place of the content: the hex SHA-256 of salt and content."""
    return sha256(salt + content).hexdigest()


def find(body: object, digest: str, place: str = "") -> list[str]:
    """The members of a record's body that are `digest`, as dotted paths."""
    if body == digest:
        return [place]
    if isinstance(body, dict):
        inside = ((f"{place}.{name}" if place else name, value) for name, value in body.items())
    elif isinstance(body, list):
        inside = ((f"{place}[{at}]", value) for at, value in enumerate(body))
    else:
        return []
    return [found for name, value in inside for found in find(value, digest, name)]


def _seal(key: bytes, plain: bytes, place: str, entropy: Entropy) -> bytes:
    nonce = entropy(NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plain, place.encode())


def _open(key: bytes, sealed: object, place: str) -> bytes | None:
    if not isinstance(sealed, bytes) or len(sealed) <= NONCE:
        return None
    try:
        return AESGCM(key).decrypt(sealed[:NONCE], sealed[NONCE:], place.encode())
    except (InvalidTag, ValueError):
        return None
