"""Words to values: what bash's expansions make of them, where that can be known (bash(1) EXPANSION)."""

import re
from dataclasses import dataclass, field

from shield.facts.programs.reading import Value
from shield.facts.shell.script import LITERAL, Part, PartKind, Word
from shield.types import CONFINED_NAMES

__all__ = ["State", "expand", "is_assignment_like", "text_of"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_ACTIVE = re.compile(r"[*?\[\\]")
_BRACE = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_UNSAFE_VALUE = re.compile(r"[\s*?\[\\]")
_LIVELY = re.compile(r"[~*?\[\\{]")
_MAX_WORDS = 64
_MAX_BRACED = 512
# Variables that bash or the executor sets: their value at any point of a line is not taken from the environment.
_OWN_VARIABLES_TEXT = """
_ IFS PWD OLDPWD SHLVL RANDOM SRANDOM SECONDS LINENO UID EUID PPID HOSTNAME HOSTTYPE MACHTYPE OSTYPE COLUMNS LINES
REPLY DIRSTACK PIPESTATUS FUNCNAME GROUPS SHELLOPTS BASHOPTS OPTIND OPTARG OPTERR EPOCHSECONDS EPOCHREALTIME PS4 PS1
PS2 PS3 BASH BASHPID COMP_WORDBREAKS HISTCMD MAPFILE COPROC
"""
OWN_VARIABLES = frozenset(_OWN_VARIABLES_TEXT.split()) | CONFINED_NAMES  # of a confined command only


@dataclass(slots=True)
class State:
    """The shell's state as far as a line changes it. `bases`: where it may stand; None among them is anywhere.

    `variables` maps to None where a value is not known; a name that is missing is not set, and not relied on.
    `inexact`: something was given a value by approximation, so the line is not understood.
    """

    variables: dict[str, str | None]
    bases: tuple[str | None, ...]
    linked: bool = False
    inexact: list[str] = field(default_factory=list)
    exported: list[str] = field(default_factory=list)


def text_of(word: Word, state: State) -> str | None:
    """The word's one known value without splitting or globbing, as in an assignment; None where it is not known."""
    values = expand(word, state, assigned=True)
    return values[0].text if len(values) == 1 and values[0].known else None


def is_assignment_like(word: Word) -> bool:
    return bool(word) and word[0].kind is LITERAL and not word[0].quoted and bool(_ASSIGNMENT.match(word[0].text))


def expand(word: Word, state: State, *, assigned: bool = False) -> list[Value]:
    """The values of one word. `assigned`: neither split nor globbed, and tildes count after every colon."""
    if len(word) == 1 and word[0].kind is LITERAL and (word[0].quoted or not _LIVELY.search(word[0].text)):
        text_only = word[0].text
        return [Value(text=text_only, head=text_only)] if text_only or word[0].quoted else []
    if not assigned and _has_brace(word):
        return _braced(word, state)
    text: list[str] = []
    pattern: list[str] = []
    head: list[str] = []
    known = True
    many = False
    present = not word
    active = False
    for index, part in enumerate(word):
        piece: str | None = part.text
        globbed = part.text
        if part.kind is LITERAL:
            if not part.quoted:
                piece, globbed = _tilde(word, index, part.text, state, assigned=assigned)
        elif part.kind is PartKind.VARIABLE:
            piece = _variable(part.text, state)
            if piece is not None and not part.quoted and not assigned and _UNSAFE_VALUE.search(piece):
                piece = None
            if piece is not None:
                piece_text = piece
                text.append(piece_text)
                pattern.append(_ACTIVE.sub(r"[\g<0>]", piece_text))
                head.extend([piece_text] if known else [])
                present |= part.quoted or bool(piece_text)
                continue
        else:
            piece = None
        if piece is None:
            known = False
            many |= not part.quoted and not assigned
            text.append(_source((part,)))
            present = True
            continue
        present |= part.quoted or bool(piece)
        text.append(piece)
        if known:
            head.append(piece)
        if part.quoted:
            pattern.append(_ACTIVE.sub(r"[\g<0>]", piece))
        else:
            pattern.append(globbed)
            active |= not assigned and bool(_ACTIVE.search(part.text))
    if not present:
        return []
    whole = "".join(text)
    if known:
        if active and _may_match("".join(part.text for part in word if not part.quoted)):
            lead = re.split(r"[*?\[]", "".join(pattern), maxsplit=1)[0]
            return [Value(text=whole, pattern="".join(pattern), head=lead, bare=whole, source=_written(word))]
        return [Value(text=whole, head=whole, bare=whole, source=_written(word))]
    return [Value(text=whole, known=False, many=many, head="".join(head), bare=_bare(word))]


def _braced(word: Word, state: State) -> list[Value]:
    """A brace expansion written out as far as it is simple: to be seen, not to be relied on."""
    state.inexact.append("brace expansion")
    if all(part.kind is LITERAL for part in word) and sum(len(part.text) for part in word) <= _MAX_BRACED:
        texts = _braces("".join(part.text for part in word))
        return [value for text in texts for value in expand((Part(LITERAL, text, False),), state)]
    return [Value(text=_source(word), known=False, many=True, bare=_bare(word))]


def _may_match(text: str) -> bool:
    """Whether unquoted text holds a pattern: a lone bracket is none."""
    return "*" in text or "?" in text or 0 <= text.find("[") < text.rfind("]")


def _variable(name: str, state: State) -> str | None:
    if name == "PWD":
        return state.bases[0] if len(state.bases) == 1 and not state.linked else None
    return state.variables.get(name)


def _tilde(word: Word, index: int, text: str, state: State, *, assigned: bool) -> tuple[str | None, str]:
    """An unquoted literal with its tilde prefixes replaced, as text and as a pattern; None where one stands for a
    directory not known. What stands behind a prefix is matched as it would be without one."""
    if "~" not in text:
        return text, text
    last = index == len(word) - 1
    start = word[0]
    # bash treats an argument that looks like an assignment as one, behind what is quoted in it, too
    if assigned or (start.kind is LITERAL and not start.quoted and _ASSIGNMENT.match(start.text)):
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
            if named is None:
                return None, text
            home, piece = named, piece[1:]  # noqa: PLW2901 - the same piece without its prefix
        out.append(home + piece)  # a `~` that something quoted or expanded follows is no prefix
        globbed.append(_ACTIVE.sub(r"[\g<0>]", home) + piece)
    return name + equals + ":".join(out), name + equals + ":".join(globbed)


def _written(word: Word) -> str | None:
    first = word[0] if word else None
    tilde = first is not None and first.kind is LITERAL and not first.quoted and first.text.startswith("~")
    return _source(word) if tilde else None


def _source(word: Word) -> str:
    return "".join(
        ("${%s}" if len(part.text) > 1 else "$%s") % part.text if part.kind is PartKind.VARIABLE else part.text
        for part in word
    )


def _bare(word: Word) -> str:
    return "".join(part.text for part in word if part.kind is LITERAL)


def _has_brace(word: Word) -> bool:
    shape = "".join(part.text if part.kind is LITERAL and not part.quoted else "x" for part in word)
    if "{" not in shape or "}" not in shape:
        return False
    opened = shape.index("{")
    closed = shape.rfind("}")
    inside = shape[opened:closed]
    return closed > opened and ("," in inside or ".." in inside)


def _braces(text: str) -> list[str]:
    """Comma lists written out, a bounded number of them; only for what must not be missed, never for certainty."""
    out = [text]
    for _ in range(8):
        grown: list[str] = []
        for item in out:
            match = _BRACE.search(item)
            if match is None or "," not in match[0]:
                grown.append(item)
            else:
                grown.extend(
                    item[: match.start()] + choice + item[match.end() :] for choice in match[0][1:-1].split(",")
                )
        if grown == out or len(grown) > _MAX_WORDS:
            break
        out = grown
    return [item.replace("{", "?").replace("}", "?") if _BRACE.search(item) else item for item in out if item]
