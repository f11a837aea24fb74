"""Editors and pagers: what their arguments make them run, besides the files that they open."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from shield.facts.programs.forwarding import glimpse, said_to_run
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.literals import literal_deeds
from shield.facts.programs.reading import Value
from shield.types import Access, RunsCode

__all__ = ["EDITORS"]

_COMMANDS = frozenset(("-c", "--cmd", "--eval", "-eval", "--execute"))
_SOURCES = frozenset(("-S", "-u", "-U", "-l", "--load", "--script", "-i", "-s", "-q", "-W", "-w", "-t"))


def _editor(call: Invocation) -> bool:
    """vi and kin, emacs, less: `-c CMD`, `+CMD`, `-S FILE`; every other word is a file that may be changed."""
    reading = call.reading
    reading.run(RunsCode.INLINE)
    pages = call.name in ("less", "more", "most")
    reads = pages or call.name == "view"
    words = list(call.words)
    while words:
        word = words.pop(0)
        text = word.text
        if word.fixed and text in _COMMANDS and words and not pages:
            _said(call, words.pop(0).text)
        elif word.fixed and text in _SOURCES and words and not pages:
            reading.path(words.pop(0), Access.READ)
        elif word.fixed and text.startswith("+"):
            _said(call, text[1:])
        elif word.fixed and text.startswith("-"):
            reading.flags.append(text.partition("=")[0])
            _said(call, text.partition("=")[2])
        elif reads:
            reading.path(word, Access.READ)
        else:
            reading.path(word, Access.READ, Access.WRITE)
    return True


def _said(call: Invocation, text: str) -> None:
    call.reading.nested += glimpse(call.name, _lines(text))
    for piece in text.split("|"):
        command, _, name = piece.strip().partition(" ")
        command = command.lstrip(":").rstrip("!")
        if command in ("w", "write", "saveas", "sav") and name and not name.startswith("!"):
            call.reading.path(Value(text=name.strip(), head=name.strip()), Access.WRITE)
        elif command in ("e", "edit", "r", "read", "so", "source", "tabe", "sp", "vs") and name[:1] not in ("", "!"):
            call.reading.path(Value(text=name.strip(), head=name.strip()), Access.READ)


def _lines(text: str) -> Iterator[str]:
    line = said_to_run(text)
    if line is not None:
        yield line
    # `call system('…')`, `(shell-command "…")`, `lua os.execute("…")`, `py3 import os; os.system("…")`
    deeds = literal_deeds(
        text.replace("(shell-command ", "system(").replace("(call-process ", "system("), "lua", home="~"
    )
    yield from deeds.lines if deeds is not None else ()


EDITORS: Mapping[str, Special] = MappingProxyType({"editor": _editor})
