"""Changing a log's key on disk, so that a crash at any point leaves a key that the log takes.

1. the new pair is written to `audit.next`, and synced
2. the record and its checkpoint, signed by both keys, become durable in the log
3. `audit.vkey` is replaced
4. the old private key is overwritten with zeros, then replaced
5. `audit.next` goes

INVARIANT: before 2 the old pair is whole, from 2 on `audit.next` is, and only the log knows which of the two it is;
from 3 on `audit.vkey` says so too. Whoever finds `audit.next` goes on from where it stopped (`settle`).
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import AuditError, EntryError, KeyFileError, NoteError
from audit.keyfiles import check_directory, read_file, replace_file, sync_directory, wipe_file
from audit.keys import NEXT, PRIVATE, PUBLIC, as_pem, read_verify_key
from audit.note import SigningKey, VerifyKey
from audit.reader import key_chain, newest_note
from audit.schema import check_schema, reading

T = TypeVar("T", covariant=True)


class Rotates(Protocol[T]):
    """An open log, of which this needs only that it can change its key."""

    @property
    def name(self) -> str:
        """The log's name."""

    @property
    def key(self) -> VerifyKey:
        """The public key in force."""

    def checkpoint(self) -> str:
        """Seal what there is; returns once the log knows again what is on its disk."""

    def rotate(self, new: SigningKey, body: Mapping[str, Any]) -> T:
        """Record the change; returns once it is durable."""


def rotate(log: Rotates[T], directory: Path, body: Mapping[str, Any], *, passphrase: str | None = None) -> T:
    """Give the log a new key, in its files too; returns what `Log.rotate` returns.

    `passphrase` is the new key's. Raises KeyFileError, and what `Log.rotate` raises: of these only an EntryError means
    that nothing changed; else the next `keys.load` with the log's path and the next `rotate` go by what the log says.
    """
    new = SigningKey(log.name, Ed25519PrivateKey.generate())
    with _locked(directory):
        if read_verify_key(directory / PUBLIC).name != log.name:
            raise KeyFileError(f"the key in `{directory}` is of another log than `{log.name}`; give its own directory")
        if os.path.lexists(directory / NEXT):
            log.checkpoint()  # after an error the log learns only now whether the change before reached the disk
            if _read_next(directory)[0] == log.key:
                _finish(directory)  # nowhere else is the key in force
        if read_verify_key(directory / PUBLIC) != log.key:
            raise KeyFileError(f"the key in `{directory}` is not the one in force; give the directory that holds it")
        replace_file(directory / NEXT, f"{new.verifier.line()}\n".encode() + as_pem(new, passphrase))
        try:
            done = log.rotate(new, body)
        except EntryError:
            _drop(directory)
            raise
        _finish(directory)
    return done


def settle(directory: Path, log: Path | None) -> None:
    """Finish an interrupted change of the key, if it was recorded; else leave the old key in force.

    Raises KeyFileError, also without `log` where only the log can tell.
    """
    with _locked(directory):
        if not os.path.lexists(directory / NEXT):
            return
        new, current = _read_next(directory)[0], read_verify_key(directory / PUBLIC)
        if new != current:
            if log is None:
                raise KeyFileError(
                    f"a change of the key in `{directory}` was interrupted; load it together with its log's database"
                )
            if not _recorded(log, current, new):
                return
        _finish(directory)


def _recorded(log: Path, current: VerifyKey, new: VerifyKey) -> bool:
    """Whether the log's newest checkpoint is signed by `new` after a change that `current` signed."""
    try:
        with reading(log) as database:
            check_schema(database)
            chain = key_chain(database, current)
            changed = [one for one in chain.rotations if one.old == current and one.new == new]
            return bool(changed) and chain.newest == new and chain.open(newest_note(database)).size > changed[0].seq
    except AuditError:
        return False  # nothing is lost by waiting; opening the log says what is wrong with it


def _finish(directory: Path) -> None:
    new, pem = _read_next(directory)
    private = directory / PRIVATE
    replace_file(directory / PUBLIC, f"{new.line()}\n".encode())
    there = os.path.lexists(private)
    if not there or read_file(private, private=True) != pem:
        if there:
            wipe_file(private)
        replace_file(private, pem)
    _drop(directory)


def _drop(directory: Path) -> None:
    os.unlink(directory / NEXT)
    sync_directory(directory)


def _read_next(directory: Path) -> tuple[VerifyKey, bytes]:
    line, newline, pem = read_file(directory / NEXT, private=True).partition(b"\n")
    try:
        if newline and pem:
            return VerifyKey.parse(line.decode("ascii")), pem
    except (UnicodeDecodeError, NoteError):
        pass  # said below
    raise KeyFileError(f"`{directory / NEXT}` holds no key; keep a copy of the directory and remove that file")


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One process at a time; what the system refuses leaves as KeyFileError."""
    try:
        check_directory(directory)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
    except OSError as error:
        raise KeyFileError(
            f"cannot change the key in `{directory}`: {error.strerror}; load it again when that is mended"
        ) from error
