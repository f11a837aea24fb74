"""What a text reads like where it is written in something: HTML, Markdown marks, escapes of JSON, code and HTML."""

import html
import re
from types import MappingProxyType

import re2  # type: ignore[import-untyped]  # the wheel ships no types

__all__ = ["TAG", "unescaped", "unmarked"]

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
_SET_OFF = re2.compile(r"(?:[*_~`]{1,3}[\w'\x{2019}-]+[*_~`]{1,3}[,.;:!?]?\s+){4}|(?:\w\*{1,3}[^*\n]{0,40}){6}")
_EMPHASIS = re.compile(r"[*`~]{1,3}(?=\w)|(?<=\w)[*`~]{1,3}|(?<![^\W_])_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?![^\W_])")
TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)(?:[\s/][^<>]*)?>")
_WRITTEN = MappingProxyType({"n": "\n", "r": "\r", "t": "\t"})
_ESCAPE = re.compile(
    r"\\(?:u\{?[0-9a-fA-F]{4,6}\}?|x[0-9a-fA-F]{2}|[nrt\"'/\\])|&(?:#x?[0-9a-fA-F]{1,6};?|[a-z]{2,8};)"
)


def unmarked(text: str) -> tuple[str, int]:
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
    return TAG.sub(shown, "".join(kept)), tags


def unescaped(text: str) -> tuple[str, int]:
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
