"""Text shown so that no two texts look the same: what a person approves is what they see.

Every character that cannot be seen, moves the cursor, reorders, stacks up or passes for another one stands in angle
quotes, `‹ESC›` or `‹U+202E›`, and so does the opening quote itself: a real escape character and the four letters
`\\x1b` look different, and the mapping can be turned around (the tests do). Sources: Unicode TR 36 and 39,
CVE-2021-42574 (reordering), CVE-2021-42694 (look-alikes).
"""

import re
import unicodedata
from functools import cache
from typing import Final

__all__ = ["exact", "width"]

_NAMES: Final = {
    0x00: "NUL",
    0x07: "BEL",
    0x08: "BS",
    0x0A: "LF",
    0x0D: "CR",
    0x1B: "ESC",
    0x7F: "DEL",
}
_TAB: Final = "\u21e5"
# what is drawn as nothing although it is no control character (Default_Ignorable_Code_Point), ours, and look-alikes of
# characters that mean something to a shell or in a path
_SPELLED: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff\u2800"
    "\u2039\u21e5\u2044\u2215\u29f8\u2024\ua789\u2236\u2223\u01c0\u02f8\u037e\u201a\u2217\u2212\u2010\u2011]"
)
_WORD: Final = re.compile(r"\w+")
_ASCII_LETTER: Final = re.compile("[A-Za-z]")
_FOREIGN: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "LATIN LETTER SMALL CAPITAL")
_MARKS_MAX: Final = 2  # on one letter; more of them climb into other lines


def exact(text: str) -> str:
    """The text on one line. Plain text stays as it is, but for a blank at its end."""
    mixed = {at for word in _WORD.finditer(text) if not word[0].isascii() for at in _strangers(word)}
    out: list[str] = []
    marks = _MARKS_MAX  # nothing stands before the text that could carry one
    for at, char in enumerate(text):
        mark = unicodedata.category(char)[0] == "M"
        marks = marks + 1 if mark else 0
        if char == "\t":
            out.append(_TAB)
        elif _hidden(char) or at in mixed or (mark and marks > _MARKS_MAX):
            out.append(_spelled(char))
        else:
            out.append(char)
    if out and out[-1] == " ":
        out[-1] = _spelled(" ")
    return "".join(out)


def width(char: str) -> int:
    """Columns of a character that `exact` left as it is; a mark counts as one, so that a line is never too long."""
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@cache
def _hidden(char: str) -> bool:
    if char == " ":
        return False
    if not char.isprintable() or _SPELLED.match(char):
        return True
    if char.isascii():
        return False
    # letters and digits that are drawn as ASCII ones: full width, mathematical
    return unicodedata.category(char)[0] in "LN" and unicodedata.normalize("NFKC", char).isascii()


def _strangers(word: re.Match[str]) -> list[int]:
    """Where letters of another alphabet stand in a word that has ASCII letters, too."""
    if not _ASCII_LETTER.search(word[0]):
        return []
    return [word.start() + at for at, char in enumerate(word[0]) if not char.isascii() and _foreign(char)]


@cache
def _foreign(char: str) -> bool:
    return unicodedata.name(char, "").startswith(_FOREIGN)


def _spelled(char: str) -> str:
    code = ord(char)
    return f"\u2039{_NAMES.get(code, f'U+{code:04X}')}\u203a"
