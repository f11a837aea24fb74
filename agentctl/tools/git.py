"""The git tools: git itself, but with none of the repository's own configuration.

A repository can make git start programs: fsmonitor, hooks, external diffs, textconv, clean and smudge filters, pagers,
editors, gpg, credential helpers, ssh and `ext::` remotes, lazy fetches of a partial clone, submodules with a
configuration of their own, and includes of further files. A list of keys to switch off would never be complete, so git
is given a repository directory of ours: objects, refs, logs and index are those of the repository, its `config` is
written here and holds only keys of a short list that start nothing, and there are no hooks in it.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from agentctl.errors import ToolError
from agentctl.linked import linked
from agentctl.tools.descriptors import directory
from agentctl.tools.output import Output
from agentctl.tools.process import Child, Runner, run
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import Json, OutcomeStatus

__all__ = ["git_commit", "git_diff", "git_log", "git_status"]

TIMEOUT_S: Final = 60.0
_MAX_PARTS: Final = 50_000  # entries of a repository that are looked at before it is written to
# Shared with the repository as they are. No `hooks`, `config`, `config.worktree`, `modules`, `worktrees`, `lfs`.
_LINKED: Final = ("objects", "refs", "logs", "packed-refs", "reftable", "shallow", "info")
_SHARED: Final = "sharedindex."  # a part of the index
_ALTERNATES: Final = "info/alternates"  # where objects of other repositories lie, as if they were of this one
_IN_PROGRESS: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
# Keys that say how objects and the working tree are read. None of them names a program, a file or a host to talk to.
_KEPT: Final = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|quotepath|bare"
    r"|sparsecheckout|sparsecheckoutcone|logallrefupdates)"
    r"|extensions\.(objectformat|compatobjectformat|refstorage|noop)|user\.(name|email)"
    r"|i18n\.(commitencoding|logoutputencoding)|branch\..*\.(remote|merge)|remote\..*\.fetch"
)
_EXTENSIONS: Final = re.compile(r"extensions\.(?!(objectformat|compatobjectformat|refstorage|noop|worktreeconfig)$)")
_FIXED: Final = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.untrackedCache", "false"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "all"),
    ("log.showSignature", "false"),
    ("commit.gpgSign", "false"),
    ("gpg.program", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("color.ui", "false"),
)
_REVISION: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./~^@{}-]*")
_DIFF_FLAGS: Final = frozenset(
    {"--staged", "--cached", "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "-w"}
)
_LOG_FLAGS: Final = frozenset({"--oneline", "--stat", "--name-only", "--name-status", "--reverse", "--graph", "--all"})
_COUNT: Final = re.compile(r"-n?[0-9]{1,5}|--max-count=[0-9]{1,5}|-U[0-9]{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repository:
    """`root` is the top of the working tree, `made` the directory of ours that stands for `.git`. `real` has HEAD and
    index, `common` all else: another directory where `git worktree` has added this tree."""

    program: str
    root: str
    real: str
    common: str
    made: str
    runner: Runner


def git_status(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: path (pathspec, literal)."""
    with _repository(warrant, stop, runner) as repository:
        arguments = ["status", "--porcelain=v1", "--branch", "--ignore-submodules=all", "--no-renames"]
        return _git(warrant, stop, repository, [*arguments, *_within(warrant, repository)])


def git_diff(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: path; args: some of the plain output flags, `--staged`, and up to two revisions."""
    with _repository(warrant, stop, runner) as repository:
        fixed = ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short"]
        arguments = _arguments(warrant.payload.get("args"), _DIFF_FLAGS)
        return _git(warrant, stop, repository, [*fixed, *arguments, *_within(warrant, repository)])


def git_log(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: path; args: some of the plain output flags, a count such as `-n5`, and up to two revisions."""
    with _repository(warrant, stop, runner) as repository:
        fixed = ["log", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--ignore-submodules=all"]
        arguments = _arguments(warrant.payload.get("args"), _LOG_FLAGS)
        if "--oneline" not in arguments:
            fixed.append("--format=medium")
        if not any(_COUNT.fullmatch(argument) for argument in arguments):
            fixed.append("-n50")
        return _git(warrant, stop, repository, [*fixed, *arguments, *_within(warrant, repository)])


def git_commit(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: message; path to add and commit only that; args: `-a` for all tracked files."""
    message = warrant.text("message")
    arguments = _arguments(warrant.payload.get("args"), frozenset({"-a", "--all"}), revisions=False)
    with _repository(warrant, stop, runner) as repository:
        if repository.root != warrant.cwd:
            # what is staged there may be the person's own, and the objects are written outside of what was judged
            raise ToolError(f"the repository begins at `{repository.root}`; use execute_command to commit there")
        if repository.real != repository.common:
            raise ToolError(f"the repository lies in `{repository.common}`; use execute_command to commit there")
        _may_commit(warrant, stop, repository)
        path = _path(warrant)
        if path:
            added = _git(warrant, stop, repository, ["add", *path])
            if added.status is not OutcomeStatus.OK:
                return added
        fixed = ["commit", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=whitespace", "--file=-"]
        return _git(warrant, stop, repository, [*fixed, *arguments, *path], stdin=message)


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


def _within(warrant: Warrant, repository: _Repository) -> list[str]:
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


# --- the repository of ours ------------------------------------------------------------------------------------------


@contextmanager
def _repository(warrant: Warrant, stop: Stop, runner: Runner) -> Iterator[_Repository]:
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
        repository = _Repository(program=program, root=root, real=real, common=common, made=made, runner=runner)
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


def _furnish(warrant: Warrant, stop: Stop, repository: _Repository) -> None:
    elsewhere = repository.real != repository.common
    # the logs there are those of another tree's HEAD
    names = [os.path.join(repository.common, name) for name in _LINKED if not (elsewhere and name == "logs")]
    names += [os.path.join(repository.real, name) for name in _listed(repository.real) if name.startswith(_SHARED)]
    for source in names:
        if not os.path.lexists(source):
            continue
        if stat.S_ISLNK(os.lstat(source).st_mode):
            raise ToolError(f"`{source}` is a link; use execute_command with git there")
        os.symlink(source, os.path.join(repository.made, os.path.basename(source)))
    _own_objects(os.path.join(repository.common, "objects"))
    _copy_head(repository)
    config = _config_lines(warrant, stop, repository)
    with open(os.path.join(repository.made, "config"), "x", encoding="utf-8") as file:
        file.write(config)


def _own_objects(objects: str) -> None:
    """INVARIANT: what is shown of the history is of this repository. Of one that a project lends from elsewhere, by a
    link or by name, the first four digits of an object would be enough to read it."""
    alternates = os.path.join(objects, _ALTERNATES)
    lent = [alternates] if os.path.lexists(alternates) else []
    lent += [path for name in _listed(objects) if os.path.islink(path := os.path.join(objects, name))]
    if lent:
        raise ToolError(f"`{lent[0]}` brings in objects of another repository; use execute_command with git there")


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise ToolError(f"`{folder}` cannot be listed: {error.strerror}") from None


def _copy_head(repository: _Repository) -> None:
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


def _config_lines(warrant: Warrant, stop: Stop, repository: _Repository) -> str:
    """The configuration of ours: kept keys of the repository's file, the person's name, and what is fixed."""
    settings = [
        (name, value) for name, value in _settings(warrant, stop, repository, "config") if _KEPT.fullmatch(name)
    ]
    named = {name for name, _ in settings}
    home = warrant.receipt.env.get("HOME", "")
    for file in (os.path.join(home, ".gitconfig"), os.path.join(home, ".config/git/config")):
        if os.path.isabs(file) and os.path.isfile(file):
            for name, value in _settings(warrant, stop, repository, file):
                if name in ("user.name", "user.email") and name not in named:
                    settings.append((name, value))
    lines: list[str] = []
    for name, value in [*settings, *_FIXED]:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        title = f'[{section} "{_quoted(middle)}"]' if middle else f"[{section}]"
        lines.append(f'{title}\n\t{key} = "{_quoted(value)}"\n')
    return "".join(lines)


def _settings(warrant: Warrant, stop: Stop, repository: _Repository, file: str) -> list[tuple[str, str]]:
    """The settings in one file, its includes not followed. Section and key in lower case, as git lists them."""
    path = os.path.join(repository.common, file)
    if not os.path.isfile(path):
        return []
    listed = _plain(warrant, stop, repository, ["config", "--file", path, "--no-includes", "--list", "-z"])
    if listed.status is not OutcomeStatus.OK or listed.truncated:
        raise ToolError(f"`{path}` cannot be read as a git configuration")
    text = "".join(part.text for part in listed.parts if part.role == "stdout")
    found: list[tuple[str, str]] = []
    for item in text.split("\0"):
        name, newline, value = item.partition("\n")
        if _EXTENSIONS.match(name):
            raise ToolError(f"the repository uses `{name}`; use execute_command with git there")
        if name:
            found.append((name, value if newline else "true"))
    return found


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\0", "")


def _may_commit(warrant: Warrant, stop: Stop, repository: _Repository) -> None:
    """Refuse where a commit without the repository's configuration would not be what git makes there."""
    names = set(_listed(repository.real))
    busy = [name for name in _IN_PROGRESS if name in names]
    if busy:
        raise ToolError(f"a merge or rebase is going on (`{busy[0]}`); finish it with execute_command")
    with open(os.path.join(repository.made, "HEAD"), "rb") as file:
        if not file.read().startswith(b"ref: "):
            raise ToolError("no branch is checked out; make one first")
    for name, _ in _settings(warrant, stop, repository, "config"):
        if name.startswith("filter.") and name.rsplit(".", 1)[-1] in ("clean", "process"):
            raise ToolError("the repository filters what is committed, which starts a program; use execute_command")
    if os.path.lexists(os.path.join(repository.root, ".gitmodules")) or "modules" in names:
        raise ToolError("the repository has submodules; use execute_command with git there")
    _leads_nowhere(repository)


def _leads_nowhere(repository: _Repository) -> None:
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


def _written(repository: _Repository) -> Iterator[str]:
    """Index, and all of the branches and their logs; see `_own_objects` for the objects. Raises ToolError."""
    yield os.path.join(repository.real, "index")
    folders = [os.path.join(repository.real, name) for name in ("logs", "refs")]
    while folders:
        folder = folders.pop()
        for name in _listed(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            yield path
            if not os.path.islink(path) and os.path.isdir(path):
                folders.append(path)


# --- running ---------------------------------------------------------------------------------------------------------


def _git(
    warrant: Warrant, stop: Stop, repository: _Repository, arguments: Sequence[str], *, stdin: str | None = None
) -> Output:
    return _plain(
        warrant,
        stop,
        repository,
        ["--no-pager", "--literal-pathspecs", *arguments],
        stdin=stdin,
        more={
            "GIT_DIR": repository.made,
            "GIT_WORK_TREE": repository.root,
            "GIT_INDEX_FILE": os.path.join(repository.real, "index"),
            "GIT_OBJECT_DIRECTORY": os.path.join(repository.common, "objects"),
        },
    )


def _plain(
    warrant: Warrant,
    stop: Stop,
    repository: _Repository,
    arguments: Sequence[str],
    *,
    stdin: str | None = None,
    more: dict[str, str] | None = None,
) -> Output:
    env = {name: value for name, value in warrant.receipt.env.items() if not name.startswith("GIT_")}
    env |= {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "false",
        "GIT_EDITOR": "false",
        "GIT_PAGER": "cat",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        **(more or {}),
    }
    # in the action's own directory, so that relative pathspecs mean what they meant when they were judged
    with directory((warrant.cwd or "/") if more else "/") as cwd:
        child = Child(
            argv=(repository.program, *arguments),
            env=env,
            cwd=cwd,
            timeout_s=TIMEOUT_S,
            stdin=None if stdin is None else stdin.encode("utf-8"),
        )
        return repository.runner(warrant, child, stop)
