"""The client of a running Shield, sync and async over httpx: every answer is a typed value or a ClientError.

A client treats whatever is no verdict as BLOCK, so nothing here guesses: a redirect, another media type, a missing
field, an unknown decision or an answer past its limit is a ClientError. A redeem is sent once and never again; an
evaluate is sent a second time only where no connection was made, so that nothing can have been judged.

The address is a Unix socket of ours (`OWNED SOCKET`: a socket file, not a link, of our own uid, closed to others, at
which a process of our own uid listens) or `http://` on a loopback address. Neither proxies nor TLS settings of the
environment are looked at.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from shield.client import calls
from shield.client.answers import answer_of, take, unreachable
from shield.client.calls import Call, body_of, media_of
from shield.client.endpoint import Endpoint, agent_token, async_transport, base_url, headers, probe, transport
from shield.client.pin import check_home, pinned_key
from shield.client.surroundings import refuse_project
from shield.client.values import Checkpoint, OpenedSession, Readiness, Redemption
from shield.types import Approval, ApprovalAnswer, Isolation, Json, Outcome, OutcomeReply, Verdict

__all__ = [
    "AsyncClient",
    "Checkpoint",
    "Client",
    "Endpoint",
    "OpenedSession",
    "Readiness",
    "Redemption",
    "agent_token",
    "check_home",
    "pinned_key",
    "probe",
    "refuse_project",
]

T = TypeVar("T")


class Client:
    """Talks to one Shield with one token. Make one for a process and close it. Every method raises ClientError."""

    def __init__(self, endpoint: Endpoint, token: str) -> None:
        import httpx  # heavy: only a process that talks to Shield pays for it

        endpoint.check()
        self._endpoint = endpoint
        self._http = httpx.Client(
            transport=transport(endpoint),
            base_url=base_url(endpoint),
            headers=headers(token),
            trust_env=False,
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def open_session(
        self, workspace_roots: Sequence[str], *, isolation: Isolation = Isolation.NONE, label: str | None = None
    ) -> OpenedSession:
        return self._send(calls.open_session_call(workspace_roots, isolation, label))

    def evaluate(self, request: Mapping[str, Json]) -> Verdict:
        """Judge one ActionRequest (its JSON object, DESIGN 3)."""
        return self._send(calls.evaluate_call(request))

    def evaluate_batch(self, requests: Sequence[Mapping[str, Json]]) -> tuple[Verdict, ...]:
        return self._send(calls.batch_call(requests))

    def evaluation(self, evaluation: str, *, wait_s: float = 0) -> Verdict:
        """The current verdict; `wait_s` (at most 60) holds the answer back until it changes."""
        return self._send(calls.evaluation_call(evaluation, wait_s))

    def redeem(self, redemption: Redemption) -> str:
        """The signed receipt, unverified. Raises PermitError where Shield refuses with one of the seven reasons."""
        return self._send(calls.redeem_call(redemption))

    def outcome(self, report: Outcome) -> OutcomeReply:
        return self._send(calls.outcome_call(report))

    def approvals(self, *, wait_s: float = 0) -> tuple[Approval, ...]:
        """The pending approvals; `wait_s` holds an empty answer back until there is one."""
        return self._send(calls.approvals_call(wait_s))

    def approval(self, approval: str) -> Approval:
        return self._send(calls.approval_call(approval))

    def answer(self, approval: str, answer: ApprovalAnswer) -> Approval:
        return self._send(calls.answer_call(approval, answer))

    def records(self, *, start: int = 0, count: int = 100) -> tuple[Mapping[str, Json], ...]:
        return self._send(calls.records_call(start, count))

    def checkpoint(self) -> Checkpoint:
        return self._send(calls.checkpoint_call())

    def reload(self) -> Mapping[str, Json]:
        return self._send(calls.reload_call())

    def ready(self) -> Readiness:
        return self._send(calls.ready_call())

    def _send(self, call: Call[T]) -> T:
        import httpx

        for last in (not call.again, True):
            self._endpoint.check()
            try:
                with self._http.stream(
                    call.method, call.path, content=body_of(call), headers=media_of(call), timeout=call.timeout_s
                ) as response:
                    raw = bytearray()
                    for chunk in response.iter_bytes():
                        take(raw, chunk)
                    return call.read(answer_of(response, bytes(raw)))
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if last:
                    raise unreachable(error) from None
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, RuntimeError) as error:
                raise unreachable(error) from None
        raise AssertionError("the loop above returns or raises")  # pragma: no cover


class AsyncClient:
    """The same as `Client`, for an event loop."""

    def __init__(self, endpoint: Endpoint, token: str) -> None:
        import httpx  # heavy: only a process that talks to Shield pays for it

        endpoint.check()
        self._endpoint = endpoint
        self._http = httpx.AsyncClient(
            transport=async_transport(endpoint),
            base_url=base_url(endpoint),
            headers=headers(token),
            trust_env=False,
            follow_redirects=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def open_session(
        self, workspace_roots: Sequence[str], *, isolation: Isolation = Isolation.NONE, label: str | None = None
    ) -> OpenedSession:
        return await self._send(calls.open_session_call(workspace_roots, isolation, label))

    async def evaluate(self, request: Mapping[str, Json]) -> Verdict:
        """Judge one ActionRequest (its JSON object, DESIGN 3)."""
        return await self._send(calls.evaluate_call(request))

    async def evaluate_batch(self, requests: Sequence[Mapping[str, Json]]) -> tuple[Verdict, ...]:
        return await self._send(calls.batch_call(requests))

    async def evaluation(self, evaluation: str, *, wait_s: float = 0) -> Verdict:
        """The current verdict; `wait_s` (at most 60) holds the answer back until it changes."""
        return await self._send(calls.evaluation_call(evaluation, wait_s))

    async def redeem(self, redemption: Redemption) -> str:
        """The signed receipt, unverified. Raises PermitError where Shield refuses with one of the seven reasons."""
        return await self._send(calls.redeem_call(redemption))

    async def outcome(self, report: Outcome) -> OutcomeReply:
        return await self._send(calls.outcome_call(report))

    async def approvals(self, *, wait_s: float = 0) -> tuple[Approval, ...]:
        """The pending approvals; `wait_s` holds an empty answer back until there is one."""
        return await self._send(calls.approvals_call(wait_s))

    async def approval(self, approval: str) -> Approval:
        return await self._send(calls.approval_call(approval))

    async def answer(self, approval: str, answer: ApprovalAnswer) -> Approval:
        return await self._send(calls.answer_call(approval, answer))

    async def records(self, *, start: int = 0, count: int = 100) -> tuple[Mapping[str, Json], ...]:
        return await self._send(calls.records_call(start, count))

    async def checkpoint(self) -> Checkpoint:
        return await self._send(calls.checkpoint_call())

    async def reload(self) -> Mapping[str, Json]:
        return await self._send(calls.reload_call())

    async def ready(self) -> Readiness:
        return await self._send(calls.ready_call())

    async def _send(self, call: Call[T]) -> T:
        import httpx

        for last in (not call.again, True):
            self._endpoint.check()
            try:
                async with self._http.stream(
                    call.method, call.path, content=body_of(call), headers=media_of(call), timeout=call.timeout_s
                ) as response:
                    raw = bytearray()
                    async for chunk in response.aiter_bytes():
                        take(raw, chunk)
                    return call.read(answer_of(response, bytes(raw)))
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if last:
                    raise unreachable(error) from None
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, RuntimeError) as error:
                raise unreachable(error) from None
        raise AssertionError("the loop above returns or raises")  # pragma: no cover
