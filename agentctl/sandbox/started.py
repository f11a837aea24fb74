"""The files of a working tree that a line of shell names as what it starts, and the texts in which such lines stand.

No shell is followed here: these lines are run by others, later, and what a word may come to is enough. So a name counts
from the top of the tree and from a folder that the line goes into, and what stands for a folder in front of a name
(`$PWD/`, `$(git rev-parse --show-toplevel)/`) for the top. The words are those of `shield.facts.started`.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from agentctl.linked import text

__all__ = ["MAX_SCRIPTS", "is_made", "named", "started", "text_of"]

MAX_SCRIPTS: Final = 500  # that settings name: whose they are, has no more
_MAX_WORDS: Final = 64  # in a line of shell
_MAX_LINES: Final = 2_000  # of a text that is read line by line
_WORD: Final = re.compile(r"[^\s\"'();|&<>`$!{},\[\]]++")
# What stands in front of a name for a folder, quotes around it included.
_HOME: Final = re.compile(r"(?<![\w./])~/|\$HOME\"?/|\$\{HOME\}\"?/")
_FOLDER: Final = re.compile(r"(?:\$\{[^{}\n]*+\}|\$[A-Za-z_]\w*+|\$\([^()\n]*+\)|`[^`\n]*+`|\{\{[^{}\n]*+\}\})[\"']?/")
# What an installer or a build has put there, and puts there again; of `.git` all is known by its own name.
_MADE: Final = frozenset((".git", ".venv", "_build", "build", "dist", "install", "node_modules", "target", "venv"))
_INTERPRETERS_TEXT: Final = """
. bash bun dash deno exec node perl php pwsh python python3 ruby run sh source source_env source_env_if_exists ts-node
tsx zsh
"""
_INTERPRETERS: Final = frozenset(_INTERPRETERS_TEXT.split())
# A file that is started ends in one of these, or in nothing.
_ENDS_TEXT: Final = ".bash .cjs .js .lua .mjs .php .pl .ps1 .py .rb .sh .ts .zsh"
_ENDS: Final = frozenset(("", *_ENDS_TEXT.split()))
_LEFT_OUT: Final = (".js", ".mjs", ".cjs", ".ts", ".sh")


def named(line: str, top: str) -> Iterator[str]:
    """The files below the folder `top` that a line names in whatever way: by a path, as an argument that is a file
    there, or as what it starts."""
    for index, word in enumerate(_words(line)):
        for path in _paths(word, top):
            if ("/" in word and not os.path.isdir(path)) or (index and os.path.isfile(path)):
                yield path
    yield from started(line, top)


def started(text: str, top: str) -> Iterator[str]:
    """The files below the folder `top` that lines of shell start, each by a path or an interpreter: what is called like
    a script. Others that they name are what the scripts work on."""
    for line in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        bases, before = [top], ""
        for word in _words(line):
            if before in ("cd", "pushd") and len(bases) < 3 and not word.startswith("/"):
                bases.append(os.path.normpath(os.path.join(bases[-1], word)))
            elif before == "-m" and "/" not in word:
                stem = word.replace(".", "/")
                yield from _present([f"{stem}.py", f"{stem}/__main__.py", f"{stem}/__init__.py"], bases)
            elif "/" in word or before in _INTERPRETERS:
                yield from _present([word, *(word + end for end in _LEFT_OUT)], bases)
                if "/" in word and os.path.splitext(word)[1] in _ENDS:
                    to_come = (path for base in bases for path in _paths(word, base))
                    yield from (path for path in to_come if not os.path.lexists(path))
            before = word


def _present(names: list[str], bases: list[str]) -> Iterator[str]:
    for base in bases:
        for name in names:
            if os.path.splitext(name)[1] in _ENDS:
                yield from (path for path in _paths(name, base) if os.path.isfile(path))


def _words(line: str) -> list[str]:
    if "~/" in line or "$HOME" in line or "${HOME" in line:
        home = os.path.expanduser("~")
        line = _HOME.sub(lambda _: f"{home}/", line)
    line = _FOLDER.sub(" ./", line) if "$" in line or "`" in line or "{{" in line else line
    return _WORD.findall(line)[:_MAX_WORDS]


def _paths(word: str, top: str) -> Iterator[str]:
    """Where a word leads from `top`, unless it is an option or names what is made there."""
    inner = word.removeprefix(f"{top}/") if word.startswith("/") else word
    if inner and not inner.startswith("-") and "*" not in inner and "\0" not in inner and not is_made(inner):
        yield os.path.normpath(os.path.join(top, inner))


def is_made(name: str) -> bool:
    """Whether a relative name is of what an installer or a build makes."""
    return not _MADE.isdisjoint(name.split("/"))


def text_of(file: str) -> str:
    """The text of a file of settings; empty where it is none, is too large or cannot be read."""
    return text(file) or ""
