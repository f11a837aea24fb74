"""The class of an address, by the IANA special-purpose registries and what clouds put their metadata services at."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from shield.types import IpClass

__all__ = ["METADATA_NAMES", "ip_class"]

# Instance metadata services: AWS (EC2, ECS, EKS), Google, Azure, IBM, Tencent, Equinix, Rancher.
METADATA_NAMES = frozenset(
    (
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "api.metadata.cloud.ibm.com",
        "instance-data",
        "instance-data.ec2.internal",
        "rancher-metadata",
        "rancher-metadata.rancher.internal",
    )
)
_METADATA_V4 = frozenset(
    IPv4Address(text)
    for text in (
        "169.254.169.254",
        "169.254.169.250",  # Rancher
        "169.254.170.2",  # AWS ECS
        "169.254.170.23",  # AWS EKS
        "169.254.0.23",  # Tencent
        "169.254.42.42",  # Scaleway
        "168.63.129.16",  # Azure
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
    )
)
_METADATA_V6 = frozenset(
    IPv6Address(text)
    for text in (
        "fd00:ec2::254",  # AWS EC2
        "fd00:ec2::23",  # AWS EKS
        "fd20:ce::254",  # Google
        "fd00:42::42",  # Scaleway
        "fd00:a9fe:a9fe::1",  # Linode
        "fd00:100::100:200",  # Alibaba
    )
)
# Oracle and OpenStack keep the IPv4 address in the last bits: `fd00:c1::a9fe:a9fe`, `fe80::a9fe:a9fe`.
_METADATA_END = 0xA9FEA9FE
# IANA special-purpose registries (RFC 6890 and what followed), multicast and reserved space: nothing public there.
_PRIVATE_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_PRIVATE_V6 = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "3fff::/20", "2620:4f:8000::/48", "5f00::/16")
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_TEREDO = IPv6Network("2001::/32")
_SIX_TO_FOUR = IPv6Network("2002::/16")


def ip_class(address: IPv4Address | IPv6Address) -> IpClass:
    """The class of an address; an IPv6 address that carries an IPv4 one has that one's class."""
    if isinstance(address, IPv4Address):
        if address in _METADATA_V4:
            return IpClass.METADATA
        # The unspecified address connects to this host.
        if address.is_loopback or address.is_unspecified:
            return IpClass.LOOPBACK
        if address.is_link_local:
            return IpClass.LINK_LOCAL
        return IpClass.PRIVATE if any(address in network for network in _PRIVATE_V4) else IpClass.PUBLIC
    if address in _METADATA_V6:
        return IpClass.METADATA
    if address.is_loopback or address.is_unspecified:
        return IpClass.LOOPBACK
    carried = _carried(address)
    if carried is not None:
        return ip_class(carried)
    value = int(address)
    # RFC 6052 section 2.2 for prefixes of 48 bits, such as RFC 8215's: two octets, eight zero bits, two octets.
    split = address in _NAT64_LOCAL and ((value >> 64 & 0xFFFF) << 16 | (value >> 40 & 0xFFFF)) == _METADATA_END
    if split or (address not in _GLOBAL_V6 and value & 0xFFFFFFFF == _METADATA_END):
        return IpClass.METADATA
    if address.is_link_local:
        return IpClass.LINK_LOCAL
    if address not in _GLOBAL_V6 or any(address in network for network in _PRIVATE_V6):
        return IpClass.PRIVATE
    return IpClass.PUBLIC


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside: mapped, compatible, translated (RFC 2765), NAT64 (RFC 6052), 6to4, Teredo, ISATAP
    (RFC 5214)."""
    value = int(address)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if value >> 32 in (0, 0xFFFF0000) or address in _NAT64:
        return IPv4Address(value & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(value >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        return IPv4Address(~value & 0xFFFFFFFF)
    if value >> 32 & 0xFFFFFFFF in (0x00005EFE, 0x02005EFE):
        return IPv4Address(value & 0xFFFFFFFF)
    return None
