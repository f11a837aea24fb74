"""Which files scripts of the shell take in by `source` and `.`, as a checker that follows them looks for them.

Seen in the text, and more than there are: a checker reads of these what it finds, from where it runs and from where the
script lies. What stands behind an expansion is looked for without it (shellcheck's wiki, SC1090 and SC1091).
"""

import posixpath
import string
from collections.abc import Iterable
from itertools import takewhile

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.place import Place
from shield.facts.programs.scripts import script_text
from shield.regex import regex

__all__ = ["sourced"]

_MAX_FILES = 64
_MAX_NAMES = 256
_STATEMENT = regex(r"(?<![\w./$-])(?:source|\.)[ \t]+([^\n;&|]+)")
_DIRECTIVE = regex(r"#[ \t]*shellcheck[ \t]+([^\n]*)")
_PLAIN_DIRECTIVE = regex(
    r"(?:(?:(?:disable|enable|shell)=[\w,-]+|source=[\w./-]+|source-path=SCRIPTDIR)(?:[ \t]+|\Z))*"
)
_SOURCE = regex(r"source=([\w./-]+)")
_LETTERS = f"{string.ascii_letters}{string.digits}_./+-"
_VARIABLE = regex(r"\A\w+")


def sourced(paths: Iterable[str], bases: Iterable[str], place: Place) -> list[str] | None:
    """The places of all that the scripts at the resolved `paths`, and what they take in, may take in; None where one of
    these is not in the workspace, or is not known."""
    bases, roots = tuple(bases), resolved_roots(place)
    found: dict[str, None] = {}
    waiting, seen = list(dict.fromkeys(paths)), set[str]()
    while waiting:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        text = script_text(path, place) if len(seen) <= _MAX_FILES else None
        names = None if text is None else _names(text)
        if names is None or len(names) > _MAX_NAMES:
            return None
        for name in names:
            for folder in (posixpath.dirname(path), *bases):
                there = resolve_path(posixpath.join(folder, name), place, base=None, expand_tilde=False)
                if there.path is None or (there.exists and (there.symlink or not inside(there.path, roots))):
                    return None
                if inside(there.path, roots):
                    found[there.path] = None
                waiting += [there.path] if _is_file(there.path, place) else []
    return list(found)


def _names(text: str) -> list[str] | None:
    found: list[str] = []
    for told in _DIRECTIVE.findall(text):
        if _PLAIN_DIRECTIVE.fullmatch(told) is None:
            return None
        found += _SOURCE.findall(told)
    for rest in _STATEMENT.findall(text):
        if any(rest.count(quote) % 2 for quote in "\"'"):
            return None  # it ends within a word
        for word in takewhile(lambda each: not each.startswith("#"), rest.split()):
            name = _literal(word.strip("\"'"))
            if name is None:
                return None
            found += [name] if name.strip("/.") else []
    return list(dict.fromkeys(found))


def _literal(word: str) -> str | None:
    """What of the word stands behind all expansions, for a name beneath some folder; None where it may be more."""
    lead = word.rstrip(_LETTERS)
    tail = word[len(lead) :]
    if not lead:
        return tail
    if lead.endswith("$"):
        return _VARIABLE.sub("", tail).lstrip("/")
    if lead.endswith((">", "(", "`")):
        return ""  # of a redirection, or a command
    return tail.lstrip("/") if lead.endswith((")", "}", '"', "'")) else None


def _is_file(path: str, place: Place) -> bool:
    try:
        stat = place.files.lstat(path)
    except FileSystemUnknownError:
        return False
    return stat is not None and stat.kind is FileKind.FILE
