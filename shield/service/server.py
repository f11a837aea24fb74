"""uvicorn, set up for one job: our own socket, our own signals, no banner, no access log, no promises about clients."""

import contextlib
import importlib.util
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from shield.service.protocol import HEAD_MAX, GuardedH11, GuardedHttpTools

__all__ = ["Server", "make_server"]

KEEP_ALIVE_S = 75
GRACE_S = 20


class Server(uvicorn.Server):
    """Leaves signals to the composition root and says when it listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening()


def make_server(app: ASGIApp, *, listening: Callable[[], None], portable: bool = False) -> Server:
    """A server for `app`; `portable` = h11 even where httptools is installed."""
    fast = not portable and importlib.util.find_spec("httptools") is not None
    config = uvicorn.Config(
        app,
        http=GuardedHttpTools if fast else GuardedH11,
        loop="none",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=HEAD_MAX,
    )
    return Server(config, listening)
