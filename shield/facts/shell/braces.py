"""Brace expansion: one word to many, before anything else in it is expanded (bash(1) Brace Expansion)."""

import re
from collections.abc import Iterator
from itertools import pairwise

from shield.facts.shell.grammar.script import LITERAL, Part, PartKind, Word, joined
from shield.regex import regex

__all__ = ["TooManyWordsError", "braced", "numbers"]

_MAX_WORDS = 256
_MAX_BRACES = 32
_NAME_CHARACTER = regex(r"[A-Za-z0-9_]")
_NAMED = regex(r"[A-Za-z_]")
_LONG = regex(r"[+-]?\d+\.\.[+-]?\d+(?:\.\.[+-]?\d+)?\Z")
_SEQUENCE = regex(r"([+-]?\d{1,9})\.\.([+-]?\d{1,9})(?:\.\.([+-]?\d{1,9}))?\Z")
_LETTERS = regex(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([+-]?\d{1,9}))?\Z")


class TooManyWordsError(Exception):
    """A brace expansion makes more words than are followed, or such that nobody writes."""


# One unquoted character, or a piece that braces do not look into.
_Atom = str | Part


def braced(word: Word) -> list[Word]:
    """The words that the braces of `word` make; the word itself where there are none.

    Raises:
        TooManyWordsError: more than 256, or more than 32 braces; or bash finds another expansion in what they make.
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
    expanded = _expanded(atoms)
    if expanded != [atoms]:
        for found in expanded:
            _check(found, atoms)
    return [_word(found) for found in expanded]


def _check(found: list[_Atom], atoms: list[_Atom]) -> None:
    """Braces are expanded in the text, before names are looked for: `$x{a,b}` is `$xa $xb`."""
    stood = {id(atom): after for atom, after in pairwise(atoms) if isinstance(atom, Part)}
    for atom, after in pairwise([*found, ""]):
        if atom == "$":
            raise TooManyWordsError
        if isinstance(atom, str) or isinstance(after, Part) or atom.kind is not PartKind.VARIABLE or atom.quoted:
            continue
        if _NAMED.match(atom.text) and _NAME_CHARACTER.match(after) and stood.get(id(atom)) != after:
            raise TooManyWordsError


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
        if closed is None or _is_pair(atoms, opened):
            start = opened + 1
            continue
        inner = atoms[opened + 1 : closed]
        if commas:
            choices = list(_choices(atoms, opened, closed, commas))
        elif any("," in (atom if isinstance(atom, str) else atom.text) for atom in inner):
            raise TooManyWordsError  # `{{a,b}..c}` loses its braces
        else:
            sequence = _sequence(inner)
            # `{a..}` stays as it is written, and what stands in it is not looked at
            choices = [atoms[opened : closed + 1]] if sequence is None else [[*text] for text in sequence]
        tails = _expanded(atoms[closed + 1 :])
        if len(choices) * len(tails) > _MAX_WORDS:
            raise TooManyWordsError
        return [[*atoms[:opened], *choice, *tail] for choice in choices for tail in tails]


def _is_pair(atoms: list[_Atom], opened: int) -> bool:
    """Whether it is the `{` of a `{}` that a word begins with."""
    before = atoms[opened - 1] if opened else ""
    if atoms[opened + 1 : opened + 2] != ["}"] or isinstance(before, str):
        return opened == 0 and atoms[1:2] == ["}"]
    raise TooManyWordsError  # behind what is quoted: a blank counts as a beginning, too


def _closing(atoms: list[_Atom], opened: int) -> tuple[int | None, list[int]]:
    """The brace that closes the one at `opened`, and the commas between that belong to it: the first `}` behind a comma
    or `..` of its own."""
    depth = 0
    commas: list[int] = []
    ranged = False
    for at in range(opened + 1, len(atoms)):
        atom = atoms[at]
        if atom == "{":
            depth += 1
        elif atom == "}" and depth:
            depth -= 1
        elif atom == "}" and (commas or ranged):
            return at, commas
        elif atom == "," and not depth:
            commas.append(at)
        elif atom == "." and not depth:
            ranged |= atoms[at + 1 : at + 2] == ["."] and atoms[at + 2 : at + 3] != ["}"]
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
        if _LONG.match(text):
            raise TooManyWordsError
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
