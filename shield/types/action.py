"""What is proposed: JSON values, an action in its exact bytes, the request to judge it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shield.types.decision import Tier

__all__ = ["Action", "ActionRequest", "Json", "Operation"]

# What the strict reader yields.
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Operation(StrEnum):
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"
    NETWORK = "network"
    MESSAGE = "message"
    MEMORY = "memory"
    SCHEDULE = "schedule"
    AGENT = "agent"
    BROWSE = "browse"
    META = "meta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What is proposed, in the exact bytes that are judged, hashed, logged and run.

    `type` is the canonical name (aliases replaced), `payload` and `cwd` are the values parsed back from `canonical`.
    `hash` is `sha256:` + 64 hex digits over `canonical`, the `shield-jcs-1` form of `{"cwd","payload","type"}`.
    """

    type: str
    payload: Mapping[str, Json]
    cwd: str | None
    canonical: bytes
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """One request to judge an action. `intent` is an unverified claim; `min_tier` can only raise."""

    id: str
    action: Action
    session: str | None = None
    tool_call_id: str | None = None
    min_tier: Tier = Tier.POLICY
    intent: str | None = None
