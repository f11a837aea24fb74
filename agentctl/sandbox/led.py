"""What the settings of a repository lead to: hooks elsewhere, other settings, scripts that git runs.

The words are those of `shield.facts.naming`, which asks about them: who changes one there, changes the other.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from agentctl.sandbox.started import named, text_of

__all__ = ["hooks_by_git", "led_by_git"]

_SETTING: Final = re.compile(
    r"^[ \t]*+(?:\[(?:\"(?:[^\"\\\n]|\\.)*+\"|[^\]\"\n])*+\][ \t]*+)?"
    r"(?P<key>[A-Za-z][A-Za-z0-9-]*+)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)$",
    re.MULTILINE,
)
_VALUE: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|[^"#;\\]|\\.)*+')
_ESCAPED: Final = re.compile(r'\\(.)|"')
_RUN_TEXT: Final = """
alternaterefscommand askpass clean cmd command difffilter driver editor external fsmonitor gitproxy helper
packobjectshook pager process program receivepack smtpserver smudge sshcommand textconv uploadpack
"""
_RUN: Final = frozenset(_RUN_TEXT.split())
_OWN: Final = (".gitconfig", ".config/git/config")  # of the user, in whose settings a relative name is each project's
_HOOKS: Final = ("hookspath", "templatedir")
_MAX_INCLUDED: Final = 20  # files of settings


def led_by_git(git: str, tree: str) -> Iterator[str]:
    """What the configuration of the repository in the directory `git` leads to, and the user's own in its `tree`."""
    yield from (path for _, path in _led(git, tree))


def hooks_by_git(git: str, tree: str) -> Iterator[str]:
    """The folders of hooks that the same names."""
    yield from (path for key, path in _led(git, tree) if key in _HOOKS)


def _led(git: str, tree: str) -> Iterator[tuple[str, str]]:
    home = os.path.expanduser("~")
    waiting, seen = [*(os.path.join(home, name) for name in _OWN), f"{git}/config", f"{git}/config.worktree"], 0
    while waiting and seen < _MAX_INCLUDED:
        file = waiting.pop()
        seen += 1
        for key, value in _settings(file):
            if value.startswith("~/"):
                value = home + value[1:]  # noqa: PLW2901 - the same, spelled out
            if key in (*_HOOKS, "attributesfile"):
                yield key, os.path.join(tree, value)
            elif key == "path":
                included = os.path.normpath(os.path.join(os.path.dirname(file), value))
                waiting.append(included)
                yield key, included
            elif key in _RUN or value.startswith("!"):
                yield from ((key, path) for path in named(value, tree))


def _settings(file: str) -> Iterator[tuple[str, str]]:
    """The settings of a file that name others, as git reads a value: quotes off, a comment cut, a line continued."""
    for match in _SETTING.finditer(text_of(file).replace("\\\r\n", "").replace("\\\n", "")):
        said = _VALUE.match(match["value"])
        value = _ESCAPED.sub(_meant, said[0].rstrip()) if said is not None else ""
        if value and "\0" not in value:
            yield match["key"].lower(), value


def _meant(found: re.Match[str]) -> str:
    letter: str = found[1] or ""
    return {"n": "\n", "t": "\t"}.get(letter, letter)
