"""Scripts that git's hooks run: by a line of a hook's own, or by the settings of what manages hooks.

`entry: python3 tools/check.py` in `.pre-commit-config.yaml` runs that script at every commit, outside of any sandbox.
Of what else a hook runs (`make lint`, `npm test`) the project's build says what it is, which is its code.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from shield.led.look import Look
from shield.led.started import MAX_SCRIPTS, TEXTS, started
from shield.regex import regex

__all__ = ["hook_scripts"]

_FOLDERS: Final = (".husky", ".githooks", ".git-hooks", ".git_hooks", "git-hooks")
_MANAGED: Final = (
    *(".pre-commit-config.yaml", ".pre-commit-config.yml", ".overcommit.yml", "grumphp.yml", "prek.toml"),
    *("lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".lefthook.yaml", "lefthook.toml", ".lefthook.toml"),
    *("lefthook.json", ".lefthook.json", "lefthook-local.yml", "lefthook-local.yaml", ".lefthook-local.yml"),
    *("captainhook.json", ".captainhook.json", ".huskyrc", ".huskyrc.json", ".lintstagedrc", ".lintstagedrc.json"),
    *(".lintstagedrc.yaml", ".lintstagedrc.yml", ".simple-git-hooks.json", "simple-git-hooks.json"),
    *(".nano-staged.json", ".nanostagedrc", "hk.pkl", ".hk.pkl", ".rusty-hook.toml"),
)
_IN_PACKAGE: Final = ("gitHooks", "husky", "lint-staged", "nano-staged", "pre-commit", "simple-git-hooks")
_MAX_HOOKS: Final = 100  # files of hooks in a folder
_SAMPLE: Final = ".sample"  # git's own examples: never run
# `- entry: x`, `run = "x"`, `"*.py": "x"`; behind any other key stands what a hook looks at.
_KEY: Final = regex(
    r"^[ \t]*+(?:-[ \t]++)?[\"']?(?P<key>[^\s:=\"'{]++)[\"']?[ \t]*+"
    r"[:=](?=[ \t\"'\[{]|$)(?P<rest>[^\n]*+)"
)
_PAIR: Final = regex(r"[{,][ \t]*+[\"']?(?P<key>[A-Za-z][\w-]*+)[\"']?[ \t]*+[:=][ \t]*+")
_RUN_TEXT: Final = """
action args check check_diff cmd command entry exec fix required_executable run runner script shell
applypatch-msg commit-msg post-checkout post-commit post-merge post-rewrite pre-commit pre-merge-commit pre-push
pre-rebase prepare-commit-msg pre_commit pre_push commit_msg
"""
_RUN: Final = frozenset(_RUN_TEXT.split())


def hook_scripts(root: str, look: Look, *hooks: str) -> Iterator[str]:
    """The scripts that hooks run in the resolved workspace `root`; `hooks`: folders of them, of its repository."""
    folders = (*(f"{root}/{name}" for name in _FOLDERS), *hooks)
    texts = [text for folder in folders for text in _hooks(folder, look)]
    texts += [_run(look.text(f"{root}/{name}")) for name in _MANAGED]
    texts.append(_of_package(look.text(f"{root}/package.json")))
    paths: dict[str, None] = {}
    for text in filter(None, texts):
        for path in started(text, root, look):
            if len(paths) < MAX_SCRIPTS:
                paths[path] = None
    yield from paths


def _hooks(folder: str, look: Look) -> Iterator[str]:
    names = [name for name in look.names(folder, _MAX_HOOKS) if not name.endswith(_SAMPLE)]
    yield from (look.text(f"{folder}/{name}") for name in names)


@lru_cache(maxsize=TEXTS)
def _run(text: str) -> str:
    """The lines of settings that are run: behind a key that says so, and those without a key that stand below one."""
    if text.lstrip()[:1] == "{":
        return "\n".join(_texts(_parsed(text)))
    kept, runs = [], False
    for line in text.split("\n"):
        found = _KEY.match(line)
        if found is not None:
            runs = _runs(found["key"])
            line = found["rest"]  # noqa: PLW2901 - what is left of it
        if "{" in line and not runs:
            kept += [rest for key, rest in _pairs(line) if _runs(key)]
        elif runs:
            kept.append(line)
    return "\n".join(kept)


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    """`- {id: x, entry: y}`, `hooks = [{id = "x", entry = "y"}]`"""
    found = [*_PAIR.finditer(line)]
    ends = [*(each.start() for each in found[1:]), len(line)]
    yield from ((each["key"], line[each.end() : end]) for each, end in zip(found, ends, strict=False))


def _runs(key: str) -> bool:
    return key in _RUN or "*" in key


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _texts(given: object, *, all_of_it: bool = False) -> list[str]:
    """The texts in settings that stand behind a key that says they are run."""
    waiting, lines = [(given, all_of_it)], list[str]()
    while waiting and len(lines) < MAX_SCRIPTS:
        node, inside = waiting.pop()
        if isinstance(node, str) and inside:
            lines.append(node)
        elif isinstance(node, dict):
            waiting += ((each, all_of_it or _runs(key)) for key, each in node.items())
        elif isinstance(node, list):
            waiting += ((each, inside) for each in node)
    return lines


@lru_cache(maxsize=TEXTS)
def _of_package(text: str) -> str:
    """What package.json has hooks run, by any of the managers that look there."""
    package = _parsed(text) if any(f'"{key}"' in text for key in _IN_PACKAGE) else None
    if not isinstance(package, dict):
        return ""
    return "\n".join(_texts([package.get(key) for key in _IN_PACKAGE], all_of_it=True))
