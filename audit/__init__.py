"""An append-only log that proves afterwards what was recorded: hash-chained, Merkle-leaved, checkpointed.

The format is in SPEC.md. Names load when they are used, so that verifying never runs the writer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from audit.aio import AsyncLog
    from audit.batch import Appended
    from audit.checkpoint import Checkpoint, Proof
    from audit.clock import Clock, SystemClock
    from audit.entry import Draft, Envelope, Private
    from audit.errors import AuditError
    from audit.kinds import Kind, KindTable, Ref
    from audit.log import Log
    from audit.note import SigningKey, VerifyKey
    from audit.opening import open_log as open  # noqa: A004 - read as `audit.open`
    from audit.private import MasterKey
    from audit.query import Filter, Record, select
    from audit.redaction import Redaction
    from audit.verify import Report, verify_log
    from audit.writer import Health

_HOME: Final = {
    "Appended": "batch",
    "AsyncLog": "aio",
    "AuditError": "errors",
    "Checkpoint": "checkpoint",
    "Clock": "clock",
    "Draft": "entry",
    "Envelope": "entry",
    "Filter": "query",
    "Health": "writer",
    "Kind": "kinds",
    "KindTable": "kinds",
    "Log": "log",
    "MasterKey": "private",
    "Private": "entry",
    "Proof": "checkpoint",
    "Record": "query",
    "Redaction": "redaction",
    "Ref": "kinds",
    "Report": "verify",
    "SigningKey": "note",
    "SystemClock": "clock",
    "VerifyKey": "note",
    "open": "opening",
    "select": "query",
    "verify_log": "verify",
}

__all__ = [
    "Appended",
    "AsyncLog",
    "AuditError",
    "Checkpoint",
    "Clock",
    "Draft",
    "Envelope",
    "Filter",
    "Health",
    "Kind",
    "KindTable",
    "Log",
    "MasterKey",
    "Private",
    "Proof",
    "Record",
    "Redaction",
    "Ref",
    "Report",
    "SigningKey",
    "SystemClock",
    "VerifyKey",
    "open",
    "select",
    "verify_log",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module `audit` has no attribute `{name}`")
    return getattr(import_module(f"audit.{_HOME[name]}"), "open_log" if name == "open" else name)
