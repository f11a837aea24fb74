"""Where an action would take place: everything besides the action itself that its facts depend on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from shield.facts.filesystem import FileSystem
from shield.types import Isolation, SessionFacts

__all__ = ["Place", "Protected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """What protection guards, as absolute resolved paths, numbers and file names.

    `state`: $SHIELD_HOME, its socket, external checkpoints; `code`: everything the programs are imported from or
    started by; `apart`: directories inside `code` that nothing of ours is imported from; `own`: of `code` what is both
    programs' and nothing else's. `identities`: device, inode and path of entries of `state` and `code`, by which they
    are known again under another name. `host_config`: hook settings of hosts; `ports`: loopback TCP ports Shield
    listens on; `pids`: processes and process groups of both programs; `processes`: what else these are found by, their
    names and command lines. `identity`, `instructions`, `memory` are base names (compared case-insensitively) from
    `shield.toml`.
    """

    state: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    identities: frozenset[tuple[int, int, str]] = frozenset()
    host_config: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset()
    pids: frozenset[int] = frozenset()
    processes: tuple[str, ...] = ("shield", "agentctl")
    identity: tuple[str, ...] = ("IDENTITY.md", "SOUL.md")
    instructions: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md", ".cursorrules")
    memory: tuple[str, ...] = ("MEMORY.md", "USER.md")

    def with_processes(self, pids: frozenset[int]) -> "Protected":
        """The same, and these processes."""
        return self if pids <= self.pids else replace(self, pids=self.pids | pids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The world one action is judged in.

    `env` is exactly the environment that commands will be run with (PATH, HOME, …), `shell` the absolute shell.
    `cwd` is None where the action has none: then relative paths are unknown. `platform` is `linux` or `darwin`.
    """

    files: FileSystem
    home: str
    cwd: str | None
    workspace_roots: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    shell: str = "/bin/bash"
    platform: str = "linux"
    isolation: Isolation = Isolation.NONE
    protected: Protected = Protected()
    session: SessionFacts = field(default_factory=SessionFacts)
