"""A text as a reader sees it: in one form of its letters (NFKC), without what nobody sees."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from types import MappingProxyType

from shield.regex import regex

__all__ = ["LINK", "plain", "within"]

_GROWTH = 18  # code points that one becomes in NFKC at most (U+FDFA, in Unicode 15)
_SLICES = 128  # in parts of this share of what is allowed it is found out how long a text becomes
_MAX_MARKS = 30  # on one letter
# Default ignorable code points and fillers that a reader does not see (Unicode 15, DerivedCoreProperties.txt), tags,
# variation selectors, and the bidirectional controls of CVE-2021-42574.
_INVISIBLE = regex(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_NO_CONTROLS = MappingProxyType({code: None for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n\r"})
# Colours, places of the cursor (ECMA-48, section 8.3) and links as programs write them for a terminal. What else could
# be such a sequence keeps its letters: words could be spelled of what a terminal takes for commands.
LINK = regex(r"\x1b\]8;([^;\s\x07\x1b]{0,256});([^\s\x07\x1b]{0,2048})(?:\x07|\x1b\\)")
_TERMINAL = regex(
    r"(?:\x1b\[|\x9b)\??[0-9;:]{0,64}[ABCDEFGHJKSTfhlmnsu]|\x1b[()][0AB]|\x1b[=>]"
    rf"|{LINK.pattern}"
)
_LEAST_HEAP = 100
_FOREIGN = regex(rf"[^\x00-\x7f]{{{_LEAST_HEAP}}}")


def plain(text: str) -> str:
    """`text` in NFKC without what a reader does not see, what tells a terminal its colours among it; line breaks and
    tabs stay."""
    if "\x1b" in text or "\x9b" in text:
        text = _TERMINAL.sub("", text)
    if text.isascii():
        return text.translate(_NO_CONTROLS)
    return _composed(_INVISIBLE.sub("", _composed(text)))


def within(text: str, most: int, made: Callable[[str], str] = plain, *, ends: bool = False) -> str:
    """As much of the beginning of `text`, or of both its `ends`, as is no longer than `most` when it is `made` of:
    one letter may become eighteen. INVARIANT: to find that out costs no more than to make so much."""
    if len(text) * _GROWTH <= most:
        return text
    size = most // _SLICES
    slices = [text[at : at + size] for at in range(0, len(text), size)]
    order = range(len(slices))
    kept: list[int] = []
    for number in sorted(order, key=lambda number: min(number, len(slices) - 1 - number)) if ends else order:
        most -= len(made(slices[number]))
        if most < 0:
            return "".join(slices[number] for number in sorted(kept))
        kept.append(number)
    return text


def _composed(text: str) -> str:
    """`text` in NFKC. To put the marks on a letter in order takes a step for each two of them, so of a heap of marks
    there are `_MAX_MARKS` (UAX 15, stream-safe text)."""
    # to count bytes is quicker than to look for so many letters in a row
    if len(text.encode("utf-8", "surrogatepass")) - len(text) >= _LEAST_HEAP and _FOREIGN.search(text):
        text = _heaps().sub(r"\1", text)
    return unicodedata.normalize("NFKC", text)


@cache
def _heaps() -> re.Pattern[str]:
    # also letters that fall apart into marks without being one, such as U+0F73
    letters = [chr(code) for code in range(0x300, 0x1F000) if not 0xD800 <= code < 0xE000]
    marks = "".join(
        letter for letter in letters if all(map(unicodedata.combining, unicodedata.normalize("NFKD", letter)))
    )
    return re.compile(rf"([{marks}]{{{_MAX_MARKS}}})[{marks}]+")
