"""The application: one stack, in one order."""

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from shield.service.call import Context
from shield.service.routes import ROUTES
from shield.service.stack import Authentication, Endpoint, Errors, HostAndOrigin, PeerCredentials
from shield.service.tokens import TokenBook

__all__ = ["build_app"]


def build_app(
    context: Context,
    *,
    tokens: Callable[[], TokenBook],
    uid: int,
    hosts: frozenset[bytes] | None,
) -> ASGIApp:
    """The service as ASGI. `hosts` None = on a Unix socket, where the peer must be `uid`; else the Host headers that
    are taken on TCP. `tokens` gives the book in force."""
    app: ASGIApp = _routed(context)  # each route: authorization → admission → body, counted while it arrives → handler
    app = Authentication(app, tokens=tokens)
    app = HostAndOrigin(app, hosts=hosts)
    app = PeerCredentials(app, uid=uid, unix=hosts is None)
    return Errors(app, rejected=context.judge.rejected)


def _routed(context: Context) -> ASGIApp:
    router = Router(
        [_route(path, context) for path in dict.fromkeys(route.path for route in ROUTES)],
        redirect_slashes=False,
        default=_nowhere,
    )

    # what is asked for most has no parameters in its path: found by name, not by pattern
    plain = {(route.path, route.method): Endpoint(route, context) for route in ROUTES if "{" not in route.path}

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = plain.get((scope["path"], scope["method"]))
        if endpoint is not None:
            scope["path_params"] = {}
            await endpoint(scope, receive, send)
            return
        scope["app"] = router  # Starlette then raises for a wrong method instead of answering in plain text
        await router(scope, receive, send)

    return routed


def _route(path: str, context: Context) -> StarletteRoute:
    by_method = {route.method: Endpoint(route, context) for route in ROUTES if route.path == path}
    if "GET" in by_method:
        by_method["HEAD"] = by_method["GET"]
    return StarletteRoute(path, _Methods(by_method), methods=list(by_method))


class _Methods:
    """All methods of one path, so that a wrong one is answered with every right one."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._endpoints[scope["method"]](scope, receive, send)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001  # ASGI
    raise HTTPException(404)
