"""Shield's audit log as the pipeline and the routes see it."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from audit.aio import AsyncLog
from audit.entry import Draft, Private
from audit.errors import AuditError
from audit.log import Log
from audit.query import Filter, select
from shield.config.home import Home
from shield.errors import RecordError, StateError
from shield.pipeline.ports import Appended, Kept
from shield.service.outside import Publishing
from shield.service.ports import Remembered
from shield.types import Json

__all__ = ["AuditJournal"]


class AuditJournal:
    """One open log, for the coroutines of one event loop and for readers in threads."""

    def __init__(
        self, log: Log, home: Home, loop: asyncio.AbstractEventLoop, *, publishing: Publishing | None = None
    ) -> None:
        """`publishing` are the places that are told of its checkpoints, if any are."""
        self._log = log
        self._publishing = publishing
        self._path = Path(home.audit_db)
        self._async = AsyncLog(log, loop)

    async def append(
        self,
        kind: str,
        body: Mapping[str, Json],
        *,
        session: str | None = None,
        agent: str | None = None,
        call_id: str | None = None,
        ref: int | None = None,
        kept: Kept | None = None,
    ) -> Appended:
        """Returns only after the record is durable. Raises RecordError."""
        private = None if kept is None else Private(salt=kept.salt, content=kept.content)
        draft = Draft(
            kind=kind, body=dict(body), session=session, agent=agent, call_id=call_id, ref=ref, private=private
        )
        try:
            appended = await self._async.append(draft)
        except AuditError as error:
            raise RecordError(f"{error}; free space if the disk is full, then see `shield status`") from None
        return Appended(seq=appended.seq)

    @property
    def healthy(self) -> bool:
        return self._log.healthy.ok

    @property
    def trouble(self) -> str | None:
        health = self._log.healthy
        return None if health.ok else (health.reason or "the log takes no records")

    @property
    def size(self) -> int:
        return self._log.size

    @property
    def unsealed(self) -> int:
        return self._log.unsealed

    @property
    def name(self) -> str:
        return self._log.name

    def checkpoint(self) -> str:
        """Seal what is durable; the signed note. Raises RecordError."""
        try:
            return self._log.checkpoint()
        except AuditError as error:
            raise RecordError(f"{error}; see `shield status`") from None

    def proof(self, seq: int) -> str:
        """That record `seq` stands under the newest checkpoint, as c2sp.org/tlog-proof. Raises StateError."""
        try:
            return self._log.prove(seq).text()
        except AuditError as error:
            raise StateError(f"the record cannot be proved: {error}; run `shield audit verify`") from None

    @property
    def remembered(self) -> Sequence[Remembered]:
        """What each place outside of the log has of it."""
        return () if self._publishing is None else self._publishing.remembered()

    def records(self, start: int, limit: int, filters: Mapping[str, str]) -> Sequence[bytes]:
        """The exact bytes of leaves. Raises StateError."""
        where = Filter(start=start, limit=limit, **filters)  # type: ignore[arg-type]  # the names are the route's four
        try:
            return [record.leaf for record in select(self._path, where)]
        except AuditError as error:
            raise StateError(f"the log cannot be read: {error}; run `shield audit verify`") from None

    def close(self) -> None:
        """Write what waits and the last checkpoint. Raises RecordError if that fails."""
        try:
            self._log.close()
        except AuditError as error:
            raise RecordError(f"{error}; the next start continues from the last checkpoint") from None
