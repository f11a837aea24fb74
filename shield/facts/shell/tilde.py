"""Tilde prefixes, and where they count (bash(1) Tilde Expansion)."""

from enum import Enum

from shield.facts.shell.field import escaped
from shield.facts.shell.grammar.script import LITERAL, Word
from shield.facts.shell.state import State
from shield.regex import regex

__all__ = ["Mode", "is_assignment_like", "untilded"]

_ASSIGNMENT = regex(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class Mode(Enum):
    """What a word is expanded for."""

    WORDS = "words"  # of a command: split and matched
    ASSIGNED = "assigned"  # of an assignment: tildes count after every colon
    WHOLE = "whole"  # one word, neither split nor matched


def is_assignment_like(word: Word) -> bool:
    return bool(word) and word[0].kind is LITERAL and not word[0].quoted and bool(_ASSIGNMENT.match(word[0].text))


def untilded(word: Word, index: int, text: str, state: State, mode: Mode) -> tuple[str | None, str]:
    """An unquoted literal with its tilde prefixes replaced, as text and as a pattern; None where one stands for a
    directory not known. What stands behind a prefix is matched as it would be without one."""
    if "~" not in text:
        return text, text
    last = index == len(word) - 1
    assigned = mode is Mode.ASSIGNED
    # bash treats an argument that looks like an assignment as one, behind what is quoted in it, too
    if assigned or (mode is Mode.WORDS and is_assignment_like(word)):
        name, equals, rest = ("", "", text) if assigned or index > 0 else text.partition("=")
        pieces = rest.split(":")
    else:
        name, equals, pieces = "", "", [text]
        if index > 0:
            return text, text
    out: list[str] = []
    globbed: list[str] = []
    for at, piece in enumerate(pieces):
        first = at > 0 or index == 0
        home = ""
        if first and piece.startswith("~") and (piece != "~" or last or at < len(pieces) - 1):
            named = state.variables.get("HOME") if piece == "~" or piece.startswith("~/") else None
            if not isinstance(named, str):
                return None, text
            home, piece = named, piece[1:]  # noqa: PLW2901 - the same piece without its prefix
        out.append(home + piece)  # a `~` that something quoted or expanded follows is no prefix
        globbed.append(escaped(home) + piece)
    return name + equals + ":".join(out), name + equals + ":".join(globbed)
