"""`shield.client` against a real socket: every answer is a typed value or a ClientError."""

import asyncio
import json
import os
import socket
import stat
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fake_shield import TOKEN, FakeShield, fake_shield
from shield.client import AsyncClient, Checkpoint, Client, Endpoint, Redemption, agent_token
from shield.client.answers import MAX_ANSWER
from shield.errors import ClientError, PermitError, Reason
from shield.types import (
    ApprovalAnswer,
    ApprovalState,
    Decision,
    Isolation,
    Outcome,
    OutcomePart,
    OutcomeStatus,
    Scope,
    Verdict,
)

ACTION = {"type": "read_file", "payload": {"path": "a"}, "cwd": "/w"}
APPROVAL = {
    "id": "01KA",
    "state": "pending",
    "created_at": "2026-11-21T20:15:03.412Z",
    "expires_at": "2026-11-21T20:20:03.412Z",
    "request": ACTION,
    "facts": {},
    "rule": "r",
    "reason": "why",
    "scopes": ["once"],
    "pattern": None,
    "answered_by": None,
    "evaluation": "01KE",
}


@pytest.fixture
def fake():
    with fake_shield() as running:
        yield running


def both(fake, method, *arguments, **options):
    """The answer of the sync and of the async client, which must be equal (or raise the same)."""

    async def later():
        async with AsyncClient(fake.endpoint, TOKEN) as client:
            return await getattr(client, method)(*arguments, **options)

    outcomes = []
    for call in (lambda: sync(fake, method, *arguments, **options), lambda: asyncio.run(later())):
        try:
            outcomes.append(call())
        except (ClientError, PermitError) as error:
            outcomes.append((type(error), error.reason, error.detail))
    assert type(outcomes[0]) is type(outcomes[1])
    if isinstance(outcomes[0], tuple) and outcomes[0] and isinstance(outcomes[0][0], type):
        assert outcomes[0] == outcomes[1]
    return outcomes[0]


def sync(fake, method, *arguments, **options):
    with Client(fake.endpoint, TOKEN) as client:
        return getattr(client, method)(*arguments, **options)


def test_session(fake):
    session = both(fake, "open_session", ["/w"], isolation=Isolation.CONFINED, label="chat")
    assert session.id == "01KSESSION"
    assert session.public_key == fake.key.public
    assert session.isolation_required is Isolation.STATE_HIDDEN
    assert fake.sent("/v1/sessions")[0] == {"workspace_roots": ["/w"], "isolation": "confined", "label": "chat"}
    assert fake.headers[0]["Authorization"] == f"Bearer {TOKEN}"


def test_the_contracts_verdict(fake):
    """The example of CONTRACTS, as every role but an agent sees it."""
    shape = {
        "id": "c-17",
        "evaluation": "01K",
        "decision": "ALLOW",
        "tier": 0,
        "need": 0,
        "rule": "files.read.workspace",
        "reason": "reading inside the workspace",
        "advice": None,
        "confidence": None,
        "action_hash": "sha256:" + "1" * 64,
        "policy": "sha256:" + "2" * 64,
        "evaluated_at": "2026-11-21T20:15:03.412Z",
        "expires_at": "2026-11-21T20:16:03.412Z",
        "approval": None,
        "permit": "eyJ",
        "seq": 40,
        "latency_us": {"parse": 20},
        "dry_run": False,
    }
    fake.answers["/v1/evaluate"] = fake.json(shape)
    verdict = both(fake, "evaluate", ACTION)
    assert verdict.decision is Decision.ALLOW
    assert verdict.expires_at == 1795292163412
    assert (verdict.rule, verdict.seq, verdict.permit) == ("files.read.workspace", 40, "eyJ")


def test_what_an_agent_sees_is_enough(fake):
    fake.judge = lambda action: "ESCALATE"
    verdict = both(fake, "evaluate", ACTION)
    assert verdict.decision is Decision.ESCALATE
    assert verdict.approval == "01KAPPROVAL"
    assert verdict.permit is None


@pytest.mark.parametrize(
    "broken",
    [
        {"decision": "allow"},
        {"decision": "MAYBE"},
        {"decision": None},
        {"decision": "ALLOW", "permit": None},
        {"decision": "BLOCK", "permit": "eyJ"},
        {"permit": 1},
        {"expires_at": "soon"},
        {"expires_at": "2026-11-21T20:16:03"},
        {"approval": "01K"},
        {"seq": "40"},
        {"seq": True},
        {"id": None},
        {"reason": None},
    ],
)
def test_a_broken_verdict_is_no_verdict(fake, broken):
    good = fake.verdict(ACTION)
    fake.answers["/v1/evaluate"] = fake.json(good | broken)
    assert both(fake, "evaluate", ACTION)[:2] == (ClientError, Reason.SERVICE_ANSWER)
    fake.answers["/v1/evaluate"] = fake.json(good)
    assert isinstance(both(fake, "evaluate", ACTION), Verdict)


@pytest.mark.parametrize(
    ("status", "media", "body"),
    [
        (200, "text/html", b"{}"),
        (200, "application/json", b""),
        (200, "application/json", b"[]"),
        (200, "application/json", b'{"decision":"BLOCK","decision":"ALLOW"}'),
        (200, "application/json", b"\xff"),
        (200, "application/json", b'{"a":NaN}'),
        (200, "application/json", b"[" * 5000),
        (204, "application/json", b""),
        (301, "application/json", b"{}"),
        (500, "text/plain", b"boom"),
        (503, "application/problem+json", b"not json"),
        (503, "application/problem+json", b'{"reason":"made.up"}'),
    ],
)
def test_what_is_no_answer_is_service_answer(fake, status, media, body):
    fake.answers["/v1/evaluate"] = (status, media, body)
    assert both(fake, "evaluate", ACTION)[:2] == (ClientError, Reason.SERVICE_ANSWER)
    assert len(fake.sent("/elsewhere")) == 0, "a redirect is never followed"


@given(st.binary(max_size=200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_a_verdict_or_a_client_error(fake, body):
    fake.answers["/v1/evaluate"] = (200, "application/json", body)
    with pytest.raises(ClientError):
        sync(fake, "evaluate", ACTION)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("decision", "permit", "id", "evaluation", "reason", "seq"), JSON))
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_json_of_another_shape_is_an_allow(fake, shape):
    fake.answers["/v1/evaluate"] = (200, "application/json", json.dumps(shape).encode())
    try:
        verdict = sync(fake, "evaluate", ACTION)
    except ClientError:
        return
    assert verdict.decision is not Decision.ALLOW or isinstance(shape["permit"], str)


def test_problems_are_read(fake):
    fake.answers["/v1/evaluate"] = fake.problem(429, "admission.rate", "slow down")
    with Client(fake.endpoint, TOKEN) as client, pytest.raises(ClientError) as caught:
        client.evaluate(ACTION)
    error = caught.value
    assert (error.reason, error.status, error.retry_after, error.detail) == (Reason.ADMISSION_RATE, 429, 7, "slow down")


def test_batch(fake):
    good = fake.verdict(ACTION)
    fake.answers["/v1/evaluate/batch"] = fake.json({"verdicts": [good, good]})
    assert len(both(fake, "evaluate_batch", [ACTION, ACTION])) == 2
    assert both(fake, "evaluate_batch", [ACTION])[:2] == (ClientError, Reason.SERVICE_ANSWER)


def redemption(**changed):
    return Redemption(
        **(
            {"permit": "p", "type": "t", "payload": {}, "cwd": None, "nonce": "0" * 32, "isolation": Isolation.NONE}
            | changed
        )
    )


@pytest.mark.parametrize("reason", ["used", "expired", "state_changed", "policy", "labels", "isolation", "mismatch"])
def test_a_refused_redeem_names_its_reason(fake, reason):
    fake.answers["/v1/permits/redeem"] = fake.problem(409, reason, "no")
    assert both(fake, "redeem", redemption())[:2] == (PermitError, Reason(reason))


def test_another_conflict_is_no_permit_error(fake):
    fake.answers["/v1/permits/redeem"] = fake.problem(409, "outcome.no_permit", "no")
    assert both(fake, "redeem", redemption())[0] is ClientError


def test_the_receipt_comes_back_as_it_is(fake):
    fake.answers["/v1/permits/redeem"] = fake.json({"receipt": "a.b.c"})
    assert both(fake, "redeem", redemption()) == "a.b.c"


def test_outcome(fake):
    report = Outcome(jti="j", status=OutcomeStatus.OK, exit_code=0, content=(OutcomePart(role="stdout", text="x"),))
    received = both(fake, "outcome", report)
    assert received.content == (OutcomePart(role="stdout", text="x"),)
    assert received.labels.integrity == "untrusted"


def test_approvals(fake):
    fake.answers["/v1/approvals"] = fake.json({"approvals": [APPROVAL]})
    fake.answers["/v1/approvals/01KA"] = fake.json(APPROVAL | {"state": "approved", "answered_by": "me"})
    (pending,) = both(fake, "approvals", wait_s=99)
    assert pending.state is ApprovalState.PENDING
    assert pending.expires_at - pending.created_at == 300_000
    assert ("GET", "/v1/approvals?wait=60", None) in fake.requests
    assert both(fake, "approval", "01KA").state is ApprovalState.APPROVED
    answered = both(fake, "answer", "01KA", ApprovalAnswer(approve=False, scope=Scope.ONCE, note="n"))
    assert answered.answered_by == "me"
    assert fake.sent("/v1/approvals/01KA")[-1] == {"answer": "deny", "scope": "once", "pattern": None, "note": "n"}


def test_a_name_in_a_path_stays_one_segment(fake):
    both(fake, "approval", "../../v1/reload?x=1#y")
    assert fake.requests[-1][1] == "/v1/approvals/..%2F..%2Fv1%2Freload%3Fx%3D1%23y"


def test_log_reload_and_readiness(fake):
    fake.answers["/v1/audit/records"] = fake.json({"records": [{"seq": 0}], "size": 1})
    fake.answers["/v1/audit/checkpoint"] = (200, "text/plain", b"shield.local/01K\n23\nAAAA\n\n- x AAAA\n")
    fake.answers["/v1/reload"] = fake.json({"policy": "p"})
    assert both(fake, "records", start=5, count=10) == ({"seq": 0},)
    assert fake.requests[-1][1] == "/v1/audit/records?from=5&limit=10"
    note = both(fake, "checkpoint")
    assert isinstance(note, Checkpoint)
    assert (note.origin, note.size) == ("shield.local/01K", 23)
    assert both(fake, "reload")["policy"] == "p"
    fake.answers["/readyz"] = (503, "application/json", b'{"ready":false}')
    assert both(fake, "ready").ready is False
    fake.answers["/readyz"] = (200, "application/json", b'{"ready":true}')
    assert both(fake, "ready").ready is True


def test_an_answer_past_the_limit_is_refused(fake):
    fake.answers["/v1/evaluate"] = (200, "application/json", b" " * (MAX_ANSWER + 1))
    with pytest.raises(ClientError, match="more than"):
        sync(fake, "evaluate", ACTION)


def test_proxies_of_the_environment_are_not_used(fake, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert isinstance(both(fake, "evaluate", ACTION), Verdict)


# --- what is tried again ---------------------------------------------------------------------------------------------


class HangingUp:
    """Accepts, reads, hangs up: something was sent each time."""

    def __init__(self, path):
        self.accepted = 0
        self._listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        self._listener.bind(str(path))
        os.umask(before)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                self.accepted += 1
                peer.recv(65536)

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.parametrize("method", ["evaluate", "redeem"])
def test_nothing_is_sent_twice(method):
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        path = Path(folder) / "s"
        server = HangingUp(path)
        with Client(Endpoint(socket=path), TOKEN) as client, pytest.raises(ClientError):
            getattr(client, method)(ACTION if method == "evaluate" else redemption())
        assert server.accepted == 1
        server.close()


def test_where_no_connection_was_made_an_evaluate_is_tried_again_and_a_redeem_is_not():
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        path = Path(folder) / "s"
        dead = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        dead.bind(str(path))
        os.umask(before)
        dead.close()  # the file stays, nobody listens
        tries = []

        class Counting(Endpoint):
            __slots__ = ()

            def check(self):
                tries.append(1)
                super().check()

        with Client(Counting(socket=path), TOKEN) as client:
            for method, argument, expected in (("evaluate", ACTION, 2), ("redeem", redemption(), 1)):
                tries.clear()
                with pytest.raises(ClientError) as caught:
                    getattr(client, method)(argument)
                assert caught.value.reason is Reason.SERVICE_UNREACHABLE
                assert len(tries) == expected, method


# --- whom it talks to ------------------------------------------------------------------------------------------------


def refused(endpoint, reason):
    with pytest.raises(ClientError) as caught:
        Client(endpoint, TOKEN)
    assert caught.value.reason is reason


def test_a_socket_that_is_not_ours_alone_is_not_talked_to(fake):
    refused(Endpoint(socket=fake.folder / "absent"), Reason.SERVICE_UNREACHABLE)
    (fake.folder / "file").write_text("")
    refused(Endpoint(socket=fake.folder / "file"), Reason.SERVICE_IMPOSTOR)
    (fake.folder / "link").symlink_to(fake.socket)
    refused(Endpoint(socket=fake.folder / "link"), Reason.SERVICE_IMPOSTOR)
    fake.socket.chmod(0o660)
    refused(fake.endpoint, Reason.SERVICE_IMPOSTOR)
    fake.socket.chmod(0o600)
    fake.socket.parent.chmod(0o777)
    refused(fake.endpoint, Reason.SERVICE_IMPOSTOR)
    fake.socket.parent.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(fake.socket, 65534, 65534)
        refused(fake.endpoint, Reason.SERVICE_IMPOSTOR)
    assert fake.requests == []


def test_a_socket_swapped_later_is_not_talked_to(fake):
    with Client(fake.endpoint, TOKEN) as client:
        fake.socket.chmod(0o666)
        with pytest.raises(ClientError):
            client.evaluate(ACTION)
    assert fake.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:1",
        "http://localhost:1",
        "http://example.com",
        "http://10.0.0.1",
        "http://u@127.0.0.1",
        "x",
        "",
    ],
)
def test_only_loopback_addresses(url):
    with pytest.raises(ClientError):
        Client(Endpoint(url=url), TOKEN)


def test_an_endpoint_names_one_place():
    for endpoint in (Endpoint(), Endpoint(socket=Path("/s"), url="http://127.0.0.1:1"), Endpoint(socket=Path("s"))):
        with pytest.raises(ClientError):
            Client(endpoint, TOKEN)
    with pytest.raises(ClientError):
        Client(Endpoint(socket=Path("/" + "x" * 200)), TOKEN)


@pytest.mark.parametrize("token", ["", "a b", "a\n", "é"])
def test_a_token_that_cannot_be_sent_is_refused(fake, token):
    with pytest.raises(ClientError):
        Client(fake.endpoint, token)


def test_the_agent_token_is_read_from_a_file_of_ours_alone(fake):
    assert agent_token(fake.folder) == TOKEN
    path = fake.folder / "tokens" / "agent.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(ClientError, match="yours alone"):
        agent_token(fake.folder)
    path.chmod(0o600)
    path.write_text("")
    with pytest.raises(ClientError):
        agent_token(fake.folder)
    path.rename(fake.folder / "elsewhere")
    path.symlink_to(fake.folder / "elsewhere")
    with pytest.raises(ClientError):
        agent_token(fake.folder)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ClientError):
        agent_token(fake.folder)
    path.unlink()
    path.mkdir()
    with pytest.raises(ClientError, match="yours alone"):
        agent_token(fake.folder)


def test_secrets_do_not_show(fake: FakeShield):
    session = sync(fake, "open_session", ["/w"])
    assert "/usr/bin" not in repr(session)
    assert "'p'" not in repr(redemption())
