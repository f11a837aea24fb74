"""`git worktree`: further working trees of a repository (git-worktree(1)).

`add` puts the files of a commit into a new folder, as a checkout does into this one, and runs the same hooks and
filters; git refuses where anything lies in that folder. `remove` deletes a tree in which nothing is changed or unknown
to git, and with it what git is told to ignore; `prune` forgets trees that are gone. Both lose the commits that nothing
but a tree's own `HEAD` names, and what was begun there and not ended.
"""

import posixpath
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git.history import brings_in
from shield.facts.programs.git.names import holds_assumed, tracked_names
from shield.facts.programs.git.passive import is_passive, settings
from shield.facts.programs.git.repository import git_dirs, may_start_in
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value
from shield.facts.repositories import HEAD, Repository, linked
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["GIT_TREES"]

_MAX_TREES = 100
_MAX_REFS = 1_000
_MAX_ENTRIES = 5_000
_MAX_NAMES = 2_000  # in one directory
_MAX_PACKED = 1_048_576
_FLAGS_TEXT = """
-b -d --detach --checkout --no-checkout --guess-remote --no-guess-remote --track --no-track --lock --reason -q --quiet
"""
_FLAGS = frozenset(_FLAGS_TEXT.split())
_BRANCH_HEAD = regex(r"ref: refs/heads/[^\s\x00-\x1f]+\n?")
_COMMIT = regex(r"([0-9a-f]{40})\n?")
# What is there while something is begun and not ended (gitrepository-layout(5)).
_BEGUN_TEXT = """
rebase-merge rebase-apply sequencer MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG BISECT_START MERGE_AUTOSTASH
"""
_BEGUN = tuple(_BEGUN_TEXT.split())


def _add(call: Invocation) -> bool:
    """The folder is new; what comes in may be another person's."""
    words, reading = call.operands, call.reading
    for word in words[:1]:
        reading.path(word, Access.WRITE, recursive=True)
    given = {option.name for option, _ in call.arguments.given}
    fits = given <= _FLAGS and len(words) in (1, 2) and words[0].fixed and not words[0].text.startswith("-")
    if not fits or not brings_in(call, words[1:]):
        reading.run(RunsCode.WORKSPACE)
    return True


def _remove(call: Invocation) -> bool:
    reading, place = call.reading, call.context.place
    try:
        found = _ours(call)
        for word in call.operands:
            trees = [] if found is None or not word.fixed else list(_meant(found, word.text, place))
            plain = len(call.operands) == 1 and word.fixed and not call.arguments.given
            whole = found is None or not plain or not _loses_nothing(found, trees, word, call)
            reading.path(word, Access.DELETE, recursive=whole)
            for path in trees if whole else ():
                reading.path(Value(text=path, head=path), Access.DELETE, recursive=True)
    except FileSystemUnknownError:
        reading.unknown.append("which tree `git worktree remove` deletes is not known")
    return True


def _loses_nothing(found: Repository, trees: list[str], word: Value, call: Invocation) -> bool:
    """Whether the one tree that `word` means, at that very path, holds what git has kept and nothing else; or there is
    none, and nothing else at that path."""
    place = call.context.place
    if not word.text.startswith("/") or posixpath.normpath(word.text) != word.text:
        return False
    where = resolve_path(word.text, place, base=None, expand_tilde=False)
    if where.path is None or where.symlink:
        return False
    if not trees:
        return not where.exists
    tree = linked(where.path, place) if trees == [where.path] else None
    if tree is None or tree.common != found.common or not _is_settled(tree.own, tree.common, place):
        return False
    if not is_passive(place, tree, settings(place, tree), quiet=False):
        call.reading.run(RunsCode.WORKSPACE)
        return False
    return _holds_tracked_alone(tree, place)


def _prune(call: Invocation) -> bool:
    """Only what git knows of trees is deleted. Which are gone then, earlier commands may change: each counts."""
    call.reading.operations.add(Operation.READ)
    if call.arguments.has("-n", "--dry-run"):
        return True
    call.reading.operations.add(Operation.WRITE)
    place = call.context.place
    try:
        found = _ours(call)
        kept = found is not None and all(
            place.files.lstat(f"{own}/locked") is not None or _is_settled(own, found.common, place)
            for own in _own_folders(found, place)
        )
    except FileSystemUnknownError:
        kept = False
    if not kept or call.operands:
        call.reading.operations.add(Operation.DELETE)
    return True


def _ours(call: Invocation) -> Repository | None:
    """The repository that git works on, if that is known."""
    bases = may_start_in(call)
    found = [git_dirs(call.context.place, base) for base in bases]
    first = found[0] if found else None
    if len(found) != 1 or len(call.context.bases) != 1 or not first or len(first) != 1 or first[0].bare:
        return None
    return first[0]


def _own_folders(found: Repository, place: Place) -> Iterator[str]:
    """Where git keeps what it knows of each tree.

    Raises:
        FileSystemUnknownError: one of them is a link, which git would empty where it leads, or there are too many.
    """
    top = f"{found.common}/worktrees"
    entry = place.files.lstat(top)
    if entry is None:
        return
    names = place.files.listdir(top, _MAX_TREES) if entry.kind is FileKind.DIRECTORY else None
    for own in [top] if names is None else [f"{top}/{name}" for name in names]:
        inner = place.files.lstat(own)
        if names is None or inner is None or inner.kind is not FileKind.DIRECTORY:
            raise FileSystemUnknownError(f"`{own}` is no directory")
        yield own


def _meant(found: Repository, text: str, place: Place) -> Iterator[str]:
    """The trees that `text` may mean: by their path, or the end of it."""
    tail = posixpath.normpath(text).strip("/").casefold()
    for own in _own_folders(found, place):
        pointer = _text(f"{own}/gitdir", place).rstrip("\r\n")
        path = posixpath.dirname(posixpath.normpath(posixpath.join(own, pointer)))
        if not pointer or f"{path}/".casefold().endswith(f"/{tail}/"):
            yield path


def _is_settled(own: str, common: str, place: Place) -> bool:
    """Whether the commit that a tree stands on is named elsewhere, and nothing there was begun and not ended."""
    lstat = place.files.lstat
    if any(lstat(f"{own}/{name}") is not None for name in _BEGUN):
        return False
    if lstat(f"{own}/refs") is not None and _refs(f"{own}/refs", place):
        return False
    head = _text(f"{own}/{HEAD}", place)
    commit = _COMMIT.fullmatch(head)
    if commit is None:
        return _BRANCH_HEAD.fullmatch(head) is not None
    packed = place.files.read(f"{common}/packed-refs", _MAX_PACKED) if lstat(f"{common}/packed-refs") else b""
    lines = (packed or b"").decode("utf-8", "replace").splitlines()
    if any(line.lstrip("^").partition(" ")[0] == commit[1] for line in lines):
        return True
    return any(_text(path, place).strip() == commit[1] for path in _refs(f"{common}/refs", place))


def _refs(top: str, place: Place) -> list[str]:
    """The files beneath a directory of references."""
    waiting, found, seen = [top], list[str](), 0
    while waiting:
        folder = waiting.pop()
        for name in place.files.listdir(folder, _MAX_REFS):
            path = posixpath.join(folder, name)
            entry = place.files.lstat(path)
            seen += 1
            if seen > _MAX_REFS:
                raise FileSystemUnknownError(f"`{top}` is too large")
            if entry is not None and entry.kind is FileKind.DIRECTORY:
                waiting.append(path)
            elif entry is not None:
                found.append(path)
    return found


def _holds_tracked_alone(tree: Repository, place: Place) -> bool:
    """Whether its index names every file in the tree, and git looks at each: it deletes ignored ones, too."""
    names = tracked_names(tree.index, "", place)
    if names is None or holds_assumed(tree.index, place):
        return False
    tracked = frozenset(names)
    waiting, seen = [""], 0
    while waiting:
        folder = waiting.pop()
        for name in place.files.listdir(posixpath.join(tree.top, folder), _MAX_NAMES):
            inner = posixpath.join(folder, name)
            entry = place.files.lstat(posixpath.join(tree.top, inner))
            seen += 1
            if seen > _MAX_ENTRIES or entry is None or (name == ".git" and folder):
                return False
            if entry.kind is FileKind.DIRECTORY:
                waiting.append(inner)
            elif inner not in tracked and inner != ".git":
                return False
    return True


def _text(path: str, place: Place) -> str:
    entry = place.files.lstat(path)
    content = place.files.read(path, 4_096) if entry is not None and entry.kind is FileKind.FILE else None
    return (content or b"").decode("utf-8", "surrogateescape")


GIT_TREES: Mapping[str, Special] = MappingProxyType({"tree_add": _add, "tree_prune": _prune, "tree_remove": _remove})
