"""Held requests end when asked to, stopping loses nothing that runs, and nobody gets more than their share."""

import http.client
import socket
import threading

import pytest

from service_harness import approval, running
from shield.errors import RefusedError
from shield.service.admission import WAITS_MAX, Admission
from shield.types import Role

GOOD = {"type": "read_file", "payload": {"path": "README.md"}}


class Later(threading.Thread):
    """A call made beside the test."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self._work = work
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self._work()
        except (OSError, http.client.HTTPException) as error:
            self.answer = error

    def result(self):
        self.join(20)
        assert not self.is_alive()
        return self.answer


@pytest.mark.parametrize("portable", [False, True])
def test_a_wait_ends_at_once_on_stop_with_the_current_verdict(portable):
    with running(portable=portable) as service:
        asked = service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "ESCALATE"}}).json()
        later = Later(lambda: service.call("GET", f"/v1/evaluations/{asked['evaluation']}?wait=60"))
        assert service.judge.waiting.wait(20)
        service.stop()
        answer = later.result()
        assert (answer.status, answer.json()["decision"]) == (200, "ESCALATE")


def test_an_empty_list_of_questions_is_held_until_there_is_one():
    with running() as service:
        later = Later(lambda: service.call("GET", "/v1/approvals?wait=60", role=Role.APPROVER))
        assert service.judge.approvals.waiting.wait(20)

        def ask():
            service.judge.approvals.rows["ap-1"] = approval(1)
            service.judge.approvals.changed.set()

        service.on_loop(ask)
        assert [item["id"] for item in later.result().json()["approvals"]] == ["ap-1"]


def test_an_empty_list_ends_at_once_on_stop():
    with running() as service:
        later = Later(lambda: service.call("GET", "/v1/approvals?wait=60", role=Role.APPROVER))
        assert service.judge.approvals.waiting.wait(20)
        service.stop()
        assert later.result().json() == {"approvals": []}


def test_what_is_being_judged_is_finished_and_nothing_new_begins():
    with running() as service:
        later = Later(lambda: service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "slow"}}))
        assert service.judge.entered.wait(20)
        service.stop()
        service.on_loop(service.judge.go_on.set)
        answer = later.result()
        assert (answer.status, answer.json()["decision"]) == (200, "ALLOW")
        service.thread.join(20)
        assert not service.thread.is_alive()
        with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
            service.call("POST", "/v1/evaluate", value=GOOD)


def test_a_request_on_an_old_connection_is_refused_while_stopping():
    with running() as service:
        service.on_loop(service.context.stopping.set)
        answer = service.call("POST", "/v1/evaluate", value=GOOD)
        assert (answer.status, answer.json()["reason"]) == (503, "service.stopping")
        assert service.call("GET", "/readyz", role=None).status == 503
        assert service.judge.judged == []


def test_a_client_that_goes_away_frees_its_place():
    with running() as service:
        service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "ESCALATE"}})
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(service.path)
            head = f"GET /v1/evaluations/ev-1?wait=60 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {service.tokens[Role.AGENT]}\r\n\r\n"
            connection.sendall(head.encode())
            assert service.judge.waiting.wait(20)
        # every request takes the loop round once; the disconnect is among what it then sees
        for _ in range(1000):
            if not service.context.admission._waits:
                break
            service.call("GET", "/healthz", role=None)
        assert service.context.admission._waits == {}


def test_the_queue_is_bounded():
    with running(queue=1) as service:
        later = Later(lambda: service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "slow"}}))
        assert service.judge.entered.wait(20)
        answer = service.call("POST", "/v1/evaluate", value=GOOD)
        assert (answer.status, answer.json()["reason"]) == (503, "admission.queue")
        assert int(answer.headers["retry-after"]) >= 1
        assert service.call("GET", "/healthz").status == 200
        service.on_loop(service.judge.go_on.set)
        assert later.result().status == 200
        assert service.call("POST", "/v1/evaluate", value=GOOD).status == 200
        assert service.context.admission.in_work == 0


def test_the_rate_of_a_token_is_bounded():
    with running(rate=3) as service:
        for _ in range(3):
            assert service.call("POST", "/v1/evaluate", value=GOOD).status == 200
        answer = service.call("POST", "/v1/evaluate", value=GOOD)
        assert (answer.status, answer.json()["reason"]) == (429, "admission.rate")
        assert int(answer.headers["retry-after"]) == 1
        batch = service.call("POST", "/v1/evaluate/batch", value={"actions": [GOOD] * 2})
        assert batch.status == 429
        assert len(service.judge.judged) == 3
        service.now[0] += 1
        assert service.call("POST", "/v1/evaluate", value=GOOD).status == 200


def test_a_batch_counts_for_all_of_its_actions():
    now = [0.0]
    admission = Admission(rate=10, queue=1, now=lambda: now[0])
    admission.charge("a", 100)
    with pytest.raises(RefusedError) as refused:
        admission.charge("a", 1)
    assert refused.value.retry_after == 10
    admission.charge("b", 1)
    now[0] += 9.9
    with pytest.raises(RefusedError):
        admission.charge("a", 10)
    now[0] += 0.2
    admission.charge("a", 1)


def test_waits_of_a_token_are_bounded():
    admission = Admission(rate=1, queue=1, now=lambda: 0.0)
    held = [admission.wait("a") for _ in range(WAITS_MAX)]
    for place in held:
        place.__enter__()
    with pytest.raises(RefusedError), admission.wait("a"):
        pass
    with admission.wait("b"):
        pass
    held.pop().__exit__(None, None, None)
    with admission.wait("a"):
        pass


def test_metrics_count_what_happened():
    with running() as service:
        service.call("POST", "/v1/evaluate", value=GOOD)
        service.call("POST", "/v1/evaluate", value={"type": "x", "payload": {"answer": "BLOCK"}})
        redeem = {"permit": "eyJ.permit", "action": {"type": "x", "payload": {}, "cwd": None}, "nonce": "0" * 32}
        service.call("POST", "/v1/permits/redeem", value=redeem | {"isolation": "none"})
        service.call("POST", "/v1/permits/redeem", value=redeem | {"isolation": "none", "permit": "x"})
        page = service.call("GET", "/metrics", role=None)
        lines = page.body.decode().splitlines()
        assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert 'shield_decisions_total{decision="ALLOW",tier="0",type="read_file"} 1' in lines
        assert 'shield_decisions_total{decision="BLOCK",tier="0",type="x"} 1' in lines
        assert 'shield_permits_total{result="redeemed"} 1' in lines
        assert 'shield_permits_total{result="used"} 1' in lines
        assert "shield_evaluate_seconds_count 2" in lines
        assert "shield_audit_append_seconds_count 2" in lines
        assert 'shield_audit_append_seconds_bucket{le="0.001"} 2' in lines
        assert 'shield_audit_append_seconds_bucket{le="+Inf"} 2' in lines
        assert "shield_approvals_pending 0" in lines
        assert "shield_audit_unsealed_records 1" in lines
        assert "shield_tier2_budget_remaining 0" in lines
        names = {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}
        assert all(name.startswith("shield_") for name in names)
