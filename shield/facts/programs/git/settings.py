"""Settings of a repository that name files: git reads them, and shows of some what stands in them (git-config(1))."""

import posixpath
import re

from shield.facts.place import Place
from shield.regex import regex

__all__ = ["named_files"]

# Not those of sections and keys that count as running something (`git_repository`).
_FILE = regex(
    r"^[ \t]*+(?:\[[^\]\n]*+\][ \t]*+)?(?:ignorerevsfile|excludesfile|orderfile|skiplist|template|templatedir|file|"
    r"signaturefile|cookiefile|sslcert|sslkey|sslcainfo|sslcapath|allowedsignersfile|revocationfile)"
    r"[ \t]*(?:=[ \t]*(?P<value>[^\n]*))?$",
    re.IGNORECASE | re.MULTILINE,
)
_PLAIN = regex(r"[A-Za-z0-9_./~ @+,-]*[A-Za-z0-9_./@+,-]")


def named_files(text: str, top: str, place: Place) -> tuple[str, ...] | None:
    """Absolute paths of the files that the settings `text` of the repository at `top` name; None where git may read
    such a value otherwise than it looks."""
    found: list[str] = []
    for match in _FILE.finditer(text):
        value = (match["value"] or "").strip()
        if value in ("", '""'):
            continue
        if value[0] == value[-1] == '"' and len(value) > 1:
            value = value[1:-1]
        if _PLAIN.fullmatch(value) is None or ("~" in value and not value.startswith("~/")):
            return None
        found.append(place.home + value[1:] if value.startswith("~/") else posixpath.join(top, value))
    return tuple(found)
