"""Stopping a turn from outside it (Ctrl-C), wherever it waits, and waiting for what must not be cut short."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from agentctl.errors import CancelledTurnError

__all__ = ["Cancel", "over", "through", "wound_down"]

T = TypeVar("T")


class Cancel:
    """A switch for one turn: once set it stays set. Belongs to one event loop; set it from that loop's thread."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    async def guard(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work()`, or CancelledTurnError as soon as the switch is set and the work has wound down.

        INVARIANT: the work is over when this returns or raises, whichever way; nothing goes on in the background.
        What was finished in spite of the switch is returned: it happened, and the history must say so.
        """
        task = asyncio.ensure_future(self._begun(work))
        stop = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await wound_down([task, stop])
        if task.cancelled():
            raise CancelledTurnError
        return task.result()

    async def _begun(self, work: Callable[[], Awaitable[T]]) -> T:
        # asked where the work begins: what runs before a new task does may have set the switch
        if self._event.is_set():
            raise CancelledTurnError
        return await work()


async def wound_down(work: Iterable["asyncio.Future[Any]"]) -> None:
    """Stop what is not done, and return only when all of it is over. To be cancelled meanwhile does not cut it short:
    that is passed on at the end, so that nobody who waits for children to be gone goes on before they are."""
    stopped = [task for task in work if not task.done()]
    for task in stopped:
        task.cancel()
    left = set(stopped)
    again: asyncio.CancelledError | None = None
    while left:
        try:
            _, left = await asyncio.wait(left)
        except asyncio.CancelledError as error:
            again = error
            left = {task for task in left if not task.done()}
    for task in stopped:
        if not task.cancelled():
            task.exception()  # looked at: whoever stops work does not wait for what it says
    if again is not None:
        raise again


async def through(work: Awaitable[T]) -> T:
    """The result of `work`, which goes on to its end even when we are cancelled; only then is the cancel passed on."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await over(task)
        raise


async def over(work: "asyncio.Future[T]") -> None:
    """Until it has wound down, however often we are cancelled meanwhile."""
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            continue
    if not work.cancelled():
        work.exception()
