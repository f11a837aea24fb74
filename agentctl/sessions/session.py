"""One conversation, open in this process: started or taken up again, and closed to others while it is open."""

import fcntl
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from agentctl.errors import HistoryError
from agentctl.events import TurnEnd
from agentctl.history.store import History, StoredTurn
from agentctl.turns.messages import AssistantMessage, Message, StopReason, TextPart, UserMessage

__all__ = ["Session", "conversation"]

_INTERRUPTED = "[this turn was interrupted before it was stored; tool calls in it may have run: look before repeating]"


def conversation(turns: Sequence[StoredTurn]) -> tuple[Message, ...]:
    """The messages of stored turns. A turn without an end is told as what it is, so that nobody takes it for undone."""
    messages: list[Message] = []
    for turn in turns:
        messages.append(UserMessage(text=turn.user))
        messages.extend(turn.messages)
        if turn.end is None:
            messages.append(AssistantMessage(parts=(TextPart(text=_INTERRUPTED),), stop=StopReason.CANCELLED))
    return tuple(messages)


class Session:
    """The loop's journal over `History`; see `agentctl.loop.Journal`.

    INVARIANT: at most one process has a session open. The lock is the kernel's (flock), so it dies with the process,
    however that ends; the descriptor is not inherited by children.
    """

    def __init__(self, history: History, id_: str, lock: int, messages: tuple[Message, ...]) -> None:
        self.id = id_
        self._history = history
        self._lock = lock
        self._messages = messages
        self._open: tuple[int, UserMessage] | None = None

    @classmethod
    def start(cls, history: History, *, locks: str, workspace: str | None, new_id: Callable[[], str]) -> "Session":
        """A new session. `locks` is a directory for lock files; `new_id` gives an unused id. Raises HistoryError."""
        id_ = new_id()
        lock = _locked(locks, id_)
        try:
            history.create_session(id_, workspace)
        except BaseException:
            os.close(lock)
            raise
        return cls(history, id_, lock, ())

    @classmethod
    def resume(cls, history: History, prefix: str, *, locks: str) -> "Session":
        """The session whose id begins so. Raises HistoryError where there is none, several, or it is open elsewhere."""
        id_ = history.session(prefix).id
        lock = _locked(locks, id_)
        try:
            messages = conversation(history.turns(id_))
        except BaseException:
            os.close(lock)
            raise
        return cls(history, id_, lock, messages)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let others open it. The history stays open."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return self._messages

    def begin(self, message: UserMessage) -> None:
        """Store the user's message durably. Raises HistoryError."""
        if self._lock < 0 or self._open is not None:
            raise HistoryError(f"session `{self.id}` is closed or has a turn open; resume it first")
        self._open = (self._history.begin_turn(self.id, message.text), message)

    def finish(self, messages: Sequence[Message], end: TurnEnd) -> None:
        """Store what followed it, all or nothing. Raises HistoryError."""
        if self._open is None:
            raise HistoryError(f"session `{self.id}` has no turn open; begin one first")
        n, user = self._open
        self._history.finish_turn(self.id, n, tuple(messages), end)
        self._open = None
        self._messages = (*self._messages, user, *messages)


def _locked(locks: str, id_: str) -> int:
    path = os.path.join(locks, f"{id_}.lock")
    try:
        os.makedirs(locks, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HistoryError(f"the lock `{path}` cannot be opened ({error.strerror}); check its directory") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise HistoryError(f"session `{id_}` is open in another agentctl; close it there first") from None
    return descriptor
