"""A few threads for work that computes: each piece has a deadline, and what is late is dropped."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Threads"]

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Threads:
    """At most `count` threads, started when there is work; daemons, so that none of them keeps a process alive."""

    def __init__(self, count: int, *, name: str) -> None:
        self._count = count
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False

    async def run(self, work: Callable[[], T], *, within_s: float) -> T:
        """What `work` returns or raises; TimeoutError if that is not there in time.

        Work that nobody waits for any more is not begun; what was begun goes on to its end, and is dropped.
        """
        if self._closed:
            raise RuntimeError("the threads are closed")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._jobs.put((work, answer))
        if len(self._threads) < self._count:
            name = f"{self._name}-{len(self._threads) + 1}"
            thread = threading.Thread(target=_work, args=(self._jobs,), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)
        async with asyncio.timeout(within_s):
            return await answer

    def close(self, within_s: float) -> None:
        """Begin nothing any more, and wait for what has begun, at most `within_s` for each thread."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(within_s)


def _work(jobs: "queue.SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        work, answer = job
        if answer.cancelled():
            continue
        result: Any = None
        raised: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is the caller's to see
            # a future takes no StopIteration
            raised = RuntimeError("work stopped") if isinstance(error, StopIteration) else error
        try:
            answer.get_loop().call_soon_threadsafe(_give, answer, result, raised)
        except RuntimeError:
            pass  # the loop is closed, so nobody waits any more
        del job, work, answer, result, raised  # what was judged is not kept until the next job


def _give(answer: "asyncio.Future[Any]", result: Any, raised: BaseException | None) -> None:
    if answer.done():
        return
    if raised is not None:
        answer.set_exception(raised)
    else:
        answer.set_result(result)
