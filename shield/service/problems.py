"""Errors as RFC 9457 problem details: one table from the closed set of reasons to status and title."""

import json
from dataclasses import dataclass

from shield.errors import InputError, Reason, RefusedError, ShieldError

__all__ = ["PROBLEM_MEDIA", "TABLE", "Problem", "problem_of"]

PROBLEM_MEDIA = b"application/problem+json"
_TYPE = "https://shield.invalid/problems/"

# INVARIANT: every Reason has a row; one that had none would be a 500, never a success.
TABLE: dict[Reason, tuple[int, str]] = {
    Reason.INPUT_JSON: (400, "the body is not JSON"),
    Reason.INPUT_ENCODING: (400, "the body is not UTF-8"),
    Reason.INPUT_DUPLICATE_KEY: (400, "a key stands twice in one object"),
    Reason.INPUT_NUMBER: (400, "a number cannot be represented"),
    Reason.INPUT_SURROGATE: (400, "a string holds half a character"),
    Reason.INPUT_DEPTH: (400, "the body is nested too deeply"),
    Reason.INPUT_NODES: (400, "the body has too many values"),
    Reason.INPUT_SIZE: (413, "the body is too large"),
    Reason.INPUT_KEY: (400, "a key is not known"),
    Reason.INPUT_FIELD: (400, "a field is not as it must be"),
    Reason.INPUT_PAYLOAD: (400, "the payload is not as it must be"),
    Reason.INPUT_MEDIA_TYPE: (415, "the body is not declared as JSON"),
    Reason.AUTH_MISSING: (401, "a token is needed"),
    Reason.AUTH_INVALID: (401, "the token is not valid"),
    Reason.AUTH_ROLE: (403, "the token's role may not do this"),
    Reason.AUTH_PEER: (403, "the caller is another user"),
    Reason.AUTH_HOST: (403, "the request was made for another host or by a page"),
    Reason.ROUTE_UNKNOWN: (404, "there is no such route"),
    Reason.ROUTE_METHOD: (405, "the route does not take this method"),
    Reason.SESSION_UNKNOWN: (404, "there is no such session"),
    Reason.SESSION_LIMIT: (429, "too many sessions"),
    Reason.WORKSPACE_UNTRUSTED: (403, "the directory is not trusted"),
    Reason.EVALUATION_UNKNOWN: (404, "there is no such evaluation"),
    Reason.APPROVAL_UNKNOWN: (404, "there is no such approval"),
    Reason.APPROVAL_ANSWERED: (409, "the approval was answered already"),
    Reason.APPROVAL_SCOPE: (409, "the approval cannot be given in this scope"),
    Reason.OUTCOME_NO_PERMIT: (409, "the outcome belongs to no redeemed permit"),
    Reason.RECORD_UNKNOWN: (404, "there is no such record"),
    Reason.PERMIT_USED: (409, "the permit was used already"),
    Reason.PERMIT_EXPIRED: (409, "the permit has expired"),
    Reason.PERMIT_STATE_CHANGED: (409, "files or the environment changed since the verdict"),
    Reason.PERMIT_POLICY: (409, "the action would not be allowed any more"),
    Reason.PERMIT_LABELS: (409, "the session's labels do not allow the action any more"),
    Reason.PERMIT_ISOLATION: (409, "the sandbox is weaker than the permit asks for"),
    Reason.PERMIT_MISMATCH: (409, "the permit is not for this action"),
    Reason.ADMISSION_QUEUE: (503, "too many requests are being judged"),
    Reason.ADMISSION_RATE: (429, "the token's rate is exceeded"),
    Reason.ADMISSION_APPROVALS: (429, "too many approvals are pending"),
    Reason.AUDIT_UNAVAILABLE: (503, "the decision could not be recorded"),
    Reason.POLICY_INVALID: (422, "the policy does not load"),
    Reason.CONFIG_INVALID: (500, "the configuration is not usable"),
    Reason.STATE_UNAVAILABLE: (503, "the state is not available"),
    Reason.SERVICE_STOPPING: (503, "the service is stopping"),
    Reason.SERVICE_UNREACHABLE: (502, "another service does not answer"),
    Reason.SERVICE_ANSWER: (502, "another service gave no usable answer"),
    Reason.SERVICE_IMPOSTOR: (502, "another service is not who it should be"),
    Reason.INTERNAL: (500, "an internal error; nothing was allowed"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A refused request, ready to send."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]


def problem_of(error: ShieldError, *, allow: str | None = None) -> Problem:
    """The answer to a request that failed with `error`; `allow` are the methods of a 405."""
    status, title = TABLE.get(error.reason, TABLE[Reason.INTERNAL])
    shape: dict[str, object] = {
        "type": _TYPE + error.reason.value,
        "title": title,
        "status": status,
        "reason": error.reason.value,
        "detail": str(error) if type(error) is not ShieldError else title,
    }
    if isinstance(error, InputError):
        shape["pointer"] = error.pointer
        shape["offset"] = error.offset
    headers = []
    retry_after = error.retry_after if isinstance(error, RefusedError) else None
    if retry_after is None and status == 503:
        retry_after = 1
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="shield"'))
    if allow is not None:
        headers.append((b"allow", allow.encode()))
    body = json.dumps(shape, ensure_ascii=False).encode("utf-8", "replace")
    return Problem(status=status, body=body, headers=tuple(headers))
