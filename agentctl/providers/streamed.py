"""A model behind one POST whose answer is streamed: what every wire format does alike."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from agentctl.errors import ModelAnswerError, ModelConfigError, ModelError
from agentctl.events import ProviderEvent
from agentctl.providers.http import Endpoint, ModelHttp
from agentctl.providers.provider import ModelSettings, Reader
from agentctl.turns.cancel import Cancel
from agentctl.turns.gate import ToolSpec
from agentctl.turns.messages import Message
from shield.types import Json

__all__ = ["Body", "Streamed"]

Body = Callable[[Sequence[Message], Sequence[ToolSpec], ModelSettings], Mapping[str, Json]]


class Streamed:
    """A `Provider`. `own` are the fields of the body that it sets itself, `path` is where the body goes, below the
    endpoint's base, with `headers`."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ModelSettings,
        http: ModelHttp | None,
        *,
        own: frozenset[str],
        path: str,
        headers: Mapping[str, str],
        body: Body,
        reader: Callable[[], Reader],
    ) -> None:
        if clash := own & settings.extra.keys():
            raise ModelConfigError(f"`extra` may not set `{min(clash)}`; leave it out")
        self._settings = settings
        self._http = http or ModelHttp(endpoint)
        self._path = path
        self._headers = headers
        self._body = body
        self._reader = reader

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, cancel: Cancel
    ) -> AsyncGenerator[ProviderEvent, None]:
        body = json.dumps(self._body(messages, tools, self._settings)).encode()
        chunks = self._http.post(self._path, body, self._headers, cancel=cancel)
        async with aclosing(chunks), aclosing(_read(chunks, self._reader(), self._http.without_secrets)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        await self._http.aclose()


async def _read(
    chunks: AsyncIterator[bytes], reader: Reader, without_secrets: Callable[[str], str]
) -> AsyncGenerator[ProviderEvent, None]:
    """The events of an answer whose bytes come in `chunks`; errors carry no secret.

    What is left unread when the reader is done is not waited for: some servers keep the connection open.
    """
    began = False
    try:
        async for chunk in chunks:
            for event in _told(partial(reader.feed, chunk), began=began):
                began = True
                yield event
            if reader.done:
                return
        for event in _told(reader.end, began=began):
            yield event
        if not reader.done:
            raise ModelAnswerError("the model's answer ended early; ask again")
    except ModelError as error:
        raise type(error)(without_secrets(error.detail), status=error.status) from None


def _told(read: Callable[[], list[ProviderEvent]], *, began: bool) -> list[ProviderEvent]:
    """What is read. Where nothing came before it that a model says, another server may be meant."""
    try:
        return read()
    except ModelAnswerError as error:
        advice = "" if began else "; if another server is meant, check `base_url` and `provider`"
        raise ModelAnswerError(f"{error.detail}{advice}") from None
