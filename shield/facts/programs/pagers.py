"""Pagers: what they show where nobody types, which is how a tool's commands run.

Without a terminal for their output less, more and man copy what they are given (less(1), more(1), man(1)); `+CMD` and
keys are for one. What still counts are settings: less takes LESSOPEN from key files, too (lesskey(1), `#env`), and runs
it all the same. Tried with less 590, more 2.38.1 and man-db 2.11.2.
"""

import posixpath
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.editors import EDITORS
from shield.facts.programs.invocation import Invocation, Special
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["PAGERS"]

_LESS = regex(
    r"-[NSRrFXiIMmneEsgGJwWcCdfqQuU~]+|-[xyzhjb]\d+|"
    r"--(?:line-numbers|LINE-NUMBERS|chop-long-lines|RAW-CONTROL-CHARS|raw-control-chars|quit-if-one-screen|no-init|"
    r"ignore-case|IGNORE-CASE|squeeze-blank-lines|quit-at-eof|QUIT-AT-EOF|force|quiet|QUIET|silent|SILENT|tabs=\d+|"
    r"version|help)|\+(?:\d+|[GF]|/[^!|]*)"
)
_MORE = regex(r"-[dflpcsue]+|-n?\d+|--(?:silent|logical|no-pause|squeeze|version|help)|\+(?:\d+|/[^!|]*)")
_PLAIN = MappingProxyType({"less": _LESS, "more": _MORE})
_KEY_FILES = (".less", ".lesskey", ".config/lesskey", ".manpath")
_PAGE = regex(r"[A-Za-z0-9_][A-Za-z0-9_.:+@-]*|\[")
_SHOWS = frozenset(("-k", "-f", "-w", "-a", "-I", "-K", "--apropos", "--whatis", "--where", "--path", "-i"))


def _pager(call: Invocation) -> bool:
    """less and kin: as an editor, unless every word is one that changes only what is shown."""
    reading = call.reading
    plain = _PLAIN.get(call.name)
    if plain is None or _steered(call.context.place):
        return EDITORS["editor"](call)
    files = []
    for word in call.words:
        if word.adrift or (word.fixed and word.text[:1] in "-+" and word.text not in ("", "-")):
            if not (word.fixed and plain.fullmatch(word.text)):
                return EDITORS["editor"](call)
            reading.flags.append(word.text)
        elif word.text != "-" or not word.fixed:
            files.append(word)
    reading.operations.add(Operation.READ)
    for word in files:
        reading.path(word, Access.READ)
    return True


def _manual(call: Invocation) -> bool:
    """man: pages by their names. One that is named by a path is a program for troff, which includes other files."""
    place = call.context.place
    plain = all(word.fixed and _PAGE.fullmatch(word.text) for word in call.operands)
    plain &= _SHOWS.issuperset(option.name for option, _ in call.arguments.given)
    # pages are looked for beside the directories of PATH (manpath(1))
    beside = any(_in_workspace(folder, place) for folder in place.env.get("PATH", "").split(":"))
    if not plain or beside or _steered(place):
        call.reading.run(RunsCode.INLINE)
    return True


def _steered(place: Place) -> bool:
    """Whether settings may name programs: by the environment, or in files of a home that is a workspace, too."""
    if any(name.startswith(("LESS", "MAN")) for name in place.env):
        return True
    if _in_workspace(place.home, place):
        return True
    try:
        return any(place.files.lstat(posixpath.join(place.home, name)) is not None for name in _KEY_FILES)
    except FileSystemUnknownError:
        return True


def _in_workspace(folder: str, place: Place) -> bool:
    """Whether it lies in a workspace, or is named by where the shell stands."""
    inside = (f"{folder}/".startswith(f"{root.rstrip('/')}/") for root in place.workspace_roots)
    return not folder.startswith("/") or any(inside)


PAGERS: Mapping[str, Special] = MappingProxyType({"pager": _pager, "manual": _manual})
