"""What the settings of a workspace lead to: hooks elsewhere, scripts that git runs, files that a shell sources.

The words are those of `shield.facts.naming`, which asks about them: who changes one there, changes the other.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from typing import Final

from agentctl.linked import text

__all__ = ["led_by_git", "led_by_hosts", "led_by_shells"]

_HOOKS_PATH: Final = re.compile(r"^[^\n#;]*\bhookspath\s*=\s*\"?([^\"\n]+)", re.IGNORECASE | re.MULTILINE)
_INCLUDED: Final = re.compile(r"^[^\n#;]*\bpath\s*=\s*\"?([^\"\n]+)", re.IGNORECASE | re.MULTILINE)
_SETTING: Final = re.compile(
    r"^[ \t]*+(?:\[[^\]\n]*+\][ \t]*+)?([A-Za-z][A-Za-z0-9-]*+)[ \t]*+=[ \t]*+([^\n]*+)$", re.MULTILINE
)
_RUN_TEXT: Final = """
alternaterefscommand askpass clean cmd command difffilter driver editor external fsmonitor gitproxy helper
packobjectshook pager process program receivepack smtpserver smudge sshcommand textconv uploadpack
"""
_RUN: Final = frozenset(_RUN_TEXT.split())
_WORD: Final = re.compile(r"[^\s\"'();|&<>`$!]++")
_MADE: Final = frozenset((".git", ".venv", "_build", "build", "dist", "install", "node_modules", "target", "venv"))
_MAX_WORDS: Final = 64  # in a line of shell
_ENVRCS: Final = (".envrc", ".envrc.local", ".envrc.override", ".envrc.private", ".envrc.user")
_MISE: Final = ("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".config/mise.toml")
_SOURCED: Final = re.compile(
    r"(?:^|[;&|{(]|\b(?:then|do|else)[ \t])[ \t]*+(?:source_env_if_exists|source_env|source|\.)[ \t]++([^\s;&|]++)",
    re.MULTILINE,
)
_HOSTS: Final = (
    *(".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".cursor/hooks.json"),
    *(".factory/settings.json", ".gemini/settings.json", ".qwen/settings.json", ".windsurf/hooks.json"),
)
_HOST_KEYS: Final = frozenset(("apiKeyHelper", "awsAuthRefresh", "bash", "command", "otelHeadersHelper"))
_PROJECT: Final = re.compile(r"\$\{?[A-Z]+_PROJECT_DIR\}?\"?/")
_MAX_NODES: Final = 10_000  # of settings in JSON
_HERE: Final = re.compile(r"(?:\$PWD|\$\{PWD\}|\{\{ ?config_root ?\}\})/")


def led_by_git(git: str, tree: str) -> Iterator[str]:
    """What the configuration of the repository in the directory `git` leads to, and the user's own in its `tree`."""
    config = text(os.path.join(git, "config")) or ""
    included = [os.path.join(git, given.strip()) for given in _INCLUDED.findall(config)]
    own = [os.path.expanduser(name) for name in ("~/.gitconfig", "~/.config/git/config")]
    for said in (config, *(text(path) or "" for path in (*own, *included))):
        yield from (os.path.join(tree, given.strip()) for given in _HOOKS_PATH.findall(said))
        for key, value in _SETTING.findall(said.replace("\\\n", "")):
            if key.lower() in _RUN or value.lstrip('"').startswith("!"):
                yield from _scripts(value, tree)
    yield from included


def led_by_shells(root: str) -> Iterator[str]:
    """What is read into the user's shell where it enters a workspace."""
    texts = (text(os.path.join(root, name)) or "" for name in _ENVRCS)
    names = [name.strip("\"'") for said in texts for name in _SOURCED.findall(said)]
    names += [name for file in _MISE for name in _toml_sourced(text(os.path.join(root, file)) or "")]
    for name in dict.fromkeys(names):
        path = os.path.join(root, _HERE.sub("", name, count=1))
        if name and not name.endswith("bin/activate") and not _made(name) and not os.path.isdir(path):
            yield path


def led_by_hosts(root: str) -> Iterator[str]:
    """The scripts that hosts of agents run in a workspace, by its settings and by the user's own."""
    for folder in (root, os.path.expanduser("~")):
        for line in (line for name in _HOSTS for line in _commands(text(os.path.join(folder, name)) or "")):
            yield from _scripts(_PROJECT.sub(f" {root}/", line), root)


def _commands(said: str) -> Iterator[str]:
    try:
        waiting = [json.loads(said or "0")]
    except (ValueError, RecursionError):
        return
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, dict):
            yield from (each for key, each in node.items() if key in _HOST_KEYS and isinstance(each, str))
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _toml_sourced(said: str) -> Iterator[str]:
    try:
        env = tomllib.loads(said).get("env")
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for each in env if isinstance(env, list) else [env]:
        special = each.get("_") if isinstance(each, dict) else None
        sources = special.get("source") if isinstance(special, dict) else None
        for source in sources if isinstance(sources, list) else [sources]:
            name = source.get("path") if isinstance(source, dict) else source
            if isinstance(name, str) and "\0" not in name:
                yield name


def _scripts(line: str, tree: str) -> Iterator[str]:
    for index, each in enumerate(_WORD.findall(line)[:_MAX_WORDS]):
        word = each.removeprefix(f"{tree}/") if each.startswith("/") else each
        path = os.path.join(tree, word)
        if word.startswith("-") or "\0" in word or _made(word) or os.path.isdir(path):
            continue
        if "/" in each or (index and os.path.isfile(path)):
            yield path


def _made(name: str) -> bool:
    return not _MADE.isdisjoint(name.split("/"))
