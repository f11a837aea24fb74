"""`/openapi.json` (OpenAPI 3.1), generated from the table of routes and the models of the bodies."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from shield.errors import Reason
from shield.service.problems import TABLE
from shield.service.routes import Route
from shield.types import Answer, ApprovalState, Decision, Isolation, Scope

__all__ = ["describe"]

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_TIME = {"type": "string", "format": "date-time"}
_HASH = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_NAME = {"type": ["string", "null"], "pattern": "^[A-Za-z0-9._:-]{1,64}$"}
_OBJECT = {"type": "object"}
_TYPE = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": r"^[^\u0000-\u001f\u007f]*$"}
_CWD = {"type": ["string", "null"], "pattern": r"^/[^\u0000]*$"}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _closed(properties: Mapping[str, Any], *, optional: Iterable[str] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in set(optional)],
        "additionalProperties": False,
    }


def _array(item: Mapping[str, Any], most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": dict(item)} | ({} if most is None else {"maxItems": most})


_PART = _closed({"role": _TEXT, "text": _TEXT})
_NOTE = _closed({"reason": _TEXT, "detail": _TEXT})

_LABELS = _closed({"confidentiality": _TEXT, "integrity": _TEXT})
_REDACTIONS = _array(_closed({"kind": _TEXT, "role": _TEXT, "start": _WHOLE, "end": _WHOLE}))

_MAYBE_WHOLE = {"type": ["integer", "null"]}
_PLACE = _closed(
    {"name": _TEXT, "size": _MAYBE_WHOLE, "age_s": _MAYBE_WHOLE, "behind_s": _WHOLE, "trouble": _MAYBE_TEXT}
)
_OUTSIDE = _closed(
    {
        "size": _MAYBE_WHOLE,
        "age_s": _MAYBE_WHOLE,
        "behind_s": _WHOLE,
        "places": {"anyOf": [_array(_PLACE), {"type": "null"}]},
    }
)

_SCHEMAS: dict[str, dict[str, Any]] = {
    "ActionRequest": _closed(
        {
            "id": {"type": ["string", "null"], "pattern": "^[!-~]([ -~]{0,126}[!-~])?$"},
            "type": _TYPE,
            "payload": _OBJECT,
            "cwd": _CWD,
            "session": _NAME,
            "tool_call_id": _NAME,
            "min_tier": {"type": ["integer", "null"], "minimum": 0, "maximum": 3},
            "intent": {"type": ["string", "null"], "maxLength": 4096},
        },
        optional=("id", "cwd", "session", "tool_call_id", "min_tier", "intent"),
    ),
    "Action": _closed({"type": _TYPE, "payload": _OBJECT, "cwd": _CWD}),
    "Batch": _closed({"actions": _array(_ref("ActionRequest"), 100) | {"minItems": 1}}),
    "Verdict": _closed(
        {
            "id": _TEXT,
            "evaluation": _TEXT,
            "decision": {"enum": [item.value for item in Decision]},
            "reason": _TEXT,
            "advice": _MAYBE_TEXT,
            "action_hash": {"anyOf": [_HASH, {"type": "null"}]},
            "expires_at": {"type": ["string", "null"], "format": "date-time"},
            "approval": {"anyOf": [_closed({"id": _TEXT, "expires_at": _TIME}), {"type": "null"}]},
            "permit": _MAYBE_TEXT,
            "seq": _WHOLE,
        }
    ),
    "Verdicts": _closed({"verdicts": _array(_ref("Verdict"), 100)}),
    "Session": _closed(
        {
            "session": _TEXT,
            "workspace_roots": _array(_TEXT),
            "shell": _TEXT,
            "env": {"type": "object", "additionalProperties": _TEXT},
            "public_key": _TEXT,
            "isolation_required": {"enum": [item.value for item in Isolation]},
            "hidden": _closed({"paths": _array(_TEXT), "ports": _array(_WHOLE)}),
        }
    ),
    "Receipt": _closed({"receipt": _TEXT}),
    "OutcomeReply": _closed(
        {
            "seq": _WHOLE,
            "content": _array(_PART),
            "labels": _LABELS,
            "redactions": _REDACTIONS,
        }
    ),
    "Inspection": _closed(
        {
            "decision": {"enum": [item.value for item in Decision]},
            "content": _TEXT,
            "labels": _LABELS,
            "redactions": _REDACTIONS,
            "findings": _array(
                _closed(
                    {
                        "rule": _TEXT,
                        "answer": {"enum": [Answer.ESCALATE.value, Answer.BLOCK.value]},
                        "layer": _TEXT,
                        "start": _WHOLE,
                        "end": _WHOLE,
                        "score": {"type": ["number", "null"]},
                    }
                )
            ),
            "seq": _WHOLE,
        },
        optional=("findings",),
    ),
    "Approval": _closed(
        {
            "id": _TEXT,
            "state": {"enum": [item.value for item in ApprovalState]},
            "created_at": _TIME,
            "expires_at": _TIME,
            "request": _OBJECT,
            "facts": _OBJECT,
            "rule": _TEXT,
            "reason": _TEXT,
            "scopes": _array({"enum": [item.value for item in Scope]}),
            "pattern": _MAYBE_TEXT,
            "answered_by": _MAYBE_TEXT,
            "note": _MAYBE_TEXT,
            "evaluation": _TEXT,
            "session": _TEXT,
            "agent": _TEXT,
        }
    ),
    "Approvals": _closed({"approvals": _array(_ref("Approval"))}),
    "Records": _closed({"records": _array(_OBJECT, 1000), "size": _WHOLE}),
    "Note": _TEXT,
    "Proof": _TEXT,
    "Metrics": _TEXT,
    "Empty": _closed({}),
    "Reloaded": _closed({"previous": _HASH, "policy": _HASH}),
    "Health": _closed({"status": {"const": "ok"}}),
    "Readiness": _closed(
        {
            "ready": {"type": "boolean"},
            "trouble": _array(_NOTE),
            "notes": _array(_NOTE),
            "policy": _closed({"running": _HASH, "disk": {"anyOf": [_HASH, {"type": "null"}]}}),
            "rules": _closed({"errors": _WHOLE, "by_rule": {"type": ["object", "null"]}}),
            "tiers": {"type": "object", "additionalProperties": _TEXT},
            "tier1": _closed({"model": _MAYBE_TEXT, "heuristics": _MAYBE_TEXT, "detail": _MAYBE_TEXT}),
            "log": _closed({"id": _TEXT, "size": _WHOLE, "unsealed": _WHOLE, "outside": _OUTSIDE}),
            "approvals": _closed({"pending": _WHOLE}),
        }
    ),
    "Description": _OBJECT,
    "Problem": _closed(
        {
            "type": {"type": "string", "format": "uri"},
            "title": _TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "reason": {"enum": [item.value for item in Reason]},
            "detail": _TEXT,
            "pointer": _MAYBE_TEXT,
            "offset": {"type": ["integer", "null"]},
        },
        optional=("pointer", "offset"),
    ),
}
_QUERY = {
    "wait": {"type": "number", "minimum": 0, "maximum": 60, "multipleOf": 0.001},
    "from": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
    "limit": {"type": "integer", "minimum": 0, "maximum": 1000},
}


def describe(routes: Iterable[Route], version: str) -> bytes:
    """The description as JSON bytes. A route that names an unknown schema is a mistake in the table: KeyError."""
    table = tuple(routes)
    models = {route.request for route in table if isinstance(route.request, type)}
    _, found = models_json_schema(
        [(model, "validation") for model in sorted(models, key=lambda model: model.__name__)],
        ref_template="#/components/schemas/{model}",
    )
    found["$defs"]["RedeemBody"]["properties"]["action"] = _ref(
        "Action"
    )  # handed on as it is, so no model of pydantic's
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Shield",
            "version": version,
            "summary": "judges every tool call of an agent; a client treats whatever is no verdict as BLOCK",
        },
        "paths": paths,
        "components": {
            "schemas": {**_SCHEMAS, **found.get("$defs", {})},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(document, ensure_ascii=False).encode()


def _operation(route: Route) -> dict[str, Any]:
    statuses = {*route.errors, 500} | ({401, 403, 503} if route.roles is not None else {401, 403})
    if route.path == "/readyz":
        statuses.discard(503)
    operation: dict[str, Any] = {
        "operationId": f"{route.handler.__name__}",
        "summary": route.summary,
        "parameters": [*_parameters(route)],
        "responses": {
            "200": {
                "description": "done",
                "content": {route.media: {"schema": _ref(_known(route.response))}},
            },
            **{str(status): _problem(status) for status in sorted(statuses)},
        },
    }
    if route.path == "/readyz":
        operation["responses"]["503"] = operation["responses"]["200"] | {"description": "not ready"}
    if route.roles is not None:
        operation["security"] = [{"token": sorted(role.value for role in route.roles)}]
    if route.request is not None:
        name = route.request if isinstance(route.request, str) else route.request.__name__
        schema = _ref(_known(name) if isinstance(route.request, str) else name)
        needed = route.request != "Empty"
        operation["requestBody"] = {"required": needed, "content": {"application/json": {"schema": schema}}}
    return operation


def _parameters(route: Route) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": _TEXT}
    for name in route.query:
        yield {"name": name, "in": "query", "required": False, "schema": _QUERY.get(name, _TEXT)}


def _problem(status: int) -> dict[str, Any]:
    reasons = ", ".join(f"`{reason.value}`" for reason, (code, _) in TABLE.items() if code == status)
    return {
        "description": f"refused: {reasons}",
        "content": {"application/problem+json": {"schema": _ref("Problem")}},
    }


def _known(name: str) -> str:
    _SCHEMAS[name]  # a typing mistake in the table of routes shows when the service is built
    return name
