"""The JSON that leaves: what a verdict, an approval or a session looks like to a role."""

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shield.types import Approval, Hidden, Isolation, Labels, Redaction, Role, Session, Verdict

if TYPE_CHECKING:
    from shield.pipeline.inspect import Inspection  # `shield check` writes verdicts, and loads nothing of tier 1

__all__ = [
    "approval_json",
    "encode",
    "inspection_json",
    "labels_json",
    "redactions_json",
    "session_json",
    "time_text",
    "verdict_json",
]

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def time_text(unix_ms: int) -> str:
    """RFC 3339 UTC with milliseconds."""
    return f"{_second_text(unix_ms // 1000)}.{unix_ms % 1000:03d}Z"


@lru_cache(maxsize=256)
def _second_text(unix_s: int) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%dT%H:%M:%S}"


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; what is no JSON value is a programming error and raises."""
    return _COMPACT.encode(value).encode("utf-8")


def verdict_json(verdict: Verdict, role: Role) -> dict[str, Any]:
    """A verdict as `role` may see it. INVARIANT: an agent gets neither rules, scores nor evidence (DESIGN 3)."""
    pending = None
    if verdict.approval is not None:
        expires = verdict.approval_expires_at
        pending = {"id": verdict.approval, "expires_at": None if expires is None else time_text(expires)}
    shape: dict[str, Any] = {
        "id": verdict.id,
        "evaluation": verdict.evaluation,
        "decision": verdict.decision.value,
        "reason": verdict.reason,
        "advice": verdict.advice,
        "action_hash": verdict.action_hash,
        "expires_at": None if verdict.expires_at is None else time_text(verdict.expires_at),
        "approval": pending,
        "permit": verdict.permit,
        "seq": verdict.seq,
    }
    if role is Role.AGENT:
        return shape
    return shape | {
        "tier": int(verdict.tier),
        "need": int(verdict.need),
        "rule": verdict.rule,
        "confidence": verdict.confidence,
        "policy": verdict.policy,
        "evaluated_at": time_text(verdict.evaluated_at),
        "latency_us": dict(verdict.latency_us),
        "dry_run": verdict.dry_run,
        "evidence": list(verdict.evidence),
    }


def approval_json(approval: Approval) -> dict[str, Any]:
    """A question to a person, for those who may answer it."""
    return {
        "id": approval.id,
        "state": approval.state.value,
        "created_at": time_text(approval.created_at),
        "expires_at": time_text(approval.expires_at),
        "request": _plain(approval.request),
        "facts": _plain(approval.facts),
        "rule": approval.rule,
        "reason": approval.reason,
        "scopes": [scope.value for scope in approval.scopes],
        "pattern": approval.pattern,
        "answered_by": approval.answered_by,
        "note": approval.note,
        "evaluation": approval.evaluation,
        "session": approval.session,
        "agent": approval.agent,
    }


def session_json(session: Session, public_key: bytes, isolation_required: Isolation, hidden: Hidden) -> dict[str, Any]:
    """What an agent needs to run commands as they are judged, to pin the key that signs receipts, and to keep what it
    runs away from Shield."""
    return {
        "session": session.id,
        "workspace_roots": list(session.workspace_roots),
        "shell": session.shell,
        "env": dict(session.env),
        "public_key": base64.b64encode(public_key).decode("ascii"),
        "isolation_required": isolation_required.value,
        "hidden": {"paths": list(hidden.paths), "ports": list(hidden.ports)},
    }


def inspection_json(found: "Inspection", role: Role) -> dict[str, Any]:
    """What a text came to. INVARIANT: an agent gets no findings: what was found where is what an attacker tries for."""
    shape: dict[str, Any] = {
        "decision": found.decision.value,
        "content": found.content,
        "labels": labels_json(found.labels),
        "redactions": redactions_json(found.redactions),
        "seq": found.seq,
    }
    if role is Role.AGENT:
        return shape
    return shape | {
        "findings": [
            {
                "rule": finding.rule,
                "answer": finding.answer.value,
                "layer": finding.layer,
                "start": finding.start,
                "end": finding.end,
                "score": finding.score,
            }
            for finding in found.findings
        ]
    }


def labels_json(labels: Labels) -> dict[str, str]:
    """The labels of what came back."""
    return {"confidentiality": labels.confidentiality, "integrity": labels.integrity}


def redactions_json(redactions: Iterable[Redaction]) -> list[dict[str, Any]]:
    """What was taken out, in code points of what came in."""
    return [{"kind": item.kind, "role": item.role, "start": item.start, "end": item.end} for item in redactions]


def _plain(value: Any) -> Any:
    """Read-only mappings and tuples as what `json` writes."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
