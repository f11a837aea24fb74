"""A disk that hangs: whoever touched it waits for their deadline, nobody else waits at all."""

import asyncio
import threading

import pytest

from pipeline_bench import ASK, Bench
from shield.types import ApprovalAnswer, Decision


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    (found.workspace / "a.txt").write_text("hello\n")
    yield found
    found.close()


def test_the_loop_never_reads_a_workspace(bench):
    """The policy with a workspace's overlay is read where a hanging disk holds up one call, not the service."""
    loops, release = [], threading.Event()

    def policy(session):
        if threading.current_thread() is threading.main_thread():
            loops.append(session)
        elif session is not None:
            assert release.wait(60)  # the workspace does not answer
        return bench.rules

    object.__setattr__(bench.pipeline._evaluator, "policy", policy)

    async def main():
        _, verdict = await bench.evaluate()
        assert (verdict.decision, verdict.rule, verdict.permit) == (Decision.BLOCK, "facts.deadline", None)
        release.set()

    asyncio.run(asyncio.wait_for(main(), 60))
    assert loops == [None]


def test_the_loop_never_waits_for_the_state_database(bench):
    bench.rules.opinion = ASK
    readers = []
    approval = bench.store.approval

    def read(approval_id):
        readers.append(threading.current_thread())
        return approval(approval_id)

    bench.store.approval = read

    async def main():
        _, asked = await bench.evaluate()
        no = ApprovalAnswer(approve=False)
        await bench.pipeline.answer(asked.approval, no, by="person")
        await bench.pipeline.answer(asked.approval, no, by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        assert (verdict.decision, verdict.rule) == (Decision.BLOCK, "person.denied")

    asyncio.run(asyncio.wait_for(main(), 60))
    assert readers
    assert threading.main_thread() not in readers
