"""Names that carry an address: services whose every name leads to the address written in it, or to this machine.

They are used to get past a guard that compares names, and to change after it looked (DNS rebinding). The class that
such a name gets is a suspicion: it is never `loopback`, as somebody else decides where it leads.
"""

from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from shield.facts.addresses import ip_class
from shield.regex import regex
from shield.types import IpClass

__all__ = ["carried_class"]

# Every name beneath these leads to the address that is written in it.
_CARRIERS = frozenset(
    (
        *("a-i.sh", "backname.io", "ip.addr.tools", "ip.es.io", "local-ip.co", "local-ip.sh", "myaddr.io"),
        *("nip.direct", "nip.io", "sslip.io", "xip.io", "xip.name"),
    )
)
# Names beneath these lead to this machine, or there by turns, whatever else is written in them.
_INWARD = frozenset(
    (
        *("127-0-0-1.org.uk", "1u.ms", "42foo.com", "bugbounty.dod.network", "colasloth.com", "ddev.site"),
        *("feacluster.com", "fuf.me", "lacolhost.com", "lndo.site", "local.gd", "local.sisteminha.com"),
        *("localfabriek.nl", "localho.st", "localhost.direct", "localhost.tv", "localhst.co.uk", "localmachine.info"),
        *("localmachine.name", "localtest.me", "lvh.me", "rbndr.us", "rebind.network", "smackaho.st"),
        *("spoofed.burpcollaborator.net", "traefik.me", "ulh.us", "vcap.me"),
    )
)
_QUAD = regex(r"(?<![0-9])([0-9]{1,3})[.-]([0-9]{1,3})[.-]([0-9]{1,3})[.-]([0-9]{1,3})(?![0-9])")
_HEX = regex(r"(?<![0-9a-z])(?:0x)?([0-9a-f]{8})(?![0-9a-z])")
_WORST = (IpClass.METADATA, IpClass.LINK_LOCAL, IpClass.PRIVATE)


def carried_class(host: str, labels: Sequence[str]) -> IpClass | None:
    """The class of a normal host name by the addresses written in it: `metadata`, `link_local`, `private` or None.

    Beneath a carrier every spelling counts; elsewhere only a metadata address in four decimals, which no name has by
    chance.
    """
    parent = _service(labels)
    if parent is None:
        return IpClass.METADATA if _QUAD.search(host) and IpClass.METADATA in _in_quads(host) else None
    before = host[: -len(parent) - 1]
    found = _in_quads(before) | _in_hexadecimal(before) | _in_ipv6(before)
    if parent in _INWARD:
        found.add(IpClass.PRIVATE)
    return next((kind for kind in _WORST if kind in found), None)


def _service(labels: Sequence[str]) -> str | None:
    """The service that the labels are a name of."""
    for count in (2, 3):
        parent = ".".join(labels[-count:])
        if parent in _CARRIERS or parent in _INWARD:
            return parent
    return None


def _kind(address: IPv4Address | IPv6Address) -> IpClass:
    kind = ip_class(address)
    return IpClass.PRIVATE if kind is IpClass.LOOPBACK else kind


def _in_quads(text: str) -> set[IpClass]:
    """Of every four numbers in a row that are an address: `a.1-2-3-4-5` holds two."""
    found = set()
    at = 0
    while (match := _QUAD.search(text, at)) is not None:
        numbers = [int(number) for number in match.groups()]
        if max(numbers) <= 255:
            found.add(_kind(IPv4Address(bytes(numbers))))
        at = match.end(1)
    return found


def _in_hexadecimal(text: str) -> set[IpClass]:
    return {_kind(IPv4Address(int(match[1], 16))) for match in _HEX.finditer(text)}


def _in_ipv6(text: str) -> set[IpClass]:
    """`--1`, `fd00-ec2--254`: colons as hyphens, in one label."""
    found = set()
    for label in text.split("."):
        pieces = label.split("-")
        for start in range(min(len(pieces), 8)):
            try:
                found.add(_kind(IPv6Address(":".join(pieces[start:]))))
            except AddressValueError:
                continue
    return found
