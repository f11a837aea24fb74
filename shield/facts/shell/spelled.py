"""Other ways in which a script may be read: by its aliases, and with lines put together that are parted within a word.

And what of it no reader tells: deletes among what is run as a text or under a name that is not known.
"""

import posixpath
import re
from collections.abc import Sequence

from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.script import RefusedLineError
from shield.regex import regex
from shield.types import CommandFact, Dynamic

__all__ = ["further", "hidden_deletes", "spellings"]

_ALIAS = regex(r"""(?:^|[\n;&|])[ \t]*alias[ \t]+([\w.-]+)=('[^'\n]*'|"[^"\n$`\\]*"|[\w./-]+)""")
_PARTED = regex(r"(?<=[^\s])\\\n(?=[^\s])")
_DELETER = r"(?:rm|rmdir|shred|unlink|rimraf)"
# `rm -rf !(build)`: patterns that neither parser knows
_MATCHED = regex(rf"(?:^|[\n;&|(]|\b(?:do|else|then))[ \t]*{_DELETER}[ \t][^\n;|&'\"]*?[!@?*+]\(", re.ASCII)
_RUN = regex(rf"(?:^|[\s;&|(\"'`])\\?(?:/usr)?(?:/bin/)?{_DELETER}\s|(?:^|[\s;&|(\"'`])find\s.*\s-delete\b", re.DOTALL)
_SWEEPING = regex(r"-(?=[a-zA-Z]*[rR])(?=[a-zA-Z]*f)[rRfvdI]+|--recursive")
_CONTENT = regex(r"(?:\$|<)\((?:cat|<)[ \t]*([\w./-]+)\)", re.ASCII)
# `$(command -v rm)`: the program of that name
_FOUND = regex(
    r"""(["']?)(?:\$\(|`)(?:which|command[ \t]+-v|type[ \t]+-[pP])[ \t]+([\w.-]+)"""
    r"""[ \t]*(?:2>[ \t]*/dev/null)?(?:\)|`)\1"""
)
# texts that a name is given, in case one is run by a name: `declare -A x=([y]='rm -rf z'); ${x[y]}`
_HELD = regex(rf"""=[ \t]*(?:'({_DELETER}[ \t][^'\n]*)'|"({_DELETER}[ \t][^"\n]*)")""")
_TEXTS = frozenset(("ash", "bash", "dash", "eval", "ksh", "mksh", "sh", "zsh"))


def spellings(text: str) -> list[str]:
    """The script as it stands, and as a shell may read it besides."""
    found = [text]
    if "\\\n" in text and _refused(text):
        found.append(_PARTED.sub("", text))
    if _FOUND.search(text):
        found.append(_FOUND.sub(r"\2", found[-1]))
    named = {name: value.strip("'\"") for name, value in _ALIAS.findall(text)}
    functions = "".join(
        f'{name}() {{ {"command " if value.split()[0] == name else ""}{value} "$@"\n}}\n'
        for name, value in named.items()
        if value.strip() and re.fullmatch(r"[A-Za-z_][\w-]*", name)
    )
    if functions:
        found.append(functions + _ALIAS.sub("\n:", found[-1]))
    return found


def _refused(text: str) -> bool:
    try:
        read_line(text)
    except RefusedLineError:
        return True
    return False


def further(text: str, commands: Sequence[CommandFact]) -> tuple[list[str], list[str]]:
    """Texts that the script runs besides, and files whose text it runs: `eval "$(cat x)"`, `. /dev/stdin < x`, what it
    writes by a here-document and then starts, what stands in arrays."""
    held = any(map(_runs_held, commands))
    texts = [found[1] or found[2] for found in _HELD.finditer(text)] if held else []
    files: list[str] = []
    written: dict[str, str] = {}
    for command in commands:
        sources = [each.target for each in command.redirects if each.op == "<" and each.target]
        bodies = [each.target for each in command.redirects if each.op in ("<<", "<<-") and each.target]
        if command.name in (*_TEXTS, "source", "."):
            files += [found[1] for word in command.argv[1:] if (found := _CONTENT.fullmatch(word)) is not None]
            files += sources if "/dev/stdin" in command.argv[1:2] else []
            texts += bodies if "/dev/stdin" in command.argv[1:2] else []
        started = command.argv[:1] if command.name not in (*_TEXTS, "source", ".") else command.argv[1:]
        texts += [written[name] for word in started if (name := posixpath.normpath(word)) in written]
        targets = [each.target for each in command.redirects if each.op in (">", ">|", ">>") and each.target]
        names = [*targets, *(command.argv[1:] if command.name == "tee" else ())]
        written.update((posixpath.normpath(name), body) for name in names for body in bodies)
    return texts, files


def _runs_held(command: CommandFact) -> bool:
    """Whether it may run a text that a name holds."""
    unsure = command.dynamic is Dynamic.PROGRAM or (command.dynamic is Dynamic.CODE and command.name in _TEXTS)
    return unsure and any("$" in word for word in command.argv)


def hidden_deletes(text: str, commands: Sequence[CommandFact]) -> bool:
    """Whether the script deletes something that is not seen by what its commands say."""
    return _MATCHED.search(text) is not None or any(map(_deletes, commands))


def _deletes(command: CommandFact) -> bool:
    if command.dynamic is Dynamic.PROGRAM:
        return any(map(_SWEEPING.fullmatch, command.argv[1:3]))
    unsure = command.dynamic in (Dynamic.CODE, Dynamic.ARGUMENT) and command.name in _TEXTS
    sourced = command.dynamic is Dynamic.CODE and command.name in ("source", ".")
    return (unsure or sourced) and any(("$" in word or sourced) and _RUN.search(word) for word in command.argv[1:])
