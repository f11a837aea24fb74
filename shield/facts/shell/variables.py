"""What a variable of the shell may hold, as far as that is known."""

from enum import Enum
from typing import NamedTuple

from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import CONFINED_NAMES

__all__ = [
    "INTEGER",
    "OWN_VARIABLES",
    "Attribute",
    "Choice",
    "Content",
    "Fresh",
    "Hashes",
    "Keyed",
    "Listed",
    "Matching",
    "Number",
    "Secret",
    "Token",
    "is_natural",
    "known_texts",
    "united",
    "wider",
]

INTEGER = regex(r"-?[0-9]+\Z")
_MAX_CHOICES = 8

# Variables that bash or the executor sets: their value at any point of a line is not taken from the environment.
_OWN_VARIABLES_TEXT = """
_ IFS PWD OLDPWD SHLVL RANDOM SRANDOM SECONDS LINENO UID EUID PPID HOSTNAME HOSTTYPE MACHTYPE OSTYPE COLUMNS LINES
REPLY DIRSTACK PIPESTATUS FUNCNAME GROUPS SHELLOPTS BASHOPTS OPTIND OPTARG OPTERR EPOCHSECONDS EPOCHREALTIME PS4 PS1
PS2 PS3 BASH BASHPID COMP_WORDBREAKS HISTCMD MAPFILE COPROC
"""
OWN_VARIABLES = frozenset(_OWN_VARIABLES_TEXT.split()) | CONFINED_NAMES  # of a confined command only


class Number(NamedTuple):
    """An integer of unknown value. `natural`: zero or more. `several`: any number of them, apart by blanks. `maybe`: or
    the empty text, as what printed it may have failed. `row`: of several, which they are, in order, where that is known
    and they are few."""

    natural: bool = False
    several: bool = False
    maybe: bool = False
    row: tuple[str, ...] = ()


class Token(NamedTuple):
    """A text of which the `head` is known, and that it begins with no dash: the name of a commit. `blank`: it may hold
    blanks or what makes a pattern, so that it is one word only where it is quoted. `maybe`: or the empty text. `form`:
    the text with zeros for all digits that are not known, where nothing else of it is not; `bare`: the text without
    those, where that is more than `head`. `revision`: git printed it, for one of a repository."""

    head: str = ""
    blank: bool = False
    maybe: bool = False
    form: str = ""
    bare: str = ""
    revision: bool = False


class Hashes(NamedTuple):
    """Any number of names of commits, trees or files by their hashes, apart by newlines: each begins with no dash, and
    holds neither a blank nor what makes a pattern. `maybe`: or none, as what prints them may fail."""

    maybe: bool = True


class Fresh(NamedTuple):
    """The name of what the line makes anew, or of what lies beneath or beside it. `path`: as it is written, with
    letters of its own, `chance`, in place of those that are chosen by chance, so it equals no text. `lost`: the text
    that it is instead where nothing could be made, None where it surely was."""

    path: str
    chance: str
    lost: str | None = None


class Secret(NamedTuple):
    """What a variable holds that is a secret by its name, with more around it or not. `source`: `$NAME`, by which rules
    see it wherever it goes; the value is in no fact."""

    source: str


class Choice(NamedTuple):
    """One of these texts, two to eight."""

    texts: tuple[str, ...]


class Listed(NamedTuple):
    """An indexed array without gaps."""

    items: tuple[str, ...]


class Keyed(NamedTuple):
    """An associative array of unknown content: its subscripts are texts, not arithmetic."""


class Matching(NamedTuple):
    """One of the names that a pattern stood for, or a command printed, when the shell stood at `bases`. `tame`: it is
    one word without quotes, too."""

    value: Value
    bases: tuple[str | None, ...]
    tame: bool = False


class Attribute(Enum):
    INTEGER = "integer"  # what is assigned is evaluated as arithmetic
    CHANGED = "changed"  # what is assigned is not what is kept: other case


# What a variable holds; None is not known (that it is unset among the rest).
Content = str | Number | Token | Hashes | Fresh | Secret | Choice | Listed | Keyed | Matching | None


def known_texts(content: Content) -> tuple[str, ...] | None:
    """All that a content may be, where these are few known texts."""
    if isinstance(content, str):
        return (content,)
    return content.texts if isinstance(content, Choice) else None


def _number(content: Content) -> Number | None:
    if isinstance(content, Number):
        return content
    texts = known_texts(content)
    if texts is None or not all(INTEGER.match(text) for text in texts):
        return None
    return Number(natural=not any(text.startswith("-") for text in texts))


def _fresh(first: Content, second: Content) -> Content:
    """A new name, or what stands for it where there is none."""
    lost = second if isinstance(second, str) else second.lost if isinstance(second, Fresh) else None
    same = isinstance(second, Fresh) and isinstance(first, Fresh) and first.path == second.path
    if not isinstance(first, Fresh) or not (same or isinstance(second, str)):
        return None
    if first.lost is None or lost is None or first.lost == lost:
        return first._replace(lost=first.lost if lost is None else lost)
    return None


def is_natural(content: Content) -> bool:
    """Whether it is surely an integer that is zero or more."""
    number = _number(content)
    return number is not None and number.natural


def united(first: Content, second: Content) -> Content:
    """What holds where either may be."""
    if first == second:
        return first
    left, right = known_texts(first), known_texts(second)
    if left is not None and right is not None:
        texts = tuple(dict.fromkeys((*left, *right)))
        if len(texts) <= _MAX_CHOICES:
            return Choice(texts)
    return wider(first, second)


def wider(first: Content, second: Content) -> Content:
    """What holds for both and everything they may grow to."""
    if first == second:
        return first
    if isinstance(first, Secret):
        return first
    if isinstance(second, Secret):
        return second
    if isinstance(first, Fresh) or isinstance(second, Fresh):
        return _fresh(first, second) if isinstance(first, Fresh) else _fresh(second, first)
    left, right = _number(first), _number(second)
    if left is not None and right is not None:
        return Number(left.natural and right.natural, left.several or right.several, left.maybe or right.maybe)
    return None
