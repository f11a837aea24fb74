"""What a command line says, before anything in it is given a value: two parsers build these, and they must agree.

A script is a sequence of and-or lists; a list joins pipelines by `&&` and `||`; a pipeline joins simple commands; a
simple command has assignments, words and redirections (POSIX.1-2024 XCU 2.9, bash(1) SHELL GRAMMAR). All of them are
tuples: two parsers make them for every line that is judged, and they are compared whole.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

__all__ = [
    "LITERAL",
    "MAX_DEPTH",
    "AndOr",
    "Assignment",
    "Part",
    "PartKind",
    "Pipeline",
    "RedirectNode",
    "Script",
    "Simple",
    "Word",
    "ansi_c",
    "joined",
    "literal",
]

# How deep substitutions and quoted scripts may nest before a line counts as not understood.
MAX_DEPTH = 12


class PartKind(Enum):
    LITERAL = "literal"
    VARIABLE = "variable"  # text is the parameter's name
    SUBSTITUTION = "substitution"  # text is the source, `script` what it runs
    UNKNOWN = "unknown"  # text is the source


class Part(NamedTuple):
    """A piece of a word. `quoted`: its text is neither split, globbed nor taken for a tilde."""

    kind: PartKind
    text: str
    quoted: bool
    script: "Script | None" = None


Word = tuple[Part, ...]
LITERAL = PartKind.LITERAL  # for the loops over every piece: a member looked up in its class costs as much as a call


class Assignment(NamedTuple):
    name: str
    value: Word
    append: bool = False
    plain: bool = True  # False: an array or a subscript, which the shell evaluates


class RedirectNode(NamedTuple):
    """`op` is the operator as written; `target` is empty for `>&-` and `<&-`, the body for a here-document (`<<`)."""

    op: str
    fd: int | None
    target: Word


class Simple(NamedTuple):
    assignments: tuple[Assignment, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[RedirectNode, ...] = ()


class Pipeline(NamedTuple):
    stages: tuple[Simple, ...]


class AndOr(NamedTuple):
    """`operators[i]` (`&&` or `||`) stands between `pipelines[i]` and `pipelines[i + 1]`."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...] = ()
    background: bool = False


class Script(NamedTuple):
    lists: tuple[AndOr, ...]


def joined(parts: Iterable[Part]) -> Word:
    """The parts with neighbouring literals of equal quoting made one, so that equal words compare equal."""
    parts = tuple(parts)
    if len(parts) < 2:
        return parts
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        if last is not None and last.kind is LITERAL and part.kind is LITERAL and last.quoted == part.quoted:
            out[-1] = Part(LITERAL, last.text + part.text, part.quoted)
        else:
            out.append(part)
    return tuple(out)


def literal(word: Word) -> str | None:
    """The word's text where all of it is literal, else None."""
    if any(part.kind is not PartKind.LITERAL for part in word):
        return None
    return "".join(part.text for part in word)


_SIMPLE_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_NUMERIC_ESCAPES = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")


def ansi_c(body: str) -> str | None:
    """The value of `$'body'` (bash(1) QUOTING); None for a NUL, a byte above 127 or a form that is not plain."""
    out: list[str] = []
    at = 0
    while at < len(body):
        char = body[at]
        at += 1
        if char != "\\":
            out.append(char)
            continue
        if at == len(body):
            return None
        char = body[at]
        at += 1
        if char in _SIMPLE_ESCAPES:
            out.append(_SIMPLE_ESCAPES[char])
            continue
        if char in _OCTAL:
            width, base, digits, at = 3, 8, _OCTAL, at - 1
        elif char in _NUMERIC_ESCAPES:
            (width, base), digits = _NUMERIC_ESCAPES[char], _HEX
        else:
            return None
        end = at
        while end < len(body) and end - at < width and body[end] in digits:
            end += 1
        if end == at:
            return None
        code = int(body[at:end], base)
        at = end
        byte = char not in "uU"
        if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF or (byte and code > 127):
            return None
        out.append(chr(code))
    return "".join(out)
