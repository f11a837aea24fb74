"""Functions of GNU make that depend on their arguments alone ("Functions")."""

import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType

from shield.facts.programs.exposed import UNKNOWN

__all__ = ["FUNCTIONS", "arguments", "fits", "is_known", "patsubst", "plain", "with_stem"]


def is_known(text: str) -> bool:
    return UNKNOWN not in text and "\ue000" not in text


def fits(pattern: str, name: str) -> str | None:
    """The stem that `%` stands for; None where the name does not fit."""
    head, mark, tail = pattern.partition("%")
    if not mark:
        return "" if pattern == name else None
    long = len(name) >= len(head) + len(tail)
    return name[len(head) : len(name) - len(tail)] if long and name.startswith(head) and name.endswith(tail) else None


def with_stem(pattern: str, stem: str) -> str:
    return pattern.replace("%", stem, 1)


def plain(name: str, given: list[str], base: str | None) -> str:
    """What a function that depends on its arguments alone stands for."""
    last = given[-1] if given else ""
    words = last.split()
    if not is_known(last) and name in ("sort", "firstword", "lastword", "words", "word", "wordlist", "findstring"):
        return UNKNOWN if name in ("words", "findstring") else last if len(words) < 2 else " ".join(words)
    if name in _TELLING and not is_known(" ".join(given[:-1])):
        return UNKNOWN if last else ""
    match name:
        case "subst" if len(given) == 3 and not is_known(last):
            return UNKNOWN  # the number that stands for what a command printed is no text
        case "subst" if len(given) == 3:
            return last.replace(given[0], given[1]) if given[0] else last + given[1]
        case "patsubst" if len(given) == 3:
            return patsubst(given[0].strip(), given[1], last)
        case "filter" | "filter-out":
            kinds = given[0].split()
            keeps = name == "filter"
            return " ".join(
                word for word in words
                if not is_known(word + given[0]) or any(fits(kind, word) is not None for kind in kinds) is keeps
            )  # fmt: skip
        case "findstring":
            return given[0] if given[0] in last else ""
        case "addprefix" | "addsuffix":
            return " ".join(given[0] + word if name == "addprefix" else word + given[0] for word in words)
        case "join" if len(given) == 2:
            first = given[0].split()
            longest = max(len(first), len(words))
            return " ".join("".join((*first[at : at + 1], *words[at : at + 1])) for at in range(longest))
        case "word" | "wordlist":
            return _numbered(given)
        case "abspath" | "realpath":
            return " ".join(
                posixpath.normpath(posixpath.join(base, word)) if base and is_known(word) else word for word in words
            )
    each = _EACH.get(name)
    if each is not None:
        return " ".join(part for part in (each(word) if is_known(word) else UNKNOWN for word in words) if part)
    whole = _WHOLE.get(name)
    return whole(words) if whole is not None else UNKNOWN


def patsubst(before: str, after: str, text: str) -> str:
    """Every word with what stands for `%` in its place."""
    out: list[str] = []
    for word in text.split():
        if not is_known(word):
            stem = UNKNOWN if "\ue000" in word else word
            out.append(with_stem(after, stem) if before.startswith("%") else UNKNOWN)
            continue
        stem_ = fits(before, word)
        out.append(word if stem_ is None else with_stem(after, stem_))
    return " ".join(out)


def arguments(text: str, limit: int) -> list[str]:
    """The arguments of a function, apart by commas that stand in no brackets; the last one takes what is left."""
    parts: list[str] = []
    depth = start = 0
    for at, mark in enumerate(text):
        if mark in "({":
            depth += 1
        elif mark in ")}":
            depth -= 1
        elif mark == "," and depth == 0 and len(parts) + 1 != limit:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _numbered(given: list[str]) -> str:
    numbers = [each.strip() for each in given[:-1]]
    if not all(number.isdecimal() for number in numbers):
        return given[-1] if given else ""
    start = int(numbers[0])
    end = int(numbers[1]) if len(numbers) > 1 else start
    return " ".join(given[-1].split()[max(start - 1, 0) : end])


def _suffix(word: str) -> str:
    _, dot, end = word.rpartition(".")
    return dot + end if dot and "/" not in end else ""


def _directory(word: str) -> str:
    return word[: word.rindex("/") + 1] if "/" in word else "./"


_EACH: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "dir": _directory,
        "notdir": lambda word: word.rpartition("/")[2],
        "basename": lambda word: word[: len(word) - len(_suffix(word))],
        "suffix": _suffix,
    }
)
_WHOLE: Mapping[str, Callable[[list[str]], str]] = MappingProxyType(
    {
        "strip": " ".join,
        "sort": lambda words: " ".join(sorted(dict.fromkeys(words))),
        "words": lambda words: str(len(words)),
        "firstword": lambda words: "".join(words[:1]),
        "lastword": lambda words: "".join(words[-1:]),
    }
)
# What they answer depends on the arguments before the last one, which is not always a part of it.
_TELLING = frozenset(("filter", "filter-out", "findstring", "subst", "word", "wordlist"))
_ONE = """
strip sort words firstword lastword dir notdir suffix basename wildcard realpath abspath shell eval value origin flavor
error warning info guile
"""
# How many arguments each takes; 0: any number.
FUNCTIONS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("subst", "patsubst", "foreach", "let", "if", "wordlist"), 3)
    | dict.fromkeys(("findstring", "filter", "filter-out", "word", "addprefix", "addsuffix", "join", "file"), 2)
    | dict.fromkeys(("call", "or", "and"), 0)
    | dict.fromkeys(
        _ONE.split(), 1
    )
)  # fmt: skip
