"""What a pattern may match: a superset of bash's pathname expansion, bounded (bash(1) Pattern Matching)."""

import posixpath
import re
from fnmatch import translate

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Value
from shield.regex import regex

__all__ = ["Matches", "climbs", "directory_of", "fixed_directory", "may_be_option", "superset"]

_MAX_MATCHES = 64
_MAX_ENTRIES = 4096
_ESCAPED = regex(r"\[([*?\[\\])\]")
_BRACKET = regex(r"\[[!^]?+\]?+[^\[\]\\]*+\]")
_OPTION = regex(r"--[A-Za-z0-9\-]+=")
_SPECIAL = regex(r"[*?\[]")
_NOT_PARENT = (".[!.]", ".[^.]")

Matches = tuple[str, ...] | None


def fixed_directory(pattern: str) -> str:
    """The directory that every match lies in: what stands before the first component with a pattern."""
    fixed: list[str] = []
    parts = pattern.split("/")
    for part in parts[:-1]:
        if _SPECIAL.search(_ESCAPED.sub("x", part)):
            break
        fixed.append(_ESCAPED.sub(r"\1", part))
    lead = "/".join(fixed)
    return lead or ("/" if pattern.startswith("/") else ".")


def directory_of(word: Value) -> Value:
    """The directories that are read to find what the pattern of `word` matches: one, or all of another pattern."""
    pattern = word.pattern or ""
    folder = pattern.rpartition("/")[0]
    lead = fixed_directory(pattern)
    if _SPECIAL.search(_ESCAPED.sub("x", folder)):
        return Value(text=folder, pattern=folder, head=lead)
    return Value(text=lead, head=lead)


def superset(pattern: str, place: Place, base: str | None, *, dots: bool = True) -> Matches:
    """Paths as the shell would write them, at least all that match; None where they cannot be known or are too many.
    `dots`: as in shells that take `.` and `..` for names that begin with a dot, which bash has not done since 5.2."""
    absolute = pattern.startswith("/")
    found, several = ["/"] if absolute else [""], False
    try:
        for part in pattern.split("/"):
            if not part:
                continue
            grown: list[str] = []
            for lead in found:
                if not (several and _is_file(lead, place, base)):
                    grown.extend(_step(lead, part, place, base, dots=dots))
                if len(grown) > _MAX_MATCHES:
                    return None
            found = grown
            several |= _SPECIAL.search(_ESCAPED.sub("x", part)) is not None
    except FileSystemUnknownError:
        return None
    return tuple(found)


def _is_file(lead: str, place: Place, base: str | None) -> bool:
    """Whether nothing lies beneath it: `src/*/a.txt` goes through what `src/*` matches."""
    resolved = resolve_path(lead, place, base=base, expand_tilde=False)
    return resolved.stat is not None and resolved.stat.kind is FileKind.FILE


def climbs(pattern: str) -> bool:
    """Whether a part of the pattern is `..` or may match it, as `.*` does before bash 5.2."""
    return any(
        part.startswith(".") and not part.startswith(_NOT_PARENT) and _component(part).fullmatch("..") is not None
        for part in pattern.split("/")
    )


def may_be_option(pattern: str, place: Place, base: str | None) -> bool:
    """Whether a match may begin with a dash, so that a program takes it for an option."""
    first = pattern.partition("/")[0]
    if not _SPECIAL.match(_ESCAPED.sub("x", first)):
        # `--include=*.py`: whatever matches begins with that same option.
        return first.startswith("-") and not _OPTION.match(first)
    if base is None:
        return True
    try:
        names = place.files.listdir(base, _MAX_ENTRIES)
    except FileSystemUnknownError:
        return True
    return any(name.startswith("-") for name in names)


def _step(lead: str, part: str, place: Place, base: str | None, *, dots: bool) -> list[str]:
    if not _SPECIAL.search(_ESCAPED.sub("x", part)):
        return [posixpath.join(lead, _ESCAPED.sub(r"\1", part))]
    resolved = resolve_path(lead or ".", place, base=base, expand_tilde=False)
    if resolved.path is None:
        raise FileSystemUnknownError("the directory of a pattern is not known")
    if not resolved.exists or resolved.stat is None or resolved.stat.kind is not FileKind.DIRECTORY:
        return []
    rule = _component(part)
    # A dot that a name begins with is matched by no bracket expression.
    hidden = part.startswith(".")
    names = [*place.files.listdir(resolved.path, _MAX_ENTRIES), *([".", ".."] if hidden and dots else [])]
    return [
        posixpath.join(lead, name) for name in names if (hidden or not name.startswith(".")) and rule.fullmatch(name)
    ]


def _component(part: str) -> re.Pattern[str]:
    """Literal text, `?` and `*` exactly; any character for a bracket expression, anything from one on whose end is not
    seen at once."""
    at = 0
    while at < len(part):
        escaped = _ESCAPED.match(part, at)
        if escaped is None and part[at] == "[":
            bracket = _BRACKET.match(part, at)
            if bracket is None:
                part = part[:at] + "*"
                break
            part = f"{part[:at]}?{part[bracket.end() :]}"
        at = escaped.end() if escaped is not None else at + 1
    # fnmatch's expression does not backtrack over stars, whatever the names are.
    return re.compile(translate(part), re.IGNORECASE)
