"""Files that are read into the user's shell, or run by it, where it enters a workspace.

What an `.envrc` that was allowed once sources, loads or uses runs without being asked about again (direnv-stdlib(1));
nix-direnv makes the environment anew where the flake of a project has changed. mise reads files of variables, and runs
its hooks at every change of the directory.
"""

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from shield.led.look import Look
from shield.led.started import MAX_SCRIPTS, TEXTS, is_made, started
from shield.regex import regex

__all__ = ["shell_files", "shell_folders"]

_ENVRCS: Final = (
    *(".envrc", ".envrc.local", ".envrc.override", ".envrc.private", ".envrc.user"),
    *(".autoenv", ".autoenv.leave", ".autoenv.sh", ".autoenv.zsh", ".autoenv_leave.zsh", ".loadrc"),
)
_MISE: Final = (
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", "mise/config.toml", "mise/config.local.toml"),
    *(".mise/config.toml", ".mise/config.local.toml", ".config/mise.toml", ".config/mise/config.toml", ".rtx.toml"),
)
_SOURCED: Final = regex(
    r"(?:^|[;&|{(]|\b(?:then|do|else)[ \t])[ \t]*+"
    r"(?:source_env_if_exists|source_env|source|dotenv_if_exists|dotenv|\.)[ \t]++(?P<name>[^\s;&|]++)",
    re.MULTILINE,
)
_ON_PATH: Final = regex(
    r"\b(?:PATH_add|path_add[ \t]++PATH)[ \t]++(?P<names>[^\n;&|#]++)|(?<![A-Za-z0-9_])PATH=(?P<value>[^\s;&|]++)"
    r"|\bload_prefix[ \t]++(?P<prefix>[^\s;&|#]++)|\blayout[ \t]++(?P<layout>go)\b"
)
# `use flake ./nix#dev`, `use nix x.nix`, and the same without direnv's words
_USED: Final = regex(
    r"\buse[ \t_]++(?P<kind>flake|nix|guix|devenv|devbox)\b(?P<rest>[^\n;&|#]*+)"
    r"|\b(?P<tool>nix|devenv|devbox|guix)[ \t]++(?:develop|print-dev-env|generate|shellenv|direnvrc|shell)\b"
)
# What lies beside an environment's file is read by it, too, but this is what it is made of.
_MADE_OF: Final = {
    "flake": ("flake.nix", "flake.lock"),
    "nix": ("shell.nix", "default.nix", "flake.nix", "flake.lock"),
    "guix": ("guix.scm", "manifest.scm", "channels.scm"),
    "devenv": ("devenv.nix", "devenv.yaml", "devenv.lock", "devenv.local.nix", "devenv.local.yaml"),
    "devbox": ("devbox.json", "devbox.lock"),
}
_WATCHED: Final = regex(r"(?:^|[;&|])[ \t]*+watch_(?:file|dir)\b[^\n;&|]*+", re.MULTILINE)
_HERE: Final = regex(r"(?:\$PWD|\$\{PWD\}|\{\{ ?config_root ?\}\})/")
_HOOKS: Final = ("hooks", "watch_files")
_NOT_RUN: Final = ("patterns", "shell", "task")  # of a hook's settings
_ACTIVATES: Final = "bin/activate"  # of an environment: an installer has made it
_MAX_NODES: Final = 2_000  # of settings


def shell_files(root: str, look: Look) -> Iterator[str]:
    """What direnv, mise and their like read into the user's shell, or run, where it enters the resolved workspace
    `root`."""
    texts = [look.text(f"{root}/{file}") for file in _ENVRCS]
    tables = [_table(look.text(f"{root}/{file}")) for file in _MISE]
    specials = [each for table in tables for each in _specials(table)]
    sourced = [each["name"] for text in texts for each in _SOURCED.finditer(text)]
    sourced += [name for text in texts for each in _USED.finditer(text) for name in _used(each)]
    sourced += [name for each in specials for key in ("source", "file") for name in _listed(each.get(key))]
    for path in _located(sourced, root):
        if not path.endswith(_ACTIVATES) and not look.is_folder(path):
            yield path
    run = [_WATCHED.sub("", text) for text in texts if text]
    run += [line for table in tables for key in _HOOKS for line in _lines(table.get(key))]
    yield from _first(path for text in run for path in started(text, root, look))


def shell_folders(root: str, look: Look) -> Iterator[str]:
    """The folders of the same workspace in which they let that shell look for commands."""
    texts = [look.text(f"{root}/{file}") for file in _ENVRCS]
    specials = [each for file in _MISE for each in _specials(_table(look.text(f"{root}/{file}")))]
    folders = [name for text in texts for each in _ON_PATH.finditer(text) for name in _folders(each)]
    folders += [name for each in specials for name in _listed(each.get("path"))]
    yield from _located(folders, root)


def _first(paths: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for path in paths:
        if path not in seen and not path.endswith(_ACTIVATES):
            seen.add(path)
            yield path
        if len(seen) >= MAX_SCRIPTS:
            return


def _located(names: list[str], root: str) -> Iterator[str]:
    """Where the files lie that are named from the folder `root`, but for what is made there."""
    for name in list(dict.fromkeys(each.strip("\"'") for each in names))[:MAX_SCRIPTS]:
        here = _HERE.match(name)
        inner = name[here.end() :] if here is not None else name
        if inner and not is_made(inner):
            yield posixpath.normpath(posixpath.join(root, inner))


def _folders(found: re.Match[str]) -> list[str]:
    if found["prefix"] is not None:
        return [f"{found['prefix'].strip(chr(34) + chr(39))}/bin"]
    if found["layout"] is not None:
        return ["bin"]
    return found["names"].split() if found["names"] is not None else found["value"].strip("\"'").split(":")


def _used(found: re.Match[str]) -> Iterator[str]:
    """The files of an environment, in the folder that it is named by or at the top; or the file that is named."""
    yield from _MADE_OF[found["kind"] or found["tool"]]
    for word in (found["rest"] or "").replace('"', " ").replace("'", " ").split():
        folder = word.partition("#")[0].removeprefix("path:").partition("?")[0]
        if folder and not folder.startswith("-") and ":" not in folder:
            yield folder
            yield from (f"{folder.rstrip('/')}/{name}" for name in _MADE_OF[found["kind"]])


@lru_cache(maxsize=TEXTS)
def _table(text: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _specials(table: Mapping[str, object]) -> list[dict[str, object]]:
    """What is beneath `_` in the environments that a file of mise's sets."""
    env = table.get("env")
    tables = [each.get("_") for each in (env if isinstance(env, list) else [env]) if isinstance(each, dict)]
    return [each for each in tables if isinstance(each, dict)]


def _listed(given: object) -> Iterator[str]:
    """The names in a value: one, several, or each with settings of its own."""
    for each in given if isinstance(given, list) else [given]:
        name = each.get("path") if isinstance(each, dict) else each
        if isinstance(name, str) and "\0" not in name:
            yield name


def _lines(given: object) -> Iterator[str]:
    """The lines in a value, however deep."""
    waiting = [given]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, (dict, list)):
            waiting += node if isinstance(node, list) else (node[key] for key in node if key not in _NOT_RUN)
