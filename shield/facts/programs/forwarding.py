"""Commands among the arguments of programs that start them in a way of their own.

What is found here is listed so that rules see it; nothing is ever allowed because of it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.library import models
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex

__all__ = ["command_among", "forwarded", "further", "glimpse", "said_to_run"]

_MAX_TEXT = 16_384
_MAX_FOUND = 16
_SHELLS = frozenset(("bash", "dash", "ksh", "sh", "zsh"))
# Names of programs that are verbs of many others' first operand (`tool install x`).
_VERBS_TEXT = """
. : [ alias at batch break cd complete continue date declare diff enable eval exec exit export file groups hash help
history id import info install jobs join less let link local log login look make more open popd printf ps pushd read
return run screen script service set shift sort source split stat status sum test time times top trap true type umask
unset users version view w wait watch which who yes
"""
_VERBS = frozenset(_VERBS_TEXT.split())
# Options by which programs are told what to start.
_STARTS_TEXT = """
-c -e -x -X --after --before --call --cmd --command --commands --entrypoint --exec --exec-batch --execute --hook
--launch --on-change --post --pre --preview --run --script --sh --shell --spawn --start
"""
_STARTS = frozenset(_STARTS_TEXT.split())


_SAID = regex(
    r"[ \t:+]*(?:sil(?:ent)?!?\s+|\d+|%)*"
    r"(?:r(?:ead)?\s*!|w(?:rite)?\s+!|!+|(?:shell|term(?:inal)?|system|spawn|exec)\s)(.*)",
    re.DOTALL,
)


def forwarded(name: str, words: Sequence[Value]) -> list[Nested]:
    """Commands that a program of which nothing is known is given: the words behind `--`, or from the first that names a
    program, and strings that an option hands over to be run."""
    found = [
        Nested(kind=NestedKind.ARGV, words=tuple(tail), via=(name,))
        for tail in _tails(words, verbs=False)
        if tail[0].fixed and _named(tail[0].text, verbs=True)
    ]
    texts = (value.text for option, value in _options(words) if option in _STARTS and value.fixed)
    found += [_view(name, text) for text in texts if starts_program(text)]
    return found[:_MAX_FOUND]


def command_among(name: str, words: Sequence[Value], *, lines: bool) -> list[Nested]:
    """The same for a program that surely runs what it is given; `lines`: any of its words may be a whole line."""
    found = [Nested(kind=NestedKind.ARGV, words=tuple(tail), via=(name,)) for tail in _tails(words, verbs=True)]
    if lines:
        texts = dict.fromkeys((*(word.text for word in words), *(value.text for _, value in _options(words))))
        found += [_view(name, text) for text in texts if " " in text.strip() and starts_program(text)]
        found += [_view(name, line) for text in texts if (line := said_to_run(text)) is not None]
    return found[:_MAX_FOUND]


def further(call: Invocation, operands: list[Value]) -> None:
    """Behind an option that is not known the command may begin further on: list each that does."""
    for nested in command_among(call.name, operands, lines=False):
        if nested.words != tuple(operands):
            call.reading.nested.append(nested)


def glimpse(name: str, texts: Iterable[str]) -> list[Nested]:
    """Lines that a program would hand to a shell, listed as far as they can be read."""
    return [_view(name, text) for text in dict.fromkeys(texts) if text.strip()][:_MAX_FOUND]


def said_to_run(text: str) -> str | None:
    """What an editor or another program runs for `!COMMAND`, `:!COMMAND` or `shell COMMAND`; None where it is none."""
    found = _SAID.match(text)
    return (found[1].strip() or None) if found is not None else None


def starts_program(text: str) -> bool:
    """Whether a text begins with the name of a program that is known."""
    words = text.split(None, 1)
    return bool(words) and len(text) <= _MAX_TEXT and _named(words[0], verbs=False)


def _view(name: str, text: str) -> Nested:
    line = Value(text=text[:_MAX_TEXT], head=text[:_MAX_TEXT])
    return Nested(kind=NestedKind.SCRIPT, words=(line,), via=(name,))


def _tails(words: Sequence[Value], *, verbs: bool) -> Iterator[Sequence[Value]]:
    """Where the command begins: behind `--`, else at the first name of a program, one that is no verb before others."""
    for index, word in enumerate(words[:-1]):
        if word.fixed and word.text == "--" and not words[index + 1].text.startswith("-"):
            yield words[index + 1 :]
            return
    for also in (False, True) if verbs else (False,):
        for index, word in enumerate(words):
            if word.fixed and not word.text.startswith("-") and _named(word.text, verbs=also):
                yield words[index:]
                return


def _named(text: str, *, verbs: bool) -> bool:
    base = text.rpartition("/")[2].removesuffix(".exe")
    if base in _VERBS and not verbs:
        return False
    return base in models() or base in _SHELLS or base.rstrip("0123456789.") in ("python", "pip", "perl", "ruby", "php")


def _options(words: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    """Every word that may be the value of the option before it, or joined to it."""
    for index, word in enumerate(words):
        if not word.fixed or not word.text.startswith("-"):
            continue
        name, joined, tail = word.text.partition("=")
        if joined:
            yield name, Value(text=tail, head=tail)
        elif index + 1 < len(words):
            yield name, words[index + 1]
