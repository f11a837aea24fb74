"""Builtins that change the shell, or run something in it: what they touch (bash(1) SHELL BUILTIN COMMANDS).

What they do to the shell itself stands in effects.py.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import script_text
from shield.facts.shell.conditions import read_test
from shield.facts.shell.virtual import entered
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["BUILTIN_SPECIALS"]

_JOBS = regex(r"-[lnprs]+\Z")
_WAIT = regex(r"-[nf]+\Z")
# With `-E` and `-T` traps hold in functions, too; they are followed as if they held everywhere.
_HARMLESS_SET = regex(r"[-+][efuvxmCbET]+\Z|\+a\Z|[-+][efuvxmCbET]*o\Z")
_HARMLESS_SET_NAMES = frozenset(
    ["errexit", "errtrace", "functrace", "nounset", "pipefail", "xtrace", "verbose", "noglob", "noclobber"]
)


# --- readers ---------------------------------------------------------------------------------------------------------


def _cd_reader(call: Invocation) -> bool:
    for word in call.words:
        if not (word.fixed and word.text.startswith("-")):
            call.reading.path(word, Access.LIST)
    return True


def _set(call: Invocation) -> bool:
    """Only options that stop the shell earlier or make it talk are known to change nothing else."""
    words = list(call.words)
    while words:
        word = words.pop(0)
        if (word.fixed or word.head) and (word.text == "--" or not word.head.startswith(("-", "+"))):
            return True  # the rest are positional parameters
        if not word.fixed or not _HARMLESS_SET.match(word.text):
            call.reading.code = True
            return True
        if word.text.endswith("o"):
            name = words.pop(0) if words else None
            if name is not None and not (name.fixed and name.text in _HARMLESS_SET_NAMES):
                call.reading.code = True
    return True


def _hash(call: Invocation) -> bool:
    """hash -p FILE NAME: from then on NAME runs FILE."""
    call.reading.code |= any(not word.fixed or ("p" in word.text and word.text.startswith("-")) for word in call.words)
    return True


def _eval(call: Invocation) -> bool:
    words = call.words[1:] if call.words and call.words[0].text == "--" else call.words
    line = " ".join(word.text for word in words)
    known = all(word.fixed for word in words)
    call.reading.operations.add(Operation.EXECUTE)
    call.reading.code |= not known
    if not known:
        call.reading.run(RunsCode.INLINE)
    if line:
        call.reading.nested.append(
            Nested(
                kind=NestedKind.SHELL,
                words=(Value(text=line, known=known, head=line),),
                via=("eval",),
                fresh=False,
                external=False,
            )
        )
    return True


def _source(call: Invocation) -> bool:
    """The file's commands run in this shell: they are followed where the file is there and small."""
    reading = call.reading
    reading.run(RunsCode.WORKSPACE)
    word = call.words[0] if call.words else None
    file = _sourced(word, call) if word is not None and word.fixed else None
    text = script_text(file, call.context.place) if file is not None else None
    if word is not None:
        reading.use(Use.SCRIPT, word)
        if file is not None:
            reading.path(word, Access.EXECUTE)
    if word is None or text is None:
        # what comes after may be changed by it
        reading.code = True
        return True
    if entered(word.text, call.context.place, call.context.base) is not None:
        # What it does to PATH is known. Whatever else it does, it does as code of the workspace, as `bash FILE` would.
        script = Value(text=text, head=text)
        nested = Nested(kind=NestedKind.SCRIPT, words=(script,), via=(call.name, file or ""), file=file)
    else:
        words = (Value(text=text, head=text), Value(text="source"), *call.words[1:])
        nested = Nested(kind=NestedKind.SHELL, words=words, via=(call.name,), fresh=False, external=False)
    reading.nested.append(nested)
    return True


def _sourced(word: Value, call: Invocation) -> str | None:
    """The file; None where that cannot be told. Without a slash it is looked for on PATH before it is here."""
    place, base = call.context.place, call.context.base
    if base is None or not word.text or word.text.startswith("-"):
        return None
    if "/" not in word.text:
        try:
            folders = place.env.get("PATH", "").split(":")
            if any(not item.startswith("/") or place.files.lstat(f"{item}/{word.text}") for item in folders):
                return None
        except FileSystemUnknownError:
            return None
    raw = word.text if word.text.startswith("/") else f"./{word.text}"
    found = resolve_path(raw, place, base=base, expand_tilde=False)
    return found.path if found.stat is not None and found.stat.kind is FileKind.FILE else None


def _exec(call: Invocation) -> bool:
    # by another name (-a), as a login shell (-l), without an environment (-c) a program is not what was judged
    call.reading.code |= bool(call.arguments.foreign) or call.arguments.has("-a", "-c", "-l")
    call.command(list(call.operands))
    return True


def _within(call: Invocation, words: list[Value], *, external: bool, standard: bool = False) -> None:
    """The words are a command run in this very shell."""
    if words:
        call.reading.operations.add(Operation.EXECUTE)
        call.reading.nested.append(
            Nested(
                kind=NestedKind.ARGV,
                words=tuple(words),
                via=(call.name,),
                fresh=False,
                external=external,
                standard=standard,
            )
        )


def _command(call: Invocation) -> bool:
    if call.arguments.has("-v", "-V"):
        return True
    _within(call, call.operands, external=False, standard=call.arguments.has("-p"))
    return True


def _builtin(call: Invocation) -> bool:
    _within(call, call.operands, external=False)
    return True


def _time(call: Invocation) -> bool:
    """The keyword: what follows is parsed as a command, assignments first."""
    if any("=" in word.text for word in call.operands[:1]):
        call.reading.code = True
    _within(call, call.operands, external=False)
    return True


def _trap(call: Invocation) -> bool:
    """What is trapped is followed when the line ends; only what it is must be known."""
    words = list(call.words)
    if words and words[0].fixed and words[0].text == "--":
        words.pop(0)
    call.reading.code |= any(not word.fixed for word in words)
    return True


def _printf(call: Invocation) -> bool:
    """printf -v NAME evaluates a subscript in NAME, commands included; a plain name is only assigned."""
    first = call.words[0] if call.words else None
    if first is not None and first.fixed and first.text == "-v":
        return True
    if first is not None and ((first.fixed and first.text.startswith("-v")) or first.adrift):
        call.reading.code = True
        call.reading.loose = not first.fixed
    return True


def _kill(call: Invocation) -> bool:
    """`$!` is a process that this very line started, `$(pgrep x)` are some by number; of another word it is not known
    whose they are, nor whether it is all of them."""
    call.reading.operations.add(Operation.EXECUTE)
    if any(not (word.fixed or word.number or word.numbers) for word in call.words):
        call.reading.unknown.append("which process is killed is not known")
    return True


def _own_process(call: Invocation) -> bool:
    """jobs -x runs a command, wait -p evaluates a subscript."""
    harmless = _JOBS if call.name == "jobs" else _WAIT
    for word in call.words:
        text = word.text if word.fixed else word.head
        call.reading.code |= word.adrift or (text.startswith("-") and not (word.fixed and harmless.match(text)))
        call.reading.loose |= word.adrift
    return True


def _bind(call: Invocation) -> bool:
    """What lists bindings does nothing; all others are for somebody who types: -x then runs a command."""
    for word in call.words:
        if not word.fixed or re.match(r"-[A-Za-z]*[xf]", word.text):
            call.reading.code = True
        elif not re.fullmatch(r"-[lpPsSvV]+", word.text):
            call.reading.caution()
    return True


def _history(call: Invocation) -> bool:
    """Of a shell that keeps none there is nothing to see; -a, -n, -r and -w read and write a file of it."""
    files = [word for word in call.words if not (word.fixed and (word.text.isdigit() or word.text.startswith("-")))]
    if any(not (word.fixed and (word.text.isdigit() or word.text == "-c")) for word in call.words):
        call.reading.caution()
        for file in files or [Value(text=f"{call.context.place.home}/.bash_history", head="/")]:
            call.reading.path(file, Access.READ, Access.WRITE)
    return True


def _alias(call: Invocation) -> bool:
    """Nothing is expanded by `bash -c` until it is told to; which names are aliases must be known all the same."""
    call.reading.code |= any(not word.fixed and "=" not in word.head for word in call.words)
    return True


def _plain(_: Invocation) -> bool:
    """It changes the shell only, which effects.py says."""
    return True


BUILTIN_SPECIALS: Mapping[str, Special] = MappingProxyType(
    {
        "cd": _cd_reader,
        "set": _set,
        "hash": _hash,
        "eval": _eval,
        "source": _source,
        "exec": _exec,
        "command": _command,
        "builtin": _builtin,
        "time": _time,
        "trap": _trap,
        "kill": _kill,
        "printf": _printf,
        "test": read_test,
        "alias": _alias,
        "bind": _bind,
        "history": _history,
        "own_process": _own_process,
        "plain": _plain,
    }
)
