"""Which connections lsof and ss are told to show: a host by its name is looked up, which sends the name on."""

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Operation

__all__ = ["CONNECTED"]

# lsof(8): `-i [46][protocol][@host][:ports]`, where the value may be a word of its own.
_INTERNET = regex(r"[46]?[A-Za-z]*(?:@(?P<host>\[[^\]]*\]|[^:\[\]]*))?(?::[A-Za-z0-9,_-]*)?")
# ss(8): what a filter is made of besides addresses and ports. `src`, `dst` and kin stand in front of an address.
_FILTER_TEXT = """
state exclude dst src dport sport eq ne neq le leq lt ge geq gt and or not autobound = == != < <= > >= ! & && | || ( )
all connected synchronized bucket big established syn-sent syn-recv syn-rcv fin-wait-1 fin-wait-2 time-wait closed
close close-wait last-ack listen listening closing bound-inactive
"""
_FILTER = frozenset(_FILTER_TEXT.split())
_TOKEN = regex(r"[()]|[!<>=]=?|&&?|\|\|?|[^\s()!<>=&|]+")
_PORT = regex(r"(?P<host>.*?)(?::(?:\*|[A-Za-z0-9][A-Za-z0-9-]*))?", re.DOTALL)


def _open_files(call: Invocation) -> bool:
    """`-i` takes the next word, too, where it says nothing itself."""
    values = [value for option, value in call.arguments.given if option.name == "-i" and value is not None]
    for value in values + (call.operands if call.arguments.has("-i") else []):
        found = _INTERNET.fullmatch(value.text) if value.fixed else None
        if found is None and value.fixed and "@" not in value.text:
            continue  # a file
        if found is None or not _is_address(found["host"] or ""):
            call.reading.use(Use.HOST, Value(text=found["host"], head="") if found is not None else value)
    return False


def _filter(call: Invocation) -> bool:
    """A filter in words, of which several may stand in one."""
    for word in call.operands:
        tokens = _TOKEN.findall(word.text) if word.fixed else [None]
        for token in tokens:
            if token is None or not (token in _FILTER or _is_endpoint(token)):
                call.reading.operations.add(Operation.NETWORK)
                call.reading.unknown.append(f"`ss` may look up `{word.text[:80]}`")
    return True


def _is_endpoint(text: str) -> bool:
    """Whether it is an address or a port, and nothing that is looked up."""
    found = _PORT.fullmatch(text)
    return found is not None and (_is_address(found["host"]) or _is_address(text))


def _is_address(text: str) -> bool:
    """Whether it is an address, a network, or any."""
    bare = text.removeprefix("[").removesuffix("]")
    if bare in ("", "*"):
        return True
    try:
        return bool(ip_network(bare, strict=False) if "/" in bare else ip_address(bare))
    except ValueError:
        return False


CONNECTED: Mapping[str, Special] = MappingProxyType({"open_files": _open_files, "filter": _filter})
