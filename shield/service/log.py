"""Shield's audit log on disk: its kinds, its keys, and how it is begun and opened."""

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from audit import keys
from audit.clock import SystemClock
from audit.errors import (
    AuditError,
    KeyFileError,
    LogBusyError,
    LogDamagedError,
    LogError,
    LogForeignError,
    LogMissingError,
    PassphraseError,
)
from audit.kinds import Kind, KindTable, Ref
from audit.log import Log
from audit.note import SigningKey, VerifyKey
from audit.private import MasterKey, create_master, load_master
from audit.query import Filter, select
from shield.config.home import Home
from shield.errors import StateError

__all__ = ["KINDS", "begin_log", "create_key", "load_key", "open_log", "remembered_in"]

_OPENINGS = 64

# DESIGN 7. A decision may follow a person's answer; what ran names its decision, what came of it names what ran.
KINDS = KindTable.of(
    (
        Kind(name="log.open"),
        Kind(name="decision", ref=Ref.MAY, to=frozenset({"approval"})),
        Kind(name="approval", ref=Ref.MAY, to=frozenset({"decision"})),
        Kind(
            name="executing",
            ref=Ref.MUST,
            to=frozenset({"decision"}),
            once=True,
            then=frozenset({"outcome"}),
        ),
        Kind(name="refused", ref=Ref.MAY, to=frozenset({"decision"})),
        Kind(name="outcome", ref=Ref.MUST, to=frozenset({"executing"}), once=True),
        Kind(name="inspection", ref=Ref.MAY),
        Kind(name="rejected"),
        Kind(name="policy.change"),
        Kind(name="key.rotate"),
        Kind(name="redaction", ref=Ref.MUST),
        Kind(name="gap"),
        Kind(name="log.close"),
    )
)


def create_key(home: Home, name: str, passphrase: str | None = None) -> SigningKey:
    """Make the log's key, once. Raises StateError."""
    try:
        return keys.create(Path(home.keys), name, passphrase)
    except AuditError as error:
        raise StateError(f"the audit key cannot be made: {error}") from None


def load_key(
    home: Home, passphrase: Callable[[], str] | None = None, *, remembered: VerifyKey | None = None
) -> SigningKey:
    """The log's key; `passphrase` is asked only where it needs one. `remembered` is the public half that the folder of
    checkpoints names: a person is told of it where the file is gone.

    Raises StateError, and what `passphrase` raises."""
    folder = Path(home.keys)
    try:
        with contextlib.suppress(PassphraseError):
            return keys.load(folder, log=Path(home.audit_db))
        if passphrase is None:
            raise StateError(
                f"the audit key in `{home.keys}` needs its passphrase, and nobody can be asked here;"
                " run `shield serve` in a terminal, or with `--passphrase-fd N`"
            )
        return keys.load(folder, passphrase(), log=Path(home.audit_db))
    except PassphraseError as error:
        raise StateError(f"{error}, and start again") from None
    except KeyFileError as error:
        raise StateError(f"{error}; {_key_advice(home, remembered)}") from None


def _key_advice(home: Home, remembered: VerifyKey | None) -> str:
    """How to get the key back. Its public half says nothing secret, and what is told here is only proposed: the next
    start still holds it against the private half, the log and the folder outside.

    INVARIANT: the file is never written here. Which key a log answers to is a person's decision: one that was taken
    from `audit.pem` would be that of whoever put it there."""
    new = "begin a new log with `shield init --new-log REASON`"
    if remembered is None or os.path.lexists(home.audit_vkey) or not os.path.lexists(home.audit_key):
        return f"put the key back from a copy, or {new}"
    write = f"(umask 077; echo {shlex.quote(remembered.line())} > {shlex.quote(home.audit_vkey)})"
    return f"it is only the public half, remembered out of the home: find out who removed it, run `{write}`; or {new}"


def open_log(home: Home, key: SigningKey, *, outside: Sequence[str] = ()) -> Log:
    """The log of this home, checked, also against the notes that are remembered `outside`.

    Raises StateError saying what to do; it is never repaired or begun anew here.
    """
    return _open(home, key, create=False, outside=outside, master=_master(home))


def begin_log(home: Home, key: SigningKey) -> Log:
    """A new, empty log: only `shield init` and the first start of an empty home may begin one. Raises StateError."""
    return _open(home, key, create=True, outside=(), master=None)


def remembered_in(home: Home) -> str | None:
    """The folder outside that the newest start names in its `log.open` record; None where none does, as before there
    was one."""
    openings = select(Path(home.audit_db), Filter(kind="log.open", limit=_OPENINGS, reverse=True))
    # the log's own commands write such a record, too, and name none
    with contextlib.suppress(AuditError):
        return next((folder for one in openings if isinstance(folder := one.envelope.body.get("outside"), str)), None)
    return None


def _master(home: Home) -> MasterKey:
    """What opens the salts that are kept beside the records; made for a home that has none yet."""
    try:
        if os.path.lexists(home.audit_private):
            return load_master(Path(home.audit_private))
        return create_master(Path(home.keys))
    except AuditError as error:
        raise StateError(f"{error}; `{home.audit_private}` opens what is kept beside the log's records") from None


def _open(home: Home, key: SigningKey, *, create: bool, outside: Sequence[str], master: MasterKey | None) -> Log:
    try:
        return Log.open(
            Path(home.audit_db),
            key=key,
            checkpoint_file=Path(home.audit_checkpoint),
            kinds=KINDS,
            clock=SystemClock.read(),
            create=create,
            master=master,
            outside=outside,
        )
    except LogBusyError:
        raise StateError(f"another process has `{home.audit_db}` open; stop it first") from None
    except LogMissingError:
        raise StateError(
            f"`{home.audit_db}` is missing while other state is there; put it back from a copy,"
            " or begin a new log that says so with `shield init --new-log REASON`"
        ) from None
    except (LogForeignError, LogDamagedError) as error:
        # this home's own command: it compares with what is remembered outside, by which an older copy is found
        verify = f"SHIELD_HOME={shlex.quote(home.path)} shield audit verify"
        raise StateError(
            f"the audit log cannot be trusted: {error}; find out with `{verify}`, then restore a copy, or keep it as"
            " evidence and begin a new log that says so with `shield init --new-log REASON`"
        ) from None
    except (LogError, OSError) as error:
        raise StateError(f"the audit log cannot be opened: {error}; see `shield status`") from None
