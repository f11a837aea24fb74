"""A repository as a project brought it along: its settings, hooks and submodules may make git run a program."""

import os
import posixpath
from collections.abc import Iterable

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git.hooks import started_hooks
from shield.facts.programs.git.index import gitlinks, holds_gitlinks
from shield.facts.programs.git.passive import QUIET, is_passive, settings
from shield.facts.programs.git.settings import named_files
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import PathUse, Value
from shield.facts.repositories import Repository, linked
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["STAYING", "git_dirs", "judge_repository", "may_start_in", "on_its_own", "started_in"]

_MAX_INDEX = 16_777_216
_MAX_MODULES, _MAX_DEPTH = 100, 4
# What starts `git status` in submodules, and nothing else.
_LOOKING = frozenset(("add", "commit", "diff", "stage", "status"))
_MAX_LEVELS = 64
# What `HEAD` holds in a directory that git takes for a repository (`validate_headref` in git's setup).
_HEAD = regex(rb"ref:[ \t\n\r]*refs/|[0-9a-f]{40}")
# These do not look into the repositories that an index names: tried with git 2.39, in which `status`, `diff`, `add`,
# `commit`, `stash` and others start there what the configuration found there says.
STAYING_TEXT = """
log show shortlog rev-parse rev-list ls-files ls-tree cat-file blame annotate merge-base branch tag remote config
show-ref for-each-ref name-rev var count-objects check-ignore reflog cherry whatchanged init
"""
STAYING = frozenset(STAYING_TEXT.split())


# Options before the subcommand that say where the repository is, or what its files are.
_ELSEWHERE = frozenset(("--git-dir", "--work-tree", "--bare", "--namespace", "--attr-source", "--super-prefix"))


def on_its_own(flags: Iterable[str]) -> bool:
    """Whether no option says that another repository is meant than the one that the shell stands in."""
    return _ELSEWHERE.isdisjoint(flags)


def judge_repository(call: Invocation, verb: str) -> None:
    """Judge the repository's own settings, hooks and submodules: a project directory may have brought them along."""
    reading, context = call.reading, call.context
    base = started_in(call)
    if base is None:
        reading.run(RunsCode.WORKSPACE)
        return
    try:
        found = git_dirs(context.place, base)
        _top(call, base, found or ())
        plain = found is not None
        for repository in found or ():
            plain &= _plain(call, repository, verb)
    except FileSystemUnknownError:
        plain = False
    if not plain:
        reading.run(RunsCode.WORKSPACE)


def started_in(call: Invocation) -> str | None:
    """The directory that git works in, with `-C` taken into account; None where that is not known."""
    return _moved(call, call.context.base)


def may_start_in(call: Invocation) -> tuple[str, ...]:
    """Every known directory that git may work in: `cd src; git add .` goes on where there is no `src`."""
    found = (_moved(call, base) for base in call.context.bases)
    return tuple(base for base in found if base is not None)


def _moved(call: Invocation, base: str | None) -> str | None:
    moved = call.reading.moved
    if moved is None or base is None:
        return base
    return resolve_path(moved.text, call.context.place, base=base, expand_tilde=False).path if moved.fixed else None


def _plain(call: Invocation, repository: Repository, verb: str) -> bool:
    """Whether nothing in this repository makes git run a program."""
    if repository.bare:
        return False  # nothing guards its configuration, and any directory can be made one
    place = call.context.place
    text = settings(place, repository)
    if text is not None:
        _named(call, repository, text)
        started_hooks(call, repository, text, verb)
    if verb == "help" and text is not None and "help" in text.lower():
        return False  # it may be shown in a browser
    if not is_passive(place, repository, text, quiet=verb in QUIET):
        return False
    if not _looks_inside(call, verb):
        return True
    if verb in _LOOKING and not _goes_inside(call):
        return _passive_modules(place, repository, _MAX_DEPTH)
    return not _submodules(place, repository)


def _passive_modules(place: Place, repository: Repository, depth: int) -> bool:
    """Whether `git status` runs nothing in the repositories that the index names, nor in those beneath them."""
    entry = place.files.lstat(repository.index)
    content = b"" if entry is None else place.files.read(repository.index, _MAX_INDEX)
    names = gitlinks(content) if content else ()
    if entry is not None and (not content or names is None or len(names) > _MAX_MODULES):
        return False
    for name in map(os.fsdecode, names or ()):
        top = posixpath.join(repository.top, name)
        inner = posixpath.join(top, ".git")
        if posixpath.normpath(top) != top or not top.startswith(f"{repository.top}/"):
            return False
        there = place.files.lstat(inner)
        if there is None:
            continue
        module = Repository(top, inner, inner) if there.kind is FileKind.DIRECTORY else linked(top, place)
        if module is None or depth == 0 or not is_passive(place, module, settings(place, module), quiet=True):
            return False
        if not _passive_modules(place, module, depth - 1):
            return False
    return True


def _named(call: Invocation, repository: Repository, text: str) -> None:
    """The files that its settings name: they may lie anywhere that a project says."""
    files = named_files(text, repository.top, call.context.place)
    if files is None:
        call.reading.unknown.append("which files the repository's settings name is not known")
    for path in files or ():
        call.reading.paths.append(PathUse(value=Value(text=path, head=path), access=Access.READ))


def _looks_inside(call: Invocation, verb: str) -> bool:
    """Whether the command may look into submodules, whose settings nothing here judges."""
    words = call.operands[1:]
    if not all(word.fixed for word in words):
        return True
    texts = [word.text for word in words]
    if _goes_inside(call):
        return True
    if verb in ("status", "diff") and texts and texts[0] == "--ignore-submodules=all":
        # Anywhere but first it could be a path or another option's value; the last one given holds.
        return any(text.startswith("--ignore-") for text in texts[1:])
    return verb not in STAYING


def _goes_inside(call: Invocation) -> bool:
    """Whether an option, or what may be one, says that the command is to do in submodules what it does."""
    return any(not word.fixed or word.text.startswith(("--rec", "--sub")) for word in call.operands[1:])


def _submodules(place: Place, repository: Repository) -> bool:
    """Whether the repository may name others inside its work tree, by its index or by what `git submodule` left."""
    lstat = place.files.lstat
    left = [posixpath.join(folder, "modules") for folder in (repository.own, repository.common)]
    if any(lstat(path) is not None for path in (*left, posixpath.join(repository.top, ".gitmodules"))):
        return True
    index = repository.index
    entry = lstat(index)
    if entry is None:
        return False
    content = place.files.read(index, _MAX_INDEX)
    return content is None or holds_gitlinks(content)


def _top(call: Invocation, base: str, found: tuple[Repository, ...]) -> None:
    """git shows and changes the whole repository, wherever beneath its top it is started."""
    for top in (repository.top for repository in found):
        if top != base:
            call.reading.paths.append(PathUse(value=Value(text=top, head=top), access=Access.READ))


def git_dirs(place: Place, base: str) -> tuple[Repository, ...] | None:
    """What may be the repository, the nearest first; none where there is no repository.

    git passes over a `.git` that is no repository: all up to the first that surely is one. None where that cannot be
    known, or a `.git` is a link, or a file that is not a linked working tree's or a submodule's.
    """
    at = base
    found: list[Repository] = []
    lstat = place.files.lstat
    for _ in range(_MAX_LEVELS):
        inner = posixpath.join(at, ".git")
        entry = lstat(inner)
        if entry is not None:
            here = Repository(at, inner, inner) if entry.kind is FileKind.DIRECTORY else linked(at, place)
            if here is None:
                return None
            found.append(here)
            if here.own != inner or _is_repository(place, inner):
                return tuple(found)  # at a file that leads nowhere git ends
        parts = (lstat(posixpath.join(at, name)) for name in ("objects", "commondir"))
        if lstat(posixpath.join(at, "HEAD")) is not None and any(part is not None for part in parts):
            found.append(Repository(at, at, at))  # a bare repository, found before anything above it
            if _is_repository(place, at):
                return tuple(found)
        if at == "/":
            return tuple(found)
        at = posixpath.dirname(at)
    return None


def _is_repository(place: Place, folder: str) -> bool:
    """Whether git surely takes this directory for a repository (`is_git_directory` in git's setup)."""
    for name in ("objects", "refs"):
        entry = place.files.lstat(posixpath.join(folder, name))
        if entry is None or entry.kind is not FileKind.DIRECTORY or entry.mode & 0o111 != 0o111:
            return False
    head = posixpath.join(folder, "HEAD")
    entry = place.files.lstat(head)
    if entry is None or entry.kind is not FileKind.FILE:
        return False
    content = place.files.read(head, 255)
    return content is not None and _HEAD.match(content) is not None
