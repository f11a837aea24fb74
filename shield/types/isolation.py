"""How a command is kept apart: levels, what is hidden from it, and what a confined one is told of its network."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

__all__ = ["CONFINED_NAMES", "PROXY_PORT", "Hidden", "Isolation", "confined_env"]


class Isolation(StrEnum):
    """Sandbox levels, weakest first."""

    NONE = "none"
    STATE_HIDDEN = "state_hidden"
    CONFINED = "confined"

    @property
    def rank(self) -> int:
        return _ISOLATION_RANK[self]

    def covers(self, required: "Isolation") -> bool:
        """Whether this level is at least `required`."""
        return self.rank >= required.rank


_ISOLATION_RANK = {Isolation.NONE: 0, Isolation.STATE_HIDDEN: 1, Isolation.CONFINED: 2}

PROXY_PORT: Final = 8118  # on the loopback of a confined command; only hosts that its receipt permits are behind it
_PROXY: Final = f"http://127.0.0.1:{PROXY_PORT}"
_PAST_PROXY: Final = "localhost,127.0.0.1,::1"
_CONFINED_ENV: Final[Mapping[str, str]] = MappingProxyType(
    {
        "HTTP_PROXY": _PROXY,
        "HTTPS_PROXY": _PROXY,
        "NO_PROXY": _PAST_PROXY,
        "http_proxy": _PROXY,
        "https_proxy": _PROXY,
        "no_proxy": _PAST_PROXY,
    }
)
# INVARIANT: facts take these for variables of unknown content, so what is judged holds with and without them
CONFINED_NAMES: Final = frozenset((*_CONFINED_ENV, "TMPDIR"))


def confined_env(uid: int) -> dict[str, str]:
    """What a confined command's environment holds besides the session's: its proxy, and the folder of its own."""
    return {**_CONFINED_ENV, "TMPDIR": f"/tmp/agentctl-{uid}"}  # noqa: S108  # made by the executor, for it alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What an executor keeps out of reach of what it runs: absolute paths, and loopback TCP ports."""

    paths: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
