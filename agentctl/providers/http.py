"""The one module that knows the HTTP library: a POST whose answer is read as it comes.

Certificates are always verified, redirects never followed, proxies and credentials never taken from the environment.
A request is repeated only while no byte of an answer has come.
"""

import asyncio
import math
import random
import re
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import cast

import httpx

from agentctl.errors import ModelAnswerError, ModelConfigError, ModelError, ModelRefusedError, ModelUnreachableError
from agentctl.providers.endpoint import (
    Endpoint,
    in_variable,
    is_page,
    is_this_machine,
    key_advice,
    place,
    secrets_of,
    sendable,
)
from agentctl.providers.wire import error_text, read_object
from agentctl.turns.cancel import Cancel
from agentctl.turns.text import printable

__all__ = ["Endpoint", "HttpLimits", "ModelHttp"]

# Timeout, too early, too many, and every way a server says that it cannot right now; 529 is Anthropic's "overloaded".
_REPEATABLE = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
# what OpenAI, Anthropic, vLLM, llama.cpp and others say of more than the model can read
_TOO_LONG = re.compile(
    "context_length_exceeded|prompt is too long|context (length|window|size)|too many tokens", re.IGNORECASE
)
_TOO_LONG_STATUS = frozenset({400, 413, 422})
_NO_MODEL = "; check `base_url`: it may lack a path such as `/v1`"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Seconds, bytes and counts. `read_s` is the longest silence; `total_s` the longest answer."""

    connect_s: float = 10.0
    read_s: float = 120.0
    total_s: float = 900.0
    answer_bytes: int = 64 * 1024 * 1024
    error_bytes: int = 64 * 1024
    attempts: int = 4
    backoff_s: float = 0.5
    longest_wait_s: float = 30.0


class ModelHttp:
    """Connections to one model server. `sleep`, `jitter` (0 to 1) and `clock` (seconds) are passed in."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        limits: HttpLimits | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises ModelConfigError where the endpoint cannot be used safely."""
        self._limits = limits or HttpLimits()
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._secrets = secrets_of(endpoint)
        self._key_advice = key_advice(endpoint)
        self._base = _checked(endpoint)
        self._place = place(self._base.scheme, self._base.host, self._base.port)
        # A context without any authority trusts nobody, and is all that plain http needs.
        encrypted = self._base.scheme == "https" or endpoint.proxy is not None
        context = ssl.create_default_context() if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            self._client = httpx.AsyncClient(
                verify=context,
                trust_env=False,
                proxy=endpoint.proxy,
                follow_redirects=False,
                timeout=httpx.Timeout(self._limits.read_s, connect=self._limits.connect_s),
                # A compressed answer could unfold to any size.
                headers={"user-agent": "agentctl", "accept-encoding": "identity", **endpoint.headers},
            )
        except (ValueError, httpx.InvalidURL):
            raise ModelConfigError("the address of `proxy` cannot be used; give `http://HOST:PORT`") from None

    async def aclose(self) -> None:
        await self._client.aclose()

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, cancel: Cancel
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of the answer to `POST base_url/path` as they come.

        Raises ModelUnreachableError, ModelRefusedError, ModelAnswerError, CancelledTurnError.
        """
        deadline = self._clock() + self._limits.total_s
        response = await self._open(path, body, headers, cancel)
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise ModelAnswerError("the model's answer is compressed although that was not asked; check the server")
            if is_page(response.headers.get("content-type", "")):
                raise ModelAnswerError(f"`{self._place}` answers with a web page and no model's answer{_NO_MODEL}")
            size = 0
            async with aclosing(_chunks(response)) as chunks:
                while True:
                    try:
                        chunk = await cancel.guard(lambda: anext(chunks, None))
                    except httpx.TimeoutException:
                        raise ModelUnreachableError("the model fell silent in its answer; ask again") from None
                    except httpx.HTTPError:
                        raise ModelAnswerError("the connection broke in the model's answer; ask again") from None
                    if chunk is None:
                        return
                    size += len(chunk)
                    if size > self._limits.answer_bytes:
                        raise ModelAnswerError(f"the model's answer is longer than {self._limits.answer_bytes} bytes")
                    if self._clock() > deadline:
                        raise ModelUnreachableError(f"the model's answer took longer than {self._limits.total_s:g} s")
                    yield chunk
        finally:
            await response.aclose()

    async def _open(self, path: str, body: bytes, headers: Mapping[str, str], cancel: Cancel) -> httpx.Response:
        """A 200 answer with its body unread. What can help is tried again, `attempts` times in all."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(path, body, headers, cancel)
            except ModelUnreachableError as error:
                wait = error.retry_after
                if wait is None:
                    wait = self._limits.backoff_s * 2 ** (attempt - 1) * (0.5 + self._jitter() / 2)
                if attempt >= self._limits.attempts or wait > self._limits.longest_wait_s:
                    raise
            await cancel.guard(partial(self._sleep, wait))

    async def _once(self, path: str, body: bytes, headers: Mapping[str, str], cancel: Cancel) -> httpx.Response:
        url = f"{str(self._base).rstrip('/')}/{path}"
        try:
            # The library's own limits are per byte; a server that trickles could hold us for ever.
            async with asyncio.timeout(self._limits.total_s):
                request = self._client.build_request(
                    "POST", url, content=body, headers={"content-type": "application/json", **headers}
                )
                response = await cancel.guard(lambda: self._client.send(request, stream=True))
                if response.status_code == 200:
                    return response
                try:
                    raise await self._refusal(response, cancel)
                finally:
                    await response.aclose()
        except (httpx.ReadTimeout, TimeoutError):
            # It may be at work on the answer: asking again would only add to its load.
            raise ModelUnreachableError(
                f"the model at `{self._place}` did not begin to answer in time; try again later", retry_after=math.inf
            ) from None
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise ModelUnreachableError(
                f"the model at `{self._place}` cannot be reached ({kind}); check the address and that it runs"
            ) from None
        except (httpx.InvalidURL, ValueError):
            raise ModelConfigError("the request could not be built; check the address, key and headers") from None

    async def _refusal(self, response: httpx.Response, cancel: Cancel) -> ModelError:
        status = response.status_code
        if 300 <= status < 400:
            return ModelRefusedError(
                f"the model's server answers {status}, a redirect; redirects are not followed, set the final address",
                status=status,
            )
        said = self.without_secrets(await self._error_text(response, cancel))
        if status in _REPEATABLE:
            return ModelUnreachableError(
                f"the model's server answers {status}: {said}; try again later",
                status=status,
                retry_after=_retry_after(response.headers),
            )
        advice = _NO_MODEL if is_page(response.headers.get("content-type", "")) else ""
        if status in (401, 403):
            advice = f"; {self._key_advice}"
        elif status in _TOO_LONG_STATUS and _TOO_LONG.search(said):
            advice = "; it is more than this model can read: begin a new chat, or choose a model that reads more"
        return ModelRefusedError(f"the model's server answers {status}: {said}{advice}", status=status)

    async def _error_text(self, response: httpx.Response, cancel: Cancel) -> str:
        raw = bytearray()
        try:
            async with aclosing(_chunks(response)) as chunks:
                while len(raw) < self._limits.error_bytes:
                    chunk = await cancel.guard(lambda: anext(chunks, None))
                    if chunk is None:
                        break
                    raw += chunk
        except httpx.HTTPError:
            pass  # the status says enough
        text = bytes(raw[: self._limits.error_bytes]).decode("utf-8", "replace")
        try:
            answer = read_object(text)
        except ModelAnswerError:
            return printable(text, 300) or "no reason given"
        return error_text(answer.get("error", answer))

    def without_secrets(self, text: str) -> str:
        """The text without the key and the owner's header values: servers repeat them in their messages."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text


def _chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    # It is a generator, which must be closed; its annotation promises less.
    return cast("AsyncGenerator[bytes, None]", response.aiter_raw())


def _checked(endpoint: Endpoint) -> httpx.URL:
    try:
        url = httpx.URL(endpoint.base_url)
    except (httpx.InvalidURL, TypeError):
        raise ModelConfigError("the model's address is no url; give `https://HOST/PATH`") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ModelConfigError("the model's address must begin with `https://` or `http://`")
    if url.userinfo or url.query or url.fragment:
        raise ModelConfigError("the model's address may hold no user, query or fragment; give the key as `api_key`")
    if not sendable(endpoint.api_key or ""):
        raise ModelConfigError(
            f"the api key{in_variable(endpoint)} holds characters that no header may; check for a newline"
        )
    if not all(sendable(value) for value in endpoint.headers.values()):
        raise ModelConfigError("a header holds characters that no header may; check for a newline")
    if url.scheme == "http" and (endpoint.api_key or endpoint.headers) and not is_this_machine(url.host):
        raise ModelConfigError(
            f"the api key{in_variable(endpoint)} would be sent unencrypted; use `https://`, or unset it"
        )
    return url


def _retry_after(headers: httpx.Headers) -> float | None:
    """RFC 9110 section 10.2.3: seconds, or a date. None where it is absent or cannot be read."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
        now = parsedate_to_datetime(headers.get("date", ""))  # the server's clock, so that no two clocks are compared
    except ValueError:
        return None
    if (moment.tzinfo is None) != (now.tzinfo is None):
        return None
    return max(0.0, (moment - now).total_seconds())
