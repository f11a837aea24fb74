"""What the loop asks of a language model, and what every wire format's reader offers."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from agentctl.errors import ModelAnswerError, ModelError
from agentctl.events import ProviderEvent
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import Message
from shield.types import Json

__all__ = ["ModelSettings", "Provider", "Reader", "read"]


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


async def read(
    chunks: AsyncIterator[bytes], reader: Reader, without_secrets: Callable[[str], str]
) -> AsyncGenerator[ProviderEvent, None]:
    """The events of an answer whose bytes come in `chunks`; errors carry no secret.

    What is left unread when the reader is done is not waited for: some servers keep the connection open.
    """
    try:
        async for chunk in chunks:
            for event in reader.feed(chunk):
                yield event
            if reader.done:
                return
        for event in reader.end():
            yield event
        if not reader.done:
            raise ModelAnswerError("the model's answer ended early; ask again")
    except ModelError as error:
        raise type(error)(without_secrets(error.detail), status=error.status) from None
