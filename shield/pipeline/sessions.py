"""Sessions: where an agent may work, what its commands are run with, and what has happened in them so far.

A session lives as long as the Shield that made it: its permits are signed by a key that dies with the process.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shield.config.home import holds, same_place
from shield.errors import InputError, Reason, RefusedError
from shield.permits import env_digest
from shield.types import Isolation, Session, SessionFacts
from shield.ulid import new_ulid

__all__ = ["Execution", "SessionBook", "shell_version"]

MAX_SESSIONS = 1_000
_MAX_WRITTEN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What commands are run with: the absolute shell, exactly these variables, this umask."""

    shell: str
    env: Mapping[str, str]
    umask: int


@dataclass(slots=True, kw_only=True)
class _Live:
    session: Session
    counts: dict[str, int]
    written: list[str]


class SessionBook:
    """All sessions of this process; safe to use from threads."""

    def __init__(
        self,
        *,
        execution: Execution,
        home: str,
        shield_home: str,
        trusted: Callable[[], tuple[str, ...]],
        now_ms: Callable[[], int],
    ) -> None:
        self._execution = execution
        self._home = home
        self._shield_home = shield_home
        self._trusted = trusted
        self._now_ms = now_ms
        self._shell: tuple[tuple[int, ...], str] | None = None
        self._lock = threading.Lock()
        self._sessions: dict[str, _Live] = {}

    def open(
        self,
        roots: tuple[str, ...],
        isolation: Isolation,
        label: str | None,
        *,
        owner: str,
        agent: str,
        pids: frozenset[int] = frozenset(),
    ) -> Session:
        """A new session of the processes `pids`.

        Raises RefusedError `workspace.untrusted`, `session.limit`, InputError for a root that is no directory.
        """
        resolved = tuple(dict.fromkeys(self._root(root) for root in roots))
        now = self._now_ms()
        session = Session(
            id=new_ulid(now),
            owner=owner,
            agent=agent,
            workspace_roots=resolved,
            shell=self._execution.shell,
            env=MappingProxyType(dict(self._execution.env)),
            isolation=isolation,
            home=self._home,
            label=label,
            env_digest=self.env_digest(),
            created_at=now,
            root_ids=tuple(_identity(root) for root in resolved),
            pids=pids,
        )
        with self._lock:
            if len(self._sessions) >= MAX_SESSIONS:
                # the token's own oldest goes, never another's: an agent that needs it again opens a new one
                own = next((key for key, live in self._sessions.items() if live.session.owner == owner), None)
                if own is None:
                    raise RefusedError(
                        f"{MAX_SESSIONS} sessions are open; try again when other agents have ended",
                        reason=Reason.SESSION_LIMIT,
                        retry_after=60,
                    )
                del self._sessions[own]
            self._sessions[session.id] = _Live(session=session, counts={}, written=[])
        return session

    def get(self, session_id: str, *, owner: str) -> Session:
        """The session, if `owner` made it. Raises RefusedError `session.unknown`."""
        with self._lock:
            live = self._sessions.get(session_id)
        if live is None or live.session.owner != owner:
            raise RefusedError(
                f"there is no session `{session_id[:64]}` of this token; open one with POST /v1/sessions",
                reason=Reason.SESSION_UNKNOWN,
            )
        return live.session

    def facts(self, session: Session | None) -> SessionFacts:
        """What rules may see of the session now."""
        if session is None:
            return SessionFacts()
        with self._lock:
            live = self._sessions.get(session.id)
            if live is None:
                return SessionFacts()
            return SessionFacts(counts=MappingProxyType(dict(live.counts)), written=tuple(live.written))

    def reserve(self, session: Session, action_type: str) -> SessionFacts | None:
        """Count one more call of this type. Returns what the session was before it, other reserved calls included;
        None for a session that is not known any more."""
        with self._lock:
            live = self._sessions.get(session.id)
            if live is None:
                return None
            before = SessionFacts(counts=MappingProxyType(dict(live.counts)), written=tuple(live.written))
            live.counts[action_type] = live.counts.get(action_type, 0) + 1
            return before

    def release(self, session: Session, action_type: str) -> None:
        """A reserved call did not come to run."""
        with self._lock:
            live = self._sessions.get(session.id)
            if live is not None and live.counts.get(action_type, 0) > 0:
                live.counts[action_type] -= 1

    def wrote(self, session: Session, written: tuple[str, ...]) -> None:
        """What a redeemed call may write."""
        with self._lock:
            live = self._sessions.get(session.id)
            if live is None:
                return
            for path in written:
                if path not in live.written and len(live.written) < _MAX_WRITTEN:
                    live.written.append(path)

    def env_digest(self) -> str:
        """The digest of the execution environment as it is now, the shell's own bytes included."""
        execution = self._execution
        return env_digest(execution.shell, self._shell_version(), execution.env, execution.umask)

    def _shell_version(self) -> str:
        """The shell's version, read again only where its file is another one or has changed."""
        try:
            stat = os.stat(self._execution.shell)
        except OSError:
            return shell_version(self._execution.shell)
        identity = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        known = self._shell
        if known is None or known[0] != identity:
            known = self._shell = (identity, shell_version(self._execution.shell))
        return known[1]

    def _root(self, root: str) -> str:
        if not root.startswith("/") or "\0" in root:
            raise InputError(f"the workspace root `{root[:256]}` is not an absolute path", pointer="/workspace_roots")
        resolved = os.path.realpath(root)
        if not os.path.isdir(resolved):
            raise InputError(f"the workspace root `{root[:256]}` is not a directory", pointer="/workspace_roots")
        home, state = os.path.realpath(self._home), os.path.realpath(self._shield_home)
        if resolved == "/" or same_place(resolved, home) or holds(resolved, state) or holds(state, resolved):
            raise RefusedError(
                f"`{resolved}` can never be a workspace: it is `/`, the home directory, or holds Shield's own state; "
                "work in a project directory",
                reason=Reason.WORKSPACE_UNTRUSTED,
            )
        # INVARIANT: what a trusted name leads to now is not asked: whoever puts a link in its place gains nothing
        if not any(_within(resolved, trusted) for trusted in self._trusted()):
            raise RefusedError(
                f"`{resolved}` is not trusted as a workspace; a person runs `shield trust {resolved}` once",
                reason=Reason.WORKSPACE_UNTRUSTED,
            )
        return resolved


def shell_version(shell: str) -> str:
    """What tells one shell program from another: the SHA-256 of its bytes; `absent` if it cannot be read."""
    try:
        with open(shell, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "absent"


def _identity(root: str) -> tuple[int, int]:
    try:
        found = os.stat(root)
    except OSError:
        raise InputError(f"the workspace root `{root[:256]}` is gone", pointer="/workspace_roots") from None
    return found.st_dev, found.st_ino


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
