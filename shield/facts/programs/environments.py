"""Programs that run a command in another environment: `env`, and `sudo` and its kin."""

import re

from shield.facts.programs.forwarding import further
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex
from shield.types import Operation

__all__ = ["env", "wrap_environment"]

_ASSIGNMENT = regex(r"([A-Za-z_]\w*)=(.*)\Z", re.DOTALL)


def _split_assignments(words: list[Value]) -> tuple[list[tuple[str, str]], list[Value]]:
    assignments: list[tuple[str, str]] = []
    rest = list(words)
    while rest and (match := _ASSIGNMENT.match(rest[0].text)) and (rest[0].fixed or match[1] in rest[0].head):
        assignments.append((match[1], match[2]))
        rest.pop(0)
    return assignments, rest


def _start(
    call: Invocation,
    words: list[Value],
    assignments: list[tuple[str, str]],
    without: tuple[str, ...] | None = (),
) -> None:
    if words:
        call.reading.operations.add(Operation.EXECUTE)
        call.reading.nested.append(
            Nested(
                kind=NestedKind.ARGV,
                words=tuple(words),
                via=(call.name,),
                assignments=tuple(assignments),
                moved=call.reading.moved,
                without=without,
            )
        )


def wrap_environment(call: Invocation) -> bool:
    """sudo, doas: assignments may stand before the command; `-e`, `-i` and `-s` are foreign to the table."""
    if call.arguments.foreign or call.arguments.has("-R", "--chroot"):
        call.reading.code = True
        further(call, call.operands)
    assignments, words = _split_assignments(call.operands)
    _start(call, words, assignments)
    return True


_ENV_ALONE = frozenset(("-0", "--null", "-v", "--debug", "--help", "--version", "--list-signal-handling"))
_ENV_SIGNALS = ("--ignore-signal", "--default-signal", "--block-signal")


def env(call: Invocation) -> bool:
    """env(1): `-S` splits a string into words itself, `-i` and `-u` change what the command finds."""
    reading, words = call.reading, list(call.words)
    without: tuple[str, ...] | None = ()
    while words and words[0].fixed and words[0].text.startswith("-") and len(words[0].text) > 1:
        text = words.pop(0).text
        if not text.startswith("--") and len(text) > 2 and text[1] in "i0v":
            # a cluster: `-iS STRING`
            words.insert(0, Value(text="-" + text[2:], head="-" + text[2:]))
            text = text[:2]
        reading.flags.append(text.partition("=")[0])
        if text == "--":
            break
        if text in ("-i", "--ignore-environment"):
            without = None
        elif text in _ENV_ALONE or text.partition("=")[0] in _ENV_SIGNALS:
            continue
        elif text.startswith(("-u", "--unset")):
            name = words.pop(0) if text in ("-u", "--unset") and words else _tail(text)
            if not name.fixed:
                reading.code = True
            without = None if without is None else (*without, name.text)
        elif text.startswith(("-a", "--argv0")):
            # a program may be another by the name that it is given
            reading.code = True
            words = words[1:] if text in ("-a", "--argv0") else words
        elif text.startswith(("-C", "--chdir")):
            value = words.pop(0) if text in ("-C", "--chdir") and words else _tail(text)
            reading.use(Use.CHDIR, value)
        elif text.startswith(("-S", "--split-string")):
            value = words.pop(0) if text in ("-S", "--split-string") and words else _tail(text)
            if not value.fixed or re.search(r"[\\$'\"#]", value.text):
                reading.code = True
            words = [Value(text=piece, head=piece) for piece in value.text.split()] + words
        else:
            reading.caution()
            reading.code = True
    if words and words[0].fixed and words[0].text == "-":
        without = None
        words.pop(0)
    assignments, words = _split_assignments(words)
    if not words:
        reading.operations = {Operation.READ}
        return True
    _start(call, words, assignments, without)
    return True


def _tail(text: str) -> Value:
    tail = text.partition("=")[2] if text.startswith("--") else text[2:]
    return Value(text=tail, head=tail)
