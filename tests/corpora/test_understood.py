"""Lines that go ahead since more of them is understood, and beside them what somebody would make of that.

Each group of `understood/lines.yaml` is one thing that is understood: what `goes` ahead at every level, what goes ahead
where the sandbox confines it (`confined`), and the `attacks`, which are asked or refused at both.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

from git_world import committed
from harmless import INSTALLED, Act, judge
from shield.facts.made import MadeFile, MadeFiles
from shield.policy.world import HOME, WORKSPACE
from shield.types import Decision, Isolation

DATA = yaml.safe_load((Path(__file__).parent / "understood" / "lines.yaml").read_text(encoding="utf-8"))
MARKS = {"goes": (True, True), "confined": (True, False), "attacks": (False, False)}
LEVELS = (Isolation.CONFINED, Isolation.NONE)
LEAST_ATTACKS = 5  # of everything that is understood


@dataclass(frozen=True, kw_only=True)
class Line:
    group: str
    mark: str
    command: str


LINES = [
    Line(group=group, mark=mark, command=command)
    for group, marked in DATA["groups"].items()
    for mark, commands in marked.items()
    for command in commands
]


@cache
def world() -> MadeFiles:
    files = DATA["files"]
    made = committed(files, tuple(DATA["committed"].split()))
    made |= {path: MadeFile(content=text if isinstance(text, bytes) else text.encode()) for path, text in files.items()}
    made |= {path: MadeFile(symlink=target) for path, target in DATA["links"].items()}
    return MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=INSTALLED | set(DATA["programs"].split()))


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.group}: {line.command[:60]}")
def test_each_line_is_judged_as_it_is_marked(line):
    act = Act(type="execute_command", payload={"command": line.command}, files=world(), group=line.group)
    found = tuple(judge(act, isolation=level)[0].decision is Decision.ALLOW for level in LEVELS)
    assert found == MARKS[line.mark]


def test_everything_that_is_understood_has_its_attacks():
    assert all(len(marked["attacks"]) >= LEAST_ATTACKS for marked in DATA["groups"].values())
    assert all(set(marked) <= set(MARKS) for marked in DATA["groups"].values())
