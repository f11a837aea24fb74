"""The one table of routes: it makes the router, says who may call what, and is what `/openapi.json` describes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel

from shield.service import approving, judging, operating
from shield.service.call import Call, Context, Reply
from shield.types import Role

__all__ = ["ROUTES", "Handler", "Route"]

Handler = Callable[[Context, Call], Awaitable[Reply]]
_AGENT = frozenset({Role.AGENT})
_APPROVER = frozenset({Role.APPROVER})
_READERS = frozenset({Role.AGENT, Role.APPROVER, Role.ADMIN})
_AUDITOR = frozenset({Role.AUDITOR})
_ADMIN = frozenset({Role.ADMIN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`roles` None = anyone. `charge`: evaluations taken from the token's bucket before the body is read.
    `work`: takes one of the places for requests in work. `request`/`response` name schemas of the API description;
    `errors` are the statuses of problem reports besides those that every route may give."""

    method: str
    path: str
    roles: frozenset[Role] | None
    handler: Handler
    summary: str
    response: str
    request: str | type[BaseModel] | None = None
    query: tuple[str, ...] = ()
    charge: int = 0
    work: bool = False
    media: str = "application/json"
    errors: tuple[int, ...] = ()


ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/v1/sessions",
        roles=_AGENT,
        handler=judging.open_session,
        summary="open a session in directories that the owner trusts",
        request=judging.SessionBody,
        response="Session",
        work=True,
        errors=(400, 413, 415, 429),
    ),
    Route(
        method="POST",
        path="/v1/evaluate",
        roles=_AGENT,
        handler=judging.evaluate,
        summary="judge one action",
        request="ActionRequest",
        response="Verdict",
        charge=1,
        work=True,
        errors=(400, 404, 413, 415, 429),
    ),
    Route(
        method="POST",
        path="/v1/evaluate/batch",
        roles=_AGENT,
        handler=judging.evaluate_batch,
        summary="judge up to 100 actions, each as if the others were not done",
        request="Batch",
        response="Verdicts",
        work=True,
        errors=(400, 404, 413, 415, 429),
    ),
    Route(
        method="GET",
        path="/v1/evaluations/{evaluation}",
        roles=_AGENT,
        handler=judging.evaluation,
        summary="the current verdict; after an approval it is judged again",
        response="Verdict",
        query=("wait",),
        errors=(400, 404),
    ),
    Route(
        method="POST",
        path="/v1/permits/redeem",
        roles=_AGENT,
        handler=judging.redeem,
        summary="exchange a permit for a signed receipt, once, just before the action runs",
        request=judging.RedeemBody,
        response="Receipt",
        work=True,
        errors=(400, 409, 413, 415),
    ),
    Route(
        method="POST",
        path="/v1/outcomes",
        roles=_AGENT,
        handler=judging.outcome,
        summary="report what came of a redeemed permit",
        request=judging.OutcomeBody,
        response="OutcomeReply",
        work=True,
        errors=(400, 409, 413, 415),
    ),
    Route(
        method="POST",
        path="/v1/inspect",
        roles=_READERS,
        handler=judging.inspect,
        summary="look at a text from a user, a tool or a model before it is passed on",
        request=judging.InspectBody,
        response="Inspection",
        charge=1,
        work=True,
        errors=(400, 404, 413, 415, 429),
    ),
    Route(
        method="GET",
        path="/v1/approvals",
        roles=_APPROVER,
        handler=approving.approvals,
        summary="the open questions, oldest first",
        response="Approvals",
        query=("wait",),
        errors=(400,),
    ),
    Route(
        method="GET",
        path="/v1/approvals/{approval}",
        roles=_APPROVER,
        handler=approving.approval,
        summary="one question with its action and facts",
        response="Approval",
        errors=(404,),
    ),
    Route(
        method="POST",
        path="/v1/approvals/{approval}",
        roles=_APPROVER,
        handler=approving.answer,
        summary="answer a question; the first answer stands",
        request=approving.AnswerBody,
        response="Approval",
        errors=(400, 404, 409, 413, 415),
    ),
    Route(
        method="GET",
        path="/v1/audit/records",
        roles=_AUDITOR,
        handler=operating.records,
        summary="records of the log as they were hashed",
        response="Records",
        query=("from", "limit", "kind", "session", "agent", "call_id"),
        errors=(400,),
    ),
    Route(
        method="GET",
        path="/v1/audit/checkpoint",
        roles=_AUDITOR,
        handler=operating.checkpoint,
        summary="the newest signed checkpoint (C2SP note)",
        response="Note",
        media="text/plain",
    ),
    Route(
        method="GET",
        path="/v1/audit/proof/{seq}",
        roles=_AUDITOR,
        handler=operating.proof,
        summary="that one record stands in the log (C2SP tlog-proof)",
        response="Proof",
        media="text/plain",
        errors=(404,),
    ),
    Route(
        method="POST",
        path="/v1/reload",
        roles=_ADMIN,
        handler=operating.reload,
        summary="load policy and tokens anew; a policy that does not load changes nothing",
        request="Empty",
        response="Reloaded",
        work=True,
        errors=(400, 413, 415, 422),
    ),
    Route(
        method="GET",
        path="/healthz",
        roles=None,
        handler=operating.healthz,
        summary="the process answers",
        response="Health",
    ),
    Route(
        method="GET",
        path="/readyz",
        roles=None,
        handler=operating.readyz,
        summary="whether verdicts can be given and recorded, and what stands in the way",
        response="Readiness",
    ),
    Route(
        method="GET",
        path="/metrics",
        roles=None,
        handler=operating.metrics,
        summary="Prometheus metrics",
        response="Metrics",
        media="text/plain",
    ),
    Route(
        method="GET",
        path="/openapi.json",
        roles=None,
        handler=operating.described,
        summary="this description",
        response="Description",
    ),
)
