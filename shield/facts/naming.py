"""Files that the settings of a workspace name, and what these make of them.

`core.hooksPath = tools/hooks` makes hooks of files that nothing else tells from others, `[include] path = ../shared`
settings. A driver, filter or alias runs the script that it names at every diff, merge or status, a hook of an agent's
host the one that it names at every tool call, and what an `.envrc` that was allowed once sources runs in the user's
shell without being asked about again (direnv-stdlib(1)).
"""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import MAX_SETTINGS, linked
from shield.regex import regex

__all__ = ["Known", "Led", "git_names", "host_names", "known_names", "shell_names"]

# Where a file or folder truly lies, and the absolute name by which it is obeyed.
Led = tuple[str, str]
# The names in a directory, without case; None where not all can be known or compared: then each is looked for there.
Known = frozenset[str] | None

_SETTING: Final = regex(
    r"^[ \t]*+(?:\[[^\]\n]*+\][ \t]*+)?(?P<key>[A-Za-z][A-Za-z0-9-]*+)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)$",
    re.MULTILINE,
)
_VALUE: Final = regex(r'(?:"[^"]*+"|[^"#;])*+')
# By which git runs a line of shell (git-config(1), gitattributes(5)); of an alias or a helper what begins with `!`.
_RUN_TEXT: Final = """
alternaterefscommand askpass clean cmd command difffilter driver editor external fsmonitor gitproxy helper
packobjectshook pager process program receivepack smtpserver smudge sshcommand textconv uploadpack
"""
_RUN: Final = frozenset(_RUN_TEXT.split())
_WORD: Final = regex(r"[^\s\"'();|&<>`$!]++")
# What an installer or a build has put there, and puts there again; of `.git` all is known by its own name.
_MADE: Final = frozenset((".git", ".venv", "_build", "build", "dist", "install", "node_modules", "target", "venv"))
_OWN: Final = (".gitconfig", ".config/git/config")  # of the user, in whose settings a relative name is each project's
_MAX_LEVELS: Final = 20  # directories above a workspace
_MAX_INCLUDED: Final = 20  # files of settings
_MAX_WORDS: Final = 64  # in a line of shell
_MAX_SCRIPTS: Final = 500  # that settings name: whose they are, has no more

_ENVRCS: Final = (".envrc", ".envrc.local", ".envrc.override", ".envrc.private", ".envrc.user")
_MISE: Final = ("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".config/mise.toml")
_SOURCED: Final = regex(
    r"(?:^|[;&|{(]|\b(?:then|do|else)[ \t])[ \t]*+(?:source_env_if_exists|source_env|source|\.)[ \t]++"
    r"(?P<name>[^\s;&|]++)",
    re.MULTILINE,
)
_ON_PATH: Final = regex(
    r"\b(?:PATH_add|path_add[ \t]++PATH)[ \t]++(?P<names>[^\n;&|#]++)|(?<![A-Za-z0-9_])PATH=(?P<value>[^\s;&|]++)"
)
_HOSTS: Final = (
    *(".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".cursor/hooks.json"),
    *(".factory/settings.json", ".gemini/settings.json", ".qwen/settings.json", ".windsurf/hooks.json"),
)
_HOST_KEYS: Final = frozenset(("apiKeyHelper", "awsAuthRefresh", "bash", "command", "otelHeadersHelper"))
_PROJECT: Final = regex(r"\$\{?[A-Z]+_PROJECT_DIR\}?\"?/")
_MAX_NODES: Final = 10_000  # of settings in JSON
_TEXTS: Final = 16  # of settings, each no longer than MAX_SETTINGS, of which is kept what they say
_HERE: Final = regex(r"(?:\$PWD|\$\{PWD\}|\{\{ ?config_root ?\}\})/")


def known_names(names: tuple[str, ...] | None) -> Known:
    """What is known of a directory that lists `names`, so that what it does not hold is not looked for."""
    folded = frozenset(name.casefold() for name in names) if names is not None else frozenset()
    # INVARIANT: beyond ASCII file systems differ in what they take for the same name: nothing is ruled out there.
    return folded if names is not None and all(map(str.isascii, folded)) else None


def _may_hold(known: Known, path: str) -> bool:
    """Whether there may be something at the relative `path`."""
    return known is None or path.partition("/")[0] in known


def git_names(root: str, place: Place) -> Iterator[Led]:
    """What the settings of the repository name that the resolved workspace `root` is a part of."""
    try:
        found = _repository(root, place)
    except FileSystemUnknownError:
        return
    if found is None:
        return
    top, git = found
    scripts: dict[str, str] = {}
    waiting, seen = [*(f"{place.home}/{name}" for name in _OWN), f"{git}/config", f"{git}/config.worktree"], 0
    while waiting and seen < _MAX_INCLUDED:
        file = waiting.pop()
        seen += 1
        for key, value in _settings(_text(file, place)):
            if value.startswith("~/"):
                value = place.home + value[1:]  # noqa: PLW2901 - the same, spelled out
            if key in ("hookspath", "templatedir"):
                yield posixpath.join(top, value), f"{git}/hooks"
            elif key == "attributesfile":
                yield posixpath.join(top, value), f"{git}/info/attributes"
            elif key == "path":
                included = posixpath.normpath(posixpath.join(posixpath.dirname(file), value))
                waiting.append(included)
                yield included, f"{git}/config"
            elif (key in _RUN or value.startswith("!")) and len(scripts) < _MAX_SCRIPTS:
                scripts.update((path, f"{git}/hooks/{key}") for path in _scripts(value, top, place))
    yield from scripts.items()


def shell_names(root: str, place: Place, known: Known = None) -> Iterator[Led]:
    """What direnv and mise read into the user's shell where it enters the resolved workspace `root`, and the folders
    in which they let it look for commands."""
    texts = [_text(f"{root}/{file}", place) for file in _ENVRCS if _may_hold(known, file)]
    tables = [_special(_text(f"{root}/{file}", place)) for file in _MISE if _may_hold(known, file)]
    sourced = [each["name"] for text in texts for each in _SOURCED.finditer(text)]
    sourced += [name for table in tables for name in table.source]
    for path in _located(sourced, root):
        if not path.endswith("bin/activate") and not _is(path, place, FileKind.DIRECTORY):
            yield path, f"{place.home}/.profile"
    folders = [name for text in texts for each in _ON_PATH.finditer(text) for name in _folders(each)]
    folders += [name for table in tables for name in table.path]
    yield from ((path, f"{place.home}/.venv/bin") for path in _located(folders, root))


def _located(names: list[str], root: str) -> Iterator[str]:
    """Where the files lie that are named from the folder `root`, but for what is made there."""
    for name in list(dict.fromkeys(each.strip("\"'") for each in names))[:_MAX_SCRIPTS]:
        here = _HERE.match(name)
        inner = name[here.end() :] if here is not None else name
        if inner and not _made(inner):
            yield posixpath.join(root, inner)


def _folders(found: re.Match[str]) -> list[str]:
    return found["names"].split() if found["names"] is not None else found["value"].strip("\"'").split(":")


def host_names(root: str, place: Place, known: Known = None) -> Iterator[Led]:
    """The scripts that hosts of agents run in the resolved workspace `root`, by its settings and by the user's own."""
    paths: dict[str, None] = {}
    folders = ((root, known), (place.home, None))
    for file in (f"{folder}/{name}" for folder, there in folders for name in _HOSTS if _may_hold(there, name)):
        for line in _commands(_text(file, place)):
            if len(paths) < _MAX_SCRIPTS:
                paths.update(dict.fromkeys(_scripts(_PROJECT.sub(f" {root}/", line), root, place)))
    yield from ((path, f"{root}/.githooks/host") for path in paths)


@lru_cache(maxsize=_TEXTS)
def _commands(text: str) -> tuple[str, ...]:
    """The lines of shell in settings of JSON, by their keys."""
    try:
        waiting = [json.loads(text)] if text else []
    except (ValueError, RecursionError):
        return ()
    found: list[str] = []
    for _ in range(_MAX_NODES):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, dict):
            found += (each for key, each in node.items() if key in _HOST_KEYS and isinstance(each, str))
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return tuple(found)


class _Special(NamedTuple):
    source: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


@lru_cache(maxsize=_TEXTS)
def _special(text: str) -> _Special:
    """What is beneath `_` in the environment that a file of mise's sets."""
    try:
        env = tomllib.loads(text).get("env") if text else None
    except (tomllib.TOMLDecodeError, RecursionError):
        return _Special()
    given = [each.get("_") for each in (env if isinstance(env, list) else [env]) if isinstance(each, dict)]
    tables = [table for table in given if isinstance(table, dict)]
    return _Special(*(tuple(name for table in tables for name in _listed(table.get(key))) for key in _Special._fields))


def _listed(given: object) -> Iterator[str]:
    """The names in a value: one, several, or each with settings of its own."""
    for each in given if isinstance(given, list) else [given]:
        name = each.get("path") if isinstance(each, dict) else each
        if isinstance(name, str) and "\0" not in name:
            yield name


def _scripts(line: str, top: str, place: Place) -> Iterator[str]:
    """The files of a working tree that a line of shell names: by a path, or as an argument that is a file there."""
    for index, each in enumerate(_WORD.findall(line)[:_MAX_WORDS]):
        word = each.removeprefix(f"{top}/") if each.startswith("/") else each
        path = posixpath.normpath(posixpath.join(top, word))
        if word.startswith("-") or _made(word):
            continue
        if ("/" in each and not _is(path, place, FileKind.DIRECTORY)) or (index and _is(path, place, FileKind.FILE)):
            yield path


def _made(name: str) -> bool:
    return not _MADE.isdisjoint(name.split("/"))


def _is(path: str, place: Place, kind: FileKind) -> bool:
    try:
        entry = place.files.lstat(path)
    except FileSystemUnknownError:
        return False
    return entry is not None and entry.kind is kind


def _repository(root: str, place: Place) -> tuple[str, str] | None:
    """The top of the working tree and the directory with its settings, of the nearest repository."""
    at = root
    for _ in range(_MAX_LEVELS):
        entry = place.files.lstat(posixpath.join(at, ".git"))
        if entry is not None and entry.kind is FileKind.DIRECTORY:
            return at, posixpath.join(at, ".git")
        if entry is not None:
            other = linked(at, place)
            return None if other is None else (at, other.common)
        if at == "/":
            break
        at = posixpath.dirname(at)
    return None


@lru_cache(maxsize=_TEXTS)
def _settings(text: str) -> tuple[tuple[str, str], ...]:
    """The settings in a text that name others, as git reads a value: quotes off, a comment cut, a line continued."""
    text = text.replace("\\\r\n", "").replace("\\\n", "")
    found: list[tuple[str, str]] = []
    for match in _SETTING.finditer(text):
        said = _VALUE.match(match["value"])
        value = said[0].rstrip().replace('"', "").replace("\\\\", "\\") if said is not None else ""
        if value and "\0" not in value:
            found.append((match["key"].lower(), value))
    return tuple(found)


def _text(file: str, place: Place) -> str:
    """The text of a file of settings; empty where it is none, is too large or cannot be read."""
    try:
        entry = place.files.lstat(file)
        content = place.files.read(file, MAX_SETTINGS) if entry is not None and entry.kind is FileKind.FILE else None
    except FileSystemUnknownError:
        return ""
    return (content or b"").decode("utf-8", "surrogateescape")
