"""Words that are cut in pieces and put together again: by marks within them, between strings, over lines, in humps."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import commonprefix

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.regex import regex
from shield.tiers.words import GAINED, LINKS, WORDS, gained

__all__ = ["humps", "is_said", "lines", "parted", "spaced", "together", "uncut"]

# What is shown as nothing, or as a mark, where it stands between two letters: an empty link or group, a place to part a
# word, a comment, a pair of BBCode, a processing instruction, a colour as programs write it, a dot of a dictionary.
_MARK = (
    r"(?:\[\]\([^()\s]{0,40}\)|\{\}|\{\{[^{}\n]{0,12}\}\}|\\-|/\*[^*\n]{0,20}\*/|\[/?[A-Za-z]{1,8}\]"
    r"|<\?[^<>\n]{0,20}\?>|\\(?:e|033|x1b)\[[0-9;]{0,8}m|\|)"
)
_MARKED = re2.compile(rf"[A-Za-z](?:{_MARK}|[\\·‧]){{1,4}}[A-Za-z]")
# a backslash before some letters begins a line, or moves on in it
_MARKS = regex(rf"(?<=[A-Za-z])(?:{_MARK}|\\(?![nrt])|[·‧]){{1,4}}(?=[A-Za-z])")
# as programs write them, where nothing is left of their escape but a picture; a range of time ends in a bracket
_COLOUR = regex(r"(?:(?:\\(?:e|033|x1b)|\^\[|\u241b)\[[0-9;]{0,12}|\[[0-9;]{1,12})m(?!\])")
_COLOURED = re2.compile(r"(?:\[[0-9;]{0,12}m[^\n\[]{0,40}\[?){4}")
# letters in brackets that go on behind them, as a link or not
_BRACKETED = re2.compile(r"[(\[{][A-Za-z]{1,6}[)\]}](?:\([^()\s]{0,40}\))?[A-Za-z]")
_BRACKETS = regex(r"[(\[{]([A-Za-z]{1,6})[)\]}](?:\([^()\s]{0,40}\))?(?=[A-Za-z])")
# Strings of a few letters beside each other: as JSON, C and Python have them, and as a page's description does, where
# a number between two says how far they stand apart (ISO 32000-1, section 9.4.3).
_BESIDE = r"[\s,+.&\\]{0,40}"
_APART = r"(?:[\s\d.,-]{0,24}|\s{0,3}(?:show|Tj)\s{0,3})"
_STRINGS = re2.compile(
    rf"""(?:"[^"\n]{{1,8}}"{_BESIDE}){{4}}|(?:'[^'\n]{{1,8}}'{_BESIDE}){{4}}|(?:\([^()\n]{{1,8}}\){_APART}){{4}}"""
)
_SEAM = regex(rf"""(["']){_BESIDE}\1|\){_APART}\(""")
# Letters with the same signs between them, which may have blanks among themselves.
_SIGN = r"(?:[^\w\s]|_)(?:(?:[^\w\n]|_){0,10}(?:[^\w\s]|_))?"
_CHAIN = regex(rf"(?<![A-Za-z])([A-Za-z]++({_SIGN})[A-Za-z]++(?:\2[A-Za-z]++)*+)")
_SHORTENED = frozenset(("d", "ll", "m", "re", "s", "t", "ve"))  # words behind an apostrophe
_INFIXED = 3  # different words that must come of it where a sign is left out
# CamelCase of five words or more; in code there are names of as many, but few of words like these
_CAMEL = re2.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]*){4,}")
_HUMP = regex(r"[A-Z]?[a-z]+|[A-Z]")
_HUMPS = 5
# Where the words of a name are joined. Of 1,800 names of functions and files with four common words or more the
# classifier takes 24 for more than names where they are prose, and two in a name's place; of ten orders all.
_NAME = regex(r"[\w./:@~+-]+")
_JOINED = regex(r"(?<=[^\W_])[._-]+(?=[^\W_])")
_JOINT = regex(rf"{_JOINED.pattern}|(?<=[a-z])(?=[A-Z])")
_PART = regex(r"[^\W\d_]{2,}")
_COMMON = WORDS | LINKS
_FEW = 3  # strings that blanks part: more of them are a text as they stand
_FOLDERS = 60  # of a path that may each be a sentence
_PLAIN = 4  # common words, different ones
_LONG = 7  # words of any language

_LEAST_LINES = 4
_MAX_LINE = 160  # signs of a line that are looked at
_DIGITS = regex(r"[0-9]+")
_LETTERED = 0.75  # words of letters alone; of code and markup it is half of them
_SIGNS = ".,;:!?()[]{}<>*_|/\"'`"  # at the ends of a word
_MAX_WORDS = 3  # to a line: with more of them a reader needs no others to see what is said
_LEAST_LINKS = 3  # different ones
_LINKED = 5  # words, of which one links others; of English prose it is two of five


def together(text: str) -> str:
    """`text` with its words put together where marks, brackets or the seams of strings cut them; as it is where that
    gains no words."""
    for there, undo in _CUTS:
        if there.search(text):
            made = undo(text)
            # different ones: what a text says over and over in brackets is how it is written there
            if len(gained(made, text)) >= GAINED:
                text = made
    return text


_CUTS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (_COLOURED, lambda text: _COLOUR.sub("", text)),
    (_STRINGS, lambda text: _SEAM.sub("", text)),
    (_MARKED, lambda text: _MARKS.sub("", text)),
    (_BRACKETED, lambda text: _BRACKETS.sub(r"\1", text)),
)


def uncut(text: str) -> str:
    """`text` without the signs that stand within words more often than between them."""
    made: dict[str, set[str]] = {}
    often: Counter[str] = Counter()
    # code says the same over and over
    chains = Counter(_CHAIN.findall(text))
    for (chain, sign), times in chains.items():
        word = chain.replace(sign, "").lower()
        # letters one by one are spelled, and have their signs between words as well
        if word in WORDS and chain.count(sign) < len(word) - 1 and chain.rpartition(sign)[2] not in _SHORTENED:
            made.setdefault(sign, set()).add(word)
            often[sign] += times
    for (chain, sign), times in chains.items() if made else ():
        if sign in made:
            often[sign] -= times * sum(part in WORDS for part in chain.lower().split(sign))
    signs = [sign for sign, words in made.items() if len(words) >= _INFIXED and often[sign] > 0]
    if not signs:
        return text
    longest_first = "|".join(map(re.escape, sorted(signs, key=len, reverse=True)))
    return re.sub(rf"(?<=[A-Za-z])(?:{longest_first})(?=[A-Za-z])", "", text)


def humps(text: str) -> str:
    """The names of `text` in CamelCase that are a sentence, with blanks between their words, a line each."""
    found = dict.fromkeys(match[0] for match in _CAMEL.finditer(text))
    parted = (_HUMP.findall(name) for name in found)
    return "\n".join(" ".join(words) for words in parted if sum(word.lower() in WORDS for word in words) >= _HUMPS)


def parted(text: str) -> str:
    """A name, or a few, with blanks between its words, where they are a sentence; "" where they are none. What parts
    folders parts sentences."""
    names = text.split(None, _FEW)
    if len(names) > _FEW or not all(map(_NAME.fullmatch, names)):
        return ""
    alone = [part for name in names for part in name.split("/", _FOLDERS)]
    # of several names each in CamelCase is one, and no part of a sentence
    found = any(map(_is_sentence, alone)) or (len(names) > 1 and is_said(_JOINED.sub(" ", text)))
    said = spaced(text)
    return said if found and said != text else ""


def _is_sentence(name: str) -> bool:
    long = len(_PART.findall(spaced(name))) >= _LONG
    return long or is_said(_JOINED.sub(" ", name)) or humps(name) != ""


def spaced(name: str) -> str:
    """`name` with blanks where its words are joined."""
    return _JOINT.sub(" ", name)


def is_said(words: str) -> bool:
    """Whether so many of the words are common ones that they may be a sentence."""
    return len(_COMMON.intersection(_PART.findall(words.lower()))) >= _PLAIN


def lines(text: str) -> str:
    """What stands on lines of a few words each behind what all of them begin with, and before what all end with, digits
    taken for alike: joined by blanks, where it reads as sentences."""
    if text.count("\n") < _LEAST_LINES - 1:
        return ""
    return "\n".join(said for said in map(_said, _alike(text)) if said)


@dataclass(slots=True)
class _Group:
    """Lines in a row that begin with `begin`, or have `counted` lines of no letter, but digits, between them."""

    begin: str
    lines: list[str]
    counted: int = 0


def _alike(text: str) -> Iterator[_Group]:
    group = _Group("", [])
    for line in _DIGITS.sub("0", text).splitlines():
        shape = " ".join(line[:_MAX_LINE].split())
        if shape.lower() == shape.upper():  # without a letter
            group.counted += "0" in shape
            continue
        begin = _begin(group.lines[-1], shape) if group.lines else ""
        if len(group.lines) == 1:
            group.begin = begin
        # of two lines the first may be one that happens to begin as the others do, a heading of theirs
        new = len(begin) > len(group.begin) and (len(group.lines) == 2 or not group.begin)
        if new or not begin.startswith(group.begin):
            yield group
            group = _Group(begin, group.lines[-1:] if begin else [])
        group.lines.append(shape)
    yield group


def _begin(one: str, other: str) -> str:
    """What both begin with, up to where a word may begin."""
    if one[:1] != other[:1]:
        return ""
    begin = commonprefix((one, other))  # noqa: RUF071  # of letters, not of parts of a path
    while begin[-1:].isalpha():
        begin = begin[:-1]
    return begin


def _said(group: _Group) -> str:
    if len(group.lines) < _LEAST_LINES or not (group.begin or group.counted >= _LEAST_LINES):
        return ""
    rest = [line[len(group.begin) :] for line in group.lines]
    backwards = [line[::-1] for line in rest]
    # what the first and the last of them in their order begin with, all do
    end = _begin(min(backwards), max(backwards))[::-1]
    said = [line.removesuffix(end).strip() for line in rest]
    words = [word.strip(_SIGNS).lower() for line in said for word in line.split()]
    links = [word for word in words if word in LINKS]
    few = len(words) <= _MAX_WORDS * len(said) and sum(map(str.isalpha, words)) >= _LETTERED * len(words)
    linked = len(links) * _LINKED >= len(words) and len(set(links)) >= _LEAST_LINKS
    return " ".join(said) if few and linked else ""
