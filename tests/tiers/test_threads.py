"""Threads with a deadline: what is late is dropped, what nobody waits for is not begun."""

import asyncio
import threading

import pytest

from shield.tiers.threads import Threads


def test_work_runs_elsewhere_and_what_it_raises_is_raised():
    async def main():
        threads = Threads(2, name="t")
        here = threading.get_ident()
        assert await threads.run(threading.get_ident, within_s=20) != here
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0, within_s=20)
        with pytest.raises(RuntimeError, match="work stopped"):
            await threads.run(lambda: next(iter(())), within_s=20)
        assert await asyncio.gather(*(threads.run(lambda n=n: n, within_s=20) for n in range(50))) == list(range(50))
        threads.close(20)
        with pytest.raises(RuntimeError, match="closed"):
            await threads.run(int, within_s=20)

    asyncio.run(main())


def test_what_is_late_is_dropped_and_what_waits_behind_it_is_not_begun():
    async def main():
        threads, go_on, begun = Threads(1, name="t"), threading.Event(), []
        with pytest.raises(TimeoutError):
            await threads.run(lambda: go_on.wait(30), within_s=0.05)
        with pytest.raises(TimeoutError):
            await threads.run(lambda: begun.append(1), within_s=0.05)
        go_on.set()
        assert await threads.run(lambda: 7, within_s=20) == 7
        assert begun == []
        threads.close(20)

    asyncio.run(main())


def test_a_loop_that_is_gone_takes_no_thread_with_it():
    threads, go_on = Threads(1, name="t"), threading.Event()

    async def late():
        with pytest.raises(TimeoutError):
            await threads.run(lambda: go_on.wait(30), within_s=0.01)

    asyncio.run(late())
    go_on.set()

    async def after():
        return await threads.run(lambda: 1, within_s=20)

    assert asyncio.run(after()) == 1
    threads.close(20)
