"""What a command runs in: levels of isolation, the means that hold them, and the process that starts every command.

Loaded lazily, so that the spawner, which imports a part of this package, loads nothing but the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentctl.sandbox.offer import Means, Offer
    from agentctl.sandbox.places import Places, gather, with_session
    from agentctl.sandbox.probing import probe
    from agentctl.sandbox.session import Sandbox

__all__ = ["Means", "Offer", "Places", "Sandbox", "gather", "probe", "with_session"]

_HOMES: Final = {
    "Means": "offer",
    "Offer": "offer",
    "Places": "places",
    "Sandbox": "session",
    "gather": "places",
    "probe": "probing",
    "with_session": "places",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
