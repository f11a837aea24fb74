"""What this process remembers between a verdict and its outcome: evaluations, permits, what became of them.

All of it dies with the process, as the permits do. One event loop owns it; `take` is the one step that must be atomic,
and it is: it does not await.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from shield.errors import PermitError, Reason, RefusedError
from shield.permits import Permit
from shield.types import ActionRequest, OutcomeReply, Session, Verdict

__all__ = ["Evaluation", "Issued", "Ledger"]

_MAX_EVALUATIONS = 10_000
_MAX_PERMITS = 10_000


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """One evaluation and its newest verdict. `question` is the approval it waits for or was settled by."""

    request: ActionRequest
    session: Session | None
    agent: str
    owner: str
    verdict: Verdict
    seq: int
    question: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True, kw_only=True)
class Issued:
    """A permit that was given out. `executing` is the seq of its `executing` record once it was redeemed."""

    permit: Permit
    request: ActionRequest
    session: Session
    owner: str
    deadline_ns: int
    approval: str | None = None
    used: bool = False
    executing: int | None = None
    outcome: OutcomeReply | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Ledger:
    """Evaluations by id and permits by jti, the oldest forgotten first: forgotten means unknown, unknown means no."""

    def __init__(self) -> None:
        self._evaluations: OrderedDict[str, Evaluation] = OrderedDict()
        self._permits: OrderedDict[str, Issued] = OrderedDict()

    def remember(self, evaluation: Evaluation) -> None:
        """Keep the newest verdict of an evaluation."""
        key = evaluation.verdict.evaluation
        known = self._evaluations.pop(key, None)
        if known is not None:
            evaluation.lock = known.lock
        self._evaluations[key] = evaluation
        if len(self._evaluations) > _MAX_EVALUATIONS:
            self._evaluations.popitem(last=False)

    def evaluation(self, key: str, owner: str) -> Evaluation:
        """Raises RefusedError `evaluation.unknown`, also for one of another token."""
        known = self._evaluations.get(key)
        if known is None or known.owner != owner:
            raise RefusedError(
                f"there is no evaluation `{key[:64]}` of this token; ask for a new one",
                reason=Reason.EVALUATION_UNKNOWN,
            )
        return known

    def decision_seq(self, key: str) -> int | None:
        """Where the newest decision of an evaluation stands in the log."""
        known = self._evaluations.get(key)
        return known.seq if known is not None else None

    def issue(self, issued: Issued) -> None:
        """A permit goes out."""
        self._permits[issued.permit.jti] = issued
        if len(self._permits) > _MAX_PERMITS:
            self._permits.popitem(last=False)

    def issued(self, jti: str) -> Issued | None:
        """What is known of a permit."""
        return self._permits.get(jti)

    def take(self, issued: Issued) -> None:
        """Use a permit up, once. Raises PermitError `used`."""
        # INVARIANT: no await between the look and the mark
        if issued.used:
            raise PermitError("this permit was used before; ask for a new evaluation", reason=Reason.PERMIT_USED)
        issued.used = True
