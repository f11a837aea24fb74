"""A repository that a git tool works on, and git started in it: with no environment and no configuration but ours."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentctl.tools.child import Child, Runner
from agentctl.tools.descriptors import directory
from agentctl.tools.output import Output
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant

__all__ = ["Repository", "run_git", "run_plain"]

TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """`root` is the top of the working tree, `made` the directory of ours that stands for `.git`. `real` has HEAD and
    index, `common` all else: another directory where `git worktree` has added this tree."""

    program: str
    root: str
    real: str
    common: str
    made: str
    runner: Runner


def run_git(
    warrant: Warrant, stop: Stop, repository: Repository, arguments: Sequence[str], *, stdin: str | None = None
) -> Output:
    """git on this repository, in the action's own directory."""
    return run_plain(
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


def run_plain(
    warrant: Warrant,
    stop: Stop,
    repository: Repository,
    arguments: Sequence[str],
    *,
    stdin: str | None = None,
    more: dict[str, str] | None = None,
) -> Output:
    """git on no repository, or with `more` of an environment on one. Raises ToolError."""
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
