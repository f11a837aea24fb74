"""Work spread over processes: the results come in the order of the work, however many processes there are.

Only where a process can be forked (Linux): what is loaded is then there in every worker without being sent. Elsewhere
all is done in this process.
"""

import multiprocessing
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from shield.errors import ShieldError

__all__ = ["can_fork", "spread"]

Tick = Callable[[str, int], None]
_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


def can_fork() -> bool:
    """Whether several processes can be used here."""
    return sys.platform == "linux" and "fork" in multiprocessing.get_all_start_methods()


def spread(
    work: Callable[[_Item, Tick], _Done], items: Sequence[_Item], *, jobs: int, tick: Tick | None = None
) -> Iterator[_Done]:
    """`work(item, tick)` for each item, in `jobs` processes. Results are sent back by pickle.

    Raises:
        ShieldError: a worker ended before its work did.
    """
    heard = tick if tick is not None else _nobody
    jobs = min(jobs, len(items)) if can_fork() else 1
    if jobs <= 1:
        for item in items:
            yield work(item, heard)
        return
    context = multiprocessing.get_context("fork")
    ready: dict[int, _Done] = {}
    left = deque(enumerate(items))
    running: dict[Connection[Any, Any], Any] = {}
    try:
        for _ in range(jobs):
            here, there = context.Pipe()
            worker = context.Process(target=_serve, args=(work, there, [here, *running]), daemon=True)
            worker.start()
            there.close()
            running[here] = worker
            here.send(left.popleft())
        busy = list(running)
        following = 0
        while following < len(items):
            for pipe in wait(busy):
                assert isinstance(pipe, Connection)
                if not _hear(pipe, heard, ready, left):
                    busy.remove(pipe)
            while following in ready:
                yield ready.pop(following)
                following += 1
    finally:
        for pipe, worker in running.items():
            pipe.close()
            worker.terminate()
            worker.join()


def _hear(pipe: "Connection[Any, Any]", heard: Tick, ready: dict[int, _Done], left: "deque[tuple[int, _Item]]") -> bool:
    """One message of a worker: progress, or a result, for which it gets its next item. False: there is none for it."""
    try:
        message = pipe.recv()
    except (EOFError, OSError):
        raise ShieldError("a worker process ended before its work did; try `--jobs 1`") from None
    if len(message) == 3:
        heard(*message[1:])
        return True
    place, done = message
    ready[place] = done
    more = bool(left)
    pipe.send(left.popleft() if left else None)
    return more


def _serve(work: Callable[[Any, Tick], Any], pipe: "Connection[Any, Any]", others: Sequence[Any]) -> None:
    # the parent's ends were inherited: with them open, a worker would never learn that the parent is gone
    for other in others:
        other.close()
    while (given := pipe.recv()) is not None:
        place, item = given
        pipe.send((place, work(item, lambda what, count: pipe.send((None, what, count)))))


def _nobody(what: str, count: int) -> None:
    del what, count
