# ruff: noqa: RUF001  # the table is of letters that look like others
"""A text as it stands, as a reader sees it, and as it would read without a disguise: the views that tier 1 judges.

What is encoded is decoded by `shield.facts.text`; here look-alike letters, digits for letters and letters written one
by one are put back. A view that gains no words is not kept, so that ordinary text is read once.
"""

import html
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from types import MappingProxyType

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.text import layers, plain
from shield.tiers.words import BACKWARDS, WORDS, split, words_of

__all__ = ["RAW", "VISIBLE", "View", "views"]

RAW = "raw"
VISIBLE = "visible"
ESCAPES = "escapes"
MARKUP = "markup"
_MAX_VIEWS = 24
_MAX_FOLDED = 1 << 18  # code points of a view that are looked at for a disguise
_MAX_MOVED = 1 << 16  # code points of a text whose offsets are followed through what a reader does not see
_GAINED = 2  # words that a view must have over the text it was made of
_TURNED = 3  # different words that stand backwards in a text with lines to be turned
_MAX_RUNS = 80_000  # letters of words without a gap that are cut into words
_MAX_ROUNDS = 3  # of undoing, each on what the one before it made
_MAX_ESCAPED = 12  # escapes within escapes
_MAX_LOOKED = 1 << 20  # code points of all views that are looked at for another
_WORD = 14  # letters
_ESCAPED = 4  # escapes, or tags, from which on a text is written in them

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
_ESCAPE = re.compile(
    r"\\(?:u\{?[0-9a-fA-F]{4,6}\}?|x[0-9a-fA-F]{2}|[nrt\"'/\\])|&(?:#x?[0-9a-fA-F]{1,6};?|[a-z]{2,8};)"
)
# a word that nothing stands beside which could be a part of it: folding changes none of these, so none can be lost
_WHOLE_WORD = re.compile(r"(?<![\w@$!\u0300-\u036f])[a-z]{3,}(?![\w@$\u0300-\u036f])")
_LETTERS = re.compile(r"[a-z]{3,}")
# HTML's elements (HTML Standard, section 4) by what they do to the words around them: the first begin a new line
_LINES = frozenset(
    """
    address article aside blockquote body br button caption center dd details dialog div dl dt fieldset figcaption
    figure footer form frame h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main meta nav noscript ol
    optgroup option p pre script section select style summary table tbody td template textarea tfoot th thead title
    tr ul video
    """.split()  # noqa: SIM905
)
_INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q ruby s samp small
    span strike strong sub sup svg time tt u var wbr
    """.split()  # noqa: SIM905
)
# words that are set off one by one, or letters within them, as Markdown writes it
_SET_OFF = re2.compile(r"(?:[*_~`]{1,3}[\w'’-]+[*_~`]{1,3}[,.;:!?]?\s+){4}|(?:\w\*{1,3}[^*\n]{0,40}){6}")
_EMPHASIS = re.compile(r"[*`~]{1,3}(?=\w)|(?<=\w)[*`~]{1,3}|(?<![^\W_])_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?![^\W_])")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)(?:[\s/][^<>]*)?>")
_WRITTEN = MappingProxyType({"n": "\n", "r": "\r", "t": "\t"})


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One reading of a text. `layer` says how it was reached: `raw` is the text itself, `visible` what a reader sees,
    else the encodings and `folded`, `turned`, `escapes` or `markup`, joined by `+`. `read`: worth the classifier's
    time."""

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
    first, whole = layers(text, role="", where="")
    found: dict[str, View] = {text: View(layer=RAW, text=text, read=first[0].text == text)}
    pending = [(VISIBLE if fact.layer == RAW else fact.layer, fact.text, 0) for fact in first]
    looked: set[str] = set()
    followed = {text, *(fact.text for fact in first)}
    left = _MAX_LOOKED
    # INVARIANT: nothing is made of what is already `_MAX_ROUNDS` steps from a decoded text
    while pending and len(found) <= _MAX_VIEWS:
        layer, current, rounds = pending.pop(0)
        found.setdefault(current, View(layer=layer, text=current))
        left -= len(current)
        if left < 0:
            whole = False
            break
        made, complete = _undone(current, looked)
        whole = whole and complete
        if any(read and name == ESCAPES for name, _, read, _ in made) and found[current].layer.endswith(MARKUP):
            # a reader sees the one with its escapes undone, and nothing of this one is missing there
            found[current] = replace(found[current], read=False)
        for name, shown, read, more in made:
            at = name if layer in (RAW, VISIBLE) else f"{layer}+{name}"
            met = found.setdefault(shown, View(layer=at, text=shown, read=read))
            # INVARIANT: what is worth reading, or may hold more, counts as that however it was met before
            found[shown] = replace(met, read=met.read or read)
            if not more or shown in followed:
                continue
            followed.add(shown)
            if rounds == _MAX_ROUNDS:
                whole = False
                continue
            # what is encoded may be spelled in escapes or stand between tags
            again, complete = layers(shown, role="", where="")
            whole = whole and complete
            inner = [(at if fact.layer == RAW else f"{at}+{fact.layer}", fact.text, rounds + 1) for fact in again]
            pending += inner
    kept = tuple(found.values())
    return kept[:_MAX_VIEWS], whole and len(kept) <= _MAX_VIEWS and not pending


def _undone(text: str, looked: set[str]) -> tuple[list[tuple[str, str, bool, bool]], bool]:
    """Readings of `text` without a disguise: name, text, worth reading, whether there may be more behind it; and
    whether all of it was looked at. What is in `looked` was looked at for letters in disguise before."""
    made: list[tuple[str, str, bool, bool]] = []
    bare, tags = _unmarked(text)
    if tags:
        made.append((MARKUP, bare, tags >= _ESCAPED, True))
    written, escapes = _unescaped(text)
    if escapes:
        deepest, again, rounds = written, escapes, 1
        while again and rounds < _MAX_ESCAPED:
            deepest, again = _unescaped(deepest)
            escapes, rounds = max(escapes, again), rounds + 1
        read, shown = escapes >= _ESCAPED, plain(deepest)
        made += [(ESCAPES, other, False, False) for other in dict.fromkeys((written, deepest)) if other != shown]
        made.append((ESCAPES, shown, read, read or again > 0 or _TAG.search(shown) is not None))
        written = deepest
    if written in looked:
        return made, True
    looked.add(written)
    folded, whole = _folded(plain(written[:_MAX_FOLDED]))
    if folded is not None:
        made.append(("folded", folded, True, False))
    turned = _turned(written[:_MAX_FOLDED])
    if turned:
        made.append(("turned", turned, True, False))
    return made, whole and len(written) <= _MAX_FOLDED


def _unmarked(text: str) -> tuple[str, int]:
    """`text` as a browser shows it: without comments and tags, elements that begin a line on lines of their own, words
    that are set off one by one as the others; and how many there were. What only looks like a tag stays."""
    made, tags = _untagged(text) if "<" in text else (text, 0)
    if _SET_OFF.search(made):
        made, marks = _EMPHASIS.subn("", made)
        tags += marks
    return made, tags


def _untagged(text: str) -> tuple[str, int]:
    tags = 0

    def shown(match: re.Match[str]) -> str:
        nonlocal tags
        name = match[1].lower()
        if name not in _LINES and name not in _INLINE:
            return match[0]
        tags += 1
        return "\n" if name in _LINES else ""

    before, *behind = text.split("<!--")
    kept, inside = [before], False
    for part in behind:
        ended = part.partition("-->") if "-->" in part else None
        # a comment that nothing ends goes on to the end of the text, and one in a comment is a part of it
        inside = ended is None
        if ended is not None:
            tags += 1
            kept.append(ended[2])
    if inside:
        tags += 1
    return _TAG.sub(shown, "".join(kept)), tags


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


def _folded(text: str) -> tuple[str | None, bool]:
    """`text` with look-alikes, accents, digits for letters and spelled words undone, None where that gains no words;
    and whether all of it was looked at."""
    made = text
    if not made.isascii():
        made = made.translate({ord(letter): _bare(letter) for letter in set(made) if not letter.isascii()})
    if _LEET_SIGN.search(made):
        made = _DIGITS.sub(_letters, made)
    made = _SPELLED.sub(_joined, made)
    left = _MAX_RUNS

    def cut(run: re.Match[str]) -> str:
        nonlocal left
        left -= len(run[0])
        return run[0] if left < 0 else split(run[0].lower())

    made = _RUN_ON.sub(cut, made)
    if made == text:
        return None, left >= 0
    # INVARIANT: counted, not collected: the same words in plain sight elsewhere do not hide those that were found
    gained = _whole_words(made) - _whole_words(text)
    return made if gained.total() >= _GAINED else None, left >= 0


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
