"""Builtins that change the shell, or run something in it (bash(1) SHELL BUILTIN COMMANDS)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.shell.environment import Influence, influence
from shield.facts.shell.expand import OWN_VARIABLES, State
from shield.types import Access, Operation, RunsCode

__all__ = ["BUILTIN_SPECIALS", "Effect", "carry_out"]

_NAME = re.compile(r"([A-Za-z_]\w*)(?:=(.*))?\Z", re.DOTALL)
_HARMLESS_SET = re.compile(r"[-+][eux]+\Z|[-+][eux]*o\Z")
_HARMLESS_SET_NAMES = frozenset(["errexit", "nounset", "pipefail", "xtrace"])


@dataclass(frozen=True, slots=True)
class Effect:
    """Where the shell may stand after the builtin succeeded and after it failed; empty: the shell has ended."""

    success: tuple[str | None, ...]
    failure: tuple[str | None, ...]
    doubts: tuple[str, ...] = ()


def carry_out(name: str, words: tuple[Value, ...], state: State, place: Place, *, conditional: bool) -> Effect:
    """Apply a builtin's effect on the shell to `state`; `conditional`: it may not have run at all."""
    stay = Effect(state.bases, state.bases)
    if name == "cd":
        return _cd(words, state, place)
    if name in ("pushd", "popd"):
        return Effect((None,), state.bases)
    if name in ("exit", "return", "logout"):
        return Effect((), ())
    if name == "export":
        return _export(words, state, stay, conditional=conditional)
    return stay


def _cd(words: tuple[Value, ...], state: State, place: Place) -> Effect:
    operands = [word for word in words if not (word.fixed and word.text in ("-L", "-P", "-e", "-@", "--"))]
    physical = any(word.text == "-P" for word in words)
    if len(operands) > 1:
        return Effect((None,), state.bases)
    if not operands:
        home = state.variables.get("HOME")
        operands = [Value(text=home)] if home else [Value(text="", known=False)]
    target = operands[0]
    if not target.fixed or target.text.startswith("-") or state.variables.get("CDPATH") is not None:
        return Effect((None,), state.bases)
    dotted = ".." in target.text.split("/")
    bases: list[str | None] = []
    linked = False
    for base in state.bases:
        raw = target.text if target.text.startswith("/") else "./" + target.text
        resolved = resolve_path(raw, place, base=base, expand_tilde=False)
        linked |= resolved.symlink
        # bash takes `..` off the name it knows, the kernel off the directory: with links on the way they differ.
        unsure = dotted and not physical and (state.linked or resolved.symlink)
        bases.append(None if unsure else resolved.path)
    state.linked = (state.linked and not target.text.startswith("/")) or linked
    return Effect(tuple(dict.fromkeys(bases)), state.bases)


def _export(words: tuple[Value, ...], state: State, stay: Effect, *, conditional: bool) -> Effect:
    doubts: list[str] = []
    for word in words:
        match = _NAME.match(word.text)
        if match is None or not (word.fixed or (match[2] is not None and not word.many)):
            doubts.append("`export` with options or names that are not constant")
            continue
        name = match[1]
        kind = influence(name)
        if kind is Influence.CODE or name in OWN_VARIABLES:
            doubts.append(f"`{name}` is exported")
        elif kind is not Influence.NONE:
            state.exported.append(name)
        if match[2] is not None:
            state.variables[name] = match[2] if word.fixed and not conditional else None
    return Effect(stay.success, stay.failure, tuple(doubts))


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


def _export_reader(call: Invocation) -> bool:
    call.reading.code |= any(not word.fixed and not word.head for word in call.words)
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
    """The file's commands run in this shell: what they are is not followed, and what comes after may be changed."""
    call.reading.code = True
    for word in call.words[:1]:
        call.reading.use(Use.SCRIPT, word)
    call.reading.run(RunsCode.WORKSPACE)
    return True


def _exec(call: Invocation) -> bool:
    # by another name (-a), as a login shell (-l), without an environment (-c) a program is not what was judged
    call.reading.code |= bool(call.arguments.foreign) or call.arguments.has("-a", "-c", "-l")
    call.command(list(call.operands))
    return True


def _within(call: Invocation, words: list[Value], *, external: bool) -> None:
    """The words are a command run in this very shell."""
    if words:
        call.reading.operations.add(Operation.EXECUTE)
        call.reading.nested.append(
            Nested(kind=NestedKind.ARGV, words=tuple(words), via=(call.name,), fresh=False, external=external)
        )


def _command(call: Invocation) -> bool:
    if call.arguments.has("-v", "-V"):
        return True
    call.reading.code |= call.arguments.has("-p")  # another PATH
    _within(call, call.operands, external=False)
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


BUILTIN_SPECIALS: Mapping[str, Special] = MappingProxyType(
    {
        "cd": _cd_reader,
        "set": _set,
        "hash": _hash,
        "export": _export_reader,
        "eval": _eval,
        "source": _source,
        "exec": _exec,
        "command": _command,
        "builtin": _builtin,
        "time": _time,
    }
)
