"""What operators and auditors ask for: the log, a reload, health and numbers."""

import asyncio
from collections.abc import Sequence
from typing import Any

from shield.errors import InputError, Reason, RefusedError
from shield.regex import regex
from shield.service.call import Call, Context, Reply, whole_of
from shield.service.metrics import MEDIA
from shield.service.ports import Remembered
from shield.service.shapes import encode
from shield.types import Role

__all__ = ["checkpoint", "described", "healthz", "metrics", "proof", "readyz", "records", "reload"]

RECORDS_MAX = 1000  # a record is at most 16 KiB
_SEQ = regex(r"0|[1-9][0-9]{0,14}")
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


async def proof(context: Context, call: Call) -> Reply:
    """`GET /v1/audit/proof/{seq}`: that the record stands under a signed checkpoint (c2sp.org/tlog-proof), as text."""
    text = call.params["seq"]
    seq = int(text) if _SEQ.fullmatch(text) else None
    if seq is None or seq >= context.journal.size:
        raise RefusedError(
            f"there is no record `{text[:64]}`; the log holds {context.journal.size}, counted from 0",
            reason=Reason.RECORD_UNKNOWN,
        )
    found = await asyncio.to_thread(context.journal.proof, seq)
    return Reply(body=found.encode(), media="text/plain; charset=utf-8")


async def reload(context: Context, call: Call) -> Reply:
    """`POST /v1/reload`: load tokens and policy anew, swap, record who and both digests."""
    if call.body not in (b"", b"{}"):
        raise InputError("the body is empty or `{}`", reason=Reason.INPUT_FIELD, pointer="")
    done = await context.operator.reload(call.caller.name)
    return Reply(body=encode({"previous": done.previous, "policy": done.policy}))


_REMEMBERED = "what remembers the log is in trouble or not as it was; `shield status` says more with SHIELD_TOKEN set"
_NO_TIER1 = {
    "failed": "rules or classifier cannot be used, so what needs them goes to a person; "
    "see `shield model verify` and `shield lint ~/.shield/heuristics`, or ask with an admin's token",
    "absent": "there is no classifier, so what needs it goes to a person; adopt one with `shield model use DIR`",
}


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
    for place in journal.remembered:
        if place.trouble is not None:
            detail = f"{place.name}: {place.trouble}" if trusted else _REMEMBERED
            notes.append({"reason": "audit.outside", "detail": detail})
    text = standing.tier1
    if text.state in _NO_TIER1:
        detail = text.detail if trusted else None
        notes.append({"reason": f"tier1.{text.state}", "detail": detail or _NO_TIER1[text.state]})
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
        "tier1": {
            "model": text.model,
            "heuristics": text.heuristics,
            "detail": text.detail if trusted else None,
        },
        "log": {
            "id": journal.name,
            "size": journal.size,
            "unsealed": journal.unsealed,
            "outside": _outside(journal.remembered, names=trusted),
        },
        "approvals": {"pending": len(context.judge.approvals.pending())},
    }
    return Reply(body=encode(report), status=503 if trouble else 200)


def _outside(places: Sequence[Remembered], *, names: bool) -> dict[str, Any]:
    """The newest checkpoint that lies elsewhere: whoever has the key can still rewrite what came after it."""
    newest = _newest(places)
    return {
        "size": None if newest is None else newest.size,
        "age_s": None if newest is None or newest.age_s is None else int(newest.age_s),
        "behind_s": int(min((place.behind_s for place in places), default=0.0)),
        "places": [
            {
                "name": place.name,
                "size": place.size,
                "age_s": None if place.age_s is None else int(place.age_s),
                "behind_s": int(place.behind_s),
                "trouble": place.trouble,
            }
            for place in places
        ]
        if names
        else None,
    }


def _newest(places: Sequence[Remembered]) -> Remembered | None:
    known = [place for place in places if place.size is not None]
    return max(known, key=lambda place: (place.size or 0, -(place.age_s or 0.0)), default=None)


async def metrics(context: Context, call: Call) -> Reply:  # noqa: ARG001  # the shape of every handler
    """`GET /metrics`: Prometheus text."""
    gauges = {
        "shield_approvals_pending": len(context.judge.approvals.pending()),
        "shield_audit_unsealed_records": context.journal.unsealed,
        "shield_tier1_ready": int(context.operator.tier1().state == "ready"),
        "shield_tier2_budget_remaining": 0,
    }
    return Reply(body=context.metrics.text(gauges, context.journal.remembered).encode(), media=MEDIA)


async def described(context: Context, call: Call) -> Reply:  # noqa: ARG001  # the shape of every handler
    """`GET /openapi.json`: the API, generated from the table of routes."""
    return Reply(body=context.description)
