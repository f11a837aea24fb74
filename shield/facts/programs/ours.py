"""Which of our own programs a command runs: by its name, by a link to it, through Python or an installer of tools."""

import posixpath
import re

from shield.regex import regex
from shield.types import CommandFact

__all__ = ["OWN_PROGRAMS", "module_of", "own_command"]

OWN_PROGRAMS = frozenset({"shield", "agentctl"})
# Modules that run the module named behind them.
_LAUNCHERS = frozenset({"pdb", "cProfile", "profile", "trace", "coverage", "runpy", "debugpy", "viztracer"})

_MODULE = regex(r"-[bBdEhiIOPqsSuvVx]*m(.*)", re.DOTALL)
_Run = tuple[str, tuple[str, ...]]


def own_command(command: CommandFact) -> _Run | None:
    """The program of ours, `shield` or `agentctl`, that the command runs, and the arguments it gets."""
    name, arguments = command.name, command.argv[1:]
    if name.startswith(("python", "pypy")):
        return _in_python(arguments)
    if name == "uvx" or (name in ("uv", "pipx") and "run" in arguments):
        at = next((index for index, word in enumerate(arguments) if word in OWN_PROGRAMS), None)
        return None if at is None else (arguments[at], arguments[at + 1 :])
    if name not in OWN_PROGRAMS and command.program is not None:
        name = posixpath.basename(command.program)  # a link to our program by another name
    return (name, arguments) if name in OWN_PROGRAMS else None


def _in_python(arguments: tuple[str, ...]) -> _Run | None:
    """The program of ours that a Python is told to run, and its arguments."""
    module = module_of(arguments)
    if module is not None:
        name = module[0].partition(".")[0]
        if name in _LAUNCHERS:
            inner = module[1][module[1].index("-m") + 1 :] if "-m" in module[1] else module[1]
            script = not inner or inner[0].endswith(".py") or "/" in inner[0]
            return _own_script(inner) if script else _in_python(("-m", *inner))
        return (name, module[1]) if name in OWN_PROGRAMS else None
    at = _first_operand(arguments)
    return _own_script(arguments[at:]) if "-c" not in arguments[:at] else None


def _own_script(words: tuple[str, ...]) -> _Run | None:
    """`…/bin/shield ARGUMENTS` and `…/shield/__main__.py ARGUMENTS`, run as scripts."""
    folder, _, last = words[0].rpartition("/") if words else ("", "", "")
    if folder and last in OWN_PROGRAMS and posixpath.basename(folder) in ("bin", "Scripts"):
        return last, words[1:]
    parent = posixpath.basename(folder)
    if last.endswith(".py") and parent in OWN_PROGRAMS and last in ("__main__.py", "cli.py"):
        return parent, words[1:]
    return None


def module_of(arguments: tuple[str, ...]) -> _Run | None:
    """What `python … -m MODULE …` or `-mMODULE` names; interpreter flags before it may be combined (`-Pm`)."""
    for index, word in enumerate(arguments[: _first_operand(arguments)]):
        found = _MODULE.match(word)
        if found is not None:
            rest = arguments[index + 1 :]
            return (found[1], rest) if found[1] else (rest[0], rest[1:]) if rest else None
    return None


def _first_operand(arguments: tuple[str, ...]) -> int:
    """Where the options of the interpreter end."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        at += 2 if arguments[at] in ("-X", "-W", "--check-hash-based-pycs") else 1
    return at
