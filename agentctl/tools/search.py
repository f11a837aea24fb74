"""Listing and searching trees: no link followed, hidden names left out, every count and size bounded.

Hidden entries (names that begin with a dot) are left out when a tree is walked, so that a search does not read `.env`,
`.git` or `.ssh` on its way; they are reached by naming them. So are files that have further names (hard links): a walk
must not read what also stands where nobody judged it.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # ships no types

from agentctl.errors import ToolError
from agentctl.tools.descriptors import READ_DIRECTORY, READ_FILE, directory, regular, same_directory
from agentctl.tools.output import Output, of_bytes
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import FileIdentity, FileRole

__all__ = ["Entry", "grep_files", "list_directory", "own_file", "search_files", "walk"]

MAX_ENTRIES: Final = 200_000  # looked at in one walk
MAX_RESULTS: Final = 1_000
MAX_DEPTH: Final = 64
MAX_GREP_FILE: Final = 16 * 1024 * 1024
MAX_LINE: Final = 400  # characters of a matching line that are shown
_SNIFF: Final = 8192


@dataclass(frozen=True, slots=True)
class Entry:
    """What a walk meets. `folder` is open while the entry is handed out."""

    path: str
    name: str
    folder: int
    mode: int
    size: int
    inode: int


def list_directory(warrant: Warrant, stop: Stop) -> Output:
    """Payload: path; `recursive`. One entry a line: directories end in `/`, links in `@`; files show their size."""
    judged = warrant.file(FileRole.DIRECTORY, FileRole.READ)
    lines: list[str] = []
    more = False
    with _root(judged) as root:
        for entry in walk(root, stop, recursive=warrant.flag("recursive"), hidden=not warrant.flag("recursive")):
            if len(lines) >= MAX_RESULTS:
                more = True
                break
            lines.append(_line(entry))
    return _result(sorted(lines), more, "entries")


def search_files(warrant: Warrant, stop: Stop) -> Output:
    """Payload: pattern (a glob over the path below `path`, or over the name alone if it has no `/`); path."""
    pattern = warrant.text("pattern")
    matches = _regex(_glob(pattern.removeprefix("**/")))
    whole = "/" in pattern.removeprefix("**/")
    judged = warrant.file(FileRole.DIRECTORY, FileRole.READ)
    lines: list[str] = []
    more = False
    with _root(judged) as root:
        for entry in walk(root, stop, recursive=True, hidden=False):
            if matches.fullmatch(_text(entry.path if whole else entry.name)):
                if len(lines) >= MAX_RESULTS:
                    more = True
                    break
                lines.append(_line(entry))
    return _result(sorted(lines), more, "files")


def grep_files(warrant: Warrant, stop: Stop) -> Output:
    """Payload: pattern (RE2); path, a directory or one file. Lines as `path:number:line`; binary files are skipped."""
    matches = _regex(warrant.text("pattern"))
    judged = warrant.file(FileRole.DIRECTORY, FileRole.READ, FileRole.CONTENT, FileRole.LARGE)
    lines: list[str] = []
    if judged.role is not FileRole.DIRECTORY and judged.kind != "directory":
        with regular(judged) as descriptor:
            more = _grep(matches, descriptor, _shown(os.path.basename(judged.path)), lines)
        return _result(lines, more, "lines")
    more = False
    shared = 0
    with _root(judged) as root:
        for entry in walk(root, stop, recursive=True, hidden=False):
            if not stat.S_ISREG(entry.mode) or entry.size > MAX_GREP_FILE:
                continue
            try:
                descriptor = os.open(entry.name, READ_FILE, dir_fd=entry.folder)
            except OSError:
                continue  # unreadable, or gone since it was listed: not among the results
            try:
                found = os.fstat(descriptor)
                shared += found.st_nlink > 1
                if own_file(found) and _grep(matches, descriptor, _shown(entry.path), lines):
                    more = True
                    break
            finally:
                os.close(descriptor)
    output = _result(lines, more, "lines")
    if shared:
        note = (
            f"{output.note}; {_counted(shared, 'files')} with further names (hard links) not read, name one to read it"
        )
        return replace(output, note=note)
    return output


def own_file(found: os.stat_result) -> bool:
    """Whether a file met on a walk may be read: a regular one that stands here and nowhere else."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


@contextmanager
def _root(judged: FileIdentity) -> Iterator[int]:
    """A readable descriptor of the judged directory."""
    if judged.absent:
        raise ToolError(f"`{judged.path}` does not exist")
    with directory(judged.path, readable=True) as descriptor:
        same_directory(judged, descriptor)
        yield descriptor


def walk(root: int, stop: Stop, *, recursive: bool, hidden: bool) -> Iterator[Entry]:
    """Depth first, names in order. INVARIANT: at most MAX_DEPTH descriptors are open, and all are closed at the end."""
    seen = 0
    stack: list[tuple[int, str, Iterator[str]]] = []
    try:
        stack.append((os.dup(root), "", iter(_names(root, hidden))))
        while stack:
            folder, prefix, names = stack[-1]
            name = next(names, None)
            if name is None:
                os.close(folder)
                stack.pop()
                continue
            stop.check()
            seen += 1
            if seen > MAX_ENTRIES:
                raise ToolError(f"more than {MAX_ENTRIES} files are below this directory; choose one further down")
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue  # gone since it was listed
            path = prefix + name
            yield Entry(path, name, folder, found.st_mode, found.st_size, found.st_ino)
            if recursive and stat.S_ISDIR(found.st_mode) and len(stack) < MAX_DEPTH:
                try:
                    below = os.open(name, READ_DIRECTORY, dir_fd=folder)
                except OSError:
                    continue  # may not be read, or is not a directory any more
                stack.append((below, path + "/", iter(_names(below, hidden))))
    finally:
        for folder, _, _ in stack:
            os.close(folder)


def _names(folder: int, hidden: bool) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names: list[str] = []
            for entry in entries:
                if hidden or not entry.name.startswith("."):
                    names.append(entry.name)
                if len(names) > MAX_ENTRIES:
                    raise ToolError(f"a directory holds more than {MAX_ENTRIES} files; choose another one")
    except OSError as error:
        raise ToolError(f"the directory cannot be listed: {error.strerror}") from None
    names.sort()
    return names


def _grep(matches: Any, descriptor: int, path: str, lines: list[str]) -> bool:
    """Add the matching lines of one file; whether there were more than may be shown."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        content = file.read(MAX_GREP_FILE + 1)
    if b"\0" in content[:_SNIFF]:
        return False
    for number, raw in enumerate(content.split(b"\n"), start=1):
        line = raw.decode("utf-8", "replace")
        if matches.search(line):
            if len(lines) >= MAX_RESULTS:
                return True
            shown = line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
            lines.append(f"{path}:{number}:{shown}")
    return False


def _regex(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False  # a wrong pattern is the model's to hear of, not the terminal's
    options.max_mem = 16 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ToolError(f"`{pattern}` is no pattern that RE2 understands: {_text(str(error))}") from None


def _glob(pattern: str) -> str:
    """A glob as RE2: `*` and `?` stop at a slash, `**` does not, `[…]` is a set."""
    out, at = [], 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        elif pattern[at] in "*?":
            out.append("[^/]*" if pattern[at] == "*" else "[^/]")
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end]
            negated = inside[:1] in ("!", "^")
            inside = inside[1:] if negated else inside
            out.append(("[^/" if negated else "[") + inside.replace("\\", "\\\\").replace("[", "\\[") + "]")
            at = end + 1
        else:
            out.append(re2.escape(pattern[at]))
            at += 1
    return "(?s)" + "".join(out)


def _text(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def _shown(name: str) -> str:
    """A file name on one line: no name can make up a further entry, or a line of another file."""
    text = _text(name)
    return text if text.isprintable() else "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _line(entry: Entry) -> str:
    if stat.S_ISDIR(entry.mode):
        return f"{_shown(entry.path)}/"
    if stat.S_ISLNK(entry.mode):
        return f"{_shown(entry.path)}@"
    return f"{_shown(entry.path)}\t{entry.size}"


def _result(lines: list[str], more: bool, what: str) -> Output:
    text = "".join(f"{line}\n" for line in lines)
    note = f"only the first {MAX_RESULTS} {what}; narrow the search" if more else _counted(len(lines), what)
    return of_bytes("content", text.encode("utf-8"), note=note, more=more)


def _counted(count: int, what: str) -> str:
    """`what` is a plural: entries, files, lines."""
    if count == 1:
        what = "entry" if what == "entries" else what.removesuffix("s")
    return f"{count} {what}"
