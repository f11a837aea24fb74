"""Shield's audit log on disk: its kinds, its key, and how it is begun and opened."""

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
)
from audit.kinds import Kind, KindTable, Ref
from audit.log import Log
from audit.note import SigningKey
from shield.config import Home
from shield.errors import StateError

__all__ = ["KINDS", "begin_log", "create_key", "load_key", "open_log"]

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


def create_key(home: Home, name: str) -> SigningKey:
    """Make the log's key, once. Raises StateError."""
    try:
        return keys.create(Path(home.keys), name)
    except AuditError as error:
        raise StateError(f"the audit key cannot be made: {error}") from None


def load_key(home: Home) -> SigningKey:
    """The log's key. Raises StateError."""
    try:
        return keys.load(Path(home.keys))
    except KeyFileError as error:
        raise StateError(f"{error}; put the key back from a copy, or move `{home.path}` away and start anew") from None


def open_log(home: Home, key: SigningKey) -> Log:
    """The log of this home, checked. Raises StateError saying what to do; it is never repaired or begun anew here."""
    return _open(home, key, create=False)


def begin_log(home: Home, key: SigningKey) -> Log:
    """A new, empty log: only `shield init` and the first start of an empty home may begin one. Raises StateError."""
    return _open(home, key, create=True)


def _open(home: Home, key: SigningKey, *, create: bool) -> Log:
    try:
        return Log.open(
            Path(home.audit_db),
            key=key,
            checkpoint_file=Path(home.audit_checkpoint),
            kinds=KINDS,
            clock=SystemClock.read(),
            create=create,
        )
    except LogBusyError:
        raise StateError(f"another process has `{home.audit_db}` open; stop it first") from None
    except LogMissingError:
        raise StateError(
            f"`{home.audit_db}` is missing while other state is there; put it back from a copy,"
            f" or move `{home.path}` away and run `shield init` to begin a new log"
        ) from None
    except (LogForeignError, LogDamagedError) as error:
        verify = f"python -P -m audit verify {home.audit_db} --key {home.audit_vkey}"
        raise StateError(
            f"the audit log cannot be trusted: {error}; find out with `{verify}`, keep the file as evidence,"
            f" then restore a copy or move `{home.path}` away and run `shield init`"
        ) from None
    except (LogError, OSError) as error:
        raise StateError(f"the audit log cannot be opened: {error}; see `shield status`") from None
