"""Threads for what may wait on a disk, handed over a loop's turn at a time.

Each hand-over between threads of one interpreter costs more than a judgement, so there are few: what an event loop
asks for in one turn goes to one thread together and comes back together. A disk that hangs holds up the piece of work
that touched it and nothing else: another thread takes the rest.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["STUCK_S", "Pool"]

T = TypeVar("T")
STUCK_S = 0.25  # a judgement takes well under a millisecond

_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]
_Result = tuple["asyncio.Future[Any]", Any, bool]


class _Turn:
    """What one thread was given at once. Jobs are taken and results left one by one: both deques are atomic."""

    __slots__ = ("jobs", "loop", "results")

    def __init__(self, jobs: deque[_Job], loop: asyncio.AbstractEventLoop) -> None:
        self.jobs = jobs
        self.loop = loop
        self.results: deque[_Result] = deque()


class Pool:
    """At most `threads` threads for one event loop, one of them at work unless it hangs.

    Work for which no thread is left waits; its caller has a deadline.
    """

    def __init__(self, threads: int, *, stuck_s: float = STUCK_S) -> None:
        self._threads = threads
        self._stuck_s = stuck_s
        self._started = self._busy = 0
        self._turns: queue.SimpleQueue[_Turn | None] = queue.SimpleQueue()
        self._waiting: deque[_Job] = deque()
        self._running: _Turn | None = None
        self._scheduled = self._closed = False

    async def run(self, work: Callable[[], T], *, within_s: float | None = None) -> T:
        """What `work` returns or raises; TimeoutError if that is not there in time. Neither that nor being cancelled
        stops the work, only the waiting."""
        if self._closed:
            raise RuntimeError("the pool is closed")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        job = (work, answer)
        self._waiting.append(job)
        if self._running is None and not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._hand_over, loop)
        late = None if within_s is None else loop.call_later(within_s, _too_late, answer)
        try:
            return await answer
        except (asyncio.CancelledError, TimeoutError):
            # INVARIANT: what nobody waits for any more does not pile up behind a disk that hangs
            if job in self._waiting:
                self._waiting.remove(job)
            raise
        finally:
            if late is not None:
                late.cancel()

    @property
    def waiting(self) -> int:
        """Pieces of work that no thread was given yet."""
        return len(self._waiting)

    def close(self) -> None:
        """Let the threads end when they are done; one that hangs ends with the process."""
        self._closed = True
        for _ in range(self._started):
            self._turns.put(None)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give everything that waits to one thread, if none is at work and one is left."""
        self._scheduled = False
        if self._running is not None or not self._waiting or self._busy == self._threads:
            return
        turn = self._running = _Turn(self._waiting, loop)
        self._waiting = deque()
        self._busy += 1
        if self._busy > self._started:
            self._started += 1
            name = f"judge-{self._started}"
            threading.Thread(target=_work, args=(self._turns, self._ended), name=name, daemon=True).start()
        self._turns.put(turn)
        loop.call_later(self._stuck_s, self._look_after, turn)

    def _look_after(self, turn: _Turn) -> None:
        """A turn that takes this long hangs in one job: what it has done is given back, what it has not goes on."""
        if turn is not self._running:
            return
        _answer(turn)
        while turn.jobs:
            try:
                self._waiting.appendleft(turn.jobs.pop())
            except IndexError:
                break  # its thread was quicker
        self._running = None
        self._hand_over(turn.loop)

    def _ended(self, turn: _Turn) -> None:
        self._busy -= 1
        _answer(turn)
        if turn is self._running:
            self._running = None
        self._hand_over(turn.loop)


def _too_late(answer: "asyncio.Future[Any]") -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())


def _answer(turn: _Turn) -> None:
    while turn.results:
        answer, result, raised = turn.results.popleft()
        if answer.done():
            continue  # cancelled meanwhile
        if raised:
            # a future takes no StopIteration, and one answer must never keep the others back
            answer.set_exception(RuntimeError("work stopped") if isinstance(result, StopIteration) else result)
        else:
            answer.set_result(result)


def _work(turns: "queue.SimpleQueue[_Turn | None]", ended: Callable[[_Turn], None]) -> None:
    while (turn := turns.get()) is not None:
        while turn.jobs:
            try:
                job, answer = turn.jobs.popleft()
            except IndexError:
                break  # the loop took the rest away
            try:
                turn.results.append((answer, job(), False))
            except BaseException as error:  # noqa: BLE001  # it is the caller's to see
                turn.results.append((answer, error, True))
        try:
            turn.loop.call_soon_threadsafe(ended, turn)
        except RuntimeError:
            return  # the loop is closed, so nobody waits any more
