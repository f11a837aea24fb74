"""What git reads of a word that may be a revision, a path, or both: `HEAD~1:src/x`, `:(top)*.py`."""

import re

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import path_fact, resolve_path
from shield.facts.programs.git.pathspecs import excludes, is_pattern, tracked_secrets
from shield.facts.programs.git.repository import git_dirs, may_start_in
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value
from shield.types import Access

__all__ = ["asked_for", "content"]


def asked_for(call: Invocation) -> None:
    """git cat-file --batch: the objects whose content is shown stand in its input, each in a line."""
    if call.context.stdin is None or call.arguments.has("--batch-all-objects"):
        call.reading.unknown.append(f"what `{call.name[:80]}` shows is not known")
    for line in (call.context.stdin or "").splitlines():
        text = re.sub(r"\A(?:contents|info) ", "", line)
        content(call, Value(text=text, head=text))


def content(call: Invocation, word: Value) -> None:
    """`REVISION:PATH`, a path, or a revision, which no file is unless one of that name is there."""
    text = word.text if word.fixed else word.head
    bases = may_start_in(call)
    beside = _beside_index(call, bases)
    rest = None if beside else _behind_revision(word)
    if word.fixed and is_pattern(text) and not excludes(text):
        for path in (path for base in bases for path in tracked_secrets(text, call.context.place, base)):
            call.reading.path(Value(text=path, head=path), Access.READ)
    if rest is not None:
        # One word that git printed, and what stands behind it: no such name leads up or begins with a slash.
        if ":" in rest:
            tail = rest.partition(":")[2]
            call.reading.path(Value(text=tail, head=tail), Access.READ)
    elif word.fixed and ":" in text and not text.startswith(":"):
        tail = text.partition(":")[2]
        if tail and not tail.startswith("/"):
            call.reading.path(Value(text=tail, head=tail), Access.READ)
    elif (
        not word.fixed
        or text.startswith(("/", "~", "./", "../", ":", "."))
        or ".." in text.split("/")
        or beside
        or _names_file(call, text)
    ):
        call.reading.path(word, Access.READ, recursive=beside and not _is_file(call, word))


def _beside_index(call: Invocation, bases: tuple[str, ...]) -> bool:
    """Whether names are files and directories as diff(1) has them; git diff takes them so where no repository is."""
    try:
        found = call.name.endswith(" diff") and any(git_dirs(call.context.place, base) == () for base in bases)
    except FileSystemUnknownError:
        found = True
    return found or call.arguments.has("--no-index")


def _behind_revision(word: Value) -> str | None:
    """What stands behind the number or the revision that the word begins with; None where it does not begin so, or
    more of it is unknown: `$(git merge-base a b)..HEAD`."""
    rest = word.bare or ""
    if word.revision and word.number and not word.fixed and not word.head and word.text.endswith(rest):
        return None if ".." in rest.split("/") else rest
    if word.fixed or not word.number or word.head or not word.text.startswith("$(git ") or not word.text.endswith(rest):
        return None
    first = word.text[: len(word.text) - len(rest)]
    single = first.count("$") == 1 and "`" not in first and ".." not in rest.split("/")
    return rest if single else None


def _names_file(call: Invocation, text: str) -> bool:
    """Whether there is such a file, or was one that has a meaning: its old content is in the history."""
    context = call.context
    fact = path_fact(text, Access.READ, context.place, base=context.base, expand_tilde=False)
    return fact.exists or bool(fact.categories & {"credential", "secret_store"})


def _is_file(call: Invocation, word: Value) -> bool:
    """Whether it is surely no directory."""
    context = call.context
    found = resolve_path(word.text, context.place, base=context.base, expand_tilde=False)
    try:
        entry = None if found.path is None or not word.fixed else context.place.files.lstat(found.path)
    except FileSystemUnknownError:
        return False
    return entry is not None and entry.kind is not FileKind.DIRECTORY
