"""Text whose letters are moved on in the alphabet, or counted from its end; rot13 is told apart in `text`.

Everything here takes time in proportion to what it is given.
"""

from collections.abc import Iterable
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from types import MappingProxyType

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.text_words import COMMON, words_of

__all__ = ["shifted"]

_LEAST = 2  # different words, as for rot13; or three where none is longer than
_SHORTEST = 3  # letters


def _alphabets() -> Iterable[tuple[str, str]]:
    """The alphabets by their names, as they are written."""
    for places in range(1, len(ascii_lowercase)):
        if places != len(ascii_lowercase) // 2:
            yield f"rot{places}", ascii_lowercase[places:] + ascii_lowercase[:places]
    yield "atbash", ascii_lowercase[::-1]


_WRITTEN = MappingProxyType({name: str.maketrans(ascii_lowercase, letters) for name, letters in _alphabets()})
_MEANT = MappingProxyType(
    {
        name: str.maketrans(letters + letters.upper(), ascii_lowercase + ascii_uppercase)
        for name, letters in _alphabets()
    }
)
# Nearly any three letters are a common word in one of 25 alphabets: of words so short only the commonest count. With
# these, none of 9,829 ordinary texts (code, pages, logs, prose, tables) was taken for a shifted one.
_SHORT = frozenset(("the", "and", "you", "all", "for", "not", "are", "his", "her", "now", "out", "use"))
_TELLING = frozenset(word for word in COMMON if word in _SHORT or len(word) > 3)


def _names(words: Iterable[str]) -> MappingProxyType[str, tuple[str, ...]]:
    """The alphabets that each sign for one of `words` is written in; none for what is a common word itself."""
    found: dict[str, tuple[str, ...]] = {}
    for name, written in _WRITTEN.items():
        for word in words:
            found.setdefault(word.translate(written), ())
            found[word.translate(written)] += (name,)
    return MappingProxyType({word: names for word, names in found.items() if word not in COMMON})


_NAMES = _names(_TELLING)
# one of these stands in nearly any line of English
_FIRST = ("the", "and", "you", "your", "all", "this", "that", "with", "from", "send", "ignore", "instructions")
_ANY = re2.compile(rf"(?i)\b(?:{'|'.join(sorted(_names(_FIRST)))})\b")

_MAX_HITS = 64  # a step of RE2 from one to the next takes longer than to look at a line


def shifted(text: str) -> Iterable[tuple[str, str]]:
    """The alphabets that lines of `text` are written in, and what those lines say."""
    if not _ANY.search(text):
        return
    words = words_of(text)
    common = len(words & COMMON)
    turned = {name: len(hits) for name, hits in _by_name(words).items() if _shows(hits)}
    if not turned:
        return
    found: dict[str, list[str]] = {name: [] for name in turned}
    # as with rot13: lines may be too short to show it where the text does, or one of them stands among plain ones
    all_of_it = [name for name, count in turned.items() if count > common]
    for line in text.splitlines() if all_of_it else _telling_lines(text):
        words = words_of(line)
        common = len(words & COMMON)
        hits = _by_name(words)
        for name in all_of_it:
            if len(hits.get(name, ())) > common or not (name in hits or common):
                found[name].append(line)
        for name, turned_words in hits.items():
            if name in found and name not in all_of_it and _shows(turned_words) and len(turned_words) > common:
                found[name].append(line)
    for name, lines in found.items():
        if lines:
            yield name, "\n".join(lines).translate(_MEANT[name])


def _telling_lines(text: str) -> list[str]:
    """The lines that a word was found in; all of them where these are too many to go from one to the next."""
    hits = list(islice(_ANY.finditer(text), _MAX_HITS + 1))
    if len(hits) > _MAX_HITS:
        return text.splitlines()
    lines: dict[int, str] = {}
    for hit in hits:
        begin, end = text.rfind("\n", 0, hit.start()) + 1, text.find("\n", hit.end())
        lines[begin] = text[begin : end if end >= 0 else len(text)]
    return [line for piece in lines.values() for line in piece.splitlines()]


def _shows(words: list[str]) -> bool:
    return len(words) > _LEAST or (len(words) == _LEAST and max(map(len, words)) > _SHORTEST)


def _by_name(words: frozenset[str]) -> dict[str, list[str]]:
    """Those of `words` that are common ones in another alphabet, by its name."""
    found: dict[str, list[str]] = {}
    for word in words & _NAMES.keys():
        for name in _NAMES[word]:
            found.setdefault(name, []).append(word)
    return found
