# ruff: noqa: RUF001  # the table is of letters that look like others
"""A text as it stands, as a reader sees it, and as it would read without a disguise: the views that tier 1 judges.

What is encoded is decoded by `shield.facts.text`; here look-alike letters, digits for letters and letters written one
by one are put back. A view that gains no words is not kept, so that ordinary text is read once.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from shield.facts.text import layers, plain
from shield.tiers.words import BACKWARDS, WORDS, split, words_of

__all__ = ["RAW", "VISIBLE", "View", "views"]

RAW = "raw"
VISIBLE = "visible"
_MAX_VIEWS = 24
_MAX_FOLDED = 1 << 18  # code points; what is longer is not read as a whole by the classifier either
_MAX_MOVED = 1 << 16  # code points of a text whose offsets are followed through what a reader does not see
_GAINED = 2  # words that a view must have over the text it was made of
_TURNED = 3  # different words that stand backwards in a text with lines to be turned
_MAX_RUNS = 200
_WORD = 14  # letters
_ESCAPED = 4  # escapes from which on a text is written in them

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
    | _BOXES
)
_LEET = str.maketrans("013457@$!", "oleastasi")
_LEET_I = str.maketrans("013457@$!", "oieastasi")
_DIGITS = re.compile(r"[A-Za-z0134578@$!]+")
_LEET_SIGN = re.compile(r"[0134578@$!][A-Za-z]|[A-Za-z][0134578@$!]")
_SPELLED = re.compile(r"(?<![^\W_])[^\W_](?:([ ._*|/~-])[^\W_])(?:\1[^\W_]){1,400}(?![^\W_])")
_RUN_ON = re.compile(r"[a-z]{20,400}|[A-Z]{20,400}")  # words without a gap; not CamelCase, which code is full of
_ESCAPE = re.compile(r"\\(?:u\{?[0-9a-fA-F]{4,6}\}?|x[0-9a-fA-F]{2}|[nrt\"'/])|&(?:#x?[0-9a-fA-F]{1,6};?|[a-z]{2,8};)")
# a word that nothing stands beside which could be a part of it: folding changes none of these, so none can be lost
_WHOLE_WORD = re.compile(r"(?<![\w@$!\u0300-\u036f])[a-z]{3,}(?![\w@$\u0300-\u036f])")
_LETTERS = re.compile(r"[a-z]{3,}")
_WRITTEN = MappingProxyType({"n": "\n", "r": "\r", "t": "\t"})


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One reading of a text. `layer` says how it was reached: `raw` is the text itself, `visible` what a reader sees,
    else the encodings and `folded` or `escapes`, joined by `+`. `read`: worth the classifier's time."""

    layer: str
    text: str
    read: bool = True

    def span(self, whole: str, start: int, end: int) -> tuple[int, int]:
        """Where `start` to `end` of this view stand in the text it is a view of, in code points of that text; the
        whole of it where that cannot be said."""
        if self.layer == RAW:
            return start, end
        if self.layer == VISIBLE and len(whole) <= _MAX_MOVED:
            origins = [place for place, letter in enumerate(whole) for _ in plain(letter)]
            if len(origins) == len(self.text) and start < end:
                return origins[start], origins[end - 1] + 1
        return 0, len(whole)


def views(text: str) -> tuple[tuple[View, ...], bool]:
    """The views of `text`, itself first, none twice; and whether all of it was looked at."""
    decoded, whole = layers(text, role="", where="")
    found: dict[str, View] = {text: View(layer=RAW, text=text, read=decoded[0].text == text)}
    for fact in decoded:
        layer = VISIBLE if fact.layer == RAW else fact.layer
        found.setdefault(fact.text, View(layer=layer, text=fact.text))
    for view in tuple(found.values())[1 if decoded[0].text != text else 0 :]:
        for name, made, read in _undone(view.text):
            if made not in found:
                layer = name if view.layer in (RAW, VISIBLE) else f"{view.layer}+{name}"
                found[made] = View(layer=layer, text=made, read=read)
    kept = tuple(found.values())
    return kept[:_MAX_VIEWS], whole and len(kept) <= _MAX_VIEWS


def _undone(text: str) -> Iterator[tuple[str, str, bool]]:
    """Readings of `text` without a disguise: name, text, worth reading."""
    written, escapes = _unescaped(text)
    if escapes:
        yield "escapes", written, escapes >= _ESCAPED
        yield "escapes", plain(written), escapes >= _ESCAPED
    folded = _folded(plain(written[:_MAX_FOLDED]))
    if folded is not None:
        yield "folded", folded, True
    turned = _turned(written[:_MAX_FOLDED])
    if turned:
        yield "turned", turned, True


def _unescaped(text: str) -> tuple[str, int]:
    """`text` with the escapes of JSON, of code and of HTML undone once, and how many spell out what a letter could."""
    if "\\" not in text and "&" not in text:
        return text, 0
    spelled = 0

    def undo(match: re.Match[str]) -> str:
        nonlocal spelled
        sign = match[0]
        if sign[0] == "&":
            spelled += sign[1] == "#"
            return html.unescape(sign)
        if len(sign) == 2:
            return _WRITTEN.get(sign[1], sign[1])
        number = int(sign[2:].strip("{}"), 16)
        spelled += 1
        return chr(number) if number <= 0x10FFFF else ""

    made, count = _ESCAPE.subn(undo, text)
    if spelled:
        # two halves of a pair are one letter
        made = made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return made, max(spelled, 1) if count else 0


def _folded(text: str) -> str | None:
    """`text` with look-alikes, accents, digits for letters and spelled words undone; None where that gains no words."""
    made = text
    if not made.isascii():
        made = made.translate({ord(letter): _bare(letter) for letter in set(made) if not letter.isascii()})
    if _LEET_SIGN.search(made):
        made = _DIGITS.sub(_letters, made)
    made = _SPELLED.sub(_joined, made)
    made = _RUN_ON.sub(lambda run: split(run[0].lower()), made, count=_MAX_RUNS)
    if made == text:
        return None
    # INVARIANT: counted, not collected: the same words in plain sight elsewhere do not hide those that were found
    gained = _whole_words(made) - _whole_words(text)
    return made if gained.total() >= _GAINED else None


def _bare(letter: str) -> str:
    """`letter` as the Latin one that it looks like, without its accents."""
    # a letter at a time: a thousand accents on one letter would take a million steps
    apart = unicodedata.normalize("NFD", _FOLD.get(ord(letter), letter))
    return "".join(part for part in apart if unicodedata.category(part) not in ("Mn", "Me"))


def _whole_words(text: str) -> Counter[str]:
    return Counter(word for word in _WHOLE_WORD.findall(text.lower()) if word in WORDS)


def _turned(text: str) -> str:
    """The lines of `text` that are written backwards, turned."""
    lowered = text.lower()
    if len(BACKWARDS.intersection(_LETTERS.findall(lowered))) < _TURNED:
        return ""
    return "\n".join(line[::-1] for line in text.splitlines() if _is_backwards(line.lower()))


def _is_backwards(line: str) -> bool:
    words = _LETTERS.findall(line)
    backwards = sum(word in BACKWARDS for word in words)
    return backwards >= _GAINED and backwards > sum(word in WORDS for word in words)


def _letters(match: re.Match[str]) -> str:
    # what ends a sentence ends no word
    word = match[0].lower().rstrip("!")
    ending = match[0][len(word) :]
    if not any("a" <= letter <= "z" for letter in word):
        return match[0]
    # a one stands for an `l` as often as for an `i`
    first = word.translate(_LEET_I)
    second = word.translate(_LEET)
    return (second if words_of(second) and not words_of(first) else first) + ending


def _joined(match: re.Match[str]) -> str:
    run = match[0][::2]
    # a sign between the letters spells one word; a space, or a long run, may hold several
    return run if match[1] != " " and len(run) <= _WORD else split(run.lower())
