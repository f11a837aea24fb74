"""Names in a workspace whose content another program obeys: which there are, and what may appear among them."""

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from agentctl.linked import OF_TREE, POINTER, linked, text
from agentctl.sandbox.gitlinks import gitlinks, indices
from agentctl.sandbox.homed import led_by_home
from agentctl.sandbox.looking import Disk
from agentctl.sandbox.names import FIRST, GIT, IN_HIDDEN, NAMES, PATTERNS, is_hidden
from agentctl.sandbox.places import is_within, listed
from shield.led.committing import hook_scripts
from shield.led.configured import configured, hook_folders
from shield.led.entering import shell_files
from shield.led.hosting import host_scripts, told_texts
from shield.led.starting import at_start

__all__ = ["appeared", "candidates", "is_directory", "present"]

# Of a submodule's repository.
_OF_MODULE: Final = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
_MANY: Final = 2_000  # directories of submodules; of more, all of them as one
_SAMPLE: Final = ".sample"  # git's own examples: never run
# A fresh repository's configuration: nothing in it names a program, another file or a place outside.
_SECTION: Final = re.compile(r'\s*\[(core|extensions|user|init|branch "[^"\\]*"|remote "[^"\\]*")\]\s*')
_PLAIN: Final = re.compile(
    r"\s*(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|objectformat"
    r"|refstorage|name|email|merge|remote|fetch|defaultbranch)\s*=[^\\\n]*"
    r"|\s*url\s*=\s*(https?://|git@|/|\.)[^\\\n]*|\s*([#;].*)?",
    re.IGNORECASE,
)
_WORK_TREE: Final = re.compile(r"^\s*worktree\s*=\s*([^\"\\\n;#]+)$", re.MULTILINE)


def present(root: str) -> list[str]:
    """The guarded paths that exist in a workspace, without any `.git` that is a directory."""
    return [
        path
        for path in candidates(root)
        if os.path.lexists(path) and not (os.path.basename(path) == GIT and is_directory(path))
    ]


def candidates(root: str) -> list[str]:
    """The guarded paths whose first component exists, what these or the repository's configuration lead to, and those
    of submodules and added working trees.

    Only what lies in the workspace, and what is lent to it: the rest is not writable.
    """
    first = {name: os.path.lexists(os.path.join(root, name)) for name in FIRST}
    found = [os.path.join(root, name) for name in NAMES if first[name.partition("/")[0]]]
    found += _by_pattern(root)
    repository = linked(root)
    common = os.path.join(root, GIT) if repository is None else repository.common
    further = [*_named(root, common), *led_by_home(root)]
    if first[GIT]:
        folder = os.path.join(root, GIT)
        further += [*_led_by_git(folder, root), *_modules(folder), *_trees(folder), *_within(folder, root)]
    # where a name is a link, or stands behind one, what it leads to is obeyed
    further += [real for path in found if (real := os.path.realpath(path)) != path]
    lent = [] if repository is None else [repository.own]
    further += () if repository is None else _led_by_git(repository.common, root)
    for folder in lent:
        further += [*(os.path.join(folder, name) for name in OF_TREE), *_modules(folder), *_within(folder, root)]
    places = (root, *lent)
    inside = [path for path in map(os.path.normpath, further) if any(is_within(path, place) for place in places)]
    return list(dict.fromkeys((*found, *(path for path in inside if path not in places))))


def _named(root: str, git: str) -> Iterator[str]:
    """What settings name in a workspace whose repository is at `git`. Not the folders in which a shell is to look for
    commands: installers put theirs there."""
    look = Disk()
    yield from shell_files(root, look)
    yield from host_scripts(root, look)
    yield from told_texts(root, look)
    yield from hook_scripts(root, look, *hook_folders(git, root, look))
    if not is_within(look.home, root):  # else every name of it is looked at as it stands
        yield from (path for path, _, on_path in at_start(root, look) if not on_path)


def _led_by_git(git: str, tree: str) -> Iterator[str]:
    """What the settings of the repository in the directory `git` lead to, in its `tree`."""
    yield from (path for _, path in configured(git, tree, Disk()))


def _by_pattern(root: str) -> Iterator[str]:
    """The guarded paths that no list names: of a pattern, and what agents of any name look for in a hidden folder."""
    for name in listed(root):
        path = os.path.join(root, name)
        if PATTERNS.match(name):
            yield path
        elif is_hidden(name):
            yield from (os.path.join(path, inner) for inner in listed(path) if IN_HIDDEN.match(inner))


def _modules(git: str) -> Iterator[str]:
    """The guarded paths of the submodules whose repositories a repository holds, and of those that these hold."""
    waiting, count = [os.path.join(git, "modules")], 0
    while waiting:
        folder = waiting.pop()
        for path in (os.path.join(folder, name) for name in listed(folder)):
            count += 1
            if count > _MANY:
                yield os.path.join(git, "modules")
                return
            if os.path.islink(path):
                yield path
            elif not os.path.lexists(os.path.join(path, "HEAD")):
                waiting.append(path)  # a part of a name: `libs/x`
            else:
                waiting.append(os.path.join(path, "modules"))
                yield from (os.path.join(path, name) for name in _OF_MODULE)
                yield from _trees(path)
                for given in _WORK_TREE.findall(text(os.path.join(path, "config")) or ""):
                    tree = os.path.join(path, given.strip())
                    yield os.path.join(tree, GIT)
                    yield from _led_by_git(path, tree)


def _within(git: str, tree: str) -> Iterator[str]:
    """The guarded paths of repositories in the working tree `tree` that its index calls submodules, and of theirs."""
    waiting, count = [(git, tree)], 0
    while waiting:
        git, tree = waiting.pop()
        for index in indices(git):
            links = gitlinks(index)
            count += len(links or ())
            if links is None or count > _MANY:
                yield index  # what git makes of it cannot be told
                continue
            for path in (os.path.normpath(os.path.join(tree, name)) for name in links):
                inner = os.path.join(path, GIT)
                if path == tree or not is_within(path, tree):
                    continue
                yield inner
                if is_directory(inner):
                    yield from (os.path.join(inner, name) for name in _OF_MODULE)
                    yield from _led_by_git(inner, path)
                    waiting.append((inner, path))


def _trees(git: str) -> Iterator[str]:
    """The guarded paths of the working trees that were added to a repository."""
    folder = os.path.join(git, "worktrees")
    for path in (os.path.join(folder, name) for name in listed(folder)):
        yield from (os.path.join(path, name) for name in OF_TREE)
        pointer = (text(os.path.join(path, "gitdir")) or "").strip()
        if pointer:
            yield os.path.join(path, pointer)


def appeared(path: str) -> list[str]:
    """Of a guarded path that was not there, what is to go: not git's examples, nor a plain configuration, nor what
    `git submodule` and `git worktree` write for a directory of the same working tree."""
    name = os.path.basename(path)
    if name == GIT and (is_directory(path) or _points_up(path)):
        return []
    if "/.git/" in path and name == "hooks" and is_directory(path):
        return [os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.endswith(_SAMPLE)]
    if "/.git/" in path and name == "config" and _is_plain(path):
        return []
    if "/.git/worktrees/" in path and name in ("commondir", "gitdir"):
        said = text(path) or ""
        if said == "../..\n" if name == "commondir" else _is_in_tree(path, said.strip()):
            return []
    return [path]


def _points_up(path: str) -> bool:
    """Whether a `.git` file leads to the repository of a working tree that it lies in."""
    found = POINTER.fullmatch(text(path) or "")
    # INVARIANT: by where it leads now, links on the way included, and not by its words
    target = os.path.realpath(os.path.join(os.path.dirname(path), found[1])) if found is not None else ""
    top, _, inner = target.partition("/.git/")
    return inner.startswith(("modules/", "worktrees/")) and is_within(os.path.realpath(path), top)


def _is_in_tree(path: str, given: str) -> bool:
    """Whether what a file of a repository names lies in the working tree of that repository."""
    top = os.path.realpath(path.partition("/.git/")[0])
    named = os.path.realpath(os.path.join(os.path.dirname(path), given))
    return is_within(named, top) and not is_within(named, f"{top}/{GIT}")


def is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_plain(path: str) -> bool:
    """Whether a git configuration holds only lines of a short list. Whatever else is in it, it is not."""
    said = text(path)
    if said is None:
        return False
    trees = _WORK_TREE.findall(said)
    if trees and not ("/.git/modules/" in path and all(_is_in_tree(path, tree.strip()) for tree in trees)):
        return False
    rest = _WORK_TREE.sub("", said)
    return all(_SECTION.fullmatch(line) or _PLAIN.fullmatch(line) for line in rest.split("\n"))
