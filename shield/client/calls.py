"""The requests, as values: what is sent, for how long, whether it may be sent again, and how its answer is read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from shield.client.answers import Answer, approval_of, problem, read_outcome, read_session, read_verdict, verdict_of
from shield.client.document import as_object, broken, list_in, object_of, text_in, utf8
from shield.client.values import Checkpoint, OpenedSession, Readiness, Redemption
from shield.errors import ClientError, PermitError, Reason
from shield.types import Approval, ApprovalAnswer, Isolation, Json, Outcome, OutcomeReply, Verdict

__all__ = [
    "Call",
    "answer_call",
    "approval_call",
    "approvals_call",
    "batch_call",
    "body_of",
    "checkpoint_call",
    "evaluate_call",
    "evaluation_call",
    "media_of",
    "open_session_call",
    "outcome_call",
    "ready_call",
    "records_call",
    "redeem_call",
    "reload_call",
]

T = TypeVar("T")

TIMEOUT_S = 30.0
MAX_WAIT_S = 60.0
_PERMIT_REASONS = frozenset(
    {
        Reason.PERMIT_USED,
        Reason.PERMIT_EXPIRED,
        Reason.PERMIT_STATE_CHANGED,
        Reason.PERMIT_POLICY,
        Reason.PERMIT_LABELS,
        Reason.PERMIT_ISOLATION,
        Reason.PERMIT_MISMATCH,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request and how its answer is read. `again` allows one more try where no connection was made."""

    method: str
    path: str
    read: Callable[["Answer"], T]
    body: Json = None
    timeout_s: float = TIMEOUT_S
    again: bool = False


def open_session_call(roots: Sequence[str], isolation: Isolation, label: str | None) -> Call[OpenedSession]:
    body: dict[str, Json] = {"workspace_roots": list(roots), "isolation": isolation.value}
    if label is not None:
        body["label"] = label
    return Call(method="POST", path="/v1/sessions", body=body, read=read_session)


def evaluate_call(request: Mapping[str, Json]) -> Call[Verdict]:
    return Call(method="POST", path="/v1/evaluate", body=dict(request), read=read_verdict, again=True)


def batch_call(requests: Sequence[Mapping[str, Json]]) -> Call[tuple[Verdict, ...]]:
    def read(answer: Answer) -> tuple[Verdict, ...]:
        verdicts = tuple(verdict_of(as_object(item)) for item in list_in(answer.document(), "verdicts"))
        if len(verdicts) != len(requests):
            raise broken(f"{len(verdicts)} verdicts for {len(requests)} actions")
        return verdicts

    body: dict[str, Json] = {"actions": [dict(request) for request in requests]}
    return Call(method="POST", path="/v1/evaluate/batch", body=body, read=read, again=True)


def evaluation_call(evaluation: str, wait_s: float) -> Call[Verdict]:
    wait = _wait(wait_s)
    path = f"/v1/evaluations/{_segment(evaluation)}?wait={wait}"
    return Call(method="GET", path=path, read=read_verdict, timeout_s=TIMEOUT_S + wait)


def redeem_call(redemption: Redemption) -> Call[str]:
    body: dict[str, Json] = {
        "permit": redemption.permit,
        "action": {"type": redemption.type, "payload": dict(redemption.payload), "cwd": redemption.cwd},
        "nonce": redemption.nonce,
        "isolation": redemption.isolation.value,
    }

    def read(answer: Answer) -> str:
        if answer.status == 409:
            refusal = problem(answer)
            if refusal.reason in _PERMIT_REASONS:
                raise PermitError(refusal.detail, reason=refusal.reason)
            raise refusal
        return text_in(answer.document(), "receipt")

    return Call(method="POST", path="/v1/permits/redeem", body=body, read=read)


def outcome_call(report: Outcome) -> Call[OutcomeReply]:
    body: dict[str, Json] = {
        "jti": report.jti,
        "status": report.status,
        "exit_code": report.exit_code,
        "duration_us": report.duration_us,
        "content": [{"role": part.role, "text": part.text} for part in report.content],
        "bytes": report.bytes,
        "sha256": report.sha256,
        "truncated": report.truncated,
    }
    # the same outcome again gets the first answer, so one more try is harmless where nothing was sent
    return Call(method="POST", path="/v1/outcomes", body=body, read=read_outcome, again=True)


def approvals_call(wait_s: float) -> Call[tuple[Approval, ...]]:
    def read(answer: Answer) -> tuple[Approval, ...]:
        return tuple(approval_of(as_object(item)) for item in list_in(answer.document(), "approvals"))

    wait = _wait(wait_s)
    return Call(method="GET", path=f"/v1/approvals?wait={wait}", read=read, timeout_s=TIMEOUT_S + wait)


def approval_call(approval: str) -> Call[Approval]:
    return Call(method="GET", path=f"/v1/approvals/{_segment(approval)}", read=lambda a: approval_of(a.document()))


def answer_call(approval: str, answer: ApprovalAnswer) -> Call[Approval]:
    body: dict[str, Json] = {
        "answer": "approve" if answer.approve else "deny",
        "scope": answer.scope.value,
        "pattern": answer.pattern,
        "note": answer.note,
    }
    path = f"/v1/approvals/{_segment(approval)}"
    return Call(method="POST", path=path, body=body, read=lambda a: approval_of(a.document()))


def records_call(start: int, count: int) -> Call[tuple[Mapping[str, Json], ...]]:
    def read(answer: Answer) -> tuple[Mapping[str, Json], ...]:
        return tuple(as_object(item) for item in list_in(answer.document(), "records"))

    return Call(method="GET", path=f"/v1/audit/records?from={start}&limit={count}", read=read)


def checkpoint_call() -> Call[Checkpoint]:
    def read(answer: Answer) -> Checkpoint:
        if answer.status == 200 and answer.media == "text/plain":
            return Checkpoint(note=utf8(answer.raw))
        return Checkpoint(note=text_in(answer.document(), "checkpoint"))

    return Call(method="GET", path="/v1/audit/checkpoint", read=read)


def reload_call() -> Call[Mapping[str, Json]]:
    return Call(method="POST", path="/v1/reload", body={}, read=lambda a: MappingProxyType(a.document()))


def ready_call() -> Call[Readiness]:
    def read(answer: Answer) -> Readiness:
        if answer.status not in (200, 503):
            raise problem(answer)
        return Readiness(ready=answer.status == 200, report=MappingProxyType(object_of(answer.raw)))

    return Call(method="GET", path="/readyz", read=read, timeout_s=5.0)


def media_of(call: Call[Any]) -> dict[str, str]:
    return {} if call.body is None else {"Content-Type": "application/json"}


def body_of(call: Call[Any]) -> bytes | None:
    if call.body is None:
        return None
    try:
        # plain JSON: `shield-jcs-1` would escape `$int`, which only the hashed form does
        return json.dumps(call.body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ClientError(f"the request is not JSON: {error}", reason=Reason.INPUT_JSON) from None


def _segment(text: str) -> str:
    return quote(text, safe="")


def _wait(seconds: float) -> int:
    return int(min(max(seconds, 0), MAX_WAIT_S))
