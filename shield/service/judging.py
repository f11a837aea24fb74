"""What an agent asks for: sessions, verdicts, receipts, and what came of it."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from shield.actions.request import parse_batch, parse_proposal
from shield.errors import InputError, PermitError, Reason, RecordError, ShieldError
from shield.pipeline.inspect import Direction
from shield.service.call import Body, Call, Context, Reply, held, read_body, wait_of
from shield.service.guarded import processes_of
from shield.service.shapes import (
    encode,
    inspection_json,
    labels_json,
    redactions_json,
    session_json,
    verdict_json,
)
from shield.types import Decision, Isolation, Outcome, OutcomePart, OutcomeStatus, Role, Session, Verdict

__all__ = ["evaluate", "evaluate_batch", "evaluation", "inspect", "open_session", "outcome", "redeem"]

T = TypeVar("T")

_LARGE = 64 * 1024  # bytes from which reading a body would hold up everyone else on the event loop
_CONTENT_MAX = 256 * 1024

_Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
_Token = Annotated[str, Field(min_length=1, max_length=1 << 20)]
_Root = Annotated[str, Field(min_length=1, max_length=4096, json_schema_extra={"pattern": "^/"})]
_Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


class SessionBody(Body):
    workspace_roots: Annotated[list[_Root], Field(max_length=16)]
    isolation: Literal["none", "state_hidden", "confined"]
    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$")] | None = None


class RedeemBody(Body):
    permit: _Token
    action: dict[str, Any]
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    isolation: Literal["none", "state_hidden", "confined"]


class ContentBody(Body):
    role: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]
    text: str


class OutcomeBody(Body):
    jti: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]
    status: Literal["ok", "error", "timeout", "cancelled", "not_run"]
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    duration_us: _Count = 0
    content: Annotated[list[ContentBody], Field(max_length=64, default_factory=list)]
    bytes: _Count = 0
    sha256: _Hash | None = None
    truncated: bool = False


class InspectBody(Body):
    session: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$")] | None = None
    direction: Literal["user", "tool_result", "model_output"]
    source: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    content: str


async def open_session(context: Context, call: Call) -> Reply:
    """`POST /v1/sessions`: a session belongs to the token that made it."""
    body, _ = await _off_loop(call, lambda: read_body(call.body, SessionBody))
    session = await asyncio.to_thread(
        context.judge.sessions.open,
        tuple(body.workspace_roots),
        Isolation(body.isolation),
        body.label,
        owner=call.caller.id,
        agent=call.caller.name,
        pids=processes_of(call.pid),
    )
    return Reply(body=encode(session_json(session, context.judge.public_key, Isolation.STATE_HIDDEN, context.hidden)))


async def evaluate(context: Context, call: Call) -> Reply:
    """`POST /v1/evaluate`: one ActionRequest, one Verdict, recorded before it is answered."""
    started = context.now()
    caller = call.caller
    proposal = await _off_loop(call, lambda: parse_proposal(call.body))
    session = _session(context, call, proposal.session)
    request = await _off_loop(call, lambda: proposal.request(_default_cwd(session)))
    verdict = released(await context.judge.evaluate(request, session=session, agent=caller.name, owner=caller.id))
    context.metrics.decided(verdict, request.action.type, context.now() - started)
    return Reply(body=encode(verdict_json(verdict, Role.AGENT)))


async def evaluate_batch(context: Context, call: Call) -> Reply:
    """`POST /v1/evaluate/batch`: each judged as if the others were not done; all are read before any is judged."""
    caller = call.caller
    proposals = await asyncio.to_thread(parse_batch, call.body)
    context.admission.charge(caller.id, len(proposals))
    sessions = [_session(context, call, proposal.session) for proposal in proposals]
    pairs = tuple(zip(proposals, sessions, strict=True))
    requests = await asyncio.to_thread(lambda: [one.request(_default_cwd(session)) for one, session in pairs])
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(context.judge.evaluate(request, session=session, agent=caller.name, owner=caller.id))
                for request, session in zip(requests, sessions, strict=True)
            ]
    except ExceptionGroup as failed:
        # one that failed leaves no verdict for the others: the caller gets the reason of the first
        raise next((one for one in failed.exceptions if isinstance(one, ShieldError)), failed.exceptions[0]) from None
    verdicts = [released(task.result()) for task in tasks]
    for verdict, request in zip(verdicts, requests, strict=True):
        context.metrics.decided(verdict, request.action.type, None)
    return Reply(body=encode({"verdicts": [verdict_json(verdict, Role.AGENT) for verdict in verdicts]}))


async def evaluation(context: Context, call: Call) -> Reply:
    """`GET /v1/evaluations/{evaluation}?wait=`: the current verdict, after an approval judged again."""
    caller, name = call.caller, call.params["evaluation"]

    async def ask(wait_s: float) -> Verdict:
        return await context.judge.current(name, owner=caller.id, wait_s=wait_s)

    verdict = released(await held(context, call, wait_of(call), ask))
    return Reply(body=encode(verdict_json(verdict, Role.AGENT)))


async def redeem(context: Context, call: Call) -> Reply:
    """`POST /v1/permits/redeem`: a receipt once, or 409 and why."""
    body, value = await _off_loop(call, lambda: read_body(call.body, RedeemBody))
    if set(body.action) != {"type", "payload", "cwd"}:
        raise InputError("`action` has exactly the keys `type`, `payload` and `cwd`", pointer="/action")
    try:
        receipt = await context.judge.redeem(
            body.permit, value["action"], body.nonce, Isolation(body.isolation), owner=call.caller.id
        )
    except PermitError as error:
        context.metrics.redeemed(error.reason.value)
        raise
    context.metrics.redeemed("redeemed")
    return Reply(body=encode({"receipt": receipt}))


async def outcome(context: Context, call: Call) -> Reply:
    """`POST /v1/outcomes`: once per permit; what comes back is what a model may see."""
    body, _ = await _off_loop(call, lambda: read_body(call.body, OutcomeBody))
    _bounded(*(part.text for part in body.content))
    reply = await context.judge.outcome(
        Outcome(
            jti=body.jti,
            status=OutcomeStatus(body.status),
            exit_code=body.exit_code,
            duration_us=body.duration_us,
            content=tuple(OutcomePart(role=part.role, text=part.text) for part in body.content),
            bytes=body.bytes,
            sha256=body.sha256,
            truncated=body.truncated,
        ),
        owner=call.caller.id,
    )
    return Reply(
        body=encode(
            {
                "seq": reply.seq,
                "content": [{"role": part.role, "text": part.text} for part in reply.content],
                "labels": labels_json(reply.labels),
                "redactions": redactions_json(reply.redactions),
            }
        )
    )


async def inspect(context: Context, call: Call) -> Reply:
    """`POST /v1/inspect`: what a text from outside comes to; what comes back is what may be passed on."""
    body, _ = await _off_loop(call, lambda: read_body(call.body, InspectBody))
    _bounded(body.content)
    session = _session(context, call, body.session)
    found = await context.judge.inspect(
        body.content, Direction(body.direction), body.source, session=session, agent=call.caller.name
    )
    return Reply(body=encode(inspection_json(found, call.caller.role)))


def released(verdict: Verdict) -> Verdict:
    """The verdict if its record is durable. Raises RecordError: no record, no verdict."""
    if verdict.seq is None or verdict.dry_run or verdict.rule == Reason.AUDIT_UNAVAILABLE.value:
        raise RecordError(verdict.reason)
    if verdict.permit is not None and verdict.decision is not Decision.ALLOW:
        raise RecordError("a permit without an ALLOW; nothing is allowed")
    return verdict


def _bounded(*texts: str) -> None:
    """Raise InputError where the texts are larger together than what is taken."""
    if sum(len(text.encode("utf-8")) for text in texts) > _CONTENT_MAX:
        raise InputError(
            f"`content` is more than {_CONTENT_MAX} bytes; send head and tail",
            reason=Reason.INPUT_SIZE,
            pointer="/content",
        )


async def _off_loop(call: Call, work: Callable[[], T]) -> T:
    """`work`, in a thread where the body is so large that it would hold up everyone else."""
    return work() if len(call.body) < _LARGE else await asyncio.to_thread(work)


def _session(context: Context, call: Call, name: str | None) -> Session | None:
    return None if name is None else context.judge.sessions.get(name, owner=call.caller.id)


def _default_cwd(session: Session | None) -> str | None:
    return session.workspace_roots[0] if session is not None and session.workspace_roots else None
