"""What the client is given and gives back: frozen, typed, and nothing here talks to anyone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shield.types import Hidden, Isolation, Json

__all__ = ["Checkpoint", "OpenedSession", "Readiness", "Redemption"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A session as Shield made it. `public_key` is raw Ed25519 (32 bytes); `env` is all that commands are run with;
    `hidden` is what they must not reach."""

    id: str
    workspace_roots: tuple[str, ...]
    shell: str
    env: Mapping[str, str] = field(repr=False)
    public_key: bytes
    isolation_required: Isolation
    hidden: Hidden = field(default_factory=Hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redemption:
    """What is sent to redeem a permit: `nonce` is 32 lower-case hex digits, made fresh for each."""

    permit: str = field(repr=False)
    type: str
    payload: Mapping[str, Json]
    cwd: str | None
    nonce: str
    isolation: Isolation


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A signed note of the log (C2SP), as text."""

    note: str

    @property
    def size(self) -> int | None:
        """How many records the checkpoint is over, None where the note does not say."""
        lines = self.note.splitlines()
        return int(lines[1]) if len(lines) > 1 and lines[1].isascii() and lines[1].isdigit() else None

    @property
    def origin(self) -> str | None:
        """The log's name."""
        lines = self.note.splitlines()
        return lines[0] if lines and lines[0] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What `/readyz` says: `ready` only where the status was 200; `report` is the body as it came."""

    ready: bool
    report: Mapping[str, Json]
