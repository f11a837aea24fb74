"""The host that a URL or a bare host name stands for. Nothing is ever looked up.

The readings of RFC 3986 and of the WHATWG URL standard are compared: where two programs may see different hosts in one
string, the answer is None and the caller records it as unknown.
"""

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

from shield.facts.addresses import METADATA_NAMES, ip_class
from shield.facts.lookalikes import UnclearLabelError, a_label, deviates, is_a_label
from shield.facts.wildcards import carried_class
from shield.regex import regex
from shield.types import HostFact, IpClass

__all__ = ["DEFAULT_PORTS", "host_fact", "host_name"]

_MAX_URL = 65_536
_MAX_HOST = 253  # RFC 1035 section 2.3.4, without the trailing dot
_MAX_LABEL = 63
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]{0,31}):")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_AUTHORITY_END = regex(r"[/?#]")
_LABEL = regex(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
_NUMBER = regex(r"(?:0x[0-9a-f]*|[0-9]+)")
_USER = regex(r"[A-Za-z0-9._~!$&'()*+,;=:%-]*")
# Who decodes before parsing sees the authority end here.
_HIDDEN_END = regex(r"%(?:2f|3f|23|40|5c)", re.IGNORECASE)

DEFAULT_PORTS = {
    "amqp": 5672,
    "ftp": 21,
    "ftps": 990,
    "git": 9418,
    "gopher": 70,
    "http": 80,
    "https": 443,
    "imap": 143,
    "imaps": 993,
    "ldap": 389,
    "ldaps": 636,
    "mongodb": 27017,
    "mqtt": 1883,
    "mysql": 3306,
    "pop3": 110,
    "postgres": 5432,
    "postgresql": 5432,
    "redis": 6379,
    "rediss": 6379,
    "rsync": 873,
    "scp": 22,
    "sftp": 22,
    "smtp": 25,
    "smtps": 465,
    "ssh": 22,
    "git+ssh": 22,
    "ssh+git": 22,
    "telnet": 23,
    "ws": 80,
    "wss": 443,
}

_LOOPBACK_NAMES = frozenset(
    ("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")
)
# WHATWG URL section 3.1: elsewhere a host is opaque, and programs may see it as it is written.
_SPECIAL = frozenset(("", "http", "https", "ws", "wss", "ftp"))
_PLAIN_V4 = regex(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
# What a plain reading would not give: only an answer that is no leave is given for such a spelling.
_HARMLESS = frozenset((IpClass.NAME, IpClass.PUBLIC))


class _UnclearHostError(Exception):
    """Readers of this text may see different hosts, or none."""


def host_fact(url_or_host: str) -> HostFact | None:
    """The host of a URL, of `//host/…`, or of a bare `host[:port][/…]`. None where that is not certain.

    `host` is lower case in A-labels (RFC 5890), an IPv4 address in four decimals or an IPv6 address in RFC 5952 form
    without brackets. `url` is the text without user-info. `scheme` is empty where the text has none.
    """
    try:
        return _read(url_or_host)
    except (_UnclearHostError, UnclearLabelError, ValueError):
        return None


def host_name(text: str) -> tuple[str, IpClass] | None:
    """A host as it stands in an authority or after the `@` of an address: its normal form and class, or None."""
    try:
        return _host(text)
    except (_UnclearHostError, UnclearLabelError, ValueError):
        return None


def _read(text: str) -> HostFact:
    if not text or len(text) > _MAX_URL or text != text.strip() or _CONTROL.search(text):
        raise _UnclearHostError
    scheme, prefix, rest = _scheme(text)
    end = _AUTHORITY_END.search(rest)
    authority, tail = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    # Old readers end the authority at the first slash only.
    if tail[:1] in ("?", "#") and "@" in tail:
        raise _UnclearHostError
    user, at, address = authority.rpartition("@")
    if at and (not _USER.fullmatch(user) or _HIDDEN_END.search(user)):
        raise _UnclearHostError
    host_text, port_text = _split_port(address)
    host, kind = _host(host_text)
    if kind in _HARMLESS and scheme not in _SPECIAL and not host_text.isascii():
        raise _UnclearHostError
    if port_text:
        if not port_text.isascii() or not port_text.isdigit() or len(port_text) > 5:
            raise _UnclearHostError
        if not 0 < int(port_text) <= 65_535:
            raise _UnclearHostError
        port: int | None = int(port_text)
    else:
        port = DEFAULT_PORTS.get(scheme)
    return HostFact(url=f"{prefix}{address}{tail}", scheme=scheme, host=host, port=port, ip_class=kind)


def _scheme(text: str) -> tuple[str, str, str]:
    """Scheme in lower case, the text up to the authority, and what follows."""
    if text.startswith("//"):
        scheme, rest = "", text[2:]
    else:
        match = _SCHEME.match(text)
        after = text[match.end() :] if match else text
        if match is None or (not after.startswith("/") and re.match(r"\d{1,5}(?:[/?#]|$)", after)):
            return "", "", text
        scheme = match[1].lower()
        # `http:host` and `http:/host` are hosts to browsers and paths to others; the rest (`mailto:`) has no host.
        if not after.startswith("//"):
            raise _UnclearHostError
        if scheme in ("file", "jar", "view-source", "blob", "data", "javascript", "about"):
            raise _UnclearHostError
        rest = after[2:]
    # Browsers skip further slashes, others see an empty host.
    if rest[:1] in ("", "/", "\\"):
        raise _UnclearHostError
    return scheme, text[: len(text) - len(rest)], rest


def _split_port(address: str) -> tuple[str, str]:
    if address.startswith("["):
        inner, bracket, after = address.partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise _UnclearHostError
        return inner + bracket, after[1:]
    host, _, port = address.partition(":")
    if ":" in port:
        raise _UnclearHostError
    return host, port


def _host(text: str) -> tuple[str, IpClass]:
    if text.startswith("["):
        return _v6(text[1:-1])
    encoded = "%" in text
    if encoded:
        text = unquote_to_bytes(text).decode("utf-8", "strict")
        if "%" in text:
            raise _UnclearHostError
    if not text.isascii():
        text = _to_ascii(text)
    host, kind = _named(text)
    # Python's urllib asks for `%6c` as it stands, browsers and curl for `l`.
    if encoded and kind in _HARMLESS:
        raise _UnclearHostError
    return host, kind


def _named(written: str) -> tuple[str, IpClass]:
    """A host in ASCII."""
    text = written.lower().removesuffix(".")
    labels = text.split(".")
    if len(text) > _MAX_HOST or any(len(label) > _MAX_LABEL or not _LABEL.fullmatch(label) for label in labels):
        raise _UnclearHostError
    # WHATWG URL section 3.5, "ends in a number": such a host is an address or an error.
    if _NUMBER.fullmatch(labels[-1]):
        address, kind = _v4(labels)
        # Go and Java look `0x8.2056` and `1.2.3` up as names.
        if kind is IpClass.PUBLIC and not _PLAIN_V4.fullmatch(written):
            raise _UnclearHostError
        return str(address), kind
    if "xn--" in text and not all(is_a_label(label) for label in labels if label.startswith("xn--")):
        raise _UnclearHostError
    if text in _LOOPBACK_NAMES or text.endswith(".localhost"):
        return text, IpClass.LOOPBACK
    if text in METADATA_NAMES:
        return text, IpClass.METADATA
    return text, carried_class(text, labels) or IpClass.NAME


def _to_ascii(text: str) -> str:
    """A-labels by the mapping that IDNA 2003, 2008 and UTS 46 share; where they part, the host is unclear."""
    # four may become one letter; to put a heap of marks in order takes the square of its length
    if len(text) > 4 * _MAX_HOST or deviates(text):
        raise _UnclearHostError
    mapped = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    mapped = mapped.replace("\u3002", ".")
    labels = []
    for label in mapped.split("."):
        if any(unicodedata.category(character)[0] not in "LMN" and character != "-" for character in label):
            raise _UnclearHostError
        labels.append(label if label.isascii() else a_label(label))
    return ".".join(labels)


def _v4(labels: list[str]) -> tuple[IPv4Address, IpClass]:
    """inet_aton's and the browsers' reading of one to four decimal, octal or hexadecimal numbers."""
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) for label in labels):
        raise _UnclearHostError
    octal = any(len(label) > 1 and label[0] == "0" and label[1] != "x" for label in labels)
    numbers = [_number(label) for label in labels]
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        raise _UnclearHostError
    value = numbers[-1] + sum(number << (8 * (3 - index)) for index, number in enumerate(numbers[:-1]))
    address = IPv4Address(value)
    kind = ip_class(address)
    # A leading zero is octal to some and decimal to others: only a reading that is dangerous anyway is reported.
    if octal and kind is IpClass.PUBLIC:
        raise _UnclearHostError
    return address, kind


def _number(label: str) -> int:
    if label == "0x":
        raise _UnclearHostError  # zero to browsers, a name to curl
    if label.startswith("0x"):
        return int(label, 16)
    if len(label) > 1 and label[0] == "0":
        return int(label, 8)
    return int(label)


def _v6(text: str) -> tuple[str, IpClass]:
    address_text, percent, zone = text.partition("%")
    try:
        address = IPv6Address(address_text)
    except AddressValueError:
        raise _UnclearHostError from None
    kind = ip_class(address)
    if percent:
        # RFC 6874 writes `%25zone`, others `%zone`; a zone has a meaning for link-local addresses only.
        local = kind in (IpClass.LINK_LOCAL, IpClass.METADATA)
        if not local or not re.fullmatch(r"[A-Za-z0-9._-]{1,32}", zone.removeprefix("25") or "-"):
            raise _UnclearHostError
        return str(address), kind
    mapped = address.ipv4_mapped
    return (str(mapped) if mapped is not None else str(address)), kind
