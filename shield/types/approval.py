"""A question to a person, and the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shield.types.action import Json

__all__ = ["Approval", "ApprovalAnswer", "ApprovalState", "Scope"]


class Scope(StrEnum):
    """How far a person's approval reaches."""

    ONCE = "once"
    SESSION = "session"


class ApprovalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question to a person, as `GET /v1/approvals/{id}` shows it. Times are unix milliseconds."""

    id: str
    state: ApprovalState
    created_at: int
    expires_at: int
    request: Mapping[str, Json]
    facts: Mapping[str, Json]
    rule: str
    reason: str
    scopes: tuple[Scope, ...]
    pattern: str | None
    evaluation: str
    session: str
    agent: str
    answered_by: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """What a person said."""

    approve: bool
    scope: Scope = Scope.ONCE
    pattern: str | None = None
    note: str = ""
