"""pip's requirements files: whether every line of them is pinned by a hash, and which hosts they name.

Source: pip documentation, "Requirements File Format" and "Secure installs" (hash-checking mode).
"""

import posixpath
import re
import shlex
from dataclasses import dataclass

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.regex import regex

__all__ = ["Requirements", "read_requirements"]

_MAX_BYTES = 1 << 20
_MAX_DEPTH = 4
_COMMENT = regex(r"(?:^|(?<=\s))#.*$")
_PINNED = regex(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\s*\[[A-Za-z0-9._,\s-]*\])?\s*"
    r"(?:===?\s*[A-Za-z0-9.!+_-]+|@\s*(?P<url>https://\S+))\s*(?:;[^#\\]*?)?"
    r"(?:\s+--hash[=\s](?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}))+\s*\Z"
)
_PLAIN = frozenset(("--require-hashes", "--pre", "--prefer-binary"))
_WITH_TEXT = frozenset(("--no-binary", "--only-binary"))
_NAMED = frozenset(("-r", "--requirement", "-c", "--constraint"))
_HOSTS = frozenset(("-i", "--index-url", "--extra-index-url", "-f", "--find-links"))
_REPLACES = frozenset(("-i", "--index-url"))
# PEP 263 and a byte order mark decide how pip decodes the rest: what is read here might not be what it reads.
_CODING = regex(rb"coding[:=]")


@dataclass(slots=True)
class Requirements:
    """What the files say. `doubts`: why they are not known to be pinned; `files`: every one that was read."""

    files: list[str]
    urls: list[str]
    doubts: list[str]
    indexed: bool = False  # they name an index in place of the usual one
    lines: int = 0


def read_requirements(path: str, place: Place) -> Requirements:
    """Everything that the file at the absolute `path`, and the files it names, ask for. Never raises."""
    found = Requirements(files=[], urls=[], doubts=[])
    _read(path, place, found, 0)
    if not found.lines:
        found.doubts.append("it asks for nothing")
    return found


def _read(path: str, place: Place, found: Requirements, depth: int) -> None:
    where = resolve_path(path, place, base=None, expand_tilde=False)
    if where.path is None or where.path in found.files or depth > _MAX_DEPTH:
        found.doubts.append("a file it names cannot be told")
        return
    found.files.append(where.path)
    try:
        raw = place.files.read(where.path, _MAX_BYTES)
        text = None if raw is None else raw.decode("utf-8")
    except (FileSystemUnknownError, OSError, UnicodeDecodeError):
        raw = text = None
    if raw is None or text is None:
        found.doubts.append("it cannot be read")
        return
    if raw.startswith(b"\xef\xbb\xbf") or any(_CODING.search(line) for line in raw.split(b"\n")[:2]) or "${" in text:
        found.doubts.append("it is not read as it is written")
        return
    for line in _logical(text):
        _line(line, posixpath.dirname(where.path), place, found, depth)


def _logical(text: str) -> list[str]:
    """Lines with their continuations joined and comments gone, as pip's `join_lines` and `ignore_comments` do."""
    lines: list[str] = []
    pending = ""
    for line in text.splitlines():
        if not line.endswith("\\") or re.match(r"\s*#", line):
            lines.append(pending + (" " + line if re.match(r"\s*#", line) else line))
            pending = ""
        else:
            pending += line.rstrip("\\")
    lines.append(pending)
    return [bare for line in lines if (bare := _COMMENT.sub("", line).strip())]


def _line(line: str, folder: str, place: Place, found: Requirements, depth: int) -> None:
    if not line.startswith("-"):
        found.lines += 1
        pinned = _PINNED.match(line)
        if pinned is None:
            found.doubts.append(f"`{line[:80]}` is not pinned by a hash")
        elif pinned["url"]:
            found.urls.append(pinned["url"])
        return
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    while words:
        name, equals, tail = words.pop(0).partition("=")
        if name in _PLAIN and not equals:
            continue
        value = tail if equals else words.pop(0) if words else ""
        if name in _NAMED and value and "://" not in value:
            _read(posixpath.join(folder, value), place, found, depth + 1)
        elif name in _HOSTS and "://" in value:
            found.urls.append(value)
            found.indexed |= name in _REPLACES
        elif name not in _WITH_TEXT or not value:
            found.doubts.append(f"what `{line[:80]}` changes is not known")
            return
