"""Brace expansion: one word to many, before anything else in it is expanded (bash(1) Brace Expansion)."""

import re
from collections.abc import Iterator
from itertools import pairwise

from shield.facts.shell.grammar.script import LITERAL, Part, Word, joined
from shield.regex import regex

__all__ = ["TooManyWordsError", "braced", "numbers"]

_MAX_WORDS = 256
_MAX_BRACES = 32
_SEQUENCE = regex(r"([+-]?\d{1,9})\.\.([+-]?\d{1,9})(?:\.\.([+-]?\d{1,9}))?\Z")
_LETTERS = regex(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([+-]?\d{1,9}))?\Z")


class TooManyWordsError(Exception):
    """A brace expansion makes more words than are followed, or such that nobody writes."""


# One unquoted character, or a piece that braces do not look into.
_Atom = str | Part


def braced(word: Word) -> list[Word]:
    """The words that the braces of `word` make; the word itself where there are none.

    Raises:
        TooManyWordsError: more than 256, or more than 32 braces.
    """
    opened = sum(part.text.count("{") for part in word if part.kind is LITERAL and not part.quoted)
    if not opened:
        return [word]
    if opened > _MAX_BRACES:
        raise TooManyWordsError
    atoms: list[_Atom] = []
    for part in word:
        if part.kind is LITERAL and not part.quoted:
            atoms.extend(part.text)
        else:
            atoms.append(part)
    return [_word(found) for found in _expanded(atoms)]


def numbers(word: Word) -> tuple[int, int] | None:
    """The ends of a word that is one sequence of integers without leading zeros; None for any other."""
    if len(word) != 1 or word[0].kind is not LITERAL or word[0].quoted:
        return None
    text = word[0].text
    found = _SEQUENCE.match(text[1:-1]) if text.startswith("{") and text.endswith("}") else None
    if found is None or any(re.match(r"[+-]?0\d", end) for end in found.groups() if end):
        return None
    return int(found[1]), int(found[2])


def _word(atoms: list[_Atom]) -> Word:
    return joined(Part(LITERAL, atom, False) if isinstance(atom, str) else atom for atom in atoms)


def _expanded(atoms: list[_Atom]) -> list[list[_Atom]]:
    """Every expansion, in order."""
    start = 0
    while True:
        opened = next((at for at in range(start, len(atoms)) if atoms[at] == "{"), None)
        if opened is None:
            return [atoms]
        closed, commas = _closing(atoms, opened)
        if closed is None:
            start = opened + 1
            continue
        if commas:
            choices = list(_choices(atoms, opened, closed, commas))
        else:
            sequence = _sequence(atoms[opened + 1 : closed])
            if sequence is None:
                # `{x}` stays as it is written, and what stands in it is looked at
                start = opened + 1
                continue
            choices = [[*text] for text in sequence]
        tails = _expanded(atoms[closed + 1 :])
        if len(choices) * len(tails) > _MAX_WORDS:
            raise TooManyWordsError
        return [[*atoms[:opened], *choice, *tail] for choice in choices for tail in tails]


def _closing(atoms: list[_Atom], opened: int) -> tuple[int | None, list[int]]:
    """The brace that closes the one at `opened`, and the commas between that belong to it."""
    depth = 0
    commas: list[int] = []
    for at in range(opened, len(atoms)):
        atom = atoms[at]
        if atom == "{":
            depth += 1
        elif atom == "}":
            depth -= 1
            if depth == 0:
                return at, commas
        elif atom == "," and depth == 1:
            commas.append(at)
    return None, []


def _choices(atoms: list[_Atom], opened: int, closed: int, commas: list[int]) -> Iterator[list[_Atom]]:
    edges = [opened, *commas, closed]
    count = 0
    for left, right in pairwise(edges):
        for found in _expanded(atoms[left + 1 : right]):
            count += 1
            if count > _MAX_WORDS:
                raise TooManyWordsError
            yield found


def _sequence(inner: list[_Atom]) -> list[str] | None:
    if not all(isinstance(atom, str) for atom in inner):
        return None
    text = "".join(atom for atom in inner if isinstance(atom, str))
    integers = _SEQUENCE.match(text)
    letters = _LETTERS.match(text) if integers is None else None
    found = integers or letters
    if found is None:
        return None
    first, last = (int(found[1]), int(found[2])) if integers else (ord(found[1]), ord(found[2]))
    step = abs(int(found[3])) if found[3] else 1
    step = step or 1
    count = abs(last - first) // step + 1
    if count > _MAX_WORDS:
        raise TooManyWordsError
    values = [first + (step if last >= first else -step) * index for index in range(count)]
    if letters:
        if any(not chr(value).isalpha() for value in values):
            raise TooManyWordsError  # `{Z..a}` passes a backslash and a backtick
        return [chr(value) for value in values]
    width = 0
    if any(re.match(r"[+-]?0\d", end) for end in (found[1], found[2])):
        width = max(len(found[1]), len(found[2]))
    return [f"{value:0{width}d}" for value in values]
