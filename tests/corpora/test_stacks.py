"""What a coding agent runs in a dozen workspaces: what a sensible user wants asked is asked, and as little else as may be.

Each line was marked before it was judged: `gg` goes ahead, `ga` goes ahead where the sandbox confines it and is asked
without one, `aa` is asked always. What the policy says otherwise stands in `left`, with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from git_world import repository
from shield.actions.request import make_action
from shield.facts.made import PLAIN_PROGRAMS, MadeFile, MadeFiles
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.policy.world import HOME, NOW, WORKSPACE, made_place
from shield.types import ActionRequest, Decision, Facts, Isolation, Tier, Verdict

STACKS = sorted((Path(__file__).parent / "stacks").glob("*.yaml"))
LEVELS = (Isolation.CONFINED, Isolation.NONE)
ASKS = {"gg": (False, False), "ga": (False, True), "aa": (True, True)}
REMOTE = b'[remote "origin"]\n\turl = https://github.com/x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'


@dataclass(frozen=True, kw_only=True)
class Line:
    stack: Path
    mark: str
    command: str


@cache
def read(stack: Path) -> Mapping[str, Any]:
    return yaml.safe_load(stack.read_text(encoding="utf-8"))


def lines() -> list[Line]:
    return [
        Line(stack=stack, mark=mark, command=command)
        for stack in STACKS
        for mark, commands in read(stack)["commands"].items()
        for command in commands
    ]


@cache
def world(stack: Path) -> MadeFiles:
    """A repository with a remote, in which a commit holds all files and folders that `committed` names."""
    data = read(stack)
    kept = tuple(data["committed"].split())
    files = data["files"]
    made = repository({path: text for path, text in files.items() if path.startswith(kept)})
    made = {path: file for path, file in made.items() if path.startswith(".git/")}
    made |= {path: MadeFile(content=text if isinstance(text, bytes) else text.encode()) for path, text in files.items()}
    for path in data["run"].split():
        made[path] = MadeFile(content=files.get(path, "#!/bin/sh\nls\n").encode(), mode=0o755)
    made[".git/config"] = MadeFile(content=made[".git/config"].content + REMOTE)
    programs = PLAIN_PROGRAMS | set(data["programs"].split())
    return MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=programs)


@cache
def default():
    return load_policy("default", shipped_shelf())


def judge(line: Line, isolation: Isolation) -> tuple[Verdict, Facts]:
    place = replace(made_place(), files=world(line.stack), isolation=isolation)
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": line.command}, WORKSPACE))
    now = int(NOW.timestamp() * 1000)
    return dry_run(request, place, default(), agent="agent", now_ms=now, max_tier=Tier.POLICY, monotonic=lambda: 0.0)


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.stem)
def test_what_a_user_wants_asked_is_asked_and_no_more(stack):
    left = read(stack).get("left", {})
    wrong = {}
    for line in (line for line in lines() if line.stack == stack):
        asked = tuple(judge(line, level)[0].decision is not Decision.ALLOW for level in LEVELS)
        if asked != ASKS[line.mark]:
            wrong[line.command] = line.mark
    assert wrong.keys() == left.keys()
