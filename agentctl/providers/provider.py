"""What the loop asks of a language model, and what every wire format's reader offers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from agentctl.events import ProviderEvent
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import Message
from shield.types import Json

__all__ = ["ModelSettings", "Provider", "Reader"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """What is asked of the model. `max_tokens` None leaves it to the server (Anthropic needs a number: 8192).

    `extra` are further fields of the request body; one that the provider sets itself is refused.
    """

    model: str
    max_tokens: int | None = None
    temperature: float | None = None
    extra: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))


class Provider(Protocol):
    """A language model. One instance serves a process; `aclose` ends its connections."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, cancel: Cancel
    ) -> AsyncGenerator[ProviderEvent, None]:
        """One answer to the conversation, as events in the order that `agentctl.events` names.

        Raises ModelError where no usable answer came, CancelledTurnError once `cancel` is set.
        """
        ...

    async def aclose(self) -> None: ...


class Reader(Protocol):
    """One answer's bytes to events, without any I/O. How the bytes are cut into chunks changes nothing."""

    @property
    def done(self) -> bool:
        """Whether the answer is whole; what a server sends after that is not read."""
        ...

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        """The events that these bytes complete. Raises ModelError."""
        ...

    def end(self) -> list[ProviderEvent]:
        """The events that the end of the bytes completes. Raises ModelAnswerError where the answer ended early."""
        ...
