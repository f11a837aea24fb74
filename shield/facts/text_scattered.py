"""Hexadecimal digits and base64 that other signs stand between: of dumps, of numbered lines, of a string for each word.

Everything here takes time in proportion to what it is given.
"""

import base64
import re
from collections.abc import Iterable

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.text_words import COMMON, words_of
from shield.regex import regex

__all__ = ["digits_in_dump", "gathered", "words_apart"]

_LEAST = 16  # bytes of a dump: a line of it
# A line of a dump as xxd, hexdump, od write it: where in the file, the bytes one by one or in groups with a blank
# between two, and the letters behind two blanks.
_DUMP = re2.compile(
    r"(?m)^[ \t]*[0-9a-fA-F]{6,16}:?[ \t]{1,3}"
    r"([0-9a-fA-F]{2}\b(?: {1,2}[0-9a-fA-F]{2}\b){0,31}"
    r"|(?:[0-9a-fA-F]{2}){2,8}\b(?: (?:[0-9a-fA-F]{2}){1,8}\b){0,15})"
)
# lines of one word behind a number, with the name of a file before it or without
_NUMBER = r"^[ \t]*(?:[\w./-]{1,64}[:-])?[0-9]{1,6}[:.)|\t -][ \t]{0,4}"
_NUMBERED = re2.compile(
    rf"(?m)(?:{_NUMBER}[A-Za-z0-9+/_-]{{8,}}={{0,2}}[ \t\r]*(?:\n|$)){{2,}}"
    rf"(?:{_NUMBER}[A-Za-z0-9+/_-]{{2,7}}={{0,2}}[ \t\r]*$)?"
)
_LAST = regex(r"([A-Za-z0-9+/_-]{2,}={0,2})[ \t\r]*$", re.MULTILINE)
_HEX = regex(r"(?:[0-9a-fA-F]{2})+")
_WORDY = 2  # common words
# Base64 of signs from `A` to `z`, three to a group and one or two at the end: four such words in a row are not prose,
# in which a word would have to begin with a letter to `e`, have one of four small letters behind that, and so on.
_GROUP = "[Q-Za-e][EFGHUVWXklmn0-3][BFJNRVZdhlptx159][A-Za-z0-9+/]"
_END = "(?:[Q-Za-e][QgwA]|[Q-Za-e][EFGHUVWXklmn0-3][QUYcgkosw048AEIM])"
_BASE64_WORD = regex(f"(?:{_GROUP})*(?:{_GROUP}|{_END})={{0,2}}")
_BASE64_WORDS = re2.compile(rf"(?:\b(?:{_GROUP})*(?:{_GROUP}|{_END})={{0,2}}[^A-Za-z+/=]{{1,12}}){{4,}}.{{0,80}}")
_BASE64_SIGNS = regex(r"[A-Za-z0-9+/]+={0,2}")
_HEX_WORDS = re2.compile(r"(?:\b(?:[4-7][0-9a-fA-F])+\b[^0-9A-Za-z]{1,8}){4,}(?:[2-7][0-9a-fA-F])*")
_HEX_SIGNS = regex(r"[0-9a-fA-F]+")


def digits_in_dump(text: str) -> Iterable[str]:
    """The hexadecimal digits of a dump's bytes, as they are written and, where there are only pairs of bytes, with the
    other of each first, as little ends do."""
    groups = " ".join(match[1] for match in _DUMP.finditer(text)).split()
    digits = "".join(groups)
    if len(digits) < 2 * _LEAST:
        return
    yield digits
    if all(len(group) == 4 for group in groups):
        yield "".join(group[2:] + group[:2] for group in groups)


def gathered(text: str) -> Iterable[tuple[str, str]]:
    """The digits (`hex`) or signs (`base64`) of numbered lines that are nothing else."""
    for match in _NUMBERED.finditer(text):
        run = "".join(_LAST.findall(match[0]))
        yield "hex" if _HEX.fullmatch(run) else "base64", run


def words_apart(text: str) -> Iterable[tuple[str, str]]:
    """What strings of base64 or hexadecimal digits say of which each is a word."""
    for match in _BASE64_WORDS.finditer(text):
        runs = [run.rstrip("=") for run in _BASE64_SIGNS.findall(match[0]) if _BASE64_WORD.fullmatch(run)]
        words = [base64.b64decode(run + "=" * (-len(run) % 4)) for run in runs]
        yield from _said("base64", words)
    for match in _HEX_WORDS.finditer(text):
        yield from _said("hex", [bytes.fromhex(run) for run in _HEX_SIGNS.findall(match[0]) if len(run) % 2 == 0])


def _said(name: str, words: Iterable[bytes]) -> Iterable[tuple[str, str]]:
    said = b" ".join(words).decode("ascii", "replace")
    if len(words_of(said) & COMMON) >= _WORDY:
        yield name, said
