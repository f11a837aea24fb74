"""The judging threads: results and errors come back, a disk that hangs holds up only what touched it."""

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.pipeline.pool import Pool


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


@settings(max_examples=25)
@given(st.lists(st.integers(), max_size=40), st.integers(1, 4))
def test_every_caller_gets_its_own_result_or_error(values, threads):
    def work(value):
        if value % 3 == 0:
            raise ValueError(value)
        return value

    async def main():
        pool = Pool(threads)
        found = await asyncio.gather(
            *(pool.run(lambda value=value: work(value)) for value in values), return_exceptions=True
        )
        pool.close()
        return found

    for value, found in zip(values, run(main()), strict=True):
        assert (found.args if isinstance(found, ValueError) else found) == ((value,) if value % 3 == 0 else value)


def test_what_is_asked_in_one_turn_is_done_by_one_thread():
    async def main():
        pool = Pool(4)
        names = await asyncio.gather(*(pool.run(lambda: threading.current_thread().name) for _ in range(50)))
        pool.close()
        return set(names)

    assert len(run(main())) == 1


def test_a_job_that_hangs_holds_up_nothing_else():
    hanging, release = threading.Event(), threading.Event()

    def hang():
        hanging.set()
        assert release.wait(60)
        return "late"

    async def main():
        pool = Pool(3, stuck_s=0.01)
        stuck = asyncio.create_task(pool.run(hang))
        behind = [asyncio.create_task(pool.run(lambda index=index: index)) for index in range(5)]
        assert await asyncio.gather(*behind) == list(range(5))
        assert hanging.is_set()
        assert not stuck.done()
        assert await pool.run(lambda: "next") == "next"
        release.set()
        assert await stuck == "late"
        pool.close()

    run(main())


def test_results_before_a_hang_in_the_same_turn_are_not_held_back():
    release = threading.Event()

    async def main():
        pool = Pool(2, stuck_s=0.01)
        before = asyncio.create_task(pool.run(lambda: "before"))
        stuck = asyncio.create_task(pool.run(lambda: release.wait(60)))
        assert await before == "before"
        assert not stuck.done()
        release.set()
        assert await stuck
        pool.close()

    run(main())


def test_when_every_thread_hangs_callers_wait_and_go_on_when_one_is_free():
    release = threading.Event()

    async def main():
        pool = Pool(2, stuck_s=0.01)
        stuck = []
        for hanging in (threading.Event(), threading.Event()):
            stuck.append(asyncio.create_task(pool.run(lambda hanging=hanging: hanging.set() or release.wait(60))))
            assert await asyncio.to_thread(hanging.wait, 60)
        with pytest.raises(TimeoutError):
            await pool.run(lambda: "never in time", within_s=0.1)
        assert pool.waiting == 0
        waiting = asyncio.create_task(pool.run(lambda: "after"))
        release.set()
        assert await waiting == "after"
        assert await asyncio.gather(*stuck) == [True, True]
        pool.close()

    run(main())


def test_a_cancelled_caller_disturbs_nobody():
    release = threading.Event()

    async def main():
        pool = Pool(1)
        task = asyncio.create_task(pool.run(lambda: release.wait(60)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        other = asyncio.create_task(pool.run(lambda: "other"))
        task.cancel()
        release.set()
        assert await other == "other"
        with pytest.raises(asyncio.CancelledError):
            await task
        pool.close()
        with pytest.raises(RuntimeError):
            await pool.run(lambda: None)

    run(main())
