"""Files that the settings of agents' hosts and of editors name: what they run by themselves, and what they are told.

A host runs the script of a hook at every tool call, the one of a server of tools when it starts, an editor that of a
container when the folder is opened. What a file of instructions imports (`@docs/rules.md`) is read as a part of it.
"""

import json
import posixpath
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from shield.led.look import Look
from shield.led.started import MAX_SCRIPTS, TEXTS, named, started
from shield.regex import regex

__all__ = ["host_scripts", "told_texts"]

_HOSTS: Final = (
    *(".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".cursor/hooks.json"),
    *(".factory/settings.json", ".gemini/settings.json", ".qwen/settings.json", ".windsurf/hooks.json"),
)
_HOST_KEYS: Final = frozenset(("apiKeyHelper", "awsAuthRefresh", "bash", "command", "otelHeadersHelper"))
# With programs that they start when the folder is opened, each with its words apart.
_SERVED: Final = (
    *(".mcp.json", "mcp.json", ".amazonq/mcp.json", ".cursor/mcp.json", ".factory/mcp.json", ".gemini/settings.json"),
    *(".junie/mcp/mcp.json", ".kilocode/mcp.json", ".kiro/settings/mcp.json", ".qwen/settings.json", ".roo/mcp.json"),
    *(".trae/mcp.json", ".vscode/mcp.json", ".zed/settings.json", "crush.json", ".crush.json", "opencode.json"),
    *("opencode.jsonc", ".opencode.json", ".opencode.jsonc", ".codex/config.toml", ".helix/languages.toml"),
)
_SERVED_OWN: Final = (".claude.json", ".codex/config.toml", ".cursor/mcp.json", ".gemini/settings.json")
# By keys that say so an editor starts what stands there: language servers, interpreters, formatters.
_EDITORS: Final = (".vscode/settings.json", ".zed/settings.json", ".helix/languages.toml", ".codex/config.toml")
_EDITOR_KEY: Final = regex(r".*(?i:binary|command|executable|interpreter|notify|path|runtime|server|shell)s?")
_OPENED: Final = (".devcontainer/devcontainer.json", ".devcontainer.json", ".vscode/tasks.json")
_OPENED_KEYS_TEXT: Final = """
initializeCommand onCreateCommand updateContentCommand postCreateCommand postStartCommand postAttachCommand
"""
_OPENED_KEYS: Final = frozenset(_OPENED_KEYS_TEXT.split())
_MAX_NODES: Final = 10_000  # of settings in JSON
_TOLD: Final = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "GEMINI.md", "QWEN.md")
# As a word of its own; of other files than texts nothing is an instruction. An address of mail has letters in front.
_IMPORTED: Final = regex(r"(?<![\w`/@])@(?P<name>(?:~/|\.{1,2}/|/)?[\w.-]++(?:/[\w.-]++)*+)")
_TEXTS: Final = (".md", ".mdc", ".markdown", ".txt")
_MAX_TOLD: Final = 20  # files of instructions
# What is not closed goes on to the end, so that nothing is read twice.
_COMMENT: Final = regex(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?')
_LAST_COMMA: Final = regex(r'("(?:[^"\\\n]|\\.)*+"?)|,(?=\s*+[}\]])')


def host_scripts(root: str, look: Look) -> Iterator[str]:
    """The scripts that hosts of agents and editors run in the resolved workspace `root`, by its settings and by the
    user's own."""
    paths: dict[str, None] = {}
    for file in (f"{folder}/{name}" for folder in (root, look.home) for name in _HOSTS):
        for line in _commands(look.text(file)):
            if len(paths) < MAX_SCRIPTS:
                paths.update(dict.fromkeys(named(line, root, look)))
    served = [f"{root}/{name}" for name in (*_SERVED, *_OPENED)]
    served += [f"{look.home}/{name}" for name in _SERVED_OWN]
    lines = [line for file in served for line in _programs(look.text(file))]
    lines += [line for name in _EDITORS for line in _of_editor(look.text(f"{root}/{name}"))]
    for line in lines:
        if len(paths) < MAX_SCRIPTS:
            paths.update(dict.fromkeys(started(line, root, look)))
    yield from paths


def told_texts(root: str, look: Look) -> Iterator[str]:
    """The texts that the instructions in the resolved workspace `root` import, and those import in turn (memory files
    of Claude Code and Gemini CLI: "@path")."""
    waiting, seen = [f"{root}/{name}" for name in _TOLD], set[str]()
    while waiting and len(seen) < _MAX_TOLD:
        file = waiting.pop(0)
        for found in _IMPORTED.finditer(look.text(file)):
            name = found["name"].rstrip(".")
            inner = f"{look.home}{name[1:]}" if name.startswith("~/") else name
            path = posixpath.normpath(posixpath.join(posixpath.dirname(file), inner))
            if path.endswith(_TEXTS) and path not in seen and len(seen) < _MAX_TOLD:
                seen.add(path)
                waiting.append(path)
                yield path


def _parsed(text: str) -> object:
    """JSON, with comments and commas at ends, as editors take it; else TOML."""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(_LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text)))
    except (ValueError, RecursionError):
        pass
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _nodes(text: str) -> Iterator[dict[str, object]]:
    waiting = [_parsed(text)]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


@lru_cache(maxsize=TEXTS)
def _commands(text: str) -> tuple[str, ...]:
    """The lines of shell in settings of JSON, by their keys."""
    nodes = _nodes(text)
    return tuple(each for node in nodes for key, each in node.items() if key in _HOST_KEYS and isinstance(each, str))


@lru_cache(maxsize=TEXTS)
def _of_editor(text: str) -> tuple[str, ...]:
    """What settings of an editor name as a program, each a line."""
    nodes = _nodes(text)
    return tuple(" ".join(_words(each)) for node in nodes for key, each in node.items() if _EDITOR_KEY.fullmatch(key))


@lru_cache(maxsize=TEXTS)
def _programs(text: str) -> tuple[str, ...]:
    """What is started when a folder is opened: servers of tools, containers, tasks that say so."""
    return tuple(_opened(text))


def _opened(text: str) -> Iterator[str]:
    for node in _nodes(text):
        by = node.get("runOptions")
        if "args" in node or "command" in node:
            task = "mcpServers" not in text and '"tasks"' in text
            if not task or (isinstance(by, dict) and by.get("runOn") == "folderOpen"):
                yield " ".join((*_words(node.get("command")), *_words(node.get("args"))))
        for key in _OPENED_KEYS.intersection(node):
            given = node[key]
            for each in given.values() if isinstance(given, dict) else [given]:
                yield " ".join(_words(each))


def _words(given: object) -> list[str]:
    """`"node x.js"`, `["node", "x.js"]`, `{"path": "node", "args": ["x.js"]}`"""
    if isinstance(given, dict):
        return [*_words(given.get("path")), *_words(given.get("args"))]
    return [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]
