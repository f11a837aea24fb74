"""Files that the settings of a repository name, and what these make of them.

`core.hooksPath = tools/hooks` makes hooks of files that nothing else tells from others, `[include] path = ../shared`
settings. A driver, filter or alias runs the script that it names at every diff, merge or status.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import linked
from shield.facts.started import MAX_SCRIPTS, named, text_of
from shield.regex import regex

__all__ = ["Led", "git_names", "repository_of"]

# Where a file or folder truly lies, and the absolute name by which it is obeyed.
Led = tuple[str, str]

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
_MAX_LEVELS: Final = 20  # directories above a workspace
_MAX_INCLUDED: Final = 20  # files of settings


def git_names(root: str, place: Place) -> Iterator[Led]:
    """What the settings of the repository name that the resolved workspace `root` is a part of."""
    try:
        found = repository_of(root, place)
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
        for key, value in _settings(file, place):
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
            elif (key in _RUN or value.startswith("!")) and len(scripts) < MAX_SCRIPTS:
                scripts.update((path, f"{git}/hooks/{key}") for path in named(value, top, place))
    yield from scripts.items()


def repository_of(root: str, place: Place) -> tuple[str, str] | None:
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


def _settings(file: str, place: Place) -> Iterator[tuple[str, str]]:
    """The settings of a file that name others, as git reads a value: quotes off, a comment cut, a line continued."""
    text = text_of(file, place).replace("\\\r\n", "").replace("\\\n", "")
    for match in _SETTING.finditer(text):
        said = _VALUE.match(match["value"])
        value = _ESCAPED.sub(_meant, said[0].rstrip()) if said is not None else ""
        if value and "\0" not in value:
            yield match["key"].lower(), value


def _meant(found: re.Match[str]) -> str:
    letter: str = found[1] or ""
    return {"n": "\n", "t": "\t"}.get(letter, letter)
