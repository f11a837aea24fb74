"""Text on its way into messages: well formed, bounded, and safe to show on a terminal."""

import re

__all__ = ["printable", "shorten", "well_formed"]

_SURROGATE = re.compile("[\ud800-\udfff]")
# C0 and C1 controls but newline and tab, and the marks that reorder or hide text (Trojan Source, CVE-2021-42574).
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and halves of pairs replaced, so that it can be stored and sent as UTF-8."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable(text: str, limit: int) -> str:
    """At most `limit` characters of foreign text for a message to the user, without anything that steers a terminal."""
    clean = _UNPRINTABLE.sub("", well_formed(text[: limit * 4]))
    clean = " ".join(clean.split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def shorten(text: str, limit: int) -> str:
    """The text if it has at most `limit` characters, else its head and tail and how much is missing between them."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{end}"
