"""What cannot be read is refused with its position, recorded as `rejected`, and nothing is judged."""

import json

import pytest

from service_harness import call, raw, running
from shield.errors import Reason
from shield.types import Role

GOOD = {"type": "read_file", "payload": {"path": "README.md"}}


@pytest.fixture(scope="module", params=[False, True], ids=["httptools-uvloop", "h11-asyncio"])
def service(request):
    with running(portable=request.param) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(service):
    service.judge.judged.clear()
    service.judge.refused.clear()


def test_a_good_request_is_judged(service):
    answer = service.call("POST", "/v1/evaluate", value=GOOD)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["decision"] == "ALLOW"
    assert len(service.judge.judged) == 1
    assert service.judge.refused == []


def nested(depth: int) -> bytes:
    return b'{"type":"read_file","payload":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"


@pytest.mark.parametrize(
    ("body", "status", "reason", "where"),
    [
        (b"", 400, "input.json", None),
        (b"{", 400, "input.json", "offset"),
        (b'{"type":"read_file","payload":{}} x', 400, "input.json", "offset"),
        (b"[]", 400, "input.field", "pointer"),
        (b'{"type":"read_file","type":"x","payload":{}}', 400, "input.duplicate_key", "offset"),
        (b'{"type":"read_file","payload":{"a":1,"a":2}}', 400, "input.duplicate_key", "offset"),
        (b'{"type":"read_file","payload":{"a":NaN}}', 400, "input.number", "offset"),
        (b'{"type":"read_file","payload":{"a":1e400}}', 400, "input.number", None),
        (b'{"type":"read_file","payload":{"a":"\\ud800"}}', 400, "input.surrogate", "pointer"),
        (b'{"type":"read_file","payload":{"a":"\xff"}}', 400, "input.encoding", "offset"),
        (b'{"type":"read_file","payload":{"a":1},"sudo":true}', 400, "input.key", "pointer"),
        (b'{"type":"read_file","payload":[]}', 400, "input.payload", "pointer"),
        (b'{"type":"read_file","payload":{},"min_tier":9}', 400, "input.field", "pointer"),
        (b'{"type":"read_file","payload":{},"cwd":"ws"}', 400, "input.field", "pointer"),
        (nested(40), 400, "input.depth", None),
        (b'{"type":"read_file","payload":{"a":[' + b"1," * 20_000 + b"1]}}", 400, "input.nodes", None),
    ],
)
def test_refused_bodies(service, body, status, reason, where):
    answer = call(service.path, "POST", "/v1/evaluate", token=service.tokens[Role.AGENT], body=body)
    problem = answer.json()
    assert (answer.status, problem["reason"]) == (status, reason)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"https://shield.invalid/problems/{reason}"
    assert problem["status"] == status
    assert {"pointer", "offset"} <= problem.keys()
    if where is not None:
        assert problem[where] is not None
    assert service.judge.judged == []
    assert [(found, data) for found, data, _ in service.judge.refused] == [(Reason(reason), body)]
    assert service.judge.refused[0][2] is not None


def test_a_deep_body_is_refused_at_any_depth(service):
    answer = call(service.path, "POST", "/v1/evaluate", token=service.tokens[Role.AGENT], body=nested(200_000))
    assert answer.status == 400
    assert service.judge.judged == []


def test_a_body_declared_too_large_is_refused_before_it_is_sent(service):
    head = (
        f"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {service.tokens[Role.AGENT]}\r\n"
        "content-type: application/json\r\ncontent-length: 9000000\r\n\r\n"
    )
    answer = raw(service.path, head.encode())
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in answer.lower()
    assert [reason for reason, _, _ in service.judge.refused] == [Reason.INPUT_SIZE]


def test_a_chunked_body_is_counted_while_it_arrives(service):
    head = (
        f"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {service.tokens[Role.AGENT]}\r\n"
        "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    answer = raw(service.path, head.encode() + chunk * 9)  # no last chunk: the limit ends it
    assert answer.startswith(b"HTTP/1.1 413")
    assert service.judge.judged == []


def test_a_body_that_ends_early_is_refused(service):
    head = (
        f"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {service.tokens[Role.AGENT]}\r\n"
        "content-type: application/json\r\ncontent-length: 500\r\n\r\n"
    )
    raw(service.path, head.encode() + b'{"type":"read_file"', end=True)
    assert service.call("GET", "/healthz").status == 200
    assert service.judge.judged == []


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "multipart/x", ""]
)
def test_only_json_is_taken(service, media):
    headers = {"Content-Type": media}
    answer = service.call("POST", "/v1/evaluate", value=GOOD, headers=headers)
    assert (answer.status, answer.json()["reason"]) == (415, "input.media_type")
    assert service.judge.judged == []


@pytest.mark.parametrize("media", ["application/json", "Application/JSON; charset=UTF-8"])
def test_json_is_taken(service, media):
    assert service.call("POST", "/v1/evaluate", value=GOOD, headers={"Content-Type": media}).status == 200


def test_encoded_bodies_are_refused(service):
    answer = service.call("POST", "/v1/evaluate", value=GOOD, headers={"Content-Encoding": "gzip"})
    assert answer.status == 415


@pytest.mark.parametrize("query", ["?x=1", "?wait=1", "?%ff"])
def test_unknown_queries_are_refused(service, query):
    assert service.call("POST", f"/v1/evaluate{query}", value=GOOD).status == 400
    assert service.judge.judged == []


@pytest.mark.parametrize("wait", ["61", "-1", "1e3", "NaN", "", "1&wait=2"])
def test_waits_are_bounded(service, wait):
    assert service.call("GET", f"/v1/evaluations/ev-1?wait={wait}").status == 400


def test_the_batch_is_read_whole_before_any_is_judged(service):
    bad = {"actions": [GOOD, {"type": "read_file"}]}
    answer = service.call("POST", "/v1/evaluate/batch", value=bad)
    assert (answer.status, answer.json()["pointer"]) == (400, "/actions/1/payload")
    assert service.judge.judged == []
    assert service.call("POST", "/v1/evaluate/batch", value={"actions": [GOOD] * 101}).status == 400
    assert service.call("POST", "/v1/evaluate/batch", value={"actions": []}).status == 400


def test_a_batch_answers_in_order(service):
    actions = [GOOD | {"id": f"c-{number}"} for number in range(5)]
    answer = service.call("POST", "/v1/evaluate/batch", value={"actions": actions})
    assert [verdict["id"] for verdict in answer.json()["verdicts"]] == [f"c-{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("target", "value", "pointer"),
    [
        ("/v1/sessions", {"workspace_roots": ["/ws"], "isolation": "strong"}, "/isolation"),
        ("/v1/sessions", {"workspace_roots": "/ws", "isolation": "none"}, "/workspace_roots"),
        ("/v1/sessions", {"workspace_roots": ["/ws"], "isolation": "none", "x": 1}, "/x"),
        ("/v1/permits/redeem", {"permit": "p", "action": {}, "nonce": "0" * 32, "isolation": "none"}, "/action"),
        ("/v1/permits/redeem", {"permit": "p", "action": {}, "nonce": "xyz", "isolation": "none"}, "/nonce"),
        ("/v1/outcomes", {"jti": "j", "status": "fine"}, "/status"),
        ("/v1/outcomes", {"jti": "j", "status": "ok", "exit_code": True}, "/exit_code"),
        ("/v1/outcomes", {"jti": "j", "status": "ok", "bytes": -1}, "/bytes"),
    ],
)
def test_other_bodies_are_checked_too(service, target, value, pointer):
    answer = service.call("POST", target, value=value)
    assert (answer.status, answer.json()["pointer"]) == (400, pointer)
    assert service.judge.refused


def test_outcome_content_is_bounded(service):
    value = {"jti": "j", "status": "ok", "content": [{"role": "stdout", "text": "x" * 300_000}]}
    assert service.call("POST", "/v1/outcomes", value=value).status == 413
    assert service.judge.outcomes == []


def test_an_unforeseen_error_tells_nothing(service):
    answer = service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "raise"}})
    assert (answer.status, answer.json()["reason"]) == (500, "internal")
    assert b"hunter2" not in answer.body


def test_a_verdict_that_is_not_recorded_is_no_verdict(service):
    answer = service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "unrecorded"}})
    assert (answer.status, answer.json()["reason"]) == (503, "audit.unavailable")
    assert "retry-after" in answer.headers
    assert b"decision" not in answer.body.replace(b"the decision could not be recorded", b"")
    batch = {"actions": [GOOD, {"type": "x", "payload": {"answer": "unrecorded"}}]}
    assert service.call("POST", "/v1/evaluate/batch", value=batch).status == 503


def test_every_problem_has_the_members_of_the_contract(service):
    for answer in (
        service.call("GET", "/nowhere"),
        service.call("PUT", "/v1/evaluate"),
        service.call("POST", "/v1/evaluate", role=None, value=GOOD),
    ):
        problem = answer.json()
        assert {"type", "title", "status", "reason", "detail"} <= problem.keys()
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_methods_and_paths(service):
    answer = service.call("DELETE", "/v1/approvals/ap-1")
    assert (answer.status, answer.json()["reason"]) == (405, "route.method")
    assert {part.strip() for part in answer.headers["allow"].split(",")} == {"GET", "HEAD", "POST"}
    for path in ("/", "/v1", "/v1/evaluate/", "/v1/inspected", "/v1/events", "/v1//evaluate", "/V1/evaluate", "/docs"):
        answer = service.call("POST", path, value=GOOD)
        assert (answer.status, answer.json()["reason"]) == (404, "route.unknown"), path
    assert service.judge.judged == []
    assert service.call("OPTIONS", "/v1/evaluate").status == 204
    head = service.call("HEAD", "/healthz", role=None)
    assert (head.status, head.body) == (200, b"")


def test_no_page_is_served(service):
    for headers in ({"Origin": "http://127.0.0.1"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = service.call("POST", "/v1/evaluate", value=GOOD, headers=headers)
        assert (answer.status, answer.json()["reason"]) == (403, "auth.host")
    assert service.judge.judged == []


def test_json_is_what_the_contract_shows(service):
    verdict = service.call("POST", "/v1/evaluate", value=GOOD | {"id": "c-17"}).json()
    assert set(verdict) == {
        "id", "evaluation", "decision", "reason", "advice", "action_hash", "expires_at", "seq", "approval", "permit",
    }  # fmt: skip
    assert verdict["id"] == "c-17"
    assert verdict["expires_at"] == "2026-11-18T11:07:40.001Z"
    asked = service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "ESCALATE"}}).json()
    assert asked["approval"] == {"id": "ap-1", "expires_at": "2026-11-18T11:11:40.000Z"}
    assert asked["permit"] is None
    text = json.dumps(verdict) + json.dumps(asked)
    assert not any(word in text for word in ("rule", "evidence", "0.97", "files.read.workspace"))


def test_a_batch_with_one_that_fails_has_no_verdicts(service):
    batch = {"actions": [GOOD, {"type": "x", "payload": {"answer": "state"}}, GOOD]}
    answer = service.call("POST", "/v1/evaluate/batch", value=batch)
    assert (answer.status, answer.json()["reason"]) == (503, "state.unavailable")
    batch["actions"][1]["payload"]["answer"] = "raise"
    answer = service.call("POST", "/v1/evaluate/batch", value=batch)
    assert (answer.status, answer.json()["reason"]) == (500, "internal")


def test_a_large_request_is_judged_too(service):
    answer = service.call("POST", "/v1/evaluate", value={"type": "write_file", "payload": {"content": "x" * 2_000_000}})
    assert answer.status == 200
    assert service.judge.judged[0].action.payload["content"] == "x" * 2_000_000


@pytest.mark.parametrize("answer", ["unnumbered", "permit"])
def test_a_verdict_that_contradicts_itself_is_not_released(service, answer):
    found = service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": answer}})
    assert (found.status, found.json()["reason"]) == (503, "audit.unavailable")
    assert b"eyJ" not in found.body
