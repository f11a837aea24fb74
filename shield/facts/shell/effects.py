"""What a builtin does to the shell itself: where it stands, what it holds (bash(1) SHELL BUILTIN COMMANDS)."""

import re
from collections.abc import Mapping
from itertools import pairwise

from shield.facts.place import Place
from shield.facts.programs.reading import Value
from shield.facts.shell.arithmetic import UntrustedError, evaluate
from shield.facts.shell.content import Shell
from shield.facts.shell.declared import NAME, declare, unset
from shield.facts.shell.directories import change_directory, use_stack
from shield.facts.shell.frame import Done, Frame
from shield.facts.shell.options import set_options, set_shell_options
from shield.facts.shell.printed import text_of
from shield.facts.shell.state import State
from shield.facts.shell.variables import Content
from shield.facts.shell.virtual import entered, only_enters
from shield.regex import regex

__all__ = ["DECLARING", "carry_out"]

# Their words are assignments where they look like some: not split.
DECLARING = frozenset(("export", "declare", "typeset", "local", "readonly"))
# Options of `read` and others that take the next word.
_READ_VALUES = frozenset("dinNptu")
_FILLS_ARRAY = regex(r"-\w*a")
_PLAIN = regex(r"[\w./-]+", re.ASCII)
_WAITS = regex(r"-[nf]*p")
_MAPFILE_VALUES = frozenset("dnOsuCc")


def carry_out(
    name: str,
    words: tuple[Value, ...],
    given: Mapping[int, Content],
    state: State,
    place: Place,
    shell: Shell,
    frame: Frame,
) -> Done:
    """Apply the effect of `name words…` to `state`; how the shell goes on."""
    match name:
        case "cd":
            return change_directory(words, state, place)
        case "pushd" | "popd":
            return use_stack(name, words, state, place)
        case "exit" | "logout":
            return Done(None, None)
        case "return" if frame.body is not None:
            frame.body.leave(state)
            return Done(None, None)
        case "break" | "continue" if frame.loop is not None:
            frame.loop.leave(state)
            return Done(None, None)
        case "export" | "declare" | "typeset" | "local" | "readonly":
            declare(name, words, given, state, shell, frame)
        case "unset":
            unset(words, state, place, frame)
        case "source" | ".":
            _source(words, state, place, shell)
        case "let":
            _let(words, state, shell)
        case "shift":
            _shift(words, state)
        case "set":
            set_options(words, state)
        case "shopt":
            set_shell_options(words, state)
        case _:
            _names(_assigned(name, words, state), state, shell, _told(name, words))
    return Done(state, state)


def _assigned(name: str, words: tuple[Value, ...], state: State) -> list[Value]:
    """The names that a builtin gives values of its own."""
    match name:
        case "read":
            named = _operands(words, _READ_VALUES, "a", state)
            if any(word.fixed and _FILLS_ARRAY.match(word.text) for word in words):
                state.arrays.update(word.text for word in named)
            return named
        case "mapfile" | "readarray":
            named = _operands(words, _MAPFILE_VALUES, "", state)
            state.arrays.update(word.text for word in named)
            return named
        case "getopts":
            return list(words[1:2])
        case "wait":
            return [after for word, after in pairwise(words) if word.fixed and _WAITS.fullmatch(word.text)]
        case "printf" if len(words) > 1 and words[0].fixed and words[0].text == "-v":
            return [words[1]]
    return []


def _source(words: tuple[Value, ...], state: State, place: Place, shell: Shell) -> None:
    """`source .venv/bin/activate`: programs are looked for in the environment first."""
    base = state.bases[0] if len(state.bases) == 1 else None
    environment = entered(words[0].text, place, base) if words and words[0].fixed else None
    path = state.variables.get("PATH")
    if environment is not None and not state.searched:
        shell.assign("VIRTUAL_ENV", environment, state)
        shell.assign("PATH", f"{environment}/bin:{path}" if isinstance(path, str) else None, state)
        state.searched = True
        kept = any(name.startswith("_OLD_VIRTUAL") for name in (*state.variables, *place.env))
        state.entered = not kept and not state.functions and only_enters(environment, place)


def _operands(words: tuple[Value, ...], valued: frozenset[str], named: str, state: State) -> list[Value]:
    """The names among the words; a letter of `named` is an option whose value is one."""
    out: list[Value] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.fixed or not word.text.startswith("-") or word.text == "-":
            out.extend(words[at - 1 :])
            break
        if word.text == "--":
            out.extend(words[at:])
            break
        for place, letter in enumerate(word.text[1:], start=2):
            if letter == "C":
                state.doubt("`mapfile -C` runs a command")
            if letter in valued or letter in named:
                value = Value(text=word.text[place:]) if word.text[place:] else words[at] if at < len(words) else None
                at += not word.text[place:]
                if letter in named and value is not None:
                    out.append(value)
                break
    return out


def _told(name: str, words: tuple[Value, ...]) -> str | None:
    """What the one name is given, where that is a plain word: by `printf -v x %s y`."""
    texts = tuple([word.text for word in words])
    known = name == "printf" and texts[:1] == ("-v",) and all(word.fixed and not word.fresh for word in words)
    text = text_of("printf", texts[2:]) if known and "%s\\n" not in texts else None
    return text if text and _PLAIN.fullmatch(text) else None


def _names(words: list[Value], state: State, shell: Shell, text: str | None) -> None:
    for word in words:
        match = NAME.match(word.text) if word.fixed else None
        if match is None or match[3] is not None:
            state.doubt("a name that is assigned to is not plain")
        else:
            shell.assign(match[1], text, state)


def _let(words: tuple[Value, ...], state: State, shell: Shell) -> None:
    for word in words:
        try:
            if not word.fixed:
                raise UntrustedError
            evaluate(word.text, state, lambda name, value: shell.assign(name, value, state))
        except UntrustedError:
            state.doubt("arithmetic on what is not known to be a number")


def _shift(words: tuple[Value, ...], state: State) -> None:
    count = int(words[0].text) if words and words[0].fixed and words[0].text.isdigit() else None if words else 1
    if state.positional is None:
        return
    if count is None or any(value.many or value.several for value in state.positional):
        state.positional, state.exact = None, False
    elif count <= len(state.positional):
        state.positional = state.positional[count:]
