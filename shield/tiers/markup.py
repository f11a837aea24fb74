"""What a text reads like where it is written in something: HTML, Markdown marks, escapes of JSON, code and HTML.

A page has two readings: what a browser shows of it, and all of its words in their order, those of comments and
attributes among them. A classifier reads these better than the page's source, of which nothing else is left out.
"""

import html
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.regex import regex
from shield.tiers.words import LINKS, WORDS

__all__ = ["PAGE", "TAG", "Source", "source", "unescaped", "unmarked"]

PAGE: Final = 4  # tags from which on a text is written in them
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
# words that are set off one by one, or letters within them, as Markdown writes it; also parts of words from their
# beginning, behind which they go on
_SET_OFF = re2.compile(
    r"(?:(?:[*_~`]{1,3}|==)[\w'\x{2019}-]+(?:[*_~`]{1,3}|==)[,.;:!?]?\s+){4}|(?:\w\*{1,3}[^*\n]{0,40}){6}"
    r"|(?:(?:\*{1,3}|__|~~|==)[^\W_]{1,6}(?:\*{1,3}|__|~~|==)){4}"
    r"|(?:(?:^|[\s(\"'])(?:\*{1,3}|__|~~|==|`)[^\W_]{1,12}(?:\*{1,3}|__|~~|==|`)[^\W_](?:[^*\n]{0,30}[^*\s(\"'])?){4}"
)
_EMPHASIS = regex(
    r"[*`~]{1,3}(?=\w)|(?<=\w)[*`~]{1,3}|(?<![^\W_])_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?![^\W_])|==(?=\w)|(?<=\w)=="
)
TAG = regex(r"</?([A-Za-z][\w-]*(?:[:.][A-Za-z][\w-]*)*)(?:[\s/][^<>]*)?>", re.ASCII)
# what is neither tag nor comment, and shown as nothing (HTML Standard, section 13.2.5.41, bogus comments)
_BOGUS = regex(r"(?<=[^\W_])<(?:![^<>]*|/(?:[^A-Za-z<>][^<>]*)?)>(?=[^\W_])")
_CDATA = regex(r"<!\[CDATA\[|\]\]>")
_SIGNS = regex(rf"{TAG.pattern}|<!--|-->|{_CDATA.pattern}", re.ASCII)
# Attribute names that say nothing; what others could spell is kept, and so is every value (HTML Standard, attributes).
_ATTRIBUTES = frozenset(
    """
    accept action align alt autocomplete autofocus bgcolor border cellpadding cellspacing charset checked class
    clip-rule color cols colspan content controls coords crossorigin d data datetime decoding defer dir disabled
    download draggable enctype fetchpriority fill fill-rule focusable for form frameborder headers height hidden href
    hreflang http-equiv id integrity ismap itemid itemprop itemref itemscope itemtype label lang loading loop max
    maxlength media method min multiple muted name nonce novalidate open pattern placeholder points preload property
    readonly referrerpolicy rel required reversed role rows rowspan sandbox scope scrolling selected shape size sizes
    span spellcheck src srcdoc srcset start step stroke stroke-linecap stroke-linejoin stroke-width style summary
    tabindex target title transform translate type usemap valign value version viewbox width wrap x x1 x2 xmlns y y1 y2
    """.split()  # noqa: SIM905
)
# of those, the ones that mean something without a value (boolean attributes)
_ALONE = frozenset(
    """
    autofocus autoplay checked controls defer disabled download hidden ismap itemscope loop multiple muted novalidate
    open readonly required reversed selected
    """.split()  # noqa: SIM905
)
_DATA = "data-"
_DATA_WORDS = 3  # of WORDS that names in one tag spell behind `data-`
_ROW = 8  # words of names in a row, of which
_SPOKEN = 5  # different ones of WORDS and LINKS are said; of 2,400 pages of documentation none has more than two
_OFTEN = 4  # times that a word may be said in few names; in many, one of `_ROW` of them
_PREFIX = regex(r"(?:data|aria|on|v|ng|xml|xlink|xmlns|og|hx|x)[-:@.]|[@:.#*]")
_COMPOUND = regex(rf"{_PREFIX.pattern}|on[a-z]+$")
_WORDY = 4  # words in one name from which on it says something
_PART = regex(r"[^\W_]+")
_SAYING = WORDS | LINKS
_ATTRIBUTE = regex(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>=]+))?""")
_WRITTEN = MappingProxyType({"n": "\n", "r": "\r", "t": "\t"})
_ESCAPE = regex(
    r"\\(?:u\{?[0-9a-fA-F]{4,6}\}?|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|[nrt\"'/\\])"
    r"|&(?:#x?0*[0-9a-fA-F]{1,6};?|[A-Za-z][A-Za-z0-9]{1,30};)"
)


def unmarked(text: str) -> tuple[str, int]:
    """`text` as a browser shows it: without comments and tags, elements that begin a line on lines of their own, words
    that are set off one by one as the others; and how many there were. What only looks like a tag stays."""
    made, tags = _untagged(text) if "<" in text else (text, 0)
    if _SET_OFF.search(made):
        made, marks = _EMPHASIS.subn("", made)
        tags += marks
    return made, tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """All words of a page in their order, without the signs of its tags and comments; `tags` says how many there were.
    Words that names of attributes spell stand behind the others, too, where no values are between them. `parts` are
    where in the page, and how long, each part that was kept is."""

    text: str
    tags: int
    parts: tuple[tuple[int, int], ...]
    spelled: bool

    @property
    def page(self) -> bool:
        """Whether the text is written in tags, or what its tags say is a text."""
        return self.tags >= PAGE or self.spelled

    @property
    def origins(self) -> tuple[int, ...]:
        """Where in the page each letter of `text`, or what it stands for, is."""
        return tuple(place for start, length in self.parts for place in range(start, start + length))


def source(text: str) -> Source:
    """What only looks like a tag stays as it is."""
    kept, parts = [], []
    tags = 0
    spoken = _spoken(text) if "<" in text else []
    for origin, part, tag in _parts(text, {name.start for name in spoken}) if "<" in text else ((0, text, False),):
        tags += tag
        kept.append(part)
        parts.append((origin, len(part)))
    for name in spoken:
        kept.append(f" {name.word}")
        parts.append((name.place - 1, len(name.word) + 1))
    return Source(text="".join(kept), tags=tags, parts=tuple(parts), spelled=bool(spoken))


class _Name(NamedTuple):
    """A word of the name of an attribute: where that name begins, where the word does, and the word."""

    start: int
    place: int
    word: str


def _elements(text: str) -> Iterator[re.Match[str]]:
    """The signs of a page: its tags, as far as they are HTML's, its comments and sections."""
    for match in _SIGNS.finditer(text):
        name = match[1]
        if name is None or name.lower() in _LINES or name.lower() in _INLINE:
            yield match


def _parts(text: str, spoken: set[int]) -> Iterator[tuple[int, str, bool]]:
    """What is kept, with its place, and whether it stands for the signs of a tag or comment. `spoken`: where names are
    that spell words."""
    at = 0
    for match in _elements(text):
        name = match[1]
        yield at, text[at : match.start()], False
        at = match.end()
        if name is None:
            yield match.start(), "\n", match[0] == "<!--"
            continue
        yield match.start(), "\n" if name.lower() in _LINES else "", True
        attributes = list(_ATTRIBUTE.finditer(text, match.end(1), at - 1))
        spelled = _spelled(attributes)
        for kept in attributes:
            said, value = kept[1], kept[2]
            # INVARIANT: a name that is dropped has a value beside it: with nothing there it would be a word of its own
            if _says(said) or _is_word(said.lower(), value):
                yield kept.start() - 1, f" {said} ", False
            elif kept.start() in spoken or (spelled and said[: len(_DATA)].lower() == _DATA):
                begin = _begin(said)
                yield kept.start() + begin - 1, f" {said[begin:]} ", False
            if value is not None:
                quoted = value[0] in "\"'"
                yield kept.start(2) + quoted - 1, f" {value[quoted : len(value) - quoted]} ", False
    yield at, text[at:], False


def _spoken(text: str) -> list[_Name]:
    """Names of attributes that spell words one after the other, by themselves or over many tags. HTML's own are passed
    over, and so is what stands between words again and again."""
    often = Counter(name.word.lower() for name in _names(text))
    if len(_SAYING.intersection(often)) < _SPOKEN:
        return []
    most = max(_OFTEN, often.total() // _ROW)
    row: deque[_Name] = deque(maxlen=_ROW)
    seen: set[tuple[str, ...]] = set()
    found: dict[int, _Name] = {}
    for name in _names(text):
        if often[name.word.lower()] > most:
            continue
        row.append(name)
        words = tuple(one.word.lower() for one in row)
        # a table says the same in each of its rows
        if words not in seen and len(_SAYING.intersection(words)) >= _SPOKEN:
            seen.add(words)
            found |= {one.place: one for one in row}
    return list(found.values())


def _names(text: str) -> Iterator[_Name]:
    """The words of the names of attributes that are none of HTML's."""
    for match in _elements(text):
        if match[1] is None:
            continue
        for kept in _ATTRIBUTE.finditer(text, match.end(1), match.end() - 1):
            if kept[1].lower() not in _ATTRIBUTES:
                for word in _PART.finditer(kept[1], _begin(kept[1])):
                    yield _Name(kept.start(), kept.start() + word.start(), word[0])


def _begin(name: str) -> int:
    """Where in a name what its author made up begins."""
    prefix = _PREFIX.match(name.lower())
    return prefix.end() if prefix is not None and prefix.end() < len(name) else 0


def _spelled(attributes: list[re.Match[str]]) -> bool:
    """Whether the names that a page's author made up are words of a text."""
    names = [kept[1].lower() for kept in attributes]
    return sum(name[len(_DATA) :] in WORDS for name in names if name.startswith(_DATA)) >= _DATA_WORDS


def _is_word(name: str, value: str | None) -> bool:
    """Whether there is nothing beside a name, for whose sake it would stand there."""
    if _COMPOUND.match(name):
        return (value or "").strip("\"'") == ""
    return value is None and name not in _ALONE


def _says(name: str) -> bool:
    lowered = name.lower()
    words = len(_PART.findall(lowered))
    return words >= _WORDY or not (lowered in _ATTRIBUTES or _COMPOUND.match(lowered))


def _untagged(text: str) -> tuple[str, int]:
    tags = 0

    def shown(match: re.Match[str]) -> str:
        nonlocal tags
        name = match[1].lower()
        # of an element that is none of HTML's a browser shows what is in it; that it is no type or placeholder shows
        # by its end, or by a word that goes on behind it
        tags += name in _LINES or name in _INLINE or match[0][1] == "/" or _goes_on(match)
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
    made, sections = _CDATA.subn("", "".join(kept))
    made, bogus = _BOGUS.subn("", made)
    return TAG.sub(shown, made), tags + sections + bogus


def _goes_on(match: re.Match[str]) -> bool:
    text, start, end = match.string, match.start(), match.end()
    return text[max(0, start - 1) : start].isalpha() and text[end : end + 1].isalpha()


def unescaped(text: str) -> tuple[str, int]:
    """`text` with the escapes of JSON, of code and of HTML undone once, and how many spell out what a letter could."""
    if "\\" not in text and "&" not in text:
        return text, 0
    spelled = 0

    def undo(match: re.Match[str]) -> str:
        nonlocal spelled
        sign = match[0]
        if sign[0] == "&":
            meant = html.unescape(sign)
            spelled += sign[1] == "#" or meant.isalnum() or unicodedata.category(meant[0]) == "Cf"
            return meant
        if len(sign) == 2:
            return _WRITTEN.get(sign[1], sign[1])
        number = int(sign[1:], 8) if sign[1].isdigit() else int(sign[2:].strip("{}"), 16)
        spelled += 1
        return chr(number) if number <= 0x10FFFF else ""

    made, count = _ESCAPE.subn(undo, text)
    if spelled:
        # two halves of a pair are one letter
        made = made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return made, max(spelled, 1) if count else 0
