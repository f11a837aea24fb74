"""Files that the settings of a repository name.

`core.hooksPath = tools/hooks` makes hooks of files that nothing else tells from others, `[include] path = ../shared`
settings. A driver, filter or alias runs the script that it names at every diff, merge or status.
"""

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from shield.led.look import Look
from shield.led.started import MAX_SCRIPTS, TEXTS, named
from shield.regex import regex

__all__ = ["HOOKS", "INCLUDED", "configured", "hook_folders"]

HOOKS: Final = frozenset(("hookspath", "templatedir"))  # keys that name a folder of them
INCLUDED: Final = "path"  # the key that names further settings
_SETTING: Final = regex(
    r"^[ \t]*+(?:\[(?:\"(?:[^\"\\\n]|\\.)*+\"|[^\]\"\n])*+\][ \t]*+)?"
    r"(?P<key>[A-Za-z][A-Za-z0-9-]*+)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)$",
    re.MULTILINE,
)
# Of a value what stands in front of a comment; a backslash takes the meaning from a quote, within quotes, too.
_VALUE: Final = regex(r'(?:"(?:[^"\\]|\\.)*+"|[^"#;\\]|\\.)*+')
_ESCAPED: Final = regex(r'\\(.)|"')
# By which git runs a line of shell (git-config(1), gitattributes(5)); of an alias or a helper what begins with `!`.
_RUN_TEXT: Final = """
alternaterefscommand askpass clean cmd command difffilter driver editor external fsmonitor gitproxy helper
packobjectshook pager process program receivepack smtpserver smudge sshcommand textconv uploadpack
"""
_RUN: Final = frozenset(_RUN_TEXT.split())
_OWN: Final = (".gitconfig", ".config/git/config")  # of the user, in whose settings a relative name is each project's
_MAX_INCLUDED: Final = 20  # files of settings


def configured(git: str, tree: str, look: Look) -> Iterator[tuple[str, str]]:
    """Keys, in small letters, and what they lead to: by the settings of the repository in the directory `git`, and by
    the user's own, in the working tree `tree`."""
    scripts: dict[str, str] = {}
    waiting, seen = [*(f"{look.home}/{name}" for name in _OWN), f"{git}/config", f"{git}/config.worktree"], 0
    while waiting and seen < _MAX_INCLUDED:
        file = waiting.pop()
        seen += 1
        for key, value in _settings(look.text(file)):
            if value.startswith("~/"):
                value = look.home + value[1:]  # noqa: PLW2901 - the same, spelled out
            if key in HOOKS or key == "attributesfile":
                yield key, posixpath.join(tree, value)
            elif key == INCLUDED:
                included = posixpath.normpath(posixpath.join(posixpath.dirname(file), value))
                waiting.append(included)
                yield key, included
            elif (key in _RUN or value.startswith("!")) and len(scripts) < MAX_SCRIPTS:
                scripts.update((path, key) for path in named(value, tree, look))
    yield from ((key, path) for path, key in scripts.items())


def hook_folders(git: str, tree: str, look: Look) -> Iterator[str]:
    """The folders of hooks of such a repository."""
    yield f"{git}/hooks"
    yield from (path for key, path in configured(git, tree, look) if key in HOOKS)


@lru_cache(maxsize=TEXTS)
def _settings(text: str) -> tuple[tuple[str, str], ...]:
    """The settings in a text that name others, as git reads a value: quotes off, a comment cut, a line continued."""
    found: list[tuple[str, str]] = []
    for match in _SETTING.finditer(text.replace("\\\r\n", "").replace("\\\n", "")):
        said = _VALUE.match(match["value"])
        value = _ESCAPED.sub(_meant, said[0].rstrip()) if said is not None else ""
        if value and "\0" not in value:
            found.append((match["key"].lower(), value))
    return tuple(found)


def _meant(found: re.Match[str]) -> str:
    letter: str = found[1] or ""
    return {"n": "\n", "t": "\t"}.get(letter, letter)
