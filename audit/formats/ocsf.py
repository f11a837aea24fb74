"""OCSF 1.8, class API Activity (6003) with the profile `security_control`: one event a line.

Only names and numbers of the public schema are used (schema.ocsf.io); what it has no place for stands in `unmapped`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from audit.known import Known, summary
from audit.query import Record

VERSION: Final = "1.8.0"
_CLASS: Final = 6003
_OTHER: Final = 99
# decision or kind: action_id, action, disposition_id, disposition
_CONTROL: Final = {
    "ALLOW": (1, "Allowed", 1, "Allowed"),
    "BLOCK": (2, "Denied", 2, "Blocked"),
    "ESCALATE": (0, "Unknown", 23, "Challenge"),
    "refused": (2, "Denied", 25, "Rejected"),
    "rejected": (2, "Denied", 25, "Rejected"),
}
_SEVERITY: Final = {1: "Informational", 2: "Low", 3: "Medium", 4: "High"}
_SEVERE: Final = (
    dict.fromkeys(("BLOCK", "refused", "rejected"), 3)
    | dict.fromkeys(("ESCALATE", "redaction", "key.rotate"), 2)
    | {"gap": 4}
)
_STATUS: Final = {"ALLOW": 1, "BLOCK": 2, "ok": 1, "error": 2, "timeout": 2}
_CAPTION: Final = {1: "Success", 2: "Failure"}
_MAPPED: Final = frozenset({"decision", "type", "rule", "reason", "policy", "status"})


def lines(records: Iterable[Record]) -> Iterator[str]:
    """One event a line."""
    for record in records:
        yield json.dumps(event(record)) + "\n"


def event(record: Record) -> dict[str, Any]:
    """The record as an event."""
    one, known = record.envelope, Known.of(record.envelope.body)
    said = known.decision or one.kind
    severity = _SEVERE.get(said, 1)
    status = known.status or known.decision
    status_id = 0 if status is None else _STATUS.get(status, _OTHER)
    who = one.agent or one.log
    found: dict[str, Any] = {
        "activity_id": _OTHER,
        "activity_name": one.kind,
        "actor": _given(app_name=who, session=_given(uid=one.session)),
        "api": _given(
            operation=one.kind if known.type is None else known.type,
            request=_given(uid=one.call_id),
            response=_given(code=known.exit_code),
        ),
        "category_name": "Application Activity",
        "category_uid": 6,
        "class_name": "API Activity",
        "class_uid": _CLASS,
        "duration": None if known.duration_us is None else known.duration_us // 1000,
        "firewall_rule": _given(name=known.rule),
        "message": summary(one.body, known) or one.kind,
        "metadata": {
            "event_code": one.kind,
            "log_name": one.log,
            "product": {"name": "audit", "vendor_name": "audit"},
            "profiles": ["security_control"],
            "sequence": one.seq,
            "uid": f"{one.log} {one.seq}",
            "version": VERSION,
            **({} if one.call_id is None else {"correlation_uid": one.call_id}),
        },
        "policy": _given(uid=known.policy),
        "resources": None if known.main is None else [{"name": known.main, "data": known.view}],
        "severity": _SEVERITY[severity],
        "severity_id": severity,
        "src_endpoint": {"name": who},
        "status": None if status is None else _CAPTION.get(status_id, status),
        "status_detail": known.reason,
        "status_id": status_id,
        "time": one.time,
        "type_name": "API Activity: Other",
        "type_uid": _CLASS * 100 + _OTHER,
        "unmapped": {
            "body": {name: value for name, value in one.body.items() if name not in _MAPPED or not _is_text(value)},
            "boot_id": one.boot_id,
            "leaf_hash": record.leaf_hash.hex(),
            "mono_ns": one.mono_ns,
            "prev": one.prev,
            "ref": one.ref,
            "v": one.v,
            **{name: value for name, value in (("decision", known.decision), ("status", known.status)) if value},
        },
    }
    if said in _CONTROL:
        found["action_id"], found["action"], found["disposition_id"], found["disposition"] = _CONTROL[said]
    return {name: value for name, value in found.items() if value is not None}


def _given(**members: object) -> dict[str, Any] | None:
    """The members that are there, or None if none is."""
    return {name: value for name, value in members.items() if value is not None} or None


def _is_text(value: object) -> bool:
    return isinstance(value, str)
