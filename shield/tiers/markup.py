"""What a text reads like where it is written in something: HTML, Markdown marks, escapes of JSON, code and HTML.

A page has two readings: what a browser shows of it, and all of its words in their order, those of comments and
attributes among them. A classifier reads these better than the page's source, of which nothing else is left out.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.tiers.words import WORDS

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
_EMPHASIS = re.compile(
    r"[*`~]{1,3}(?=\w)|(?<=\w)[*`~]{1,3}|(?<![^\W_])_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?![^\W_])|==(?=\w)|(?<=\w)=="
)
TAG = re.compile(r"</?([A-Za-z][\w-]*(?:[:.][A-Za-z][\w-]*)*)(?:[\s/][^<>]*)?>", re.ASCII)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_SIGNS = re.compile(rf"{TAG.pattern}|<!--|-->|{_CDATA.pattern}", re.ASCII)
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
_COMPOUND = re.compile(r"(?:data|aria|on|v|ng|xml|xlink|xmlns|og|hx|x)(?=[-:@.])|on[a-z]+$|[@:.#*]")
_WORDY = 4  # words in one name from which on it says something
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>=]+))?""")
_WRITTEN = MappingProxyType({"n": "\n", "r": "\r", "t": "\t"})
_ESCAPE = re.compile(
    r"\\(?:u\{?[0-9a-fA-F]{4,6}\}?|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|[nrt\"'/\\])"
    r"|&(?:#x?[0-9a-fA-F]{1,6};?|[A-Za-z][A-Za-z0-9]{1,30};)"
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
    `parts` are where in the page, and how long, each part that was kept is."""

    text: str
    tags: int
    parts: tuple[tuple[int, int], ...]

    @property
    def origins(self) -> tuple[int, ...]:
        """Where in the page each letter of `text`, or what it stands for, is."""
        return tuple(place for start, length in self.parts for place in range(start, start + length))


def source(text: str) -> Source:
    """What only looks like a tag stays as it is."""
    kept, parts = [], []
    tags = 0
    for origin, part, tag in _parts(text) if "<" in text else ((0, text, False),):
        tags += tag
        kept.append(part)
        parts.append((origin, len(part)))
    return Source(text="".join(kept), tags=tags, parts=tuple(parts))


def _parts(text: str) -> Iterator[tuple[int, str, bool]]:
    """What is kept, with its place, and whether it stands for the signs of a tag or comment."""
    at = 0
    for match in _SIGNS.finditer(text):
        name = match[1]
        if name is not None and name.lower() not in _LINES and name.lower() not in _INLINE:
            continue
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
            elif spelled and said[: len(_DATA)].lower() == _DATA:
                yield kept.start() + len(_DATA) - 1, f" {said[len(_DATA) :]} ", False
            if value is not None:
                quoted = value[0] in "\"'"
                yield kept.start(2) + quoted - 1, f" {value[quoted : len(value) - quoted]} ", False
    yield at, text[at:], False


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
    words = len(re.findall(r"[^\W_]+", lowered))
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
    return TAG.sub(shown, made), tags + sections


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
