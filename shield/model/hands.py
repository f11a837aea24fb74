"""A few threads that help whoever asks with pieces of work that computes, and never keep him waiting."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

__all__ = ["Hands", "spare_cores"]

_MOST: Final = 3  # beside the thread that asks; several may ask at once


class Hands:
    """At most `count` threads, started when there is work for them. They end with the object."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="model") if count else None

    def share(self, work: Callable[[], None], pieces: int) -> None:
        """Run `work`, which takes pieces of which there are so many until none is left, here and in those threads that
        are free; when it returns, none of them is at it any more. Raises what any of them raised."""
        helping = []
        if self._pool is not None:
            try:
                helping = [self._pool.submit(work) for _ in range(min(self._count, pieces - 1))]
            except RuntimeError:
                pass  # the interpreter ends: alone, then
        try:
            work()
        finally:
            begun = [one for one in helping if not one.cancel()]  # others keep them busy: no need to wait for that
            wait(begun)
        for one in begun:
            one.result()


def spare_cores() -> int:
    """How many cores this process may use beside one, as far as that is worth threads."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        cores = os.cpu_count() or 1
    return min(cores - 1, _MOST)
