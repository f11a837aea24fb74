"""What was refused at the door: kind `rejected`, one record a second and reason, the rest counted."""

import hashlib
from dataclasses import dataclass

from shield.errors import Reason, RecordError
from shield.pipeline.ports import Clock, Recorder

__all__ = ["Rejections"]

_INTERVAL_NS = 1_000_000_000


@dataclass(slots=True)
class _Tally:
    last_ns: int | None = None
    unrecorded: int = 0
    sha256: str = ""
    peer_uid: int | None = None


class Rejections:
    """Counts refusals by reason and records them. A log that does not take them loses no count."""

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._tallies: dict[Reason, _Tally] = {}

    async def note(self, reason: Reason, raw: bytes, peer_uid: int | None) -> None:
        """One refusal of these raw bytes. Never raises: what is refused stays refused whether or not it is recorded."""
        tally = self._tallies.setdefault(reason, _Tally())
        tally.unrecorded += 1
        tally.sha256 = hashlib.sha256(raw).hexdigest()
        tally.peer_uid = peer_uid
        now = self._clock.monotonic_ns()
        if tally.last_ns is None or now - tally.last_ns >= _INTERVAL_NS:
            tally.last_ns = now
            await self._record(reason, tally)

    async def flush(self) -> None:
        """Record what was counted and not yet recorded; called once at the end."""
        for reason, tally in self._tallies.items():
            await self._record(reason, tally)

    async def _record(self, reason: Reason, tally: _Tally) -> None:
        count, tally.unrecorded = tally.unrecorded, 0
        if count == 0:
            return
        body = {"reason": reason.value, "peer_uid": tally.peer_uid, "count": count, "sha256": f"sha256:{tally.sha256}"}
        try:
            await self._recorder.append("rejected", body)
        except RecordError:
            tally.unrecorded += count
