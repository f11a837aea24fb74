"""Where a model is, and what may be said of that: no message repeats a key."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agentctl.turns.text import printable

__all__ = ["Endpoint", "in_variable", "is_page", "is_this_machine", "key_advice", "place", "secrets_of", "sendable"]

_PORTS = {"https": 443, "http": 80}
_PAGES = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model is. `base_url` has no user, query or fragment; `api_key` never shows in a repr.

    `key_env` is the variable that the key is taken from, for messages. `proxy` is the owner's explicit choice. A key is
    sent over plain http only to this machine.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    proxy: str | None = field(default=None, repr=False)


def place(scheme: str, host: str, port: int | None) -> str:
    """`HOST:PORT`, for messages: more of the address is not needed to find the server."""
    return f"{printable(f'[{host}]' if ':' in host else host, 80)}:{port or _PORTS[scheme]}"


def is_page(content_type: str) -> bool:
    """Whether this is what a browser is sent: no model answers so, but the website of one does."""
    return content_type.partition(";")[0].strip().lower() in _PAGES


def secrets_of(endpoint: Endpoint) -> tuple[str, ...]:
    """What no message may repeat: the key, and every value of the owner's own headers that could be one."""
    values = [endpoint.api_key or "", *endpoint.headers.values()]
    return tuple(sorted((value for value in values if len(value) >= 6), key=len, reverse=True))


def key_advice(endpoint: Endpoint) -> str:
    """What to do where the server does not take the key."""
    if endpoint.api_key:
        return f"check the api key{in_variable(endpoint)}"
    if endpoint.key_env:
        return f"no api key was sent: set {endpoint.key_env}, or name another variable with `key_env`"
    return "no api key was sent: name its variable with `key_env`"


def in_variable(endpoint: Endpoint) -> str:
    return f" in {endpoint.key_env}" if endpoint.key_env else ""


def sendable(value: str) -> bool:
    """Whether a header may hold it."""
    return value.isascii() and (not value or value.isprintable())


def is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
