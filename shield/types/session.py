"""Who calls, and the session that an agent works in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shield.types.isolation import Isolation

__all__ = ["Role", "Session"]


class Role(StrEnum):
    """What a token may do at the service."""

    AGENT = "agent"
    APPROVER = "approver"
    AUDITOR = "auditor"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An agent's session: where it may work and what its commands are run with. `owner` is the token's id, `pids` are
    the processes and process groups that opened it, as far as they are known; `root_ids` are device and inode of each
    workspace root at that moment."""

    id: str
    owner: str
    agent: str
    workspace_roots: tuple[str, ...]
    shell: str
    env: Mapping[str, str]
    isolation: Isolation
    home: str
    label: str | None = None
    env_digest: str = ""
    created_at: int = 0
    root_ids: tuple[tuple[int, int], ...] = ()
    pids: frozenset[int] = frozenset()
