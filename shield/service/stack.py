"""The layers between a connection and a handler, each a small ASGI application around the next."""

import contextlib
import logging
import os
from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shield.client.peer import Peer
from shield.errors import Reason, RefusedError, ShieldError
from shield.service.body import drained, received, whole
from shield.service.call import Call, Context, Reply, read_query
from shield.service.problems import PROBLEM_MEDIA, problem_of
from shield.service.protocol import EXTENSION
from shield.service.routes import Route
from shield.service.tokens import Token, TokenBook

__all__ = ["Authentication", "Endpoint", "Errors", "HostAndOrigin", "PeerCredentials"]

_LOG = logging.getLogger("shield.service")
_TOKEN = "shield.token"  # noqa: S105  # a key of the scope
_TOKEN_MAX = 512
_FREE: contextlib.AbstractContextManager[None] = contextlib.nullcontext()

Rejected = Callable[[Reason, bytes, int | None], Awaitable[None]]

# What is recorded as kind `rejected`: unreadable input and callers that may not, not every mistyped path.
_RECORDED = frozenset(
    reason
    for reason in Reason
    if reason.value.startswith(("input.", "auth.", "admission.")) or reason is Reason.WORKSPACE_UNTRUSTED
)


class Errors:
    """Outermost: every failure leaves as problem details, what was refused at the door is recorded, and nothing of an
    unforeseen exception reaches the caller."""

    def __init__(self, app: ASGIApp, *, rejected: Rejected) -> None:
        self._app = app
        self._rejected = rejected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # neither websockets nor a lifespan: the composition root starts and stops
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        allow = None
        try:
            await self._app(scope, receive, watched)
            return
        except ShieldError as caught:
            error = caught
        except HTTPException as caught:
            allow = (caught.headers or {}).get("Allow")
            error = _unrouted(caught)
        except Exception as caught:  # noqa: BLE001  # the door: whatever it is, the caller gets no verdict
            _LOG.error("internal error: %s at %s", type(caught).__name__, _place(caught))
            error = ShieldError("internal error", reason=Reason.INTERNAL)
        if started:
            raise ConnectionAbortedError("an answer was begun that cannot be ended")
        if error.reason in _RECORDED:
            await self._record(error.reason, scope)
        await _refuse(error, scope, send, allow, whole=await drained(scope, receive))

    async def _record(self, reason: Reason, scope: Scope) -> None:
        peer = _peer(scope)
        with contextlib.suppress(ShieldError):  # the request is refused either way; /readyz says that the log is down
            await self._rejected(reason, received(scope), None if peer is None else peer.uid)


class PeerCredentials:
    """On a Unix socket only our own user is served; the socket's mode says the same, the kernel says it again."""

    def __init__(self, app: ASGIApp, *, uid: int, unix: bool) -> None:
        self._app = app
        self._uid = uid
        self._unix = unix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._unix:
            peer = _peer(scope)
            if peer is None or peer.uid != self._uid:
                raise RefusedError(
                    "the socket serves the user that runs Shield alone; run your own", reason=Reason.AUTH_PEER
                )
        await self._app(scope, receive, send)


class HostAndOrigin:
    """No page in a browser may reach Shield: over TCP the Host must be the address itself (a rebound name is not), and
    a request that carries an Origin or comes from another site is refused everywhere."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[bytes] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host: list[bytes] = []
        for name, value in scope["headers"]:
            if name == b"host":
                host.append(value.lower())
            elif name == b"origin" or (name == b"sec-fetch-site" and value != b"none"):
                raise RefusedError("requests of web pages are not served", reason=Reason.AUTH_HOST)
        if self._hosts is not None and (len(host) != 1 or host[0] not in self._hosts):
            raise RefusedError("the Host header is not the address Shield listens on", reason=Reason.AUTH_HOST)
        await self._app(scope, receive, send)


class Authentication:
    """Who calls: no Authorization header is nobody, a wrong one is refused on every route."""

    def __init__(self, app: ASGIApp, *, tokens: Callable[[], TokenBook]) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        token = None
        if given:
            scheme, _, secret = given[0].partition(b" ")
            if len(given) != 1 or scheme.lower() != b"bearer" or not 0 < len(secret) <= _TOKEN_MAX:
                raise RefusedError("this header names no token; send `Authorization: Bearer TOKEN`, once")
            token = self._tokens().find(secret)
            if token is None:
                raise RefusedError(
                    "the token is not known; take one that `shield init` showed, or `shield init --new-tokens` and a"
                    " reload"
                )
        scope[_TOKEN] = token
        await self._app(scope, receive, send)


class Endpoint:
    """One route: authorization, admission, the body counted while it arrives, then the handler."""

    def __init__(self, route: Route, context: Context) -> None:
        self._route = route
        self._context = context
        self._query = frozenset(route.query)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = self._authorized(scope)
        route, admission = self._route, self._context.admission
        if self._context.stopping.is_set() and route.roles is not None:
            raise RefusedError("the service is stopping; nothing is judged any more", reason=Reason.SERVICE_STOPPING)
        if route.charge and token is not None:
            admission.charge(token.id, route.charge)
        with admission.work if route.work else _FREE:
            call = Call(
                token=token,
                params=scope["path_params"],
                query=read_query(scope["query_string"], self._query),
                body=await whole(scope, receive) if route.method == "POST" else b"",
                receive=receive,
                pid=None if (peer := _peer(scope)) is None else peer.pid,
            )
            reply = await route.handler(self._context, call)
        await _answer(reply, send)

    def _authorized(self, scope: Scope) -> Token | None:
        token: Token | None = scope[_TOKEN]
        roles = self._route.roles
        if roles is None:
            return token
        if token is None:
            raise RefusedError("send `Authorization: Bearer TOKEN`", reason=Reason.AUTH_MISSING)
        if token.role not in roles:
            wanted = " or ".join(f"`{role}`" for role in sorted(roles))
            raise RefusedError(f"this takes a token of role {wanted}, not `{token.role}`", reason=Reason.AUTH_ROLE)
        return token


def _unrouted(error: HTTPException) -> ShieldError:
    if error.status_code == 405:
        return RefusedError("use one of the methods of the Allow header", reason=Reason.ROUTE_METHOD)
    if error.status_code == 404:
        return RefusedError("see `/openapi.json` for the routes", reason=Reason.ROUTE_UNKNOWN)
    return ShieldError("internal error", reason=Reason.INTERNAL)


def _peer(scope: Scope) -> Peer | None:
    found = scope.get("extensions", {}).get(EXTENSION)
    return found if isinstance(found, Peer) else None


def _place(error: BaseException) -> str:
    """File and line where it was raised; never the message, which may quote what was judged."""
    trace, last = error.__traceback__, "?"
    while trace is not None:
        last = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return last


async def _refuse(error: ShieldError, scope: Scope, send: Send, allow: str | None, *, whole: bool) -> None:
    if error.reason is Reason.ROUTE_METHOD and scope["method"] == "OPTIONS":
        await _send(send, 204, b"", b"text/plain", ((b"allow", (allow or "").encode()),))
        return
    problem = problem_of(error, allow=allow)
    headers = problem.headers
    if not whole:
        headers = (*headers, (b"connection", b"close"))
    await _send(send, problem.status, problem.body, PROBLEM_MEDIA, headers)


async def _answer(reply: Reply, send: Send) -> None:
    await _send(send, reply.status, reply.body, reply.media.encode(), reply.headers)


async def _send(send: Send, status: int, body: bytes, media: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", media),
                (b"content-length", str(len(body)).encode()),
                (b"cache-control", b"no-store"),
                (b"x-content-type-options", b"nosniff"),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})
