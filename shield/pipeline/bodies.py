"""What the log says of each step: the `body` of every record kind. No argument in clear, no secret, no float.

Arguments appear as a salted commitment, SHA-256(salt || canonical action), and as a redacted view that is cut before
it is hashed into the log.
"""

import hashlib
from collections.abc import Mapping, Sequence

from shield.canonical import MAX_SAFE_INTEGER, encode
from shield.facts.secrets import redact
from shield.pipeline.judge import Judged
from shield.tiers.settle import Settled
from shield.types import Action, ActionRequest, Approval, Json

__all__ = ["SALT_BYTES", "approval_body", "commitment", "decision_body", "view"]

SALT_BYTES = 32
_VIEW_TEXT = 200  # code points of one string
_VIEW_ITEMS = 20  # of one object or list
_VIEW_BYTES = 6_000  # of the whole view: a record has 16 KiB
_EVIDENCE_BYTES = 2_000  # of all lines of evidence
_KEY_TEXT = 32  # characters of a key where only keys are shown: each takes at most six bytes


def commitment(action: Action, salt: bytes) -> str:
    """The hex commitment to an action's canonical bytes; who has the salt can open it, nobody can guess it."""
    return hashlib.sha256(salt + action.canonical).hexdigest()


def view(action: Action) -> dict[str, Json]:
    """The payload for a reader of the log: secrets redacted, strings and lists cut, at most some kilobytes."""
    shown = _view(dict(action.payload), depth=6)
    # an action this small has no view that is too large, however much is redacted or escaped in it
    if len(action.canonical) > _VIEW_BYTES // 8 and len(encode(shown, max_nodes=1_000_000)) > _VIEW_BYTES:
        shown = {_key(key)[:_KEY_TEXT]: "…" for key in list(action.payload)[:_VIEW_ITEMS]}
    return shown if isinstance(shown, dict) else {}


def decision_body(
    request: ActionRequest,
    settled: Settled,
    judged: Judged,
    *,
    evaluation: str,
    approval: str | None,
    expires_at: int | None,
    evidence: Sequence[str],
    salt: bytes,
    state: str | None,
    env: str | None,
    permit: str | None,
) -> dict[str, Json]:
    """Kind `decision`. `approval` is the question it led to, `permit` the jti that it will mint, if any."""
    operations: list[Json] = [*sorted(operation.value for operation in judged.facts.operations)]
    by = settled.by
    # in the order in which they are recorded, so that there is little to sort
    return {
        "approval": approval,
        "args": {
            "bytes": len(request.action.canonical),
            "canon": "shield-jcs-1",
            "commit": commitment(request.action, salt),
            "view": view(request.action),
        },
        "cwd": None if request.action.cwd is None else _text(request.action.cwd),
        "decision": settled.decision.value,
        "env": env,
        "evaluation": evaluation,
        "evidence": _evidence(evidence),
        "expires_at": expires_at,
        # the agent chose these, and may have put anything into them
        "id": _text(request.id),
        "intent": None if request.intent is None else _text(request.intent),
        "latency_us": dict(judged.took_us),
        "min_tier": int(request.min_tier),
        "need": int(settled.need),
        "operations": operations,
        "permit": permit,
        "policy": judged.policy,
        "reason": _cut(by.reason),
        "rule": by.rule,
        "state": state,
        "tier": int(by.tier),
        "tool_call_id": None if request.tool_call_id is None else _text(request.tool_call_id),
        "type": _text(request.action.type),
    }


def approval_body(approval: Approval) -> dict[str, Json]:
    """Kind `approval`: a question was put, answered or ran out of time."""
    return {
        "approval": approval.id,
        "evaluation": approval.evaluation,
        "state": approval.state.value,
        "rule": approval.rule,
        "scopes": [scope.value for scope in approval.scopes],
        "answered_by": approval.answered_by,
        "note": None if approval.note is None else _text(approval.note),
        "expires_at": approval.expires_at,
    }


def _evidence(lines: Sequence[str]) -> list[Json]:
    """As many lines as fit; a workspace's own texts are among them."""
    shown: list[Json] = []
    for line in lines[:16]:
        shown.append(_text(line))
        if len(encode(shown)) > _EVIDENCE_BYTES:
            return [*shown[:-1], "…"]
    return shown


def _view(value: Json, *, depth: int) -> Json:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else str(value)
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())
        shown: dict[str, Json] = {_key(key): _view(item, depth=depth - 1) for key, item in items[:_VIEW_ITEMS]}
        if len(items) > _VIEW_ITEMS:
            shown["..."] = f"{len(items) - _VIEW_ITEMS} more"
        return shown
    return _view_list(value, depth)


def _view_list(value: Sequence[Json], depth: int) -> Json:
    shown = [_view(item, depth=depth - 1) for item in value[:_VIEW_ITEMS]]
    if len(value) > _VIEW_ITEMS:
        shown.append(f"… {len(value) - _VIEW_ITEMS} more")
    return shown


def _text(text: str) -> str:
    # redact first, cut second: a secret cut in two is no longer recognised
    return _cut(redact(text)[0])


def _key(key: str) -> str:
    # a record's keys are ASCII
    return _text(key).encode("ascii", "backslashreplace").decode()


def _cut(text: str) -> str:
    return text if len(text) <= _VIEW_TEXT else f"{text[:_VIEW_TEXT]}… {len(text)} characters"
