"""Readers for programs whose arguments are a language of their own; every one of them is named in a `*.yaml` entry.

Most stand in modules of their own, and one action meets a handful of programs: a module is imported when one of its
readers is first asked for. A process that stays imports all of them when it starts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access

__all__ = ["DECLARED", "SPECIALS"]

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


# The module beside this one, its mapping of readers, and their names: a test compares this with what is in it.
DECLARED: tuple[tuple[str, str, str], ...] = (
    ("administration", "ADMINISTRATION", "no_operands date kill administer crontab at service keygen"),
    ("archives", "ARCHIVES", "tar unzip packed kept zip"),
    ("aws", "AWS", "aws_lists"),
    ("checkers", "CHECKERS", "checker"),
    ("clients", "CLIENTS", "postgres dump mysql redis"),
    ("composed", "COMPOSED", "compose"),
    ("connected", "CONNECTED", "open_files filter"),
    ("documents", "DOCUMENTS", "tex pdftotext pandoc"),
    ("duckdb", "DUCKDB", "duckdb"),
    ("editors", "EDITORS", "editor"),
    ("fd", "FD", "fd"),
    ("file_tools", "FILE_TOOLS", "chart dd copy mode diff rm sums file shown split truncate"),
    ("finders", "FINDERS", "find xargs"),
    ("frameworks", "FRAMEWORKS", "app server verb tasks generated page converted"),
    (
        "git.commands",
        "GIT",
        (
            "git rev rev_write branch config stash anything bisect remote transfer clone init tree_add "
            "tree_prune tree_remove revise begins clean writes"
        ),
    ),
    ("go_tools", "GO_TOOLS", "gofmt pprof"),
    ("interpreters", "INTERPRETERS", "shell interpreter deno java node python coverage_run"),
    ("javascript.runners", "RUNNERS", "one_by_one at_once"),
    ("language", "LANGUAGE", "sed awk grep"),
    ("media", "MEDIA", "media"),
    ("mktemp", "MKTEMP", "mktemp"),
    ("naming", "NAMING", "cloc rpm xmllint"),
    (
        "packages",
        "PACKAGES",
        (
            "bare_install bundled offline tried_out recursive yarn_foreach yarn_workspace bun install npm_install "
            "pip_install fetched package_runner uv_run"
        ),
    ),
    ("pagers", "PAGERS", "pager manual"),
    ("patching", "PATCHING", "patch apply"),
    ("pictures", "PICTURES", "pictures"),
    ("project", "PROJECT", "project make environment built removes"),
    ("pyproject", "PYPROJECT", "poe named_run"),
    ("queries", "QUERIES", "jq yq jq_client"),
    ("revealing", "REVEALING", "cluster from_files tried gcloud unit"),
    ("sessions", "SESSIONS", "session"),
    ("stored", "STORED", "sqlite"),
    ("toolchain", "TOOLCHAIN", "compiler jar toolchain go_build go_run go_env rollup"),
    ("tracing", "TRACING", "trace perf valgrind debugger measured"),
    ("transfer", "TRANSFER", "curl netcat socat ssh wget lookup scp rsync"),
    ("upward", "UPWARD", "rustup searcher"),
    (
        "wrapping",
        "WRAPPING",
        "wrap forward forward_elsewhere code wrap_environment env parallel script elsewhere su watch flock busybox",
    ),
)


class Specials(Mapping[str, Special]):
    """Readers by name: those that are `here`, and those of the modules that are `declared`."""

    def __init__(self, here: Mapping[str, Special], declared: Sequence[tuple[str, str, str]]) -> None:
        self._here, self._declared = here, declared
        self._read: dict[str, Special] = dict(here)
        self._places = {name: (module, of) for module, of, names in declared for name in names.split()}
        self._names = {**dict.fromkeys(self._places), **dict.fromkeys(self._read)}

    def __getitem__(self, name: str) -> Special:
        found = self._read.get(name)
        if found is None:
            module, of = self._places[name]
            readers: Mapping[str, Special] = getattr(import_module(f"{__package__}.{module}"), of)
            found = self._read[name] = readers[name]
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The reader of this name, else `default`."""
        found = self._read.get(name)  # asked for every command, and mostly there
        return found if found is not None else self[name] if name in self._names else default

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def below(self, here: Mapping[str, Special]) -> "Specials":
        """These, but for the names that are `here`."""
        return Specials({**self._here, **here}, self._declared)

    def load(self) -> None:
        """Import all of them now."""
        for name in self._names:
            self[name]


SPECIALS = Specials({"ps": _ps, "echo": _echo, "own_process": _own_process, "printf": _printf, "test": _test}, DECLARED)
