"""Around the policy instead of through it: two receipts, lost questions, forgotten sessions, memory without end."""

import asyncio
import threading
from dataclasses import replace

import pytest

from pipeline_bench import ALLOW, ASK, Bench, says
from shield.approvals.queue import MAX_PENDING
from shield.errors import PermitError, Reason, RefusedError
from shield.permits import PERMIT_SECONDS
from shield.pipeline.ledger import MAX_BYTES, Evaluation, Ledger
from shield.pipeline.pool import Pool
from shield.pipeline.sessions import MAX_SESSIONS
from shield.types import Answer, ApprovalAnswer, ApprovalState, Decision

YES, NO = ApprovalAnswer(approve=True), ApprovalAnswer(approve=False)


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    (found.workspace / "a.txt").write_text("hello\n")
    yield found
    found.close()


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


async def approved(bench, path="a.txt"):
    """A request, its question answered with yes, and the verdict that came of it."""
    request, asked = await bench.evaluate(payload={"path": path})
    await bench.pipeline.answer(asked.approval, YES, by="person")
    return request, await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)


# --- one approval, one receipt ---------------------------------------------------------------------------------------


def test_two_permits_of_one_approval_make_one_receipt_even_at_once(bench):
    bench.rules.opinion = ASK

    async def main():
        request, first = await approved(bench)
        # the wall clock alone was set: the first permit still holds by the clock that counts
        bench.now_ms += PERMIT_SECONDS * 1000
        second = await bench.pipeline.current(first.evaluation, owner="tok", wait_s=0)
        assert second.permit not in (None, first.permit)
        return await asyncio.gather(
            *(bench.redeem(verdict, request) for verdict in (first, second)), return_exceptions=True
        )

    tries = run(main())
    assert sum(isinstance(item, str) for item in tries) == 1
    assert [item.reason for item in tries if isinstance(item, PermitError)] == [Reason.PERMIT_USED]
    assert bench.log.kinds().count("executing") == 1
    assert bench.sessions.facts(bench.session).counts == {"read_file": 1}


# --- questions that nobody comes back for ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["denied", "expired", "approved"])
def test_settled_questions_that_nobody_fetches_do_not_lock_the_agent_out(bench, end):
    bench.rules.opinion = ASK

    async def main():
        for _ in range(MAX_PENDING):
            _, asked = await bench.evaluate()
            if end == "expired":
                continue
            await bench.pipeline.answer(asked.approval, NO if end == "denied" else YES, by="person")
        bench.later(301)
        for _ in range(MAX_PENDING):
            _, asked = await bench.evaluate()
            assert asked.decision is Decision.ESCALATE
        with pytest.raises(RefusedError) as caught:
            await bench.evaluate()
        assert caught.value.reason is Reason.ADMISSION_APPROVALS

    run(main())


def test_a_caller_that_goes_away_while_asking_leaves_no_question_behind(bench):
    bench.rules.opinion = ASK
    recording = asyncio.Event()
    append = bench.log.append

    async def hang(kind, body, **more):
        if kind == "decision" and not recording.is_set():
            recording.set()
            await asyncio.Event().wait()
        return await append(kind, body, **more)

    async def main():
        bench.log.append = hang
        for _ in range(MAX_PENDING + 1):
            recording.clear()
            task = asyncio.create_task(bench.evaluate())
            await recording.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        recording.set()
        _, asked = await bench.evaluate()
        assert [question.id for question in bench.pipeline.approvals.pending()] == [asked.approval]

    run(main())
    assert len(bench.store.pending_approvals()) == 1


def test_a_question_that_is_asked_anew_leaves_the_old_one(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate(payload={"path": "a.txt"})
        await bench.pipeline.answer(asked.approval, YES, by="person")
        bench.rules.digest = "sha256:" + "1" * 64
        again = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (again.decision, again.approval == asked.approval) == (Decision.ESCALATE, False)
        assert bench.pipeline.approvals.binding(asked.approval) is None

    run(main())


# --- what the log says of a question ---------------------------------------------------------------------------------


def test_an_answer_that_comes_too_late_still_leaves_a_record_that_time_ran_out(bench):
    bench.rules.opinion = ASK

    async def main():
        _, asked = await bench.evaluate()
        bench.later(300)
        with pytest.raises(RefusedError):
            await bench.pipeline.answer(asked.approval, YES, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (verdict.decision, verdict.rule) == (Decision.BLOCK, "approval.timeout")

    run(main())
    states = [record["body"]["state"] for record in bench.log.records if record["kind"] == "approval"]
    assert states == ["expired"]


def test_time_that_runs_out_while_an_answer_is_recorded_does_not_contradict_it(bench):
    bench.rules.opinion = ASK
    recording, go_on = asyncio.Event(), asyncio.Event()
    append = bench.log.append

    async def slow(kind, body, **more):
        if kind == "approval" and not recording.is_set():
            recording.set()
            await go_on.wait()
        return await append(kind, body, **more)

    async def main():
        bench.log.append = slow
        _, asked = await bench.evaluate()
        answering = asyncio.create_task(bench.pipeline.answer(asked.approval, YES, by="person"))
        await recording.wait()
        bench.later(300)
        polling = asyncio.create_task(bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0))
        await asyncio.sleep(0)
        go_on.set()
        answered = await answering
        assert answered.state is ApprovalState.APPROVED
        assert (await polling).decision is Decision.ALLOW

    run(main())
    states = [record["body"]["state"] for record in bench.log.records if record["kind"] == "approval"]
    assert states == ["approved"]


# --- sessions and refusals -------------------------------------------------------------------------------------------


def test_a_permit_of_a_session_that_was_forgotten_is_worth_nothing(bench):
    async def main():
        request, verdict = await bench.evaluate()
        for _ in range(MAX_SESSIONS):
            bench.open()
        # its counts and what was written in it are gone, so rules over them could not be asked
        with pytest.raises(PermitError) as caught:
            await bench.redeem(verdict, request)
        assert caught.value.reason is Reason.PERMIT_MISMATCH

    run(main())
    assert "executing" not in bench.log.kinds()


def test_an_agent_cannot_push_another_agents_session_out(bench):
    for _ in range(MAX_SESSIONS + 5):
        bench.open(owner="greedy")
    assert bench.sessions.get(bench.session.id, owner="tok") is bench.session
    bench.open(owner="tok")
    with pytest.raises(RefusedError) as caught:
        bench.open(owner="late")
    assert caught.value.reason is Reason.SESSION_LIMIT
    assert caught.value.retry_after is not None


def test_replaying_one_permit_does_not_fill_the_log(bench):
    async def main():
        request, verdict = await bench.evaluate()
        await bench.redeem(verdict, request)
        for _ in range(50):
            with pytest.raises(PermitError) as caught:
                await bench.redeem(verdict, request)
            assert caught.value.reason is Reason.PERMIT_USED

    run(main())
    assert 1 <= bench.log.kinds().count("refused") <= 8


def test_a_permit_needs_the_policy_to_say_yes_again_not_only_to_keep_silent(bench):
    async def main():
        request, verdict = await bench.evaluate()
        bench.rules.opinion = says(ALLOW, answer=Answer.NO_OBJECTION)
        with pytest.raises(PermitError) as caught:
            await bench.redeem(verdict, request)
        assert caught.value.reason is Reason.PERMIT_POLICY

    run(main())


# --- memory ----------------------------------------------------------------------------------------------------------


def test_large_actions_are_forgotten_before_memory_runs_out(bench):
    request = bench.request("write_file", {"path": "big.txt", "content": "x" * 4_000_000})
    _, verdict = run(bench.evaluate())
    ledger = Ledger()

    def remember(number):
        ledger.remember(
            Evaluation(
                request=request,
                session=None,
                agent="tester",
                owner="tok",
                verdict=replace(verdict, evaluation=f"e{number}"),
                seq=number,
            )
        )

    for number in range(200):
        remember(number)
        remember(number)  # a newer verdict takes the place of the one before
        assert ledger.held <= MAX_BYTES
    assert ledger.evaluation("e199", "tok").seq == 199
    with pytest.raises(RefusedError) as caught:
        ledger.evaluation("e0", "tok")
    assert caught.value.reason is Reason.EVALUATION_UNKNOWN


def test_work_that_nobody_waits_for_any_more_is_not_kept():
    hanging, release = threading.Event(), threading.Event()
    done = []

    def hang():
        hanging.set()
        assert release.wait(60)

    async def main():
        pool = Pool(1, stuck_s=60)
        stuck = asyncio.create_task(pool.run(hang))
        assert await asyncio.to_thread(hanging.wait, 60)
        late = [asyncio.create_task(pool.run(lambda: done.append(1))) for _ in range(20)]
        await asyncio.sleep(0)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        assert pool.waiting == 0
        release.set()
        await stuck
        pool.close()

    run(main())
    assert done == []


def test_an_error_that_no_future_takes_holds_up_nobody():
    def stop():
        raise StopIteration

    async def main():
        pool = Pool(2, stuck_s=60)
        found = await asyncio.gather(pool.run(stop), pool.run(lambda: 7), return_exceptions=True)
        pool.close()
        return found

    failed, fine = run(main())
    assert isinstance(failed, Exception)
    assert fine == 7
