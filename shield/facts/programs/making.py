"""make: variables that are set among its words, and what its rules would run by them."""

import re
from collections.abc import Iterable
from typing import Final

from shield.facts.programs.cleared import emptied
from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.handed import hands_program
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.recipes import deleting, made_by_rules, rules_of
from shield.types import RunsCode

__all__ = ["SHELL_MARKS", "made_of", "recipes"]

# make(1) hands the values of its variables and most of its recipes to a shell.
SHELL_MARKS: Final = frozenset("$`;|&<>\n")
_MAKE_VALUES = frozenset(("-C", "--directory", "-I", "--include-dir", "-o", "--old-file", "-W", "--what-if", "--eval"))
_SHELL_CALL = re.compile(r"\$[({]shell\s+([^(){}]*)[)}]")


def _recipe(text: str) -> list[str]:
    """The commands of rules: behind the first `;` of a line, or after a tab."""
    return [line.partition(";")[2].strip() if not line.startswith("\t") else line[1:] for line in text.split("\n")]


def made_of(call: Invocation, words: Iterable[Value]) -> None:
    """make(1): `NAME=value` words set variables, which its recipes hand to a shell."""
    for word in words:
        if not word.fixed:
            continue
        if "=" in word.text and not word.text.startswith("-") and SHELL_MARKS & set(word.text):
            call.reading.run(RunsCode.INLINE)
        name, _, value = word.text.partition("=")
        name = name.rstrip(":?+")
        if name in ("SHELL", ".SHELLFLAGS") or (not name.startswith("-") and hands_program(name, value)):
            # every recipe is handed to it, or begins with it
            call.reading.run(RunsCode.INLINE)
            call.reading.nested += glimpse(call.name, [value])
        elif name == "--eval":
            call.reading.run(RunsCode.INLINE)
            call.reading.nested += glimpse(call.name, [*_SHELL_CALL.findall(value), *_recipe(value)])


def recipes(call: Invocation) -> None:
    """What the rules of the makefile say of the targets."""
    targets: list[str] = []
    given: dict[str, str] = {}
    files: list[Value] = []
    words = list(call.words)
    while words:
        word = words.pop(0)
        text = word.text
        name, equals, value = text.partition("=")
        if text in ("-f", "--file", "--makefile") and words:
            files.append(words.pop(0))
        elif name in ("--file", "--makefile") and equals:
            files.append(Value(text=value, known=word.fixed))
        elif text.startswith("-f") and len(text) > 2:
            files.append(Value(text=text[2:], known=word.fixed))
        elif text in _MAKE_VALUES and words:
            words.pop(0)
        elif equals and not text.startswith("-"):
            given[name.rstrip(":?+")] = value
        elif not text.startswith("-"):
            targets.append(text)
    kept = [each.text for each in files if each.fixed and each.text != "-" and not each.text.startswith("/dev/")]
    if len(kept) < len(files):
        # a makefile that it is fed is code of the line
        call.reading.run(RunsCode.FETCHED if call.context.fetched else RunsCode.INLINE)
        fed = call.context.stdin
        call.reading.nested += glimpse("make", [rules_of(fed, targets, given)] if fed is not None else [])
    if kept or not files:
        for name in deleting(targets, given, kept, call.context.place, bases_of(call)):
            for text in given[name].split():
                emptied(call, Value(text=text, known=not set("*?[${`~") & set(text)), f"make {name}=…")
        made_by_rules(call.reading, "make", targets, given, kept, call.context.place, bases_of(call))
