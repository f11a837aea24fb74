"""How a redeemed call ended, and what of it may be shown to the model."""

from dataclasses import dataclass
from enum import StrEnum

from shield.types.facts import Labels

__all__ = ["Outcome", "OutcomePart", "OutcomeReply", "OutcomeStatus", "Redaction"]


class OutcomeStatus(StrEnum):
    """How a redeemed call ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomePart:
    """A piece of what a tool gave back, by role (`stdout`, `content`, …)."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an executor reports of a redeemed call. `content` is head and tail; `bytes`, `sha256` are of the whole."""

    jti: str
    status: OutcomeStatus
    exit_code: int | None = None
    duration_us: int = 0
    content: tuple[OutcomePart, ...] = ()
    bytes: int = 0
    sha256: str | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What was taken out of a part of this role; offsets count code points of the text that came in."""

    kind: str
    role: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReply:
    """What may be shown to the model, and where the outcome is recorded."""

    seq: int
    content: tuple[OutcomePart, ...] = ()
    labels: Labels = Labels()  # noqa: RUF009  # it is frozen
    redactions: tuple[Redaction, ...] = ()
