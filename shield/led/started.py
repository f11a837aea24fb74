"""The files of a working tree that a line of shell names as what it starts, and the texts in which such lines stand.

No shell is followed here: these lines are run by others, later, and what a word may come to is enough. So a name counts
from the top of the tree and from a folder that the line goes into, and what stands for a folder in front of a name
(`$PWD/`, `$(git rev-parse --show-toplevel)/`) for the top.
"""

import posixpath
from collections.abc import Iterator
from typing import Final

from shield.led.look import Look
from shield.regex import regex

__all__ = ["MAX_SCRIPTS", "TEXTS", "is_made", "named", "started"]

TEXTS: Final = 32  # of settings, of which is kept what they say, each no longer than a look takes
MAX_SCRIPTS: Final = 500  # that settings name: whose they are, has no more
_MAX_WORDS: Final = 64  # in a line of shell
_MAX_LINES: Final = 2_000  # of a text that is read line by line
_MAX_BASES: Final = 3  # folders that a line goes into
_WORD: Final = regex(r"[^\s\"'();|&<>`$!{},\[\]]++")
_TOKEN: Final = regex(_WORD.pattern + r"|[;|&()\"'`]|\[(?=[ \t])")
_SEPARATING: Final = frozenset(";|&()`")
_QUOTES: Final = frozenset("\"'")
_IS_CODE: Final = regex(r"-[a-z]*c")  # `bash -lc "…"`
_IS_FREE: Final = regex(r"\w+=.*|[0-9.]+[smh]?")  # a variable, or how long
_LEADING_TEXT: Final = """
builtin command direnv_load do elif else env eval exec if nice nohup npx parallel pipenv poetry run sudo then time
timeout until uv uvx while xargs
"""
_LEADING: Final = frozenset(_LEADING_TEXT.split())
# What stands in front of a name for a folder, quotes around it included.
_HOME: Final = regex(r"(?<![\w./])~/|\$HOME\"?/|\$\{HOME\}\"?/")
_FOLDER: Final = regex(r"(?:\$\{[^{}\n]*+\}|\$[A-Za-z_]\w*+|\$\([^()\n]*+\)|`[^`\n]*+`|\{\{[^{}\n]*+\}\})[\"']?/")
# What an installer or a build has put there, and puts there again; of `.git` all is known by its own name.
_MADE: Final = frozenset((".git", ".venv", "_build", "build", "dist", "install", "node_modules", "target", "venv"))
_INTERPRETERS_TEXT: Final = """
. bash bun dash deno node perl php pwsh python python3 ruby sh source source_env source_env_if_exists ts-node
tsx zsh
"""
_INTERPRETERS: Final = frozenset(_INTERPRETERS_TEXT.split())
# A file that is started ends in one of these, or in nothing.
_ENDS_TEXT: Final = ".bash .cjs .js .lua .mjs .php .pl .ps1 .py .rb .sh .ts .zsh"
_ENDS: Final = frozenset(("", *_ENDS_TEXT.split()))
_LEFT_OUT: Final = (".js", ".mjs", ".cjs", ".ts", ".sh")


def named(line: str, top: str, look: Look) -> Iterator[str]:
    """The files below the folder `top` that a line names in whatever way: by a path, as an argument that is a file
    there, or as what it starts."""
    for index, word in enumerate(_words(line, look)):
        for path in _paths(word, top):
            if ("/" in word and not look.is_folder(path)) or (index and look.is_file(path)):
                yield path
    yield from started(line, top, look)


def started(text: str, top: str, look: Look) -> Iterator[str]:
    """The files below the folder `top` that lines of shell start, each by a path or an interpreter: what is called like
    a script. Others that they name are what the scripts work on."""
    for line in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        reader = _Reader(top)
        for found in _TOKEN.finditer(_plain(line, look)):
            if reader.words >= _MAX_WORDS:
                break
            yield from _present(reader.take(found[0]), reader.bases, look)


class _Reader:
    """Where in a line of shell the next word stands: `ahead` of a command, behind an interpreter, or elsewhere."""

    def __init__(self, top: str) -> None:
        self.bases = [top]
        self.words = 0
        self._state = "ahead"
        self._before = ""

    def take(self, word: str) -> list[str]:
        """The names by which a word starts something, if it does."""
        before, self._before = self._before, word
        if word in _SEPARATING:
            self._state = "ahead"
            return []
        if word in _QUOTES:
            self._state = "ahead" if _IS_CODE.fullmatch(before) is not None else self._state
            self._before = before
            return []
        self.words += 1
        state, self._state = self._state, "elsewhere"
        name = word.rpartition("/")[2]
        if state == "folder":
            self._enter(word)
        elif state == "module":
            stem = word.replace(".", "/")
            return [f"{stem}.py", f"{stem}/__main__.py", f"{stem}/__init__.py"]
        elif word.startswith("-") or (state == "ahead" and (_IS_FREE.fullmatch(word) or name in _LEADING)):
            # to some an option of their own is a command
            self._state = (
                "ahead"
                if word in ("-exec", "-execdir")
                else "module"
                if (word, state) == ("-m", "interpreter")
                else state
            )
        elif state == "ahead" and word in ("cd", "pushd"):
            self._state = "folder"
        elif state == "ahead" and _is_interpreter(name):
            self._state = "interpreter"
        elif state == "interpreter" or (state == "ahead" and "/" in word):
            # what is no file there may be what an option is given
            self._state = state if state == "interpreter" and "/" not in word else "elsewhere"
            return [word, *(word + end for end in _LEFT_OUT)]
        return []

    def _enter(self, folder: str) -> None:
        if len(self.bases) < _MAX_BASES and not folder.startswith(("/", "-")):
            self.bases.append(posixpath.normpath(posixpath.join(self.bases[-1], folder)))


def _is_interpreter(name: str) -> bool:
    return name in _INTERPRETERS or name.rstrip("0123456789.") in _INTERPRETERS


def _present(names: list[str], bases: list[str], look: Look) -> Iterator[str]:
    """Those of the names that are files, and the first of them where a path could become one."""
    for base in bases:
        for index, name in enumerate(names):
            if posixpath.splitext(name)[1] in _ENDS:
                paths = [*_paths(name, base)]
                to_come = index == 0 and "/" in name
                yield from (path for path in paths if look.is_file(path) or (to_come and not look.is_there(path)))


def _words(line: str, look: Look) -> list[str]:
    return _WORD.findall(_plain(line, look))[:_MAX_WORDS]


def _plain(line: str, look: Look) -> str:
    """The line with the home spelled out, and no other folder in front of a name."""
    if "~/" in line or "$HOME" in line or "${HOME" in line:
        home = look.home
        line = _HOME.sub(lambda _: f"{home}/", line)
    return _FOLDER.sub(" ./", line) if "$" in line or "`" in line or "{{" in line else line


def _paths(word: str, top: str) -> Iterator[str]:
    """Where a word leads from `top`, unless it is an option or names what is made there."""
    inner = word.removeprefix(f"{top}/") if word.startswith("/") else word
    if inner and not inner.startswith("-") and "*" not in inner and "\0" not in inner and not is_made(inner):
        yield posixpath.normpath(posixpath.join(top, inner))


def is_made(name: str) -> bool:
    """Whether a relative name is of what an installer or a build makes."""
    return not _MADE.isdisjoint(name.split("/"))
