"""Programs that run the command that their arguments are: in another environment, as another user, elsewhere, often."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.programs.environments import env, wrap_environment
from shield.facts.programs.forwarding import command_among, further
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["WRAPPING"]

_TEMPLATE = regex(r"[\w./:=,+@%{}-]+\Z", re.ASCII)  # no shell reads more in it than it says


def _wrap(call: Invocation) -> bool:
    """The operands, less those that the entry says come first, are the command. Behind an option that is not known it
    may begin further on."""
    operands = list(call.operands)
    for use in call.model.first:
        if operands:
            call.reading.use(use, operands.pop(0))
    call.command(operands)
    if call.arguments.foreign:
        further(call, operands)
    return True


def _forward(call: Invocation) -> bool:
    """A wrapper whose options are not known one by one: the command is where a program's name stands."""
    call.reading.caution()
    call.reading.nested += command_among(call.name, call.words, lines=False)
    if not call.reading.nested:
        # The command is one that nothing is known of.
        call.command(_plain(call.words))
    return True


def _plain(words: tuple[Value, ...]) -> list[Value]:
    rest = list(words)
    while rest and (rest[0].head.startswith("-") or (rest[0].fixed and "=" in rest[0].text)):
        rest.pop(0)
    return rest


def _forward_elsewhere(call: Invocation) -> bool:
    """The same on another machine, whose paths are not ours."""
    call.reading.caution()
    call.reading.operations.add(Operation.NETWORK)
    call.reading.unknown.append(f"which machine `{call.name[:80]}` leads to is not known")
    for nested in command_among(call.name, call.words, lines=True):
        call.reading.nested.append(
            Nested(kind=nested.kind, words=nested.words, via=nested.via, file=nested.file, elsewhere=True)
        )
    return True


def _code(call: Invocation) -> bool:
    """Runs what its arguments say, in a way that is not followed; what can be seen of it is listed."""
    call.reading.run(RunsCode.INLINE)
    call.reading.code = True
    call.reading.nested += command_among(call.name, call.words, lines=True)
    return True


# --- terminals --------------------------------------------------------------------------------------------------------


def _parallel(call: Invocation) -> bool:
    """parallel(1) gives a shell the command, and behind it or in it what it reads, quoted. Without a command it runs
    what it reads."""
    call.reading.run(RunsCode.INLINE)
    found = command_among(call.name, call.words, lines=True)
    plain = all(word.fixed and _TEMPLATE.match(word.text) for word in call.words)
    call.reading.code |= not plain or not found
    taken = Value(text="{}", known=False, many=True, bare="")
    call.reading.nested += [replace(nested, words=(*nested.words, taken)) if plain else nested for nested in found]
    return True


def _script(call: Invocation) -> bool:
    """script(1) of util-linux: `-c STRING` for a shell, and where what it prints is kept; as on a BSD, a command may
    stand behind that. Without one it is a shell that reads what it is fed."""
    operands = call.operands
    call.reading.path(operands[0] if operands else Value(text="typescript", head="typescript"), Access.WRITE)
    texts = call.arguments.values("-c", "--command")
    for text in texts:
        _text(call, text)
    call.command(operands[1:])
    # On a BSD `-t` has a value, which stands in front of the file.
    timed = call.context.place.platform == "darwin" and call.arguments.has("-t")
    if timed or not (texts or operands[1:]):
        call.reading.run(RunsCode.INLINE)
    if call.arguments.foreign:
        further(call, operands)
    return True


def _text(call: Invocation, text: Value) -> None:
    """A line for `sh -c`."""
    call.reading.operations.add(Operation.EXECUTE)
    call.reading.nested.append(Nested(kind=NestedKind.SHELL, words=(text,), via=(call.name,)))


# --- roots, users, repetition, locks ----------------------------------------------------------------------------------


def _elsewhere(call: Invocation) -> bool:
    """The command sees another root or namespace: what its paths mean is not known. Without a root of its own they may
    well be ours."""
    call.reading.caution()
    call.reading.code = True
    name = call.name.rpartition("/")[2]
    root = call.operands[0] if name == "chroot" and call.operands else None
    words = call.operands[1:] if name == "chroot" else call.operands
    apart = name == "nsenter" or call.arguments.has("-R", "--root")
    apart |= root is not None and not (root.fixed and root.text.rstrip("/.") == "")
    call.command(list(words), elsewhere=apart)
    if call.arguments.foreign:
        further(call, call.operands)
    return True


_SU_COMMAND = ("-c", "--command", "--session-command")


def _su(call: Invocation) -> bool:
    """su(1): `-c STRING` for a shell of another user; runuser(1) also takes a command, behind `-u USER`."""
    call.reading.caution()
    call.reading.run(RunsCode.INLINE)
    words = call.words
    for index, word in enumerate(words):
        name, joined, tail = word.text.partition("=")
        line: Value | None = None
        if word.fixed and (name in _SU_COMMAND or re.fullmatch(r"-[a-z]+c", name)):
            line = Value(text=tail, head=tail) if joined else words[index + 1] if index + 1 < len(words) else None
        elif word.fixed and re.match(r"-[a-bd-z]*c.", word.text):
            line = Value(text=word.text.partition("c")[2], head=word.text.partition("c")[2])
        if line is not None:
            call.reading.nested.append(Nested(kind=NestedKind.SHELL, words=(line,), via=(call.name,)))
    if any(word.fixed and word.text.startswith(("-u", "--user")) for word in words):
        call.reading.nested += command_among(call.name, words, lines=False)
    return True


def _watch(call: Invocation) -> bool:
    """watch hands its words to `sh -c`, joined, unless `-x` is given."""
    if call.arguments.has("-x", "--exec"):
        call.command(list(call.operands))
        return True
    line = " ".join(word.text for word in call.operands)
    known = all(word.fixed for word in call.operands)
    if line:
        _text(call, Value(text=line, known=known, head=line))
    return True


def _flock(call: Invocation) -> bool:
    operands = call.operands
    if operands:
        call.reading.path(operands[0], Access.WRITE)
    rest = operands[1:]
    if rest and rest[0].fixed and rest[0].text in ("-c", "--command"):
        if len(rest) > 1:
            _text(call, rest[1])
    elif rest:
        call.command(rest)
    return True


def _busybox(call: Invocation) -> bool:
    """The applet stands in for the program of its name; what it does is that program's, more or less."""
    call.command(list(call.operands))
    call.reading.caution()
    return True


WRAPPING: Mapping[str, Special] = MappingProxyType(
    {
        "wrap": _wrap,
        "forward": _forward,
        "forward_elsewhere": _forward_elsewhere,
        "code": _code,
        "wrap_environment": wrap_environment,
        "env": env,
        "parallel": _parallel,
        "script": _script,
        "elsewhere": _elsewhere,
        "su": _su,
        "watch": _watch,
        "flock": _flock,
        "busybox": _busybox,
    }
)
