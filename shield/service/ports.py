"""What the service needs of the parts below it: the pipeline, its queue of approvals, the log, and how to load again.

The composition root passes the real ones in; tests pass fakes that implement the same protocols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shield.errors import Reason
from shield.pipeline.inspect import Direction, Inspection
from shield.types import (
    ActionRequest,
    Approval,
    ApprovalAnswer,
    Isolation,
    Json,
    Outcome,
    OutcomeReply,
    Session,
    Verdict,
)

__all__ = [
    "Approvals",
    "Journal",
    "Judge",
    "Operator",
    "Reloaded",
    "Remembered",
    "Sessions",
    "Standing",
    "TextTier",
]


class Sessions(Protocol):
    """The agents' sessions. `owner` is the id of the token that made one."""

    def open(
        self,
        roots: tuple[str, ...],
        isolation: Isolation,
        label: str | None,
        *,
        owner: str,
        agent: str,
        pids: frozenset[int],
    ) -> Session:
        """Raises RefusedError (`workspace.untrusted`, `session.limit`)."""

    def get(self, session_id: str, *, owner: str) -> Session:
        """Raises RefusedError (`session.unknown`), also for a session of another token."""


class Approvals(Protocol):
    """The durable queue of questions to a person."""

    def has_approver(self) -> bool:
        """Whether anyone could answer."""

    def seen(self) -> None:
        """An approver was here just now."""

    def get(self, approval_id: str) -> Approval:
        """Raises RefusedError (`approval.unknown`)."""

    def pending(self) -> Sequence[Approval]:
        """Oldest first."""

    async def wait(self, timeout_s: float) -> None:
        """Return when the queue changes, at the latest after `timeout_s`, at once on stop."""


class Judge(Protocol):
    """The one path to a verdict (`shield.pipeline.Pipeline`)."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def approvals(self) -> Approvals: ...

    @property
    def public_key(self) -> bytes:
        """Raw Ed25519: the key that signs permits and receipts."""

    async def evaluate(self, request: ActionRequest, *, session: Session | None, agent: str, owner: str) -> Verdict:
        """Judge and record. A failed record is a BLOCK with rule `audit.unavailable` and no `seq`."""

    async def current(self, evaluation: str, *, owner: str, wait_s: float) -> Verdict:
        """Raises RefusedError (`evaluation.unknown`)."""

    async def redeem(self, permit: str, action: Json, nonce: str, isolation: Isolation, *, owner: str) -> str:
        """The signed receipt. Raises PermitError, RecordError."""

    async def outcome(self, outcome: Outcome, *, owner: str) -> OutcomeReply:
        """Raises RefusedError (`outcome.no_permit`), RecordError."""

    async def inspect(
        self, content: str, direction: Direction, source: str | None, *, session: Session | None, agent: str
    ) -> Inspection:
        """Raises RecordError."""

    async def answer(self, approval_id: str, answer: ApprovalAnswer, *, by: str) -> Approval:
        """Raises RefusedError (`approval.unknown`, `approval.answered`, `approval.scope`), RecordError."""

    async def rejected(self, reason: Reason, raw: bytes, peer_uid: int | None) -> None:
        """Record that something was refused at the door; rate-limited there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What one place outside of the log has of it: the newest checkpoint's `size`, taken `age_s` seconds ago, None
    before the first; for `behind_s` seconds the log has had a newer one; `trouble` says what is wrong there."""

    name: str
    size: int | None
    age_s: float | None
    behind_s: float
    trouble: str | None


class Journal(Protocol):
    """The audit log as the service shows it. The methods read the disk: call them from a thread."""

    def records(self, start: int, limit: int, filters: Mapping[str, str]) -> Sequence[bytes]:
        """The exact bytes of at most `limit` leaves from `start` on; `filters` name kind, session, agent, call_id."""

    def checkpoint(self) -> str:
        """The newest signed note (C2SP). Raises RecordError."""

    def proof(self, seq: int) -> str:
        """The proof of a durable record (C2SP tlog-proof). Raises StateError, RecordError."""

    @property
    def name(self) -> str:
        """The log's name: `shield.local/` and a random part."""

    @property
    def remembered(self) -> Sequence[Remembered]:
        """What each place outside of the log remembers."""

    @property
    def size(self) -> int: ...

    @property
    def unsealed(self) -> int: ...

    @property
    def trouble(self) -> str | None:
        """Why nothing can be recorded now; None where it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """Digests before and after; `said` are remarks for the person."""

    previous: str
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTier:
    """Tier 1 now: `state` is `ready`, `loading`, `absent` or `failed`, and `detail` why it is not ready. The digests
    are of what judges, None where there is none."""

    state: str = "absent"
    model: str | None = None
    heuristics: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How things are, for `/readyz` and `shield status`. `disk` is None where the policy on disk does not load, and
    `disk_trouble` then says why. `rule_errors` counts, by rule, conditions that failed while judging."""

    policy: str
    disk: str | None
    disk_trouble: str | None
    rule_errors: Mapping[str, int]
    tiers: Mapping[int, str]
    tier1: TextTier = TextTier()


class Operator(Protocol):
    """What an admin may have done, and what is shown of the whole."""

    async def reload(self, by: str) -> Reloaded:
        """Compile aside, swap, record. Raises PolicyError, ConfigError, RecordError; then the running policy stays."""

    def tier1(self) -> TextTier:
        """Tier 1 now; reads no disk."""

    async def standing(self, *, fresh: bool) -> Standing:
        """`fresh` looks at the policy on disk now, not at what was found a while ago."""
