"""The files of a working tree that a line of shell names as what it starts, and the texts in which such lines stand.

No shell is followed here: these lines are run by others, later, and what a word may come to is enough. So a name counts
from the top of the tree and from a folder that the line goes into, and what stands for a folder in front of a name
(`$PWD/`, `$(git rev-parse --show-toplevel)/`) for the top.
"""

import posixpath
from collections.abc import Iterator
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import MAX_SETTINGS
from shield.regex import regex

__all__ = ["MAX_SCRIPTS", "is_kind", "is_made", "named", "started", "text_of"]

MAX_SCRIPTS: Final = 500  # that settings name: whose they are, has no more
_MAX_WORDS: Final = 64  # in a line of shell
_MAX_LINES: Final = 2_000  # of a text that is read line by line
_WORD: Final = regex(r"[^\s\"'();|&<>`$!{},\[\]]++")
# What stands in front of a name for a folder, quotes around it included.
_HOME: Final = regex(r"(?<![\w./])~/|\$HOME\"?/|\$\{HOME\}\"?/")
_FOLDER: Final = regex(r"(?:\$\{[^{}\n]*+\}|\$[A-Za-z_]\w*+|\$\([^()\n]*+\)|`[^`\n]*+`|\{\{[^{}\n]*+\}\})[\"']?/")
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


def named(line: str, top: str, place: Place) -> Iterator[str]:
    """The files below the folder `top` that a line names in whatever way: by a path, as an argument that is a file
    there, or as what it starts."""
    for index, word in enumerate(_words(line, place)):
        for path in _paths(word, top):
            if ("/" in word and not is_kind(path, place, FileKind.DIRECTORY)) or (
                index and is_kind(path, place, FileKind.FILE)
            ):
                yield path
    yield from started(line, top, place)


def started(text: str, top: str, place: Place) -> Iterator[str]:
    """The files below the folder `top` that lines of shell start, each by a path or an interpreter: what is called like
    a script. Others that they name are what the scripts work on."""
    for line in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        bases, before = [top], ""
        for word in _words(line, place):
            if before in ("cd", "pushd") and len(bases) < 3 and not word.startswith("/"):
                bases.append(posixpath.normpath(posixpath.join(bases[-1], word)))
            elif before == "-m" and "/" not in word:
                stem = word.replace(".", "/")
                yield from _present([f"{stem}.py", f"{stem}/__main__.py", f"{stem}/__init__.py"], bases, place)
            elif "/" in word or before in _INTERPRETERS:
                yield from _present([word, *(word + end for end in _LEFT_OUT)], bases, place)
                if "/" in word and posixpath.splitext(word)[1] in _ENDS:
                    to_come = (path for base in bases for path in _paths(word, base))
                    yield from (path for path in to_come if not _is_there(path, place))
            before = word


def _present(names: list[str], bases: list[str], place: Place) -> Iterator[str]:
    for base in bases:
        for name in names:
            if posixpath.splitext(name)[1] in _ENDS:
                yield from (path for path in _paths(name, base) if is_kind(path, place, FileKind.FILE))


def _words(line: str, place: Place) -> list[str]:
    if "~/" in line or "$HOME" in line or "${HOME" in line:
        home = place.home
        line = _HOME.sub(lambda _: f"{home}/", line)
    line = _FOLDER.sub(" ./", line) if "$" in line or "`" in line or "{{" in line else line
    return _WORD.findall(line)[:_MAX_WORDS]


def _paths(word: str, top: str) -> Iterator[str]:
    """Where a word leads from `top`, unless it is an option or names what is made there."""
    inner = word.removeprefix(f"{top}/") if word.startswith("/") else word
    if inner and not inner.startswith("-") and "*" not in inner and "\0" not in inner and not is_made(inner):
        yield posixpath.normpath(posixpath.join(top, inner))


def is_made(name: str) -> bool:
    """Whether a relative name is of what an installer or a build makes."""
    return not _MADE.isdisjoint(name.split("/"))


def is_kind(path: str, place: Place, kind: FileKind) -> bool:
    """Whether there is something of this kind; False where that cannot be told."""
    try:
        entry = place.files.lstat(path)
    except FileSystemUnknownError:
        return False
    return entry is not None and entry.kind is kind


def _is_there(path: str, place: Place) -> bool:
    try:
        return place.files.lstat(path) is not None
    except FileSystemUnknownError:
        return False


def text_of(file: str, place: Place) -> str:
    """The text of a file of settings; empty where it is none, is too large or cannot be read."""
    try:
        entry = place.files.lstat(file)
        content = place.files.read(file, MAX_SETTINGS) if entry is not None and entry.kind is FileKind.FILE else None
    except FileSystemUnknownError:
        return ""
    return (content or b"").decode("utf-8", "surrogateescape")
