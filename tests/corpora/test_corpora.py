"""Ways past the shipped policies that were found once: none may work again, and the harmless twin of each still does."""

import json
from collections import Counter
from pathlib import Path

import pytest

from shared_data import shared
from shield.actions.request import make_action
from shield.cli.trial import run_trials
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.policy.world import NOW, WORKSPACE, made_place
from shield.types import ActionRequest, Decision, Isolation, Operation, RunsCode, Tier

FILES = sorted((Path(__file__).parent / "bypasses").glob("*.yaml"))
TWIN = ".twin"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_bypass_works_with_default_and_every_twin_does(file):
    outcomes = run_trials(["default"], [file]).trials[0].outcomes
    assert outcomes
    assert [outcome.as_json() for outcome in outcomes if outcome.status != "pass"] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_bypass_works_with_strict(file):
    outcomes = run_trials(["strict"], [file]).trials[0].outcomes
    attacks = [outcome.as_json() for outcome in outcomes if not outcome.as_json()["id"].endswith(TWIN)]
    assert attacks
    assert [attack for attack in attacks if attack["got"]["decision"] == "ALLOW"] == []


def test_most_bypasses_have_a_twin():
    ids = {outcome.as_json()["id"] for file in FILES for outcome in run_trials(["default"], [file]).trials[0].outcomes}
    attacks = {name for name in ids if not name.endswith(TWIN)}
    assert len(attacks) >= 80
    assert len([name for name in attacks if name + TWIN in ids]) >= len(attacks) - 2
    assert all(name.removesuffix(TWIN) in attacks for name in ids)


def _made(path):
    """What a tool makes again, or what lies in the temporary folder."""
    return path.resolved.startswith("/tmp/") or path.categories == frozenset()


def _stays(facts):
    """Nothing outside the workspace but the temporary folder, what every machine has, and what throws away."""
    return all(
        path.inside_workspace
        or path.resolved == "/dev/null"
        or path.access.value == "list"
        or path.resolved.startswith(("/tmp/", "/var/tmp/"))
        or (path.access.value == "read" and "system" in path.categories)
        for path in facts.paths
    )


def _judge(policy, place, command):
    action = make_action("execute_command", {"command": command}, WORKSPACE)
    now = int(NOW.timestamp() * 1000)
    return dry_run(ActionRequest(id="x", action=action), place, policy, agent="agent", now_ms=now, max_tier=Tier.POLICY)


def test_everyday_commands_of_other_people_are_judged_without_surprise():
    """What is allowed of ten thousand found commands runs nothing unjudged, deletes nothing and sends nothing."""
    lines = shared("data/eval/nl2bash.txt").read_text().splitlines()[::25]
    policy, place = load_policy("default", shipped_shelf()), made_place(isolation=Isolation.NONE)
    counted: Counter[Decision] = Counter()
    for line in lines:
        verdict, facts = _judge(policy, place, line)
        counted[verdict.decision] += 1
        if verdict.decision is Decision.ALLOW:
            assert facts.shell.parsed, line
            assert not facts.unknown, line
            assert all(command.runs_code.value == "none" for command in facts.commands), line
            assert Operation.NETWORK not in facts.operations, line
            assert _stays(facts), line
            deleting = {fact.name for fact in facts.commands if Operation.DELETE in fact.operations}
            assert deleting <= {"mv", "gzip", "gunzip", "rm", "find", "git"}, line
            assert all(
                _made(path) for path in facts.paths if deleting & {"rm", "find"} and path.access.value == "delete"
            )
    assert counted[Decision.ALLOW] > len(lines) // 5
    assert counted[Decision.BLOCK] < len(lines) // 6


# these open a pager, on a terminal only
_PAGING = frozenset(
    ("aws help", "batcat --paging always /etc/hosts", "dpkg -l", "git help config", "man man", "systemctl",
     "timedatectl list-timezones")
)  # fmt: skip


def test_no_known_trick_of_a_program_leaves_the_workspace():
    """GTFOBins, with its paths moved into the workspace: what is allowed only shows or changes a file there."""
    rows = [json.loads(line) for line in shared("data/eval/gtfobins.jsonl").read_text().splitlines()]
    policy, place = load_policy("default", shipped_shelf()), made_place(isolation=Isolation.NONE)
    for row in rows:
        command = row["command"].replace("/path/to/", "")
        verdict, facts = _judge(policy, place, command)
        if verdict.decision is Decision.ALLOW:
            known = command in _PAGING
            assert known or row["function"] in ("file-read", "file-write", "privilege-escalation"), command
            assert all(fact.runs_code.value == "none" for fact in facts.commands), command


@pytest.mark.parametrize("isolation", [Isolation.STATE_HIDDEN, Isolation.CONFINED])
def test_in_a_sandbox_code_of_the_project_is_all_that_found_commands_run(isolation):
    """Of ten thousand found commands and every trick of GTFOBins: nothing inline, nothing fetched, nothing outside."""
    lines = shared("data/eval/nl2bash.txt").read_text().splitlines()[::25]
    rows = shared("data/eval/gtfobins.jsonl").read_text().splitlines()
    lines += [json.loads(row)["command"].replace("/path/to/", "") for row in rows]
    policy, place = load_policy("default", shipped_shelf()), made_place(isolation=isolation)
    running = 0
    for line in lines:
        verdict, facts = _judge(policy, place, line)
        if verdict.decision is Decision.ALLOW:
            kinds = {command.runs_code for command in facts.commands}
            assert kinds <= {RunsCode.NONE, RunsCode.WORKSPACE}, line
            assert not facts.unknown, line
            assert not facts.hosts, line
            assert _stays(facts), line
            running += RunsCode.WORKSPACE in kinds
    assert running
