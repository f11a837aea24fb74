"""A new log in place of one that was lost or damaged: only where a person says so, and never silently.

Nothing is deleted: what was there moves to `old/<log>/`. The new log's second record (`gap`) says which log it follows,
and how much of that one is proved to have been, by the newest checkpoint that is known anywhere. Tokens, policies and
trusted directories stay.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from audit.checkpoint import Checkpoint
from audit.entry import Draft
from audit.errors import AuditError
from audit.keys import read_verify_key
from audit.note import VerifyKey
from audit.notebook import read_notes
from audit.reader import read_checkpoint
from audit.schema import reading
from audit.sinks.file import FileSink
from audit.sinks.folder import file_name
from audit.sinks.register import Register
from shield.config.home import Home
from shield.errors import ConfigError, RecordError, StateError
from shield.service.birth import agent_token, log_name
from shield.service.home import is_empty, prepare
from shield.service.log import begin_log, create_key
from shield.service.outside import last_begun, list_log

__all__ = ["Lost", "Renewal", "lost", "renew"]

_REASON_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The log that is given up: its name where that is known, its newest checkpoint that a key of it signed, and how
    many records its database still shows, None where that cannot be read."""

    name: str | None
    checkpoint: Checkpoint | None
    found: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """What `renew` did. `moved` is where the old log and its keys lie now, None where nothing was left of them."""

    log: str
    lost: Lost
    moved: str | None
    said: tuple[str, ...] = ()


def lost(home: Home, checkpoints: str) -> Lost:
    """What can be known of the log that this home has, or had as the folder `checkpoints` remembers.

    Raises StateError where there never was one: then `shield init` begins the first.
    """
    keys = tuple(_keys(home, checkpoints))
    if not keys and is_empty(home):
        raise StateError(f"`{home.path}` was not begun yet; run `shield init`")
    # the home's own key says which log it is; without it the one that was begun last
    name = keys[0].name if keys else None
    signed = [found for note in _notes(home, checkpoints, name) if (found := _signed(note, keys)) is not None]
    newest = max(signed, key=lambda checkpoint: checkpoint.size, default=None)
    return Lost(name=name, checkpoint=newest, found=_count(home))


def renew(
    home: Home, *, reason: str, now_ms: int, checkpoints: str, version: str, passphrase: str | None = None
) -> Renewal:
    """Put the old log aside and begin a new one that says so. The caller holds the lock and asked a person.

    Raises StateError, ConfigError, RecordError.
    """
    if not 0 < len(reason) <= _REASON_MAX or not reason.isprintable():
        raise ConfigError(f"the reason is one line of at most {_REASON_MAX} characters; say in short why")
    gone = lost(home, checkpoints)
    prepare(home)
    moved = _put_aside(home, gone)
    prepare(home)
    key = create_key(home, log_name(), passphrase)
    said = _listed(checkpoints, home, key.verifier)
    try:
        with begin_log(home, key) as log:
            log.append(Draft(kind="log.open", body={"version": version, "outside": checkpoints}))
            log.append(Draft(kind="gap", body={**_body(gone), "reason": reason}))
            note = log.checkpoint()
    except AuditError as error:
        raise RecordError(f"the new log could not be written: {error}; free space, then run this again") from None
    with contextlib.suppress(AuditError):  # the next start tells it, and says where it cannot
        FileSink(Path(checkpoints), key.name).send(note, lambda _: ())
    if not os.path.lexists(home.token_book):
        agent_token(home, now_ms=now_ms)
    return Renewal(log=key.name, lost=gone, moved=moved, said=() if said is None else (said,))


def _listed(checkpoints: str, home: Home, key: VerifyKey) -> str | None:
    """List the new log; why the folder cannot, where it names no other log that the next start would ask for."""
    said = list_log(checkpoints, home, key)
    if said is None:
        return None
    try:
        other = last_begun(checkpoints, home) is not None
    except StateError:
        other = True
    if other:
        # INVARIANT: without its key the next attempt takes the log's name from the list, where the old one stands
        shutil.rmtree(home.keys, ignore_errors=True)
        raise RecordError(f"{said}; mend it or set `[audit] checkpoints` elsewhere, then run this again")
    return said


def _body(gone: Lost) -> dict[str, str | int | None]:
    proved = gone.checkpoint
    return {
        "log": gone.name,
        "size": None if proved is None else proved.size,
        "root": None if proved is None else proved.root.hex(),
        "found": gone.found,
    }


def _put_aside(home: Home, gone: Lost) -> str | None:
    files = [f"{home.audit_db}{end}" for end in ("", "-wal", "-shm", "-journal")] + [home.audit_checkpoint]
    there = [path for path in files if os.path.lexists(path)]
    keys = os.listdir(home.keys) if os.path.isdir(home.keys) else []
    if not there and not keys:
        return None
    name = "unknown" if gone.name is None else gone.name.rpartition("/")[2]
    try:
        os.makedirs(home.old, mode=0o700, exist_ok=True)
        target, number = os.path.join(home.old, name), 2
        while os.path.lexists(target):
            target, number = os.path.join(home.old, f"{name}.{number}"), number + 1
        os.mkdir(target, 0o700)
        # INVARIANT: the database goes first; until the key has gone, too, no start takes the home for an empty one
        for path in there:
            os.rename(path, os.path.join(target, os.path.basename(path)))
        os.rename(home.keys, os.path.join(target, "keys"))
    except OSError as error:
        raise StateError(f"the old log cannot be moved to `{home.old}`: {error.strerror}; make room for it") from None
    return target


def _keys(home: Home, checkpoints: str) -> Iterable[VerifyKey]:
    """Public keys of the home's log, its own file's first; all of one name."""
    found: list[VerifyKey] = []
    with contextlib.suppress(AuditError):  # lost with the rest; the list outside may know it
        found.append(read_verify_key(Path(home.audit_vkey)))
    with contextlib.suppress(AuditError):
        found += reversed([one.key for one in Register(Path(checkpoints)).logs() if one.where in home.names])
    return [key for key in dict.fromkeys(found) if key.name == found[0].name]


def _notes(home: Home, checkpoints: str, name: str | None) -> Iterable[str]:
    """Every note that could be the newest: the database's, the file's beside it, those of the folder outside."""
    files = [Path(home.audit_checkpoint)]
    with contextlib.suppress(AuditError):
        yield read_checkpoint(Path(home.audit_db))
    if name is not None:
        files += sorted(Path(checkpoints).glob(f"{file_name(name)}.*.cosigned"))
        with contextlib.suppress(AuditError):
            yield from FileSink(Path(checkpoints), name).remembered()
    for file in files:
        with contextlib.suppress(AuditError):
            yield from (stored.note for stored in read_notes(file))


def _signed(note: str, keys: Iterable[VerifyKey]) -> Checkpoint | None:
    for key in keys:
        with contextlib.suppress(AuditError):
            return Checkpoint.open(note, key)
    return None


def _count(home: Home) -> int | None:
    try:
        with reading(Path(home.audit_db)) as database:
            count: int = database.execute("SELECT count(*) FROM entries").fetchone()[0]
            return count
    except AuditError:
        return None
