"""Readers for programs whose arguments are a language of their own; every one of them is named in a `*.yaml` entry."""

import re
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from shield.facts.programs.administration import ADMINISTRATION
from shield.facts.programs.archives import ARCHIVES
from shield.facts.programs.aws import AWS
from shield.facts.programs.checkers import CHECKERS
from shield.facts.programs.clients import CLIENTS
from shield.facts.programs.composed import COMPOSED
from shield.facts.programs.connected import CONNECTED
from shield.facts.programs.documents import DOCUMENTS
from shield.facts.programs.duckdb import DUCKDB
from shield.facts.programs.editors import EDITORS
from shield.facts.programs.fd import FD
from shield.facts.programs.file_tools import FILE_TOOLS
from shield.facts.programs.finders import FINDERS
from shield.facts.programs.frameworks import FRAMEWORKS
from shield.facts.programs.git.commands import GIT
from shield.facts.programs.go_tools import GO_TOOLS
from shield.facts.programs.interpreters import INTERPRETERS
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.javascript.runners import RUNNERS
from shield.facts.programs.language import LANGUAGE
from shield.facts.programs.mktemp import MKTEMP
from shield.facts.programs.naming import NAMING
from shield.facts.programs.packages import PACKAGES
from shield.facts.programs.pagers import PAGERS
from shield.facts.programs.patching import PATCHING
from shield.facts.programs.pictures import PICTURES
from shield.facts.programs.project import PROJECT
from shield.facts.programs.pyproject import PYPROJECT
from shield.facts.programs.queries import QUERIES
from shield.facts.programs.reading import Value
from shield.facts.programs.revealing import REVEALING
from shield.facts.programs.sessions import SESSIONS
from shield.facts.programs.stored import STORED
from shield.facts.programs.toolchain import TOOLCHAIN
from shield.facts.programs.tracing import TRACING
from shield.facts.programs.transfer import TRANSFER
from shield.facts.programs.upward import UPWARD
from shield.facts.programs.wrapping import WRAPPING
from shield.regex import regex
from shield.types import Access

__all__ = ["SPECIALS"]

# The next word names users.
_PS_USER = regex(r"-[A-Za-z]*[uU]")
_PS_ENVIRONMENT = regex(r"environ", re.IGNORECASE)


def _ps(call: Invocation) -> bool:
    """ps: `e` without a dash, or the column of that name, shows the environment of every program (ps(1)).

    Where words with a dash are no UNIX options, such as `-x`, or `-t` without a terminal, procps takes all of them for
    words without one: `ps -auxe`.
    """
    first = call.words[0] if call.words else None
    bundle = first is not None and not first.text.startswith("-")
    users = [after for word, after in pairwise(call.words) if word.fixed and _PS_USER.fullmatch(word.text)]
    words = [word for word in call.operands if not any(word is user for user in users)]
    words += [first] if first is not None and bundle else []
    shows = any("e" in word.text for word in words if word.fixed)
    if any(not (word.fixed or word.number or word.numbers) for word in words):
        call.reading.unknown.append("what `ps` shows is not known")
    elif all(word.fixed or word.number or word.numbers for word in call.words):
        # Numbers are those of processes, however many there are.
        call.reading.loose = False
        call.reading.paths = [use for use in call.reading.paths if not use.value.numbers]
    given = {option.name for option, value in call.arguments.given if option.name != "-t" or value is None}
    shows |= not bundle and "-e" in given and not given.isdisjoint(("-x", "-t"))
    columns = call.arguments.values("-o", "--format")
    if shows or any(not value.fixed or _PS_ENVIRONMENT.search(value.text) for value in columns):
        call.reading.path(Value(text="/proc/1/environ", head="/proc/1/environ"), Access.READ)
    return True


def _echo(_: Invocation) -> bool:
    """Words are printed, or are numbers and names: nothing in them is run, read or written."""
    return True


def _own_process(call: Invocation) -> bool:
    """jobs -x runs a command, wait -p evaluates a subscript: only without options are they harmless."""
    call.reading.code |= any(not word.fixed or word.text.startswith("-") for word in call.words)
    return True


def _printf(call: Invocation) -> bool:
    """printf -v NAME evaluates a subscript in NAME, commands included (bash(1) ARITHMETIC EVALUATION)."""
    first = call.words[0] if call.words else None
    if first is not None and (not first.fixed or first.text.startswith("-v")):
        call.reading.code = True
    return True


def _test(call: Invocation) -> bool:
    """test: file tests look at paths; `-v` and `-R` evaluate a subscript, commands included."""
    words = list(call.words)
    reading = call.reading
    for index, word in enumerate(words):
        if (word.fixed and word.text in ("-v", "-R")) or word.adrift:
            reading.code |= word.fixed
            reading.loose |= not word.fixed
        elif word.fixed and re.fullmatch(r"-[a-hkprstuwxGLNOS]|-ef|-nt|-ot", word.text) and index + 1 < len(words):
            reading.path(words[index + 1], Access.LIST)
            if word.text in ("-ef", "-nt", "-ot") and index:
                reading.path(words[index - 1], Access.LIST)
    return True


_OWN: dict[str, Special] = {
    "ps": _ps,
    "echo": _echo,
    "own_process": _own_process,
    "printf": _printf,
    "test": _test,
}
SPECIALS: Mapping[str, Special] = MappingProxyType(
    {
        **_OWN,
        **ADMINISTRATION,
        **ARCHIVES,
        **AWS,
        **CHECKERS,
        **COMPOSED,
        **CONNECTED,
        **DOCUMENTS,
        **DUCKDB,
        **EDITORS,
        **FILE_TOOLS,
        **CLIENTS,
        **FD,
        **SESSIONS,
        **FINDERS,
        **FRAMEWORKS,
        **GIT,
        **GO_TOOLS,
        **INTERPRETERS,
        **LANGUAGE,
        **QUERIES,
        **MKTEMP,
        **NAMING,
        **PACKAGES,
        **PAGERS,
        **PATCHING,
        **PICTURES,
        **PROJECT,
        **PYPROJECT,
        **REVEALING,
        **RUNNERS,
        **STORED,
        **TOOLCHAIN,
        **TRACING,
        **TRANSFER,
        **UPWARD,
        **WRAPPING,
    }
)
