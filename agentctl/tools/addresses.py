"""What kind of place an IP address is, and whether a judged host may lead there."""

import ipaddress
from collections.abc import Iterable
from typing import Final

from shield.types import IpClass

__all__ = ["address_class", "permitted", "permitted_addresses"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Services that hand credentials to whoever asks from inside a machine: the clouds' own documentation.
_METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",  # AWS, Azure, GCP, OpenStack, DigitalOcean, Oracle
            "169.254.170.2",  # ECS task credentials
            "169.254.170.23",  # EKS pod identity
            "169.254.169.253",
            "169.254.169.250",  # Rancher
            "169.254.0.23",  # Tencent
            "169.254.42.42",  # Scaleway
            "fd00:42::42",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",  # GCP, IPv6
            "fd00:a9fe:a9fe::1",  # Linode
            "fd00:100::100:200",  # Alibaba, IPv6
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure wire server
            "192.0.0.192",  # Oracle classic
        ),
    )
)
_METADATA_END: Final = 0xA9FEA9FE  # Oracle and OpenStack keep the IPv4 address in the last bits of an IPv6 one
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052
_NOT_PUBLIC: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",  # RFC 6598, shared address space
            "192.0.0.0/24",
            "192.88.99.0/24",
            "240.0.0.0/4",
            "64:ff9b:1::/48",  # RFC 8215
            "2001::/23",
            "3fff::/20",  # RFC 9637
            "5f00::/16",
            "fec0::/10",
        ),
    )
)


def address_class(text: str) -> IpClass:
    """The class of a literal address, after tunnels are undone. What is not plainly public is private."""
    address = _inner(ipaddress.ip_address(text.partition("%")[0]))
    if address in _METADATA or (address.version == 6 and int(address) & 0xFFFFFFFF == _METADATA_END):
        return IpClass.METADATA
    if address.is_loopback:
        return IpClass.LOOPBACK
    if address.is_link_local:
        return IpClass.LINK_LOCAL
    if address.is_unspecified:
        return IpClass.LOOPBACK  # Linux connects 0.0.0.0 to itself
    special = address.is_multicast or address.is_reserved or any(address in net for net in _NOT_PUBLIC)
    return IpClass.PUBLIC if address.is_global and not special else IpClass.PRIVATE


def permitted(judged: IpClass, found: IpClass) -> bool:
    """Whether what a host was judged as covers the address it leads to.

    A name says nothing of where it leads, so it may only lead to a public address: a name that resolves into a private
    network or to a metadata service (DNS rebinding) is not what was judged.
    """
    if judged is IpClass.NAME:
        return found is IpClass.PUBLIC
    return judged is found


def permitted_addresses(judged: IpClass, found: Iterable[str]) -> list[str]:
    """Those of the addresses that a look-up gave to which a host of this class may lead, in their order."""
    kept = []
    for address in found:
        try:
            if permitted(judged, address_class(address)):
                kept.append(address)
        except ValueError:
            continue  # no address at all
    return kept


def _inner(address: Address) -> Address:
    """The IPv4 address inside a mapped, 6to4, Teredo or NAT64 one; a Teredo address stands for its client."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    for inner in (address.ipv4_mapped, address.sixtofour, address.teredo[1] if address.teredo else None):
        if inner is not None:
            return inner
    if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
