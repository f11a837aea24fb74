"""How often `default` asks on ordinary work, at each isolation; and that nothing in the list changed its verdict."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from shield.actions.request import make_action
from shield.facts.made import PLAIN_PROGRAMS, MadeFile, MadeFiles
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.policy.world import HOME, NOW, WORKSPACE, made_place
from shield.tiers.floor import required_isolation
from shield.types import ActionRequest, Decision, Isolation, RunsCode, Tier

DATA = yaml.safe_load((Path(__file__).parent / "ordinary" / "commands.yaml").read_text())
# What a developer's machine has besides a plain Linux.
_TOOLS_TEXT = """
cmake poetry ruff mypy tox go cargo rustc gh bundle rpm snap flatpak gem conda pkg-config update-alternatives zstd
zstdcat 7zz dpkg-deb fdfind batcat csvlook tidy pdfinfo timedatectl hostnamectl resolvectl nmcli lsof arp route
nvidia-smi iostat pidof mountpoint lsb_release ldconfig svn
"""
TOOLS = _TOOLS_TEXT.split()
LEVELS = tuple(Isolation)


@dataclass(frozen=True, kw_only=True)
class Line:
    world: str
    command: str
    allowed_from: str

    @property
    def expected(self) -> tuple[bool, ...]:
        return tuple(self.allowed_from != "never" and level.covers(Isolation(self.allowed_from)) for level in LEVELS)


LINES = [
    Line(world=group["world"], command=command, allowed_from=group["from"])
    for group in DATA["commands"]
    for command in group["run"]
]


@cache
def files(world: str) -> MadeFiles:
    entries = DATA["worlds"][world]
    made = {path: MadeFile(content=text.encode()) for path, text in entries.items() if path != "run"}
    made |= {path: MadeFile(content=b"#!/bin/sh\n", mode=0o755) for path in entries.get("run", "").split()}
    made["build"] = MadeFile(directory=True)
    return MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=PLAIN_PROGRAMS | set(TOOLS))


@cache
def default():
    return load_policy("default", shipped_shelf())


def judge(line: Line, isolation: Isolation):
    place = replace(made_place(), files=files(line.world), isolation=isolation)
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": line.command}, WORKSPACE))
    now = int(NOW.timestamp() * 1000)
    return dry_run(request, place, default(), agent="agent", now_ms=now, max_tier=Tier.POLICY)


@pytest.mark.parametrize("world", DATA["worlds"])
def test_ordinary_work_is_asked_where_the_list_says_so(world):
    wrong = []
    for line in (line for line in LINES if line.world == world):
        for level, allowed in zip(LEVELS, line.expected, strict=True):
            verdict, facts = judge(line, level)
            if (verdict.decision is Decision.ALLOW) is not allowed:
                wrong.append((line.command, level.value, verdict.decision.value, verdict.rule, facts.unknown[:2]))
    assert wrong == []


def test_every_line_of_code_needs_the_sandbox_that_its_facts_say():
    """The list and the facts agree: what is allowed without a sandbox runs nothing of the workspace."""
    for line in LINES:
        verdict, facts = judge(line, Isolation.CONFINED)
        kinds = {command.runs_code for command in facts.commands}
        if verdict.decision is not Decision.ALLOW:
            continue
        assert line.allowed_from == required_isolation(facts).value, line.command
        assert RunsCode.INLINE not in kinds, line.command


def test_the_share_that_is_asked_is_known():
    """Printed with `-s`; the bounds are what was reached, so that a rule that asks more often is noticed."""
    asked = Counter({level: sum(not line.expected[at] for line in LINES) for at, level in enumerate(LEVELS)})
    for level in LEVELS:
        print(f"{level.value}: {asked[level]} of {len(LINES)} asked, {100 * asked[level] / len(LINES):.0f} %")
    assert len({(line.world, line.command) for line in LINES}) == len(LINES) >= 200
    assert asked[Isolation.STATE_HIDDEN] / len(LINES) < 0.40
    assert asked[Isolation.CONFINED] / len(LINES) < 0.32
