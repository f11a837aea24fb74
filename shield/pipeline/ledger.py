"""What this process remembers between a verdict and its outcome: evaluations, permits, what became of them.

All of it dies with the process, as the permits do. One event loop owns it; `take` is the one step that must be atomic,
and it is: it does not await.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shield.errors import PermitError, Reason, RefusedError
from shield.permits import Permit
from shield.types import ActionRequest, OutcomeReply, Session, Verdict

__all__ = ["MAX_BYTES", "Evaluation", "Issued", "Ledger"]

_T = TypeVar("_T", "Evaluation", "Issued")

_MAX_ENTRIES = 10_000  # evaluations, and as many permits
MAX_BYTES = 256 << 20  # actions and outcomes that are held, half of it for evaluations and half for permits
_ENTRY_BYTES = 4096  # what an entry takes besides: verdict, claims, locks


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """One evaluation and its newest verdict. `question` is the approval it waits for or was settled by, `answered`
    where what became of that stands in the log, `ends_ns` when its permit ends by the clock that never goes back."""

    request: ActionRequest
    session: Session | None
    agent: str
    owner: str
    verdict: Verdict
    seq: int
    question: str | None = None
    answered: int | None = None
    ends_ns: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True, kw_only=True)
class Issued:
    """A permit that was given out. `shown` is the digest of the facts by which a person allowed it, `executing` the seq
    of its `executing` record once it was redeemed, `refusals` how many refusals of it were recorded."""

    permit: Permit
    request: ActionRequest
    session: Session
    owner: str
    deadline_ns: int
    approval: str | None = None
    shown: str | None = None
    used: bool = False
    refusals: int = 0
    executing: int | None = None
    outcome: OutcomeReply | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class _Shelf(Generic[_T]):
    """Entries by key, the oldest dropped first; bounded in number and in bytes, as both are the agent's to choose."""

    def __init__(self) -> None:
        self.entries: OrderedDict[str, _T] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self.held = 0

    def put(self, key: str, entry: _T, size: int) -> None:
        """The newest entry, in place of one of the same key. One that alone is too large is kept: it is the newest."""
        self._drop(key)
        self.entries[key] = entry
        self._grow(key, size + _ENTRY_BYTES)

    def grow(self, key: str, size: int) -> None:
        """An entry that is still here takes more."""
        if key in self.entries:
            self._grow(key, size)

    def _grow(self, key: str, size: int) -> None:
        self._sizes[key] = self._sizes.get(key, 0) + size
        self.held += size
        while len(self.entries) > 1 and (len(self.entries) > _MAX_ENTRIES or self.held > MAX_BYTES // 2):
            self._drop(next(iter(self.entries)))

    def _drop(self, key: str) -> None:
        if self.entries.pop(key, None) is not None:
            self.held -= self._sizes.pop(key)


class Ledger:
    """Evaluations by id and permits by jti, the oldest forgotten first: forgotten means unknown, unknown means no."""

    def __init__(self) -> None:
        self._evaluations: _Shelf[Evaluation] = _Shelf()
        self._permits: _Shelf[Issued] = _Shelf()

    @property
    def held(self) -> int:
        """Bytes that are held, about."""
        return self._evaluations.held + self._permits.held

    def remember(self, evaluation: Evaluation) -> None:
        """Keep the newest verdict of an evaluation."""
        key = evaluation.verdict.evaluation
        known = self._evaluations.entries.get(key)
        if known is not None:
            evaluation.lock = known.lock
        self._evaluations.put(key, evaluation, len(evaluation.request.action.canonical))

    def evaluation(self, key: str, owner: str) -> Evaluation:
        """Raises RefusedError `evaluation.unknown`, also for one of another token."""
        known = self._evaluations.entries.get(key)
        if known is None or known.owner != owner:
            raise RefusedError(
                f"there is no evaluation `{key[:64]}` of this token; ask for a new one",
                reason=Reason.EVALUATION_UNKNOWN,
            )
        return known

    def decision_seq(self, key: str) -> int | None:
        """Where the newest decision of an evaluation stands in the log."""
        known = self._evaluations.entries.get(key)
        return known.seq if known is not None else None

    def note_answer(self, key: str, seq: int) -> None:
        """The question of an evaluation was settled, as record `seq` says."""
        known = self._evaluations.entries.get(key)
        if known is not None:
            known.answered = seq

    def answer_seq(self, key: str) -> int | None:
        """Where it stands in the log what became of the question of an evaluation."""
        known = self._evaluations.entries.get(key)
        return known.answered if known is not None else None

    def issue(self, issued: Issued) -> None:
        """A permit goes out."""
        self._permits.put(issued.permit.jti, issued, len(issued.request.action.canonical))

    def issued(self, jti: str) -> Issued | None:
        """What is known of a permit."""
        return self._permits.entries.get(jti)

    def take(self, issued: Issued) -> None:
        """Use a permit up, once. Raises PermitError `used`."""
        # INVARIANT: no await between the look and the mark
        if issued.used:
            raise PermitError("this permit was used before; ask for a new evaluation", reason=Reason.PERMIT_USED)
        issued.used = True

    def answered(self, issued: Issued, reply: OutcomeReply) -> None:
        """The outcome of a redeemed permit, kept for who asks again."""
        issued.outcome = reply
        self._permits.grow(issued.permit.jti, sum(len(part.text) for part in reply.content))
