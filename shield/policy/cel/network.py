"""IP addresses and networks as values: `ip()`, `cidr()` and what they can be asked. No name is ever looked up.

Source: Kubernetes' CEL libraries `ip` and `cidr`; the conformance file `network_ext`. Of a mapped address
(`::ffff:a00:1`) the IPv4 address inside counts: else one network would have two spellings and a rule sees one of them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any, Final

from shield.policy.cel.runtime import fail
from shield.regex import regex

__all__ = ["Cidr", "Ip"]

_LENGTH = regex(r"0|[1-9][0-9]{0,2}")
_MAPPED_TEXT = regex(r".*:[0-9]+\.[0-9.]+\Z", re.DOTALL)
_LONGEST: Final = 64  # characters of any address with its length


@dataclass(frozen=True, slots=True)
class Ip:
    """An address: `bits` is 32 or 128."""

    value: int
    bits: int

    def text(self) -> str:
        return str(IPv4Address(self.value) if self.bits == 32 else IPv6Address(self.value))


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network as written: the address may have bits beyond the prefix."""

    address: Ip
    length: int

    def text(self) -> str:
        return f"{self.address.text()}/{self.length}"

    def prefix(self) -> int:
        """The bits that all its addresses share."""
        return self.address.value >> (self.address.bits - self.length)

    def holds(self, address: Ip) -> bool:
        return address.bits == self.address.bits and address.value >> (address.bits - self.length) == self.prefix()


def _read(text: str) -> Ip | None:
    if len(text) > _LONGEST or "%" in text:
        return None
    try:
        if ":" not in text:
            return Ip(int(IPv4Address(text)), 32)
        address = IPv6Address(text)
    except (AddressValueError, ValueError):
        return None
    mapped = address.ipv4_mapped
    return Ip(int(mapped), 32) if mapped is not None else Ip(int(address), 128)


def is_ip(x: Any) -> bool:
    return _read(x) is not None if isinstance(x, str) else fail()


def ip_(x: Any) -> Ip:
    if isinstance(x, Ip):
        return x
    if not isinstance(x, str):
        fail()
    found = _read(x)
    # the mapped form with dots is refused by the specification's tests, so it is an error and never `false`
    if found is None or (found.bits == 32 and _MAPPED_TEXT.match(x)):
        fail("no IP address: write `isIP(x) && …` before it")
    return found


def is_canonical(x: Any) -> bool:
    return bool(ip_(x).text() == x)


def _read_cidr(text: str) -> Cidr | None:
    address, slash, length = text.partition("/")
    found = _read(address)
    if not slash or found is None or not _LENGTH.fullmatch(length) or (found.bits == 32 and ":" in address):
        return None
    return Cidr(found, int(length)) if int(length) <= found.bits else None


def is_cidr(x: Any) -> bool:
    return _read_cidr(x) is not None if isinstance(x, str) else fail()


def cidr_(x: Any) -> Cidr:
    if isinstance(x, Cidr):
        return x
    found = _read_cidr(x) if isinstance(x, str) else fail()
    return found if found is not None else fail("no network such as `10.0.0.0/8`")


def contains_ip(network: Any, address: Any) -> bool:
    return _cidr(network).holds(ip_(address))


def contains_cidr(network: Any, other: Any) -> bool:
    inner = cidr_(other)
    outer = _cidr(network)
    return outer.length <= inner.length and outer.holds(inner.address)


def cidr_ip(network: Any) -> Ip:
    return _cidr(network).address


def masked(network: Any) -> Cidr:
    rest = _cidr(network).address.bits - network.length
    return Cidr(Ip(network.prefix() << rest, network.address.bits), network.length)


def prefix_length(network: Any) -> int:
    return _cidr(network).length


def family(address: Any) -> int:
    return 4 if _ip(address).bits == 32 else 6


def address_is(address: Any, what: str) -> bool:
    return _KINDS[what](_ip(address))


def _ip(x: object) -> Ip:
    return x if isinstance(x, Ip) else fail()


def _cidr(x: object) -> Cidr:
    return x if isinstance(x, Cidr) else fail()


def _within(*networks: str) -> Callable[[Ip], bool]:
    known = tuple(cidr_(text) for text in networks)
    return lambda address: any(network.holds(address) for network in known)


_unspecified = _within("0.0.0.0/32", "::/128")
_loopback = _within("127.0.0.0/8", "::1/128")
_link_unicast = _within("169.254.0.0/16", "fe80::/10")
_link_multicast = _within("224.0.0.0/24", "ff02::/16")
_no_global = _within(
    "0.0.0.0/32", "::/128", "127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8",
    "255.255.255.255/32",
)  # fmt: skip

_KINDS: Mapping[str, Callable[[Ip], bool]] = MappingProxyType(
    {
        "isUnspecified": _unspecified,
        "isLoopback": _loopback,
        "isLinkLocalUnicast": _link_unicast,
        "isLinkLocalMulticast": _link_multicast,
        "isGlobalUnicast": lambda address: not _no_global(address),
    }
)
