"""Who a message would reach: mail addresses, channels and names, one by one, as they could stand in an owner's list.

A recipient is never made to look like another: no compatibility mapping of the local part, only the domain is
normalised. What could hide a second recipient is unknown.
"""

import re
import unicodedata
from collections.abc import Iterable

from shield.facts.hosts import host_name
from shield.regex import regex

__all__ = ["recipients"]

_MAX_RECIPIENTS = 500
_MAX_LENGTH = 320  # RFC 5321 section 4.5.3.1: 64 + 1 + 255
_DISPLAY = regex(r"[^<>@\"\\]*<([^<>\s]+)>")
_QUOTED_DISPLAY = regex(r"\"[^<>@\"\\]*\"\s*<([^<>\s]+)>")
_LOCAL = regex(r"[^\s@\"\\()<>\[\]:;,%!]+")


def recipients(values: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The recipients in `values` (several in one string where commas or semicolons part them), without repetition and
    in order, and one line for each that is not understood."""
    found: dict[str, None] = {}
    unknown: list[str] = []
    for value in values:
        if not value.strip():
            unknown.append("a recipient is empty")
        for piece in re.split(r"[,;]", value):
            if not piece.strip():
                continue
            name = _recipient(piece.strip(" "))
            if name is None:
                unknown.append("a recipient is not understood")
            elif len(found) >= _MAX_RECIPIENTS:
                unknown.append(f"there are more than {_MAX_RECIPIENTS} recipients")
                return tuple(found), tuple(dict.fromkeys(unknown))
            else:
                found[name] = None
    return tuple(found), tuple(dict.fromkeys(unknown))


def _recipient(text: str) -> str | None:
    if len(text) > 2 * _MAX_LENGTH or any(unicodedata.category(character)[0] == "C" for character in text):
        return None
    if "<" in text or ">" in text:
        match = _DISPLAY.fullmatch(text) or _QUOTED_DISPLAY.fullmatch(text)
        if match is None:
            return None
        text = match[1]
    text = text.removeprefix("mailto:") if text.startswith("mailto:") else text
    if len(text) > _MAX_LENGTH:
        return None
    local, at, domain = text.rpartition("@")
    if not at or not local:
        # A channel, a handle (`@bob`), a number or a name: as it is but for its case.
        return _lower(text) if "@" not in text[1:] and not re.search(r"[\r\n\t?&%]", text) else None
    # `%`, `!` and quotes route mail onward (RFC 5321 appendix F); servers read a second `@` differently.
    if not _LOCAL.fullmatch(local):
        return None
    host = host_name(domain)
    return None if host is None else f"{_lower(local)}@{host[0]}"


def _lower(text: str) -> str:
    """ASCII letters only: other scripts' lower case can turn one name into another (U+212A is no `k`)."""
    return text.lower() if text.isascii() else text
