"""Which hosts a call may reach: the receipt's, in the one spelling in which they were judged.

A name that a client writes is put into that spelling or refused; it is never guessed what was meant.
"""

import re
from collections.abc import Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Final

from shield.types import HostFact, IpClass

__all__ = ["Hosts", "authority", "canonical", "is_address", "shown", "spelled"]

_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,254}))(?::([1-9][0-9]{0,4}))?")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_HTTP: Final = 80
_HTTPS: Final = 443
# The loopback of a confined call is its own: what asks the proxy for one is after the machine's. A metadata service
# hands out credentials.
_NEVER: Final = frozenset({IpClass.LOOPBACK, IpClass.METADATA})
_PLAIN: Final = re.compile(r"[A-Za-z0-9.:_\[\]-]")
_SHOWN: Final = 100  # characters of a name that a stranger chose


class Hosts:
    """INVARIANT: `find` answers only with a fact of the receipt, for its very host, port and kind of connection."""

    def __init__(self, allow: Sequence[HostFact]) -> None:
        table: dict[tuple[bool, str, int], HostFact] = {}
        for fact in allow:
            host = canonical(fact.host.strip("[]"))
            if host is None or fact.ip_class in _NEVER:
                continue
            for secure, port in _ways(fact):
                table.setdefault((secure, host, port), fact)
        self._table: Mapping[tuple[bool, str, int], HostFact] = MappingProxyType(table)

    def find(self, host: str, port: int, *, secure: bool) -> HostFact | None:
        """`host` as `authority` gives it; `secure`: TLS through a tunnel, otherwise plain HTTP."""
        return self._table.get((secure, host, port))

    def names(self) -> list[str]:
        """`host:port`, each once, in the receipt's order."""
        return list(dict.fromkeys(spelled(host, port) for _, host, port in self._table))


def _ways(fact: HostFact) -> list[tuple[bool, int]]:
    """How a fact may be reached, as (TLS, port). What is no web scheme cannot come through here."""
    match fact.scheme:
        case "https" | "wss":
            return [(True, fact.port or _HTTPS)]
        case "http" | "ws":
            return [(False, fact.port or _HTTP)]
        case "" if fact.port is None:  # `curl example.com`
            return [(True, _HTTPS), (False, _HTTP)]
        case "" if fact.port == _HTTPS:
            return [(True, _HTTPS)]
        case "" if fact.port is not None:
            return [(True, fact.port), (False, fact.port)]
        case _:
            return []


def authority(text: str, default: int | None) -> tuple[str, int] | None:
    """Host and port of `host[:port]` as Shield spells them, None where that is not certain.

    No user-info, percent forms, characters beyond ASCII, zones, or numbers that only some read as an address.
    """
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    host = _v6(found[1]) if found[1] is not None else canonical(found[2])
    port = int(found[3]) if found[3] is not None else default
    if host is None or port is None or port > 65_535:
        return None
    return host, port


def canonical(text: str) -> str | None:
    """A host without brackets: lower case, no trailing dot, an address in its one form."""
    if ":" in text:
        return _v6(text)
    text = text.lower().removesuffix(".")
    labels = text.split(".")
    if not text.isascii() or not all(labels):
        return None
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(text))
        except AddressValueError:
            return None
    return text


def is_address(host: str) -> bool:
    """Whether a canonical host is an address."""
    return ":" in host or host.replace(".", "").isdigit()


def _v6(text: str) -> str | None:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return None
    return str(address.ipv4_mapped or address)


def spelled(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def shown(text: str) -> str:
    """Text of the child's choice, for a person or a model: cut, and nothing but the characters of hosts as they are."""
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return "".join(char if _PLAIN.match(char) else f"\\x{ord(char):02x}" for char in cut)
