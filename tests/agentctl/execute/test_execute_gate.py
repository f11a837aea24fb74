"""Without a receipt that holds, nothing runs: every way a permit, receipt or Shield can be false."""

import ast
import asyncio
import dataclasses
import json
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agentctl
from agentctl.errors import GateError
from agentctl.execute import ShieldGate
from agentctl.tools.output import RESULT_CHARS
from agentctl.tools.warrant import Warrant, canonical_action
from agentctl.turns.messages import ToolResult
from fake_shield import TOKEN, proposed
from shield import canonical
from shield.client import AsyncClient
from shield.errors import PermitError
from shield.permits import PermitKey, Receipt
from shield.types import Decision, Verdict

MARK = {"command": "touch ran"}


def ran(bench) -> bool:
    return (bench.workspace / "ran").exists()


def test_a_block_runs_nothing_and_says_why(bench):
    bench.fake.judge = lambda action: "BLOCK"
    verdict = bench.do("execute_command", **MARK)
    assert isinstance(verdict, Verdict)
    assert (verdict.decision, verdict.reason, verdict.advice) == (
        Decision.BLOCK,
        "because BLOCK",
        "do something else",
    )
    assert not ran(bench)
    assert bench.fake.sent("/v1/permits/redeem") == []


def test_what_is_sent_is_what_the_contract_names(bench):
    bench.do("execute_command", **MARK)
    (request,) = bench.fake.sent("/v1/evaluate")
    assert request == {
        "type": "execute_command",
        "payload": MARK,
        "cwd": str(bench.workspace),
        "session": "01KSESSION",
        "tool_call_id": "call_1",
    }
    (redeem,) = bench.fake.sent("/v1/permits/redeem")
    assert redeem.keys() == {"permit", "action", "nonce", "isolation"}
    assert redeem["action"] == {"type": "execute_command", "payload": MARK, "cwd": str(bench.workspace)}
    assert len(bytes.fromhex(redeem["nonce"])) == 16
    (outcome,) = bench.fake.sent("/v1/outcomes")
    assert outcome["status"] == "ok"
    assert outcome["jti"].startswith("01KEVAL")


@pytest.mark.parametrize(
    "change",
    [
        {"act": "sha256:" + "0" * 64},
        {"nonce": "0" * 32},
        {"jti": "01KOTHER"},
    ],
    ids=["action", "nonce", "permit"],
)
def test_a_receipt_for_something_else_runs_nothing(bench, change):
    bench.fake.change_receipt = lambda receipt: dataclasses.replace(receipt, **change)
    with pytest.raises(GateError):
        bench.do("execute_command", **MARK)
    assert not ran(bench)
    assert bench.fake.statuses() == ["not_run"]


def test_a_receipt_of_another_key_runs_nothing(bench):
    bench.fake.receipt_key = PermitKey()
    with pytest.raises(GateError, match="not the Shield"):
        bench.do("execute_command", **MARK)
    assert not ran(bench)
    assert bench.fake.statuses() == ["not_run"]


@pytest.mark.parametrize("receipt", ["", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "é"])
def test_a_receipt_that_is_none_runs_nothing(bench, receipt):
    bench.fake.raw_receipt = receipt
    with pytest.raises(GateError):
        bench.do("execute_command", **MARK)
    assert not ran(bench)


def test_a_permit_is_no_receipt(bench):
    """Both are signed by the same key: the type in the header keeps them apart."""
    gate_permits = []

    async def keep(proposal, verdict):
        gate_permits.append(verdict.permit)
        bench.fake.raw_receipt = verdict.permit

    with pytest.raises(GateError):
        bench.do_with({"before_redeem": keep}, "execute_command", **MARK)
    assert gate_permits
    assert not ran(bench)


def test_a_permit_of_another_key_is_not_even_redeemed(bench):
    other = PermitKey()
    real, bench.fake.key = bench.fake.key, other

    async def session_with_the_first_key():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            bench.fake.key = real
            session = await client.open_session([str(bench.workspace)])
            bench.fake.key = other  # Shield was started anew, or is another one
            gate = ShieldGate(client, session)
            proposal = proposed("execute_command", MARK)
            verdict = await gate.propose(proposal)
            with pytest.raises(GateError):
                await gate.run(proposal, verdict)
            bench.fake.key = real
            with pytest.raises(GateError, match="nothing more is run"):  # never back, inside one session
                await gate.propose(proposal)

    asyncio.run(session_with_the_first_key())
    assert bench.fake.sent("/v1/permits/redeem") == []
    assert not ran(bench)


def test_an_allow_for_another_hash_is_no_allow(bench):
    bench.fake.hash = lambda digest: "sha256:" + "0" * 64
    with pytest.raises(GateError):
        bench.do("execute_command", **MARK)
    assert not ran(bench)


def test_such_an_allow_does_not_even_leave_the_gate(bench):
    bench.fake.hash = lambda digest: "sha256:" + "0" * 64

    async def propose():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]))
            with pytest.raises(GateError):
                await gate.propose(proposed("execute_command", MARK))

    asyncio.run(propose())


def test_an_expired_receipt_is_judged_again_at_most_twice(bench):
    bench.fake.change_receipt = lambda receipt: dataclasses.replace(receipt, exp=int(time.time()) - 1)
    result = bench.do("execute_command", **MARK)
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert result.decision is Decision.BLOCK
    assert not ran(bench)
    assert len(bench.fake.sent("/v1/evaluate")) == 3
    assert bench.fake.statuses() == ["not_run"] * 3


@pytest.mark.parametrize("reason", ["expired", "state_changed"])
def test_a_stale_permit_is_judged_again_by_itself(bench, reason):
    bench.fake.refuse_redeem = [reason, reason]
    assert not bench.do("execute_command", **MARK).is_error
    assert ran(bench)
    assert len(bench.fake.sent("/v1/evaluate")) == 3
    assert len(bench.fake.sent("/v1/permits/redeem")) == 3


def test_when_judged_again_a_new_block_is_the_answer(bench):
    bench.fake.refuse_redeem = ["state_changed"]
    answers = iter(["ALLOW", "ESCALATE"])
    bench.fake.judge = lambda action: next(answers)
    verdict = bench.do("execute_command", **MARK)
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.ESCALATE
    assert not ran(bench)


@pytest.mark.parametrize("reason", ["used", "policy", "labels", "isolation", "mismatch"])
def test_other_refusals_are_final(bench, reason):
    bench.fake.refuse_redeem = [reason]
    result = bench.do("execute_command", **MARK)
    assert result.is_error
    assert result.decision is Decision.BLOCK
    assert len(bench.fake.sent("/v1/evaluate")) == 1
    assert not ran(bench)


def test_replaying_a_permit_runs_nothing(bench):
    async def twice():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]), reevaluations=0)
            proposal = proposed("execute_command", {"command": "echo x >> ran"})
            verdict = await gate.propose(proposal)
            first = await gate.run(proposal, verdict)
            bench.fake.refuse_redeem = ["used"]
            return first, await gate.run(proposal, verdict)

    first, second = asyncio.run(twice())
    assert not first.is_error
    assert second.is_error
    assert "used" in second.content
    assert (bench.workspace / "ran").read_text() == "x\n"


@pytest.mark.parametrize(
    "answer",
    [
        (0, "", b""),
        (500, "text/html", b"<h1>oops</h1>"),
        (200, "application/json", b"{}"),
        (200, "text/html", b"ok"),
        (302, "application/json", b"{}"),
        (401, "application/problem+json", json.dumps({"reason": "auth.invalid", "detail": "no"}).encode()),
    ],
    ids=["hung up", "html", "empty", "media", "redirect", "unauthorised"],
)
@pytest.mark.parametrize("route", ["/v1/evaluate", "/v1/permits/redeem"])
def test_whatever_is_no_verdict_or_receipt_runs_nothing(bench, route, answer):
    bench.fake.answers[route] = answer
    with pytest.raises(GateError):
        bench.do("execute_command", **MARK)
    assert not ran(bench)
    assert len(bench.fake.sent(route)) == 1, "never asked a second time"


@pytest.mark.parametrize("status", [400, 413, 429, 503])
def test_a_call_that_shield_does_not_take_is_a_block(bench, status):
    bench.fake.answers["/v1/evaluate"] = bench.fake.problem(status, "input.field", "not that")
    verdict = bench.do("execute_command", **MARK)
    assert verdict.decision is Decision.BLOCK
    assert "not that" in verdict.reason
    assert not ran(bench)


def test_a_call_without_canonical_form_is_a_block(bench):
    verdict = bench.do("execute_command", command="\ud800")
    assert verdict.decision is Decision.BLOCK
    assert bench.fake.sent("/v1/evaluate") == []


def test_when_shield_is_gone_nothing_more_runs(bench):
    async def gone():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]))
            proposal = proposed("execute_command", MARK)
            verdict = await gate.propose(proposal)
            bench.fake.stop()
            with pytest.raises(GateError):
                await gate.run(proposal, verdict)
            bench.fake.start()
            with pytest.raises(GateError, match="start a new one"):
                await gate.run(proposal, verdict)

    asyncio.run(gone())
    assert not ran(bench)


def test_output_that_shield_does_not_take_is_not_shown(bench):
    bench.fake.answers["/v1/outcomes"] = bench.fake.problem(400, "input.size", "too much")
    result = bench.do("execute_command", command="echo SECRET")
    assert result.is_error
    assert "SECRET" not in result.content
    bench.fake.answers["/v1/outcomes"] = (500, "text/plain", b"")
    with pytest.raises(GateError):
        bench.do("execute_command", command="echo SECRET")


def test_the_word_on_how_it_ended_is_what_shield_gave_back(bench):
    """It names hosts that were refused, and files: whoever ran there chose what these are called."""
    bench.fake.content = lambda parts: [{**part, "text": f"<{part['role']}>"} for part in parts]
    assert bench.do("write_file", path="a.txt", content="x").content == "<content>\n<note>"
    assert bench.do("execute_command", command="echo x; exit 3").content == "<stdout>\n<note>"
    assert bench.do("execute_command", command="echo x").content == "<stdout>"
    notes = [part["text"] for sent in bench.fake.sent("/v1/outcomes") for part in sent["content"][1:]]
    assert notes == [f"[wrote 1 bytes to {bench.workspace}/a.txt]", "[exit code 3]"]


def test_a_long_result_is_cut_before_shield_judges_it(bench):
    """Words that meet where something was left out are judged as the model will read them."""
    result = bench.do("execute_command", command="yes in | head -c 300000; yes out | head -c 90000 >&2; echo end")
    (outcome,) = bench.fake.sent("/v1/outcomes")
    told = {part["role"]: part["text"] for part in outcome["content"]}
    assert sum(map(len, told.values())) < RESULT_CHARS + 200
    assert outcome["truncated"] is True
    assert "characters left out …]" in told["stdout"]
    assert "characters left out …]" in told["stderr"]
    assert told["stdout"].endswith("in\nend\n")
    assert isinstance(result, ToolResult)
    assert result.content.startswith(told["stdout"].rstrip("\n"))
    assert told["stderr"].rstrip("\n") in result.content


def test_a_redeem_that_is_cancelled_is_reported_as_not_run(bench):
    given_up = threading.Event()

    async def cancelled():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]))
            proposal = proposed("execute_command", MARK)
            verdict = await gate.propose(proposal)
            task = asyncio.ensure_future(gate.run(proposal, verdict))
            while not bench.fake.sent("/v1/permits/redeem"):  # noqa: ASYNC110  # seen by the server's thread
                await asyncio.sleep(0)
            task.cancel()
            asyncio.get_running_loop().call_soon(given_up.set)  # after the task has been told
            with pytest.raises(asyncio.CancelledError):
                await task

    original = bench.fake.redeem

    def slow(body):
        given_up.wait(20)
        return original(body)

    bench.fake.redeem = slow
    asyncio.run(cancelled())
    assert bench.fake.statuses() == ["not_run"]
    assert not ran(bench)


def test_a_wait_after_an_approval_carries_a_permit_that_runs(bench):
    async def approved():
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]))
            proposal = proposed("execute_command", MARK)
            bench.fake.judge = lambda action: "ESCALATE"
            verdict = await gate.propose(proposal)
            assert verdict.approval == "01KAPPROVAL"
            bench.fake.approved[verdict.evaluation] = "ALLOW"
            return await gate.run(proposal, await gate.wait(verdict))

    assert not asyncio.run(approved()).is_error
    assert ran(bench)


def test_a_type_that_nothing_here_does_is_an_error(bench):
    result = bench.do("send_email", to="a@b.example")
    assert result.is_error
    assert bench.fake.statuses() == ["error"]


KEY = PermitKey()
ACTION = canonical_action("execute_command", {"command": "ls", "n": 2**60, "$int": "x"}, "/w")
GOOD = Receipt(
    jti="j",
    act=canonical.digest(ACTION),
    state="s",
    nonce="n",
    seq=1,
    exp=1000,
    files=(),
    shell="/bin/bash",
    env={},
    allow_hosts=(),
)


def warrant(token: str, **changed) -> Warrant:
    given = {"public_key": KEY.public, "action": ACTION, "jti": "j", "nonce": "n", "now_s": 999.0} | changed
    return Warrant(token, **given)


def test_a_warrant_holds_what_the_bytes_say():
    held = warrant(KEY.sign_receipt(GOOD))
    assert (held.type, held.cwd) == ("execute_command", "/w")
    assert held.payload == {"command": "ls", "n": 2**60, "$int": "x"}


@pytest.mark.parametrize(
    "changed",
    [{"public_key": PermitKey().public}, {"action": ACTION + b" "}, {"jti": "k"}, {"nonce": "m"}, {"now_s": 1000.0}],
)
def test_a_warrant_for_anything_else_cannot_be_made(changed):
    with pytest.raises(PermitError):
        warrant(KEY.sign_receipt(GOOD), **changed)


@given(position=st.integers(min_value=0), bit=st.integers(0, 7))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_one_flipped_bit_in_a_receipt_makes_no_warrant(position, bit):
    token = bytearray(KEY.sign_receipt(GOOD).encode())
    position %= len(token)
    token[position] ^= 1 << bit
    try:
        text = token.decode("ascii")
        held = warrant(text)
    except (PermitError, UnicodeDecodeError):
        return
    # the last character of a base64url part has bits that mean nothing: the same bytes, so the same receipt
    assert held.receipt == GOOD


# --- who may act -----------------------------------------------------------------------------------------------------

ROOT = Path(agentctl.__file__).parent
ACTS = {
    "archive",
    "descriptors",
    "files",
    "git",
    "git_config",
    "git_opening",
    "git_repository",
    "ownership",
    "pipes",
    "placement",
    "process",
    "search",
    "shell",
    "staging",
    "syscalls",
    "table",
    "web",
}
# beside Shield and the approver: a session's spawner, what it forks, and a group without a sandbox
STARTS = {
    "sidecar.py",
    "gateway.py",
    "tools/process.py",
    "sandbox/spawning.py",
    "sandbox/spawner.py",
    "sandbox/supervisor.py",
    "sandbox/child.py",
}
# the type of the network that is passed through; what a command is followed with, and how names lead to addresses
NAMED = {
    "sidecar.py": {"agentctl.tools.web"},
    # the sandbox shares the temporary files that a receipt names
    "sandbox": {"agentctl.tools.web", "agentctl.tools.process", "agentctl.tools.descriptors"},
}


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_only_execute_imports_what_acts():
    acting = {f"agentctl.tools.{name}" for name in ACTS}
    for path in ROOT.rglob("*.py"):
        relative = path.relative_to(ROOT)
        if relative.parts[0] == "tools" or relative.name == "execute.py":
            continue
        used = imports(path) & acting
        assert used <= NAMED.get(relative.parts[0], set()), relative


def test_processes_are_started_in_few_places_only():
    for path in ROOT.rglob("*.py"):
        relative = str(path.relative_to(ROOT))
        if relative not in STARTS:
            assert not imports(path) & {"subprocess", "pty", "multiprocessing", "os.system"}, relative
            text = path.read_text()
            assert not any(call in text for call in ("os.fork", "os.exec", "os.spawn", "os.posix_spawn", "os.popen"))


def test_agentctl_sees_little_of_shield():
    allowed = {"types", "errors", "canonical", "client", "led", "permits", "user"}
    for path in ROOT.rglob("*.py"):
        for name in imports(path):
            if name.startswith("shield.") or name == "shield":
                assert name.split(".")[1] in allowed if "." in name else name == "shield", (path, name)
