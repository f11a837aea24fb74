"""Reading what came back: a typed value or a ClientError, nothing in between."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from shield.client.document import (
    MAX_ANSWER,
    as_object,
    broken,
    list_in,
    number_in,
    object_of,
    text_in,
    text_or_none,
    texts_in,
    time_in,
)
from shield.client.values import OpenedSession
from shield.errors import ClientError, Reason
from shield.types import (
    Approval,
    ApprovalState,
    Decision,
    Hidden,
    Isolation,
    Json,
    Labels,
    OutcomePart,
    OutcomeReply,
    Redaction,
    Scope,
    Tier,
    Verdict,
)

if TYPE_CHECKING:
    import httpx

__all__ = [
    "MAX_ANSWER",
    "Answer",
    "answer_of",
    "approval_of",
    "problem",
    "read_outcome",
    "read_session",
    "read_verdict",
    "take",
    "unreachable",
    "verdict_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    media: str
    raw: bytes
    retry_after: int | None

    def document(self) -> dict[str, Json]:
        """The body of a 200 as a JSON object, read strictly."""
        if self.status != 200:
            raise problem(self)
        if self.media != "application/json":
            raise broken(f"an answer of media type `{self.media}`")
        return object_of(self.raw)


def take(raw: bytearray, chunk: bytes) -> None:
    if len(raw) + len(chunk) > MAX_ANSWER:
        raise broken(f"an answer of more than {MAX_ANSWER} bytes")
    raw += chunk


def answer_of(response: "httpx.Response", raw: bytes) -> Answer:
    after = response.headers.get("retry-after", "")
    return Answer(
        status=response.status_code,
        media=response.headers.get("content-type", "").partition(";")[0].strip().lower(),
        raw=raw,
        retry_after=int(after) if after.isascii() and after.isdigit() and len(after) < 8 else None,
    )


def unreachable(error: BaseException) -> ClientError:
    return ClientError(f"Shield did not answer ({type(error).__name__}); nothing is run, see `shield status`")


def problem(answer: Answer) -> ClientError:
    """RFC 9457 problem details; whatever else came is `service.answer`."""
    if answer.media != "application/problem+json" or answer.status < 400:
        return ClientError(
            f"Shield answered with status {answer.status} and no problem report; nothing is run",
            reason=Reason.SERVICE_ANSWER,
            status=answer.status,
        )
    try:
        document = object_of(answer.raw)
        reason = Reason(text_in(document, "reason"))
        detail = document.get("detail") or document.get("title")
    except (ClientError, ValueError):
        return ClientError(
            f"Shield answered with status {answer.status} and a problem report that cannot be read; nothing is run",
            reason=Reason.SERVICE_ANSWER,
            status=answer.status,
        )
    shown = detail if isinstance(detail, str) else reason.value
    return ClientError(shown, reason=reason, status=answer.status, retry_after=answer.retry_after)


def read_session(answer: Answer) -> OpenedSession:
    document = answer.document()
    try:
        key = base64.b64decode(text_in(document, "public_key"), validate=True)
        isolation = Isolation(text_in(document, "isolation_required"))
    except (binascii.Error, ValueError):
        raise broken("a session whose key or isolation cannot be read") from None
    shell = text_in(document, "shell")
    if len(key) != 32 or not shell.startswith("/"):
        raise broken("a session without a key of 32 bytes or an absolute shell")
    roots = list_in(document, "workspace_roots")
    hidden = document.get("hidden")
    if not isinstance(hidden, dict):
        raise broken("a session that does not say what to hide")
    paths, ports = list_in(hidden, "paths"), list_in(hidden, "ports")
    # INVARIANT: what cannot be read is not skipped, or it would not be hidden
    if not all(isinstance(path, str) and path.startswith("/") for path in paths):
        raise broken("a session that hides what is no absolute path")
    if not all(isinstance(port, int) and 0 < port < 1 << 16 for port in ports):
        raise broken("a session that hides what is no port")
    return OpenedSession(
        id=text_in(document, "session"),
        workspace_roots=tuple(root for root in roots if isinstance(root, str)),
        shell=shell,
        env=MappingProxyType(texts_in(document, "env")),
        public_key=key,
        isolation_required=isolation,
        hidden=Hidden(
            paths=tuple(path for path in paths if isinstance(path, str)),
            ports=tuple(port for port in ports if isinstance(port, int)),
        ),
    )


def read_verdict(answer: Answer) -> Verdict:
    return verdict_of(answer.document())


def verdict_of(document: Mapping[str, Json]) -> Verdict:
    """A verdict, of which an agent sees few fields; the absent ones keep the defaults of `Verdict`."""
    try:
        decision = Decision(text_in(document, "decision"))
        tier = Tier(number_in(document, "tier", Tier.POLICY))
        need = Tier(number_in(document, "need", Tier.PERSON))
    except ValueError:
        raise broken("an unknown decision or tier") from None
    permit = text_or_none(document, "permit")
    if (decision is Decision.ALLOW) != (permit is not None) and not document.get("dry_run"):
        raise broken(f"{decision} {'with' if permit else 'without'} a permit")
    approval = document.get("approval")
    pending = None if approval is None else as_object(approval)
    seq = document.get("seq")
    return Verdict(
        id=text_in(document, "id"),
        evaluation=text_in(document, "evaluation"),
        decision=decision,
        tier=tier,
        need=need,
        rule=text_or_none(document, "rule") or "",
        reason=text_in(document, "reason"),
        advice=text_or_none(document, "advice"),
        action_hash=text_or_none(document, "action_hash"),
        policy=text_or_none(document, "policy"),
        evaluated_at=time_in(document, "evaluated_at") or 0,
        expires_at=time_in(document, "expires_at"),
        approval=None if pending is None else text_in(pending, "id"),
        approval_expires_at=None if pending is None else time_in(pending, "expires_at"),
        permit=permit,
        seq=None if seq is None else number_in(document, "seq"),
        dry_run=document.get("dry_run") is True,
    )


def read_outcome(answer: Answer) -> OutcomeReply:
    document = answer.document()
    labels = as_object(document.get("labels") or {})
    return OutcomeReply(
        seq=number_in(document, "seq"),
        content=tuple(
            OutcomePart(role=text_in(part, "role"), text=text_in(part, "text"))
            for part in map(as_object, list_in(document, "content"))
        ),
        labels=Labels(**{name: text_in(labels, name) for name in ("confidentiality", "integrity") if name in labels}),
        redactions=tuple(
            Redaction(
                kind=text_in(item, "kind"),
                role=text_in(item, "role"),
                start=number_in(item, "start"),
                end=number_in(item, "end"),
            )
            for item in map(as_object, list_in(document, "redactions"))
        )
        if document.get("redactions") is not None
        else (),
    )


def approval_of(document: Mapping[str, Json]) -> Approval:
    try:
        state = ApprovalState(text_in(document, "state"))
        scopes = tuple(Scope(str(item)) for item in list_in(document, "scopes"))
    except ValueError:
        raise broken("an unknown approval state or scope") from None
    return Approval(
        id=text_in(document, "id"),
        state=state,
        created_at=time_in(document, "created_at") or 0,
        expires_at=time_in(document, "expires_at") or 0,
        request=MappingProxyType(as_object(document.get("request"))),
        facts=MappingProxyType(as_object(document.get("facts"))),
        rule=text_in(document, "rule"),
        reason=text_in(document, "reason"),
        scopes=scopes,
        pattern=text_or_none(document, "pattern"),
        evaluation=text_in(document, "evaluation"),
        session=text_or_none(document, "session") or "",
        agent=text_or_none(document, "agent") or "",
        answered_by=text_or_none(document, "answered_by"),
        note=text_or_none(document, "note"),
    )
