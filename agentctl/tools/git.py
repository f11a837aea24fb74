"""The git tools: git itself, but with none of the repository's own configuration.

A repository can make git start programs: fsmonitor, hooks, external diffs, textconv, clean and smudge filters, pagers,
editors, gpg, credential helpers, ssh and `ext::` remotes, lazy fetches of a partial clone, submodules with a
configuration of their own, and includes of further files. A list of keys to switch off would never be complete, so git
is given a repository directory of ours: objects, refs, logs and index are those of the repository, its `config` is
written here and holds only keys of a short list that start nothing, and there are no hooks in it.
"""

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from agentctl.errors import ToolError
from agentctl.tools.child import Runner
from agentctl.tools.git_config import settings_in
from agentctl.tools.git_opening import listed, opened
from agentctl.tools.git_repository import Repository, run_git
from agentctl.tools.output import Output
from agentctl.tools.process import run
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import Json, OutcomeStatus

__all__ = ["git_commit", "git_diff", "git_log", "git_status"]

_MAX_PARTS: Final = 50_000  # entries of a repository that are looked at before it is written to
_IN_PROGRESS: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_REVISION: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./~^@{}-]*")
_DIFF_FLAGS: Final = frozenset(
    {"--staged", "--cached", "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "-w"}
)
_LOG_FLAGS: Final = frozenset({"--oneline", "--stat", "--name-only", "--name-status", "--reverse", "--graph", "--all"})
_COUNT: Final = re.compile(r"-n?[0-9]{1,5}|--max-count=[0-9]{1,5}|-U[0-9]{1,3}")


def git_status(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: path (pathspec, literal)."""
    with opened(warrant, stop, runner) as repository:
        arguments = ["status", "--porcelain=v1", "--branch", "--ignore-submodules=all", "--no-renames"]
        return run_git(warrant, stop, repository, [*arguments, *_within(warrant, repository)])


def git_diff(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: path; args: some of the plain output flags, `--staged`, and up to two revisions."""
    with opened(warrant, stop, runner) as repository:
        fixed = ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short"]
        arguments = _arguments(warrant.payload.get("args"), _DIFF_FLAGS)
        return run_git(warrant, stop, repository, [*fixed, *arguments, *_within(warrant, repository)])


def git_log(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: path; args: some of the plain output flags, a count such as `-n5`, and up to two revisions."""
    with opened(warrant, stop, runner) as repository:
        fixed = ["log", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--ignore-submodules=all"]
        arguments = _arguments(warrant.payload.get("args"), _LOG_FLAGS)
        if "--oneline" not in arguments:
            fixed.append("--format=medium")
        if not any(_COUNT.fullmatch(argument) for argument in arguments):
            fixed.append("-n50")
        return run_git(warrant, stop, repository, [*fixed, *arguments, *_within(warrant, repository)])


def git_commit(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: message; path to add and commit only that; args: `-a` for all tracked files."""
    message = warrant.text("message")
    arguments = _arguments(warrant.payload.get("args"), frozenset({"-a", "--all"}), revisions=False)
    with opened(warrant, stop, runner) as repository:
        if repository.root != warrant.cwd:
            # what is staged there may be the person's own, and the objects are written outside of what was judged
            raise ToolError(f"the repository begins at `{repository.root}`; use execute_command to commit there")
        if repository.real != repository.common:
            raise ToolError(f"the repository lies in `{repository.common}`; use execute_command to commit there")
        _may_commit(warrant, stop, repository)
        path = _path(warrant)
        if path:
            added = run_git(warrant, stop, repository, ["add", *path])
            if added.status is not OutcomeStatus.OK:
                return added
        fixed = ["commit", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=whitespace", "--file=-"]
        return run_git(warrant, stop, repository, [*fixed, *arguments, *path], stdin=message)


# --- arguments -------------------------------------------------------------------------------------------------------


def _arguments(value: Json, flags: frozenset[str], *, revisions: bool = True) -> list[str]:
    """Flags of a short list, then revisions, which never begin with a dash (CVE-2025-58764: options run programs)."""
    if value is None:
        return []
    given = value.split() if isinstance(value, str) else value
    if not isinstance(given, list):
        raise ToolError("`args` must be a list of texts")
    chosen: list[str] = []
    named: list[str] = []
    for argument in given:
        if not isinstance(argument, str):
            raise ToolError("`args` must be a list of texts")
        if argument in flags or (revisions and _COUNT.fullmatch(argument)):
            chosen.append(argument)
        elif revisions and len(named) < 2 and _REVISION.fullmatch(argument) and len(argument) <= 256:
            named.append(argument)
        else:
            raise ToolError(f"`{argument}` is not taken here; use execute_command for other git commands")
    return [*chosen, *named]


def _within(warrant: Warrant, repository: Repository) -> list[str]:
    """The pathspec. INVARIANT: of a repository that begins further up only what lies in the action's own directory."""
    path = _path(warrant)
    return path if path or repository.root == warrant.cwd else ["--", "."]


def _path(warrant: Warrant) -> list[str]:
    path = warrant.optional_text("path")
    if path is None:
        return []
    if "\0" in path:
        raise ToolError("`path` holds a NUL; leave it out")
    return ["--", path]


# --- what a commit may be made in -----------------------------------------------------------------------------------


def _may_commit(warrant: Warrant, stop: Stop, repository: Repository) -> None:
    """Refuse where a commit without the repository's configuration would not be what git makes there."""
    names = set(listed(repository.real))
    busy = [name for name in _IN_PROGRESS if name in names]
    if busy:
        raise ToolError(f"a merge or rebase is going on (`{busy[0]}`); finish it with execute_command")
    with open(os.path.join(repository.made, "HEAD"), "rb") as file:
        if not file.read().startswith(b"ref: "):
            raise ToolError("no branch is checked out; make one first")
    for name, _ in settings_in(warrant, stop, repository, "config"):
        if name.startswith("filter.") and name.rsplit(".", 1)[-1] in ("clean", "process"):
            raise ToolError("the repository filters what is committed, which starts a program; use execute_command")
    if os.path.lexists(os.path.join(repository.root, ".gitmodules")) or "modules" in names:
        raise ToolError("the repository has submodules; use execute_command with git there")
    _leads_nowhere(repository)


def _leads_nowhere(repository: Repository) -> None:
    """Refuse where what a commit writes to stands elsewhere. git follows links there: a line of the reflog, which holds
    the message, would be added to whatever file a project's `.git/logs/HEAD` leads to."""
    for number, path in enumerate(_written(repository)):
        if number == _MAX_PARTS:
            raise ToolError(f"the repository has more than {_MAX_PARTS} branches and logs; use execute_command there")
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ToolError(f"`{path}` cannot be looked at: {error.strerror}") from None
        shared = found.st_nlink > 1 and stat.S_ISREG(found.st_mode) and path.startswith(f"{repository.real}/logs/")
        if shared or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise ToolError(f"`{path}` stands for something elsewhere; use execute_command with git there")


def _written(repository: Repository) -> Iterator[str]:
    """Index, and all of the branches and their logs; see `git_opening` for the objects. Raises ToolError."""
    yield os.path.join(repository.real, "index")
    folders = [os.path.join(repository.real, name) for name in ("logs", "refs")]
    while folders:
        folder = folders.pop()
        for name in listed(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            yield path
            if not os.path.islink(path) and os.path.isdir(path):
                folders.append(path)
