"""How much a caller may ask for at a time: a token bucket each, a bounded number of judgements and of waits."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from shield.errors import Reason, RefusedError

__all__ = ["WAITS_MAX", "Admission"]

WAITS_MAX = 64  # held requests (`?wait=`) of one token; each costs a task, none a thread


class _Places:
    """The places for requests in work; each `with` holds one. Raises RefusedError (`admission.queue`)."""

    __slots__ = ("_queue", "taken")

    def __init__(self, queue: int) -> None:
        self._queue = queue
        self.taken = 0

    def __enter__(self) -> None:
        if self.taken >= self._queue:
            raise RefusedError(
                f"{self._queue} requests are being judged; ask again", reason=Reason.ADMISSION_QUEUE, retry_after=1
            )
        self.taken += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.taken -= 1


class Admission:
    """`rate` evaluations per second and token, with a burst of one second's worth and at least one batch; `queue`
    requests in work at a time over all tokens. `now` is a monotonic clock in seconds."""

    def __init__(self, *, rate: float, queue: int, now: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = max(rate, 1.0)
        self._now = now
        self._buckets: dict[str, tuple[float, float]] = {}
        self._waits: dict[str, int] = {}
        self.work = _Places(queue)

    @property
    def in_work(self) -> int:
        return self.work.taken

    def charge(self, token: str, evaluations: int) -> None:
        """Take `evaluations` from the token's bucket. Raises RefusedError (`admission.rate`) and takes nothing."""
        now = self._now()
        level, since = self._buckets.get(token, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        # A batch larger than the bucket is taken from a full one and leaves a debt: it is slowed, not impossible.
        needed = min(float(evaluations), self._burst)
        if level < needed:
            self._buckets[token] = (level, now)
            raise RefusedError(
                f"more than {self._rate:g} evaluations a second; wait, then ask again",
                reason=Reason.ADMISSION_RATE,
                retry_after=max(1, math.ceil((needed - level) / self._rate)),
            )
        self._buckets[token] = (level - evaluations, now)

    @contextmanager
    def wait(self, token: str) -> Iterator[None]:
        """Hold one of the token's places for waiting requests. Raises RefusedError (`admission.queue`)."""
        held = self._waits.get(token, 0)
        if held >= WAITS_MAX:
            raise RefusedError(
                f"{held} requests of this token wait already; let one end",
                reason=Reason.ADMISSION_QUEUE,
                retry_after=1,
            )
        self._waits[token] = held + 1
        try:
            yield
        finally:
            left = self._waits[token] - 1
            if left:
                self._waits[token] = left
            else:
                del self._waits[token]
