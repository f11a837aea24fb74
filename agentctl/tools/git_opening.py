"""The repository directory of ours that git is given: objects, refs, logs and index of the repository, and no hooks."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.errors import ToolError
from agentctl.linked import linked
from agentctl.tools.child import Runner
from agentctl.tools.descriptors import directory
from agentctl.tools.git_config import config_of
from agentctl.tools.git_repository import Repository
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant

__all__ = ["listed", "opened"]

# Shared with the repository as they are. No `hooks`, `config`, `config.worktree`, `modules`, `worktrees`, `lfs`.
_LINKED: Final = ("objects", "refs", "logs", "packed-refs", "reftable", "shallow", "info")
_SHARED: Final = "sharedindex."  # a part of the index
_ALTERNATES: Final = "info/alternates"  # where objects of other repositories lie, as if they were of this one


@contextmanager
def opened(warrant: Warrant, stop: Stop, runner: Runner) -> Iterator[Repository]:
    """The repository that the action's directory is in, with a directory of ours for its `.git`. Raises ToolError."""
    if warrant.cwd is None:
        raise ToolError("the action has no working directory")
    with directory(warrant.cwd):
        pass  # INVARIANT: no part of it is a link by now, so the strings below lead where they led when it was judged
    root, real, common = _top(warrant.cwd)
    program = shutil.which("git", path=warrant.receipt.env.get("PATH", ""))
    if program is None or not os.path.isabs(program):
        raise ToolError("git is not installed")
    if os.path.commonpath([root, os.path.realpath(program)]) == root and root != "/":
        raise ToolError("the only git on the path lies inside the repository; it is not started")
    made = tempfile.mkdtemp(prefix="agentctl-git-")
    try:
        repository = Repository(program=program, root=root, real=real, common=common, made=made, runner=runner)
        _furnish(warrant, stop, repository)
        yield repository
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _top(cwd: str) -> tuple[str, str, str]:
    """The nearest directory with a `.git`, where its HEAD and index are, and where all else. A `.git` that is a link or
    incomplete is not followed, and a file only to a repository that names this very working tree."""
    folder = cwd
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.lexists(entry):
            if stat.S_ISDIR(os.lstat(entry).st_mode):
                return folder, entry, entry
            # CVE-2026-40068: a worktree's or submodule's `.git` file may point anywhere
            found = linked(folder)
            if found is None:
                raise ToolError(f"`{entry}` points to another directory; use execute_command with git there")
            return folder, found.own, found.common
        if folder == "/":
            raise ToolError(f"`{cwd}` is in no git repository")
        folder = os.path.dirname(folder)


def _furnish(warrant: Warrant, stop: Stop, repository: Repository) -> None:
    elsewhere = repository.real != repository.common
    # the logs there are those of another tree's HEAD
    names = [os.path.join(repository.common, name) for name in _LINKED if not (elsewhere and name == "logs")]
    names += [os.path.join(repository.real, name) for name in listed(repository.real) if name.startswith(_SHARED)]
    for source in names:
        if not os.path.lexists(source):
            continue
        if stat.S_ISLNK(os.lstat(source).st_mode):
            raise ToolError(f"`{source}` is a link; use execute_command with git there")
        os.symlink(source, os.path.join(repository.made, os.path.basename(source)))
    _own_objects(os.path.join(repository.common, "objects"))
    _copy_head(repository)
    config = config_of(warrant, stop, repository)
    with open(os.path.join(repository.made, "config"), "x", encoding="utf-8") as file:
        file.write(config)


def _own_objects(objects: str) -> None:
    """INVARIANT: what is shown of the history is of this repository. Of one that a project lends from elsewhere, by a
    link or by name, the first four digits of an object would be enough to read it."""
    alternates = os.path.join(objects, _ALTERNATES)
    lent = [alternates] if os.path.lexists(alternates) else []
    lent += [path for name in listed(objects) if os.path.islink(path := os.path.join(objects, name))]
    if lent:
        raise ToolError(f"`{lent[0]}` brings in objects of another repository; use execute_command with git there")


def listed(folder: str) -> list[str]:
    """The names in a directory. Raises ToolError."""
    try:
        return os.listdir(folder)
    except OSError as error:
        raise ToolError(f"`{folder}` cannot be listed: {error.strerror}") from None


def _copy_head(repository: Repository) -> None:
    try:
        descriptor = os.open(os.path.join(repository.real, "HEAD"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ToolError(f"`{repository.real}` has no HEAD that can be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ToolError(f"`{repository.real}/HEAD` is no regular file")
        head = file.read(4096)
    with open(os.path.join(repository.made, "HEAD"), "xb") as copy:
        copy.write(head)
