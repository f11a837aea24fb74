"""Who may call what: the whole matrix, and what is wrong about a token."""

import json
import os
from dataclasses import replace

import pytest

from service_harness import approval, call, running
from shield.client.answers import MAX_ANSWER
from shield.errors import Reason
from shield.service.ports import Remembered
from shield.service.routes import ROUTES
from shield.types import Role

BODIES = {
    "/v1/sessions": {"workspace_roots": ["/ws"], "isolation": "none"},
    "/v1/evaluate": {"type": "read_file", "payload": {"path": "x"}},
    "/v1/evaluate/batch": {"actions": [{"type": "read_file", "payload": {"path": "x"}}]},
    "/v1/permits/redeem": {
        "permit": "eyJ.permit",
        "action": {"type": "x", "payload": {}, "cwd": None},
        "nonce": "0" * 32,
        "isolation": "none",
    },
    "/v1/outcomes": {"jti": "j", "status": "ok"},
    "/v1/inspect": {"direction": "user", "content": "x"},
    "/v1/approvals/{approval}": {"answer": "deny"},
    "/v1/reload": {},
}


@pytest.fixture(scope="module")
def service():
    with running() as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(service):
    service.judge.refused.clear()
    service.judge.approvals.rows = {"ap-1": approval(1)}


def target_of(service, route):
    evaluation = service.call("POST", "/v1/evaluate", value=BODIES["/v1/evaluate"]).json()["evaluation"]
    return route.path.replace("{evaluation}", evaluation).replace("{approval}", "ap-1").replace("{seq}", "0")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize("role", [*Role, None])
def test_matrix(service, route, role):
    target = target_of(service, route)
    body = json.dumps(BODIES[route.path]).encode() if route.method == "POST" else None
    answer = service.call(route.method, target, role=role, body=body)
    if route.roles is None or role in route.roles:
        assert answer.status == 200, answer
    elif role is None:
        assert (answer.status, answer.json()["reason"]) == (401, "auth.missing")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert [reason for reason, _, _ in service.judge.refused] == [Reason.AUTH_MISSING]
    else:
        assert (answer.status, answer.json()["reason"]) == (403, "auth.role")
        assert [reason for reason, _, _ in service.judge.refused] == [Reason.AUTH_ROLE]


def test_the_agent_cannot_answer_its_own_question(service):
    answer = service.call("POST", "/v1/approvals/ap-1", value={"answer": "approve"})
    assert answer.status == 403
    assert service.judge.approvals.get("ap-1").state == "pending"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_wrong_token_is_refused_everywhere(service, route):
    target = target_of(service, route)
    service.judge.refused.clear()
    answer = call(service.path, route.method, target, token="shield_agent_" + "0" * 64)
    assert (answer.status, answer.json()["reason"]) == (401, "auth.invalid")
    assert [reason for reason, _, _ in service.judge.refused] == [Reason.AUTH_INVALID]
    assert service.judge.refused[0][2] == os.getuid()


def test_twisted_authorization_headers(service):
    good = service.tokens[Role.AGENT]
    for value in (
        good,
        f"Basic {good}",
        f"Bearer  {good}",
        f"Bearer {good} x",
        f"Bearer {good[:-1]}",
        f"Bearer {good}0",
        f"Bearer {good.upper()}",
        "Bearer",
        "Bearer " + "a" * 5000,
    ):
        answer = call(service.path, "GET", "/healthz", headers={"Authorization": value})
        assert answer.status == 401, value
        assert good.encode() not in answer.body
    assert call(service.path, "GET", "/healthz", headers={"Authorization": f"bearer {good}"}).status == 200


def test_two_authorization_headers_are_none(service):
    from service_harness import raw

    good = service.tokens[Role.AGENT]
    head = f"GET /healthz HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {good}\r\nauthorization: Bearer {good}\r\n"
    assert raw(service.path, head.encode() + b"connection: close\r\n\r\n").startswith(b"HTTP/1.1 401")


def test_another_user_is_refused_whatever_the_token():
    with running(uid=os.getuid() + 1) as service:
        answer = service.call("POST", "/v1/evaluate", value=BODIES["/v1/evaluate"])
        assert (answer.status, answer.json()["reason"]) == (403, "auth.peer")
        assert service.judge.judged == []
        assert service.judge.refused == [(Reason.AUTH_PEER, b"", os.getuid())]


def test_sessions_and_evaluations_belong_to_their_token(service):
    session = service.call("POST", "/v1/sessions", value=BODIES["/v1/sessions"]).json()
    assert session["env"] == {"PATH": "/usr/bin"}
    assert session["public_key"] == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    given = BODIES["/v1/evaluate"] | {"session": session["session"]}
    assert service.call("POST", "/v1/evaluate", value=given).status == 200
    assert service.judge.judged[-1].action.cwd == "/ws"
    service.judge.sessions.owners["stolen"] = "tok_other"
    answer = service.call("POST", "/v1/evaluate", value=given | {"session": "stolen"})
    assert (answer.status, answer.json()["reason"]) == (404, "session.unknown")
    _, verdict = service.judge.verdicts["ev-1"]
    service.judge.verdicts["ev-x"] = ("tok_other", verdict)
    assert service.call("GET", "/v1/evaluations/ev-x").status == 404


def test_untrusted_roots_are_refused_and_recorded(service):
    answer = service.call("POST", "/v1/sessions", value={"workspace_roots": ["/untrusted"], "isolation": "none"})
    assert (answer.status, answer.json()["reason"]) == (403, "workspace.untrusted")
    assert "shield trust" in answer.json()["detail"]
    assert [reason for reason, _, _ in service.judge.refused] == [Reason.WORKSPACE_UNTRUSTED]


def test_redeem_and_outcome(service):
    answer = service.call("POST", "/v1/permits/redeem", value=BODIES["/v1/permits/redeem"])
    assert answer.json() == {"receipt": "eyJ.receipt"}
    again = service.call("POST", "/v1/permits/redeem", value=BODIES["/v1/permits/redeem"] | {"permit": "x"})
    assert (again.status, again.json()["reason"]) == (409, "used")
    told = service.call(
        "POST", "/v1/outcomes", value={"jti": "j", "status": "ok", "content": [{"role": "stdout", "text": "hi"}]}
    )
    assert told.json() == {
        "seq": 42,
        "content": [{"role": "stdout", "text": "hi"}],
        "labels": {"confidentiality": "public", "integrity": "trusted"},
        "redactions": [],
    }
    unknown = service.call("POST", "/v1/outcomes", value={"jti": "unknown", "status": "ok"})
    assert (unknown.status, unknown.json()["reason"]) == (409, "outcome.no_permit")


def test_large_questions_keep_no_others_from_being_seen(service):
    """Together they would be more than a client takes, and its person would see none."""
    small, large = (
        approval(1),
        [replace(approval(n), request={"payload": {"content": "x" * (7 << 20)}}) for n in (2, 3)],
    )
    rows = service.judge.approvals.rows

    def listed():
        answer = service.call("GET", "/v1/approvals", role=Role.APPROVER)
        assert len(answer.body) < MAX_ANSWER / 4
        return [item["id"] for item in answer.json()["approvals"]]

    rows.clear()
    assert listed() == []
    rows.update({item.id: item for item in (small, *large)})
    assert listed() == ["ap-1"]
    del rows["ap-1"]
    assert listed() == ["ap-2"]
    rows.clear()
    rows.update({f"ap-{n}": approval(n) for n in range(100)})
    assert listed() == [f"ap-{n}" for n in range(100)]


def test_answers(service):
    listed = service.call("GET", "/v1/approvals", role=Role.APPROVER).json()["approvals"]
    assert [item["id"] for item in listed] == ["ap-1"]
    shown = service.call("GET", "/v1/approvals/ap-1", role=Role.APPROVER).json()
    assert shown == listed[0]
    assert shown["created_at"] == "2026-11-18T11:06:40.001Z"
    assert service.call("GET", "/v1/approvals/none", role=Role.APPROVER).status == 404
    for wrong in ({"answer": "yes"}, {}, {"answer": "approve", "scope": "forever"}, {"answer": True}):
        assert service.call("POST", "/v1/approvals/ap-1", role=Role.APPROVER, value=wrong).status == 400
    settled = service.call("POST", "/v1/approvals/ap-1", role=Role.APPROVER, value={"answer": "approve"}).json()
    assert (settled["state"], settled["answered_by"]) == ("approved", "approver")
    again = service.call("POST", "/v1/approvals/ap-1", role=Role.APPROVER, value={"answer": "deny"})
    assert (again.status, again.json()["reason"]) == (409, "approval.answered")


def test_the_log_is_shown_as_it_was_hashed(service):
    answer = service.call("GET", "/v1/audit/records?from=1&limit=1", role=Role.AUDITOR)
    assert answer.body == b'{"records":[{"seq":1,"kind":"decision"}],"size":3}'
    note = service.call("GET", "/v1/audit/checkpoint", role=Role.AUDITOR)
    assert note.headers["content-type"].startswith("text/plain")
    assert note.body.startswith(b"shield.local/X\n")
    proof = service.call("GET", "/v1/audit/proof/2", role=Role.AUDITOR)
    assert proof.headers["content-type"].startswith("text/plain")
    assert proof.body.startswith(b"c2sp.org/tlog-proof@v1\nindex 2\n")
    for missing in ("3", "-1", "02", "x", "9" * 16, "%31%"):
        refused = service.call("GET", f"/v1/audit/proof/{missing}", role=Role.AUDITOR)
        assert (refused.status, refused.json()["reason"]) == (404, "record.unknown"), missing
    for query in ("from=-1", "limit=1001", "limit=x", "seq=1", "kind=a&kind=b"):
        assert service.call("GET", f"/v1/audit/records?{query}", role=Role.AUDITOR).status == 400


def test_reload_keeps_the_running_policy_when_the_new_one_is_broken(service):
    done = service.call("POST", "/v1/reload", role=Role.ADMIN, value={})
    assert done.json()["policy"] == "sha256:" + "1" * 64
    service.operator.broken = True
    try:
        refused = service.call("POST", "/v1/reload", role=Role.ADMIN, value={})
        assert (refused.status, refused.json()["reason"]) == (422, "policy.invalid")
        ready = service.call("GET", "/readyz", role=Role.AUDITOR)
        assert ready.status == 200
        assert "mine.yaml:3:5" in ready.json()["notes"][0]["detail"]
    finally:
        service.operator.broken = False
    assert set(service.operator.reloads) == {"admin"}


def test_readyz_says_what_stands_in_the_way_and_hides_rules_from_agents(service):
    assert service.call("GET", "/readyz").json()["rules"] == {"errors": 2, "by_rule": None}
    assert service.call("GET", "/readyz", role=Role.ADMIN).json()["rules"]["by_rule"] == {"some.rule": 2}
    service.journal.trouble = "no space left on `audit.db`"
    try:
        answer = service.call("GET", "/readyz", role=None)
        assert answer.status == 503
        assert answer.json()["trouble"][0]["reason"] == "audit.unavailable"
        assert service.call("GET", "/healthz", role=None).status == 200
    finally:
        service.journal.trouble = None
    assert service.call("GET", "/readyz", role=None).json()["ready"] is True


def test_readyz_and_metrics_say_how_far_the_log_is_confirmed_elsewhere(service):
    log = service.call("GET", "/readyz").json()["log"]
    assert log == {
        "id": "shield.local/X",
        "size": 3,
        "unsealed": 1,
        "outside": {"size": 2, "age_s": 1, "behind_s": 0, "places": None},
    }
    seen = service.journal.remembered
    service.journal.remembered = (
        *seen,
        Remembered(name='w"\\\n', size=3, age_s=9.0, behind_s=0.0, trouble=None),
        Remembered(name="https://w.example", size=None, age_s=None, behind_s=0.0, trouble="it does not answer"),
    )
    try:
        report = service.call("GET", "/readyz", role=Role.AUDITOR).json()
        outside = report["log"]["outside"]
        assert (outside["size"], outside["age_s"]) == (3, 9)
        assert [place["trouble"] for place in outside["places"]] == [None, None, "it does not answer"]
        assert report["ready"]
        outside = {"reason": "audit.outside", "detail": "https://w.example: it does not answer"}
        assert [note["reason"] for note in report["notes"]] == ["audit.outside", "tier1.absent"]
        assert report["notes"][0] == outside
        told = service.call("GET", "/readyz").json()["notes"]
        assert "w.example" not in json.dumps(told)
        assert told[0]["reason"] == "audit.outside"
        lines = service.call("GET", "/metrics", role=None).body.decode().splitlines()
        assert 'shield_audit_external_checkpoint_size{sink="file"} 2' in lines
        assert 'shield_audit_external_checkpoint_age_seconds{sink="file"} 1.5' in lines
        assert r'shield_audit_external_checkpoint_size{sink="w\"\\\n"} 3' in lines
        assert not any("w.example" in line for line in lines)
    finally:
        service.journal.remembered = seen
