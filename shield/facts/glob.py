"""The names that a shell pattern would become, bounded."""

import posixpath
import re
from fnmatch import translate

from shield.facts.filesystem import FileKind, FileSystem, FileSystemUnknownError

__all__ = ["matches"]

_MAX_MATCHES = 10_000
_MAX_LISTED = 10_000


def matches(pattern: str, files: FileSystem) -> tuple[str, ...]:
    """What the absolute `pattern` (`*`, `?`, `[…]` within components) matches, sorted; as in bash, a leading dot needs
    a dot. Raises FileSystemUnknownError where that cannot be told or is too much."""
    found = ["/"]
    for part in (part for part in pattern.split("/") if part):
        found = [path for directory in found for path in _step(directory, part, files)]
        if len(found) > _MAX_MATCHES:
            raise FileSystemUnknownError("a pattern has too many matches")
    return tuple(sorted(found))


def _step(directory: str, part: str, files: FileSystem) -> list[str]:
    if not any(mark in part for mark in "*?["):
        path = posixpath.join(directory, part)
        return [path] if part in (".", "..") or files.lstat(path) is not None else []
    stat = files.lstat(directory)
    if stat is None or stat.kind not in (FileKind.DIRECTORY, FileKind.LINK):
        return []
    # fnmatch has `[!…]` only; bash also knows `[^…]`.
    name = re.compile(translate(part.replace("[^", "[!")))
    return [
        posixpath.join(directory, candidate)
        for candidate in files.listdir(directory, _MAX_LISTED)
        if name.match(candidate) and (part.startswith(".") or not candidate.startswith("."))
    ]
