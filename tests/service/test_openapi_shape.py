"""The API description: generated from the routes, complete, and true of what is answered."""

import json
import re

import pytest

from service_harness import approval, running
from shield.errors import (
    ClientError,
    ConfigError,
    InputError,
    PermitError,
    PolicyError,
    Reason,
    RecordError,
    RefusedError,
    ShieldError,
    StateError,
)
from shield.service.openapi import describe
from shield.service.problems import TABLE, problem_of
from shield.service.routes import ROUTES
from shield.types import Role

DOCUMENT = json.loads(describe(ROUTES, "0.1.0"))
TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


def fits(value, schema):
    """Whether a value is what a schema of the few words we use says; raises on a word it does not know."""
    if "$ref" in schema:
        return fits(value, resolve(schema["$ref"]))
    known = {
        "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "minItems",
        "maxItems", "minLength", "maxLength", "minimum", "maximum", "multipleOf", "pattern", "format", "title",
        "default", "description",
    }  # fmt: skip
    assert schema.keys() <= known, schema.keys() - known
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return value == schema["const"]
    types = schema.get("type", list(TYPES))
    types = [types] if isinstance(types, str) else types
    if not any(isinstance(value, TYPES[name]) and not (name != "boolean" and value is True) for name in types):
        return False
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if isinstance(value, dict) and "properties" in schema:
        extra = value.keys() - schema["properties"].keys()
        if extra and schema.get("additionalProperties") is False:
            return False
        if set(schema.get("required", ())) - value.keys():
            return False
        return all(fits(value[name], one) for name, one in schema["properties"].items() if name in value)
    if isinstance(value, list) and "items" in schema:
        return all(fits(item, schema["items"]) for item in value)
    return True


def resolve(ref):
    found = DOCUMENT
    for part in ref.removeprefix("#/").split("/"):
        found = found[part]
    return found


def refs(value):
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from refs(item)


def test_every_route_is_described_and_nothing_else():
    described = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert described == {(route.method, route.path) for route in ROUTES}
    assert DOCUMENT["openapi"] == "3.1.0"


def test_every_reference_leads_somewhere():
    found = list(refs(DOCUMENT))
    assert found
    for ref in found:
        resolve(ref)


def test_operation_ids_are_unique():
    ids = [operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()]
    assert len(set(ids)) == len(ids)


def test_roles_are_described():
    operation = DOCUMENT["paths"]["/v1/approvals/{approval}"]["post"]
    assert operation["security"] == [{"token": ["approver"]}]
    assert "security" not in DOCUMENT["paths"]["/healthz"]["get"]
    assert [item["name"] for item in operation["parameters"]] == ["approval"]


def test_answers_are_as_described():
    with running() as service:
        service.judge.approvals.rows = {"ap-1": approval(1)}
        good = {"type": "read_file", "payload": {"path": "x"}}
        service.call("POST", "/v1/evaluate", value=good)
        session = {"workspace_roots": ["/ws"], "isolation": "none"}
        redeem = {"permit": "eyJ.permit", "action": {"type": "x", "payload": {}, "cwd": None}, "nonce": "0" * 32}
        outcome = {"jti": "j", "status": "ok", "content": [{"role": "stdout", "text": "x"}]}
        calls = [
            ("POST", "/v1/sessions", "/v1/sessions", Role.AGENT, session),
            ("POST", "/v1/evaluate", "/v1/evaluate", Role.AGENT, good),
            ("POST", "/v1/evaluate/batch", "/v1/evaluate/batch", Role.AGENT, {"actions": [good]}),
            ("GET", "/v1/evaluations/ev-1", "/v1/evaluations/{evaluation}", Role.AGENT, None),
            ("POST", "/v1/permits/redeem", "/v1/permits/redeem", Role.AGENT, redeem | {"isolation": "none"}),
            ("POST", "/v1/outcomes", "/v1/outcomes", Role.AGENT, outcome),
            ("POST", "/v1/inspect", "/v1/inspect", Role.AGENT, {"direction": "user", "content": "x"}),
            (
                "POST",
                "/v1/inspect",
                "/v1/inspect",
                Role.ADMIN,
                {"direction": "tool_result", "source": "a", "content": "x"},
            ),
            ("GET", "/v1/approvals", "/v1/approvals", Role.APPROVER, None),
            ("GET", "/v1/approvals/ap-1", "/v1/approvals/{approval}", Role.APPROVER, None),
            ("POST", "/v1/approvals/ap-1", "/v1/approvals/{approval}", Role.APPROVER, {"answer": "deny"}),
            ("GET", "/v1/audit/records", "/v1/audit/records", Role.AUDITOR, None),
            ("POST", "/v1/reload", "/v1/reload", Role.ADMIN, {}),
            ("GET", "/healthz", "/healthz", None, None),
            ("GET", "/readyz", "/readyz", None, None),
        ]
        for method, target, path, role, value in calls:
            answer = service.call(method, target, role=role, value=value)
            operation = DOCUMENT["paths"][path][method.lower()]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            assert answer.status == 200, (target, answer)
            assert fits(answer.json(), schema), (target, answer.json())
            assert not fits({"unknown": 1}, schema)
            if value is not None:
                assert fits(value, operation["requestBody"]["content"]["application/json"]["schema"]), path
        assert json.loads(service.call("GET", "/openapi.json", role=None).body) == DOCUMENT
        problem = service.call("POST", "/v1/evaluate", value={}).json()
        assert fits(problem, {"$ref": "#/components/schemas/Problem"})


ACTION = {"type": "read_file", "payload": {"path": "x"}}
REDEEM = {"permit": "eyJ.permit", "nonce": "0" * 32, "isolation": "none"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/v1/evaluate", ACTION | {"type": "read\x1b_file"}),
        ("/v1/evaluate", ACTION | {"cwd": "relative"}),
        ("/v1/evaluate", ACTION | {"id": " "}),
        ("/v1/evaluate", ACTION | {"min_tier": 4}),
        ("/v1/evaluate/batch", {"actions": [ACTION | {"type": "\x7f"}]}),
        ("/v1/permits/redeem", REDEEM | {"action": {}}),
        ("/v1/permits/redeem", REDEEM | {"action": ACTION}),
    ],
)
def test_what_is_refused_is_not_described(path, value):
    with running() as service:
        assert service.call("POST", path, value=value).status == 400
    assert not fits(value, DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"])


@pytest.mark.parametrize("value", ["9007199254740990", "0", "999999999999999"])
def test_records_are_asked_for_by_every_number_that_is_described(value):
    with running() as service:
        assert service.call("GET", f"/v1/audit/records?from={value}", role=Role.AUDITOR).status == 200


def test_a_workspace_is_an_absolute_path():
    """That the sessions refuse another one, `tests/pipeline` shows."""
    described = {"$ref": "#/components/schemas/SessionBody"}
    assert fits({"workspace_roots": ["/ws"], "isolation": "none"}, described)
    assert not fits({"workspace_roots": ["ws"], "isolation": "none"}, described)


def test_a_reload_needs_no_body_and_says_so():
    with running() as service:
        assert service.call("POST", "/v1/reload", role=Role.ADMIN).status == 200
    assert DOCUMENT["paths"]["/v1/reload"]["post"]["requestBody"]["required"] is False


def test_every_reason_has_a_status_and_a_title():
    assert set(TABLE) == set(Reason)
    for status, title in TABLE.values():
        assert 400 <= status <= 599
        assert title == title.strip()
        assert title[0].islower()
        assert not title.endswith(".")


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize(
    "kind", [ShieldError, RefusedError, PermitError, RecordError, StateError, ConfigError, ClientError]
)
def test_no_error_is_ever_a_success(reason, kind):
    problem = problem_of(kind("why `x`", reason=reason))
    assert problem.status >= 400
    body = json.loads(problem.body)
    assert fits(body, {"$ref": "#/components/schemas/Problem"})
    assert body["status"] == problem.status


def test_positions_and_retries():
    body = json.loads(problem_of(InputError("x", pointer="/a", offset=3)).body)
    assert (body["pointer"], body["offset"]) == ("/a", 3)
    assert (
        dict(problem_of(RefusedError("x", reason=Reason.ADMISSION_RATE, retry_after=7)).headers)[b"retry-after"] == b"7"
    )
    assert b"retry-after" in dict(problem_of(RecordError("x")).headers)
    assert json.loads(problem_of(PolicyError("x", file="a.yaml", line=3, column=5)).body)["detail"] == "a.yaml:3:5: x"
    assert json.loads(problem_of(ShieldError("hunter2")).body)["detail"] == TABLE[Reason.INTERNAL][1]
    assert json.loads(problem_of(InputError("lone \ud800")).body)
