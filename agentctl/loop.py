"""Think, act, observe: the model is asked, its calls go through the gate, it sees what came of them."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentctl.errors import CancelledTurnError, GateError, ModelError
from agentctl.events import LoopEvent, TurnEnd, TurnEnded, Usage
from agentctl.providers.provider import Provider
from agentctl.turns.calls import Caller
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import Gate, Toolbox
from agentctl.turns.messages import Message, UserMessage
from agentctl.turns.text import well_formed
from agentctl.turns.turn import LoopLimits, Turn
from shield.errors import ShieldError

__all__ = ["Journal", "Loop", "LoopLimits", "TurnReport"]


class Journal(Protocol):
    """Where a conversation is kept; `agentctl.sessions.session.Session` is one."""

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation so far, complete: every call in it has its result."""
        ...

    def begin(self, message: UserMessage) -> None:
        """Store the user's message durably. Raises HistoryError."""
        ...

    def finish(self, messages: Sequence[Message], end: TurnEnd) -> None:
        """Store what followed it, all or nothing. Raises HistoryError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """How a turn went; `messages` are those after the user's."""

    end: TurnEnd
    detail: str | None
    messages: tuple[Message, ...]
    usage: Usage
    steps: int


class Loop:
    """The loop of one conversation; one turn at a time. `new_id` gives letters and digits nobody guesses."""

    def __init__(
        self,
        *,
        provider: Provider,
        gate: Gate,
        tools: Toolbox,
        journal: Journal,
        system: str,
        emit: Callable[[LoopEvent], None],
        limits: LoopLimits | None = None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._provider = provider
        self._gate = gate
        self._tools = tools
        self._journal = journal
        self._system = system
        self._emit = emit
        self._limits = limits or LoopLimits()
        self._new_id = new_id

    async def turn(self, text: str, *, cancel: Cancel) -> TurnReport:
        """One turn. What goes wrong with the model, Shield or the user's patience is in the report, not raised.

        INVARIANT: the user's message is durable before anything else happens, and whatever happens then, the turn is
        stored with a result for every call. Raises HistoryError; a cancelled task and a defect go through.
        """
        message = UserMessage(text=well_formed(text))
        past = tuple(self._journal.messages)
        self._journal.begin(message)
        turn = Turn(
            provider=self._provider,
            caller=Caller(self._gate, self._emit, cancel=cancel, limits=self._limits.calls),
            tools=self._tools,
            system=self._system,
            past=(*past, message),
            cancel=cancel,
            emit=self._emit,
            limits=self._limits,
            new_id=self._new_id,
        )
        end = TurnEnd.BROKEN
        detail: str | None = "an internal error stopped the turn"
        try:
            end, detail = await turn.run()
        except CancelledTurnError as error:
            end, detail = TurnEnd.CANCELLED, error.detail
        except asyncio.CancelledError:
            end, detail = TurnEnd.CANCELLED, "stopped"
            raise
        except ModelError as error:
            end, detail = TurnEnd.MODEL_FAILED, error.detail
        except (GateError, ShieldError) as error:
            end, detail = TurnEnd.GATE_FAILED, f"nothing more is run: {error.detail}"
        finally:
            turn.close(detail or end)
            self._journal.finish(turn.messages, end)
        self._emit(TurnEnded(end=end, detail=detail))
        return TurnReport(end=end, detail=detail, messages=tuple(turn.messages), usage=turn.usage, steps=turn.steps)
