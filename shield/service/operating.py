"""What operators and auditors ask for: the log, a reload, health and numbers."""

import asyncio

from shield.errors import InputError, Reason
from shield.service.call import Call, Context, Reply, whole_of
from shield.service.metrics import MEDIA
from shield.service.shapes import encode
from shield.types import Role

__all__ = ["checkpoint", "described", "healthz", "metrics", "readyz", "records", "reload"]

RECORDS_MAX = 1000  # a record is at most 16 KiB
_FILTERS = ("kind", "session", "agent", "call_id")


async def records(context: Context, call: Call) -> Reply:
    """`GET /v1/audit/records?from=&limit=&kind=…`: the records' exact bytes, in order."""
    start = whole_of(call, "from", 0, 2**53 - 1)
    limit = whole_of(call, "limit", 100, RECORDS_MAX)
    filters = {name: call.query[name] for name in _FILTERS if name in call.query}
    leaves = await asyncio.to_thread(context.journal.records, start, limit, filters)
    # INVARIANT: a leaf is canonical JSON; it is handed on as it was hashed, never written anew
    body = b'{"records":[' + b",".join(leaves) + b'],"size":' + str(context.journal.size).encode() + b"}"
    return Reply(body=body)


async def checkpoint(context: Context, call: Call) -> Reply:  # noqa: ARG001  # the shape of every handler
    """`GET /v1/audit/checkpoint`: the newest signed note (C2SP), as text."""
    note = await asyncio.to_thread(context.journal.checkpoint)
    return Reply(body=note.encode(), media="text/plain; charset=utf-8")


async def reload(context: Context, call: Call) -> Reply:
    """`POST /v1/reload`: load tokens and policy anew, swap, record who and both digests."""
    if call.body not in (b"", b"{}"):
        raise InputError("the body is empty or `{}`", reason=Reason.INPUT_FIELD, pointer="")
    done = await context.operator.reload(call.caller.name)
    return Reply(body=encode({"previous": done.previous, "policy": done.policy}))


async def healthz(context: Context, call: Call) -> Reply:  # noqa: ARG001  # the shape of every handler
    """`GET /healthz`: the process answers."""
    return Reply(body=b'{"status":"ok"}')


async def readyz(context: Context, call: Call) -> Reply:
    """`GET /readyz`: 200 where verdicts can be given and recorded, else 503 and what stands in the way.

    Names of rules, which an agent must not see, are only shown to other roles."""
    trusted = call.token is not None and call.token.role is not Role.AGENT
    standing = await context.operator.standing(fresh=trusted)
    journal = context.journal
    trouble = []
    if journal.trouble is not None:
        trouble.append({"reason": Reason.AUDIT_UNAVAILABLE.value, "detail": journal.trouble})
    if context.stopping.is_set():
        trouble.append({"reason": Reason.SERVICE_STOPPING.value, "detail": "the service is stopping"})
    notes = []
    if standing.disk is None:
        detail = standing.disk_trouble if trusted else None
        notes.append({"reason": Reason.POLICY_INVALID.value, "detail": detail or "the policy on disk does not load"})
    elif standing.disk != standing.policy:
        notes.append({"reason": "policy.differs", "detail": "disk and running policy differ; reload to apply it"})
    report = {
        "ready": not trouble,
        "trouble": trouble,
        "notes": notes,
        "policy": {"running": standing.policy, "disk": standing.disk},
        "rules": {
            "errors": sum(standing.rule_errors.values()),
            "by_rule": dict(standing.rule_errors) if trusted else None,
        },
        "tiers": {str(tier): state for tier, state in sorted(standing.tiers.items())},
        "log": {"size": journal.size, "unsealed": journal.unsealed},
        "approvals": {"pending": len(context.judge.approvals.pending())},
    }
    return Reply(body=encode(report), status=503 if trouble else 200)


async def metrics(context: Context, call: Call) -> Reply:  # noqa: ARG001  # the shape of every handler
    """`GET /metrics`: Prometheus text."""
    gauges = {
        "shield_approvals_pending": len(context.judge.approvals.pending()),
        "shield_audit_unsealed_records": context.journal.unsealed,
        "shield_tier2_budget_remaining": 0,
    }
    return Reply(body=context.metrics.text(gauges).encode(), media=MEDIA)


async def described(context: Context, call: Call) -> Reply:  # noqa: ARG001  # the shape of every handler
    """`GET /openapi.json`: the API, generated from the table of routes."""
    return Reply(body=context.description)
