"""A log for coroutines: a whole group of answers wakes the event loop once."""

import asyncio
from collections.abc import Sequence

from audit.batch import Appended
from audit.entry import Draft
from audit.errors import AuditError
from audit.log import Log
from audit.writer import Settled


class AsyncLog:
    """Appends to `log` from the coroutines of one event loop."""

    def __init__(self, log: Log, loop: asyncio.AbstractEventLoop) -> None:
        self.log = log
        self._loop = loop
        self._turn: list[tuple[Draft, asyncio.Future[Appended]]] = []

    async def append(self, draft: Draft) -> Appended:
        """Record and wait until it is durable. Raises what `Log.submit` and its future raise.

        Being cancelled stops the waiting, not the record: it is written all the same.
        """
        answer: asyncio.Future[Appended] = self._loop.create_future()
        # what is appended in one turn of the loop reaches the writer together: a larger group, one commit
        if not self._turn:
            self._loop.call_soon(self._submit)
        self._turn.append((draft, answer))
        return await answer

    def _submit(self) -> None:
        turn, self._turn = self._turn, []
        for draft, answer in turn:
            try:
                self.log.submit_to(draft, self, answer)
            except AuditError as error:
                if not answer.done():
                    answer.set_exception(error)

    def settled(self, answers: Sequence[Settled]) -> None:
        """Called by the writer's thread once a group."""
        try:
            self._loop.call_soon_threadsafe(_resolve, answers)
        except RuntimeError:
            pass  # the loop is closed, so nobody waits any more; the records are durable


def _resolve(answers: Sequence[Settled]) -> None:
    for token, answer in answers:
        if not isinstance(token, asyncio.Future) or token.done():
            continue  # cancelled meanwhile
        if isinstance(answer, AuditError):
            token.set_exception(answer)
        else:
            token.set_result(answer)
