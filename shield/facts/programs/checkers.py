"""Checkers and formatters that know no plug-ins: shellcheck, shfmt, hadolint, yamllint, clang-format.

They are settled by their words and by settings beside the files, or in a directory above, which say what is complained
about. What such settings could lead to besides is listed: other files, which are then shown in part. With any other
word, and with settings that say more, they are tools of the project like any other.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.glob import matches
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.project import PROJECT
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import script_text
from shield.facts.programs.sourced import sourced
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["CHECKERS"]

_MAX_PLACES = 64  # of settings of one invocation
# Neither an option nor `@file`, which stands for further words; of a pattern no part but the last one is open.
_NAME = regex(r"[A-Za-z0-9_./][A-Za-z0-9_./+ -]*")
_PATTERN = regex(
    r"(?:[A-Za-z0-9_.][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_][A-Za-z0-9_.*?+-]*|(?:[A-Za-z0-9_.][A-Za-z0-9_.+-]*/)+\*[A-Za-z0-9_.*?+-]*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checker:
    """`options`: words that stand alone; `values`: options that take the next word, and what it may be; `rewrites`:
    those with which it changes the files. `settings`: names of files, each with what the text may be (None: anything);
    `follows`: words with which it reads what scripts take in, `opens`: what settings say for that. `chosen`: the option
    that names such a file. `look`: of a folder these are read; None where it takes none.
    `steering`: variables that stand for further words begin so."""

    options: re.Pattern[str]
    values: Mapping[str, re.Pattern[str]] = field(default_factory=lambda: MappingProxyType({}))
    rewrites: frozenset[str] = frozenset()
    settings: tuple[str, ...]
    plain: re.Pattern[str] | None = None
    follows: frozenset[str] = frozenset()
    opens: str = ""
    chosen: str = ""
    look: Look | None = None
    steering: str = ""


_CODES = regex(r"(?:SC)?[0-9]{1,4}(?:[-,](?:SC)?[0-9]{1,4})*")
_WORD = regex(r"[A-Za-z0-9,-]+")
_COUNT = regex(r"[0-9]{1,3}")
_SHELLCHECK = _Checker(
    # `-a` shows lines of what a script takes in, also where the spelling hides what that is; `-x` only names of it
    options=regex(
        r"-x|--external-sources|-C(?:auto|always|never)?|--color(?:=\w+)?|--norc|--list-optional|-[fesSiWo][A-Za-z0-9,-]+"
        r"|--(?:format|exclude|include|shell|severity|enable|wiki-link-count|extended-analysis)=[A-Za-z0-9,-]+"
    ),
    values=MappingProxyType(
        {
            **dict.fromkeys(("-e", "--exclude", "-i", "--include"), _CODES),
            **dict.fromkeys(("-f", "--format", "-s", "--shell", "-S", "--severity", "-o", "--enable"), _WORD),
            **dict.fromkeys(("-W", "--wiki-link-count"), _COUNT),
        }
    ),
    settings=(".shellcheckrc", "shellcheckrc"),
    # `source-path` says where what a script takes in may lie.
    plain=regex(
        r"(?:[ \t]*(?:#[^\n]*|(?:disable|enable|shell|severity|extended-analysis|external-sources)=[\w, \t-]*"
        r"|source-path=SCRIPTDIR)?(?:\n|\Z))*"
    ),
    follows=frozenset(("-x", "--external-sources")),
    opens="external-sources",
    steering="SHELLCHECK_",
)
_SHFMT = _Checker(
    options=regex(
        r"-(?:d|l|s|w|ci|bn|sr|kp|fn|f|mn|diff|list|simplify|write)|--(?:diff|list|simplify|write|find)|-(?:i|ln)=\w+"
    ),
    values=MappingProxyType({"-i": _COUNT, "--indent": _COUNT, "-ln": _WORD, "--language-dialect": _WORD}),
    rewrites=frozenset(("-w", "-write", "--write")),
    settings=(".editorconfig",),
    look=Look(),
)
_HADOLINT = _Checker(
    options=regex(
        r"--no-fail|--no-color|-V|--verbose|--strict-labels|--disable-ignore-pragma"
        r"|--(?:ignore|format|failure-threshold|error|warning|info|style)=[\w,-]+"
    ),
    values=MappingProxyType(
        dict.fromkeys(
            ("--ignore", "-f", "--format", "-t", "--failure-threshold", "--error", "--warning", "--info"), _WORD
        )
    ),
    settings=(".hadolint.yaml", ".hadolint.yml"),
    steering="HADOLINT_",
)
_YAMLLINT = _Checker(
    options=regex(r"-s|--strict|--no-warnings|--list-files|-f\w+|--format=\w+|--config-data=(?:relaxed|default)"),
    values=MappingProxyType(
        {
            **dict.fromkeys(("-f", "--format"), _WORD),
            **dict.fromkeys(
                ("-d", "--config-data"),
                regex(r"relaxed|default|\{(?:extends: (?:relaxed|default), )?rules: \{[\w,:{} -]*\}\}"),
            ),
        }
    ),
    settings=(".yamllint", ".yamllint.yaml", ".yamllint.yml"),
    # `extends` takes another file for settings, `ignore-from-file` one for patterns; an error shows a part of it.
    plain=regex(
        r"(?:(?:(?!.*(?:extends|from-file))[^\n\\]*|extends:[ ]*['\"]?(?:default|relaxed)['\"]?[ ]*)(?:\n|\Z))*"
    ),
    chosen="-c",
    look=Look(only=("*.yaml", "*.yml", ".yamllint"), follows=True),
    steering="YAMLLINT_",
)
_CLANG_FORMAT = _Checker(
    options=regex(
        r"--?(?:n|dry-run|Werror|verbose|output-replacements-xml|fail-on-incomplete-format|sort-includes|i)"
        r"|--?(?:ferror-limit|Wno-error)=[\w-]+|--?fallback-style=\w+"
        r"|--?style=(?:file|LLVM|GNU|Google|Chromium|Microsoft|Mozilla|WebKit|\{[\w,: -]*\})"
    ),
    rewrites=frozenset(("-i", "--i")),
    settings=(".clang-format", "_clang-format", ".clang-format-ignore"),
)
_CHECKERS: Mapping[str, _Checker] = MappingProxyType(
    {
        "shellcheck": _SHELLCHECK,
        "shfmt": _SHFMT,
        "hadolint": _HADOLINT,
        "yamllint": _YAMLLINT,
        "clang-format": _CLANG_FORMAT,
    }
)


def _checker(call: Invocation) -> bool:
    checker = _CHECKERS.get(call.model.name)
    split = None if checker is None or _is_steered(call, checker) else _split(checker, list(call.words))
    settings = None if checker is None or split is None else _settings(call, checker, *split)
    if checker is None or split is None or settings is None:
        return PROJECT["project"](call)
    taken = _taken_in(call, checker, split[0], settings)
    if taken is None:
        return PROJECT["project"](call)
    reading, files = call.reading, split[0]
    # The table knows only that it is a tool of the project.
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.READ}
    reading.flags += [word.text.partition("=")[0] for word in call.words if word.text.startswith("-")]
    rewrites = not checker.rewrites.isdisjoint(word.text for word in call.words)
    for word in files:
        look = checker.look if checker.look is not None and _may_be_folder(call, word) else None
        reading.path(word, Access.READ, recursive=look is not None, look=look)
        if rewrites:
            reading.path(word, Access.WRITE, recursive=look is not None)
    for path in taken:
        reading.path(Value(text=path, head=path), Access.READ)
    # INVARIANT: what is judged by its content is bound by it, and no earlier command of the line writes it
    for path in settings:
        reading.path(Value(text=path, head=path), Access.EXECUTE)
    return True


def _is_steered(call: Invocation, checker: _Checker) -> bool:
    named = {**call.context.place.env, **call.context.told}
    return None in call.context.bases or any(
        bool(checker.steering) and name.startswith(checker.steering) for name in named
    )


def _split(checker: _Checker, words: list[Value]) -> tuple[list[Value], list[Value]] | None:
    """The files that are looked at, and the settings that are named; None where a word may be anything else."""
    files: list[Value] = []
    chosen: list[Value] = []
    while words:
        word = words.pop(0)
        if word.fixed and checker.chosen and word.text == checker.chosen and words:
            chosen.append(words.pop(0))
        elif word.fixed and word.text in checker.values:
            value = words.pop(0) if words else None
            if value is None or not value.fixed or checker.values[word.text].fullmatch(value.text) is None:
                return None
        elif word.fixed and word.text.startswith("-") and word.text != "-":
            if checker.options.fullmatch(word.text) is None:
                return None
        elif word.fixed and word.text == "-":
            continue
        elif not _is_name(word):
            return None
        else:
            files.append(word)
    return (files, chosen) if all(word.fixed and _NAME.fullmatch(word.text) for word in chosen) else None


def _is_name(word: Value) -> bool:
    if word.fixed:
        return _NAME.fullmatch(word.text) is not None
    return word.known and word.pattern is not None and not word.fresh and _PATTERN.fullmatch(word.pattern) is not None


def _folders(call: Invocation, files: list[Value]) -> Iterator[str | None]:
    """Where it looks for settings: where it runs, and where each file lies."""
    place = call.context.place
    for base in call.context.bases:
        yield base
        for word in files:
            text = word.text if word.fixed else f"{word.pattern}"
            yield resolve_path(_raw(posixpath.dirname(text)), place, base=base, expand_tilde=False).path


def _settings(call: Invocation, checker: _Checker, files: list[Value], chosen: list[Value]) -> list[str] | None:
    """The places of settings in the workspace, there or not; None where one says more than it may."""
    place = call.context.place
    roots = resolved_roots(place)
    found: dict[str, None] = {}
    for folder in dict.fromkeys(_folders(call, files)):
        if folder is None:
            return None
        above = folder
        # What lies above the workspace is the user's own, or the system's.
        while inside(above, roots) and len(found) <= _MAX_PLACES:
            found |= dict.fromkeys(posixpath.join(above, name) for name in checker.settings)
            above = posixpath.dirname(above)
    for word in chosen:
        for base in call.context.bases:
            named = resolve_path(_raw(word.text), place, base=base, expand_tilde=False)
            if named.path is None or named.symlink or not inside(named.path, roots):
                return None
            found[named.path] = None
    plain = len(found) <= _MAX_PLACES and all(_says_no_more(call, checker, path) for path in found)
    return list(found) if plain else None


def _says_no_more(call: Invocation, checker: _Checker, path: str) -> bool:
    place = call.context.place
    try:
        stat = place.files.lstat(path)
    except FileSystemUnknownError:
        return False
    if stat is None or (stat.kind is FileKind.DIRECTORY and checker.plain is None):
        return True
    text = script_text(path, place) if stat.kind is FileKind.FILE else None
    return text is not None and (checker.plain is None or checker.plain.fullmatch(text) is not None)


def _taken_in(call: Invocation, checker: _Checker, files: list[Value], settings: list[str]) -> list[str] | None:
    """The files that it reads besides, as the scripts that it looks at say; None where that is not known."""
    place = call.context.place
    follows = not checker.follows.isdisjoint(word.text for word in call.words)
    opens = bool(checker.opens) and any(checker.opens in (script_text(path, place) or "") for path in settings)
    if not (follows or opens):
        return []
    bases = [base for base in call.context.bases if base is not None]
    try:
        named = [path for base in bases for word in files for path in _named(call, word, base)]
    except FileSystemUnknownError:
        return None
    found = [resolve_path(path, place, base=None, expand_tilde=False) for path in named]
    if any(each.path is None or not each.exists for each in found):
        return None
    return sourced([f"{each.path}" for each in found], bases, place)


def _named(call: Invocation, word: Value, base: str) -> Sequence[str]:
    """The files that the word names, by absolute paths; FileSystemUnknownError where that is not known."""
    if word.fixed:
        return (posixpath.join(base, word.text),)
    return matches(posixpath.join(base, word.pattern or ""), call.context.place.files)


def _may_be_folder(call: Invocation, word: Value) -> bool:
    """Whether it is no file for certain: of a folder all beneath is looked at."""
    if not word.fixed:
        return True
    found = [
        resolve_path(
            _raw(word.text),
            call.context.place,
            base=base,
            expand_tilde=False,
        )
        for base in call.context.bases
    ]
    return any(each.stat is None or each.stat.kind is not FileKind.FILE for each in found)


def _raw(name: str) -> str:
    return name if name.startswith("/") else f"./{name}"


CHECKERS: Mapping[str, Special] = MappingProxyType({"checker": _checker})
