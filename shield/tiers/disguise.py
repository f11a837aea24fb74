# ruff: noqa: RUF001  # the table is of letters that look like others
"""A text without the disguises of its letters: look-alikes, accents, digits for letters, words spelled out, run on or
written backwards."""

import re
import unicodedata
from types import MappingProxyType

from shield.regex import regex
from shield.tiers.pieces import together, uncut
from shield.tiers.words import BACKWARDS, GAINED, WORDS, gained, split, words_of

__all__ = ["folded", "turned"]

_TURNED = 3  # different words that stand backwards in a text with lines to be turned
_MAX_RUNS = 80_000  # letters of words without a gap that are cut into words
_WORD = 14  # letters

# Letters that look like Latin ones (Unicode confusables.txt, single letters that NFKC leaves as they are).
_LOOKALIKES = {
    "a": "аαɑạ",
    "b": "ƅьЬВᏏ",
    "c": "сϲᴄ",
    "d": "ԁɗᏧ",
    "e": "еҽє",
    "f": "ẝϝ",
    "g": "ɡցԍᶃ",
    "h": "һհНᏂ",
    "i": "іıɩιɪ",
    "j": "јϳʝ",
    "k": "кκқᴋ",
    "1": "ӏǀ",  # an `i` or an `l`
    "m": "мᴍ",
    "n": "ոпռɴ",
    "o": "оοσօᴏ০٥",
    "p": "рρϱ",
    "q": "ԛգզ",
    "r": "гᴦɾʀ",
    "s": "ѕꜱʂ",
    "t": "тτᴛ",
    "u": "υսʋᴜц",
    "v": "νѵᴠ",
    "w": "ԝѡաωᴡ",
    "x": "хχ×",
    "y": "уүγʏ",
    "z": "ᴢʐζ",
}
# Letters with a bar, which no normal form takes off; Lisu, Coptic and Braille ones.
_OTHERS = dict(
    zip(
        "ⱥƀȼđɇǥħɨɉꝁłøᵽɍŧʉɏƶꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜⲁⲃⲥⲉⲏⲓⲕⲙⲛⲟⲣⲧⲩⲭⲱ⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵",
        "abcdeghijkloprtuyzabcdefghijklmnoprstuvwxyzabcehikmnoptyxwabcdefghijklmnopqrstuvwxyz",
        strict=True,
    )
)
# Where the capital looks like another letter than the small one does, and small capitals.
_CAPITALS = dict(zip("ΒΕΗΜΝΥʙᴅᴇꜰɢʜᴊʟᴘᴀ", "behmnybdefghjlpa", strict=True))
# Negative circled, negative squared and flag letters, which NFKC leaves as they are.
_BOXES = {base + number: chr(ord("a") + number) for base in (0x1F150, 0x1F170, 0x1F1E6) for number in range(26)}
_FOLD = MappingProxyType(
    {
        ord(shape): letter
        for letter, shapes in _LOOKALIKES.items()
        for shape in (*shapes.upper(), *shapes)
        if not shape.isascii()
    }
    | {ord(shape): letter for shape, letter in _CAPITALS.items()}
    | {ord(shape): letter for small, letter in _OTHERS.items() for shape in {small, small.upper()}}
    | _BOXES
)
_LEET = str.maketrans("013457@$!", "oleastasi")
_LEET_I = str.maketrans("013457@$!", "oieastasi")
# letters with such a digit among them; not those that have none, which are most words
_MIXED = regex(
    r"(?<![A-Za-z0134578@$!])(?:[A-Za-z]++[0134578@$!]|[0134578@$!]++[A-Za-z])[A-Za-z0134578@$!]*+", re.ASCII
)
_SPELLED = regex(r"(?<![^\W_])[^\W_](?:([\W_]{1,8})[^\W_])(?:\1[^\W_]){1,400}(?![^\W_])")
_GAP = regex(r"([^\w\s]) \1")  # a space between words that have a sign between any two letters
_BETWEEN = regex(r"[\W_]+")
_RUN_ON = regex(r"[A-Z]?[a-z]{20,400}|[A-Z]{20,400}")  # words without a gap; not CamelCase, which code is full of
_LETTERS = regex(r"[a-z]{3,}")


def folded(text: str) -> tuple[str | None, bool]:
    """`text` with look-alikes, accents, digits for letters and spelled words undone, None where that gains no words;
    and whether all of it was looked at."""
    made = text
    if not made.isascii():
        made = made.translate({ord(letter): _bare(letter) for letter in set(made) if not letter.isascii()})
    # what stands within words may have digits of its own, or letters beside it that stand for digits
    made = together(_MIXED.sub(_letters, uncut(together(made))))
    made, spelled = _SPELLED.subn(_joined, made)
    if spelled:
        made = _GAP.sub(" ", made)
    left = _MAX_RUNS

    def cut(run: re.Match[str]) -> str:
        nonlocal left
        left -= len(run[0])
        return run[0] if left < 0 else split(run[0].lower())

    made = _RUN_ON.sub(cut, made)
    if made == text:
        return None, left >= 0
    return made if gained(made, text).total() >= GAINED else None, left >= 0


def _bare(letter: str) -> str:
    """`letter` as the Latin one that it looks like, without its accents; what no font has, as nothing."""
    if letter in "\ufffc\ufffd" or unicodedata.category(letter) in ("Cn", "Co"):
        return ""
    # a letter at a time: a thousand accents on one letter would take a million steps
    apart = unicodedata.normalize("NFD", _FOLD.get(ord(letter), letter))
    return "".join(part for part in apart if unicodedata.category(part) not in ("Mn", "Me"))


def turned(text: str) -> str:
    """The lines of `text` that are written backwards, turned."""
    lowered = text.lower()
    if len(BACKWARDS.intersection(_LETTERS.findall(lowered))) < _TURNED:
        return ""
    return "\n".join(line[::-1] for line in text.splitlines() if _is_backwards(line.lower()))


def _is_backwards(line: str) -> bool:
    words = _LETTERS.findall(line)
    backwards = sum(word in BACKWARDS for word in words)
    return backwards >= GAINED and backwards > sum(word in WORDS for word in words)


def _letters(match: re.Match[str]) -> str:
    # what ends a sentence ends no word
    word = match[0].lower().rstrip("!")
    ending = match[0][len(word) :]
    if word.isalpha():
        return match[0]
    first = word.translate(_LEET_I)
    # a one stands for an `l` as often as for an `i`
    if "1" in word and not words_of(first):
        second = word.translate(_LEET)
        if words_of(second):
            return second + ending
    return first + ending


def _joined(match: re.Match[str]) -> str:
    run = _BETWEEN.sub("", match[0])
    # a sign between the letters spells one word; a space, or a long run, may hold several
    return run if not match[1].isspace() and len(run) <= _WORD else split(run.lower())
