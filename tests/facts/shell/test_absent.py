"""A command that no file on PATH answers to: still a person's to decide, with words that say what is the matter."""

from dataclasses import replace

import pytest

from shell_world import HOME, WS, place, text
from shield.actions.request import make_action
from shield.facts.made import MadeFiles
from shield.facts.shell import analyse
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.policy.world import made_place
from shield.types import ActionRequest, Decision, Isolation, Tier, Verdict

FILES = {"x": text("\x7fELF"), "bin/frobnicate": text("\x7fELF")}
_PROGRAMS = frozenset(("bash", "env", "ls", "mv", "npm", "ssh", "sudo", "timeout", "xargs"))
NAMED = [
    "frobnicate",
    "frobnicate --help",
    "frobnicate -x y | ls",
    "ls && frobnicate",
    "timeout 5 frobnicate x",
    "env -i frobnicate",
    "bash -c 'frobnicate x'",
    "if frobnicate; then ls; fi",
]
# Somebody else says what the name is, or may, or the question is another one.
OTHERS = [
    "./frobnicate",
    "bin/frobnicate",
    "PATH=bin:$PATH frobnicate",
    "export PATH=$PWD/bin:$PATH; frobnicate",
    "alias frobnicate=./x; frobnicate",
    "command_not_found_handle() { ./x; }; frobnicate",
    "ssh host frobnicate",
    "$'\\e[2Jfrobnicate'",
    "$X frobnicate",
    "./x; frobnicate",
]


def judged(line: str, name: str = "default") -> Verdict:
    here = replace(
        made_place(),
        files=MadeFiles(FILES, home=HOME, cwd=WS, programs=_PROGRAMS),
        isolation=Isolation.CONFINED,
    )
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": line}, WS))
    policy = load_policy(name, shipped_shelf())
    return dry_run(request, here, policy, agent="agent", now_ms=0, max_tier=Tier.POLICY, monotonic=lambda: 0.0)[0]


@pytest.mark.parametrize("line", NAMED)
def test_the_verdict_names_what_is_not_there(line):
    verdict = judged(line)
    assert verdict.decision is Decision.ESCALATE
    assert "no program `frobnicate` on PATH" in verdict.reason
    assert "command -v" in verdict.advice


@pytest.mark.parametrize("line", OTHERS)
def test_a_name_that_may_be_somewhere_is_not_said_to_be_nowhere(line):
    assert "frobnicate` on PATH" not in judged(line).reason


@pytest.mark.parametrize("name", ["default", "permissive", "ci", "strict"])
@pytest.mark.parametrize("line", NAMED)
def test_what_is_not_there_is_never_let_go(line, name):
    """Between the verdict and the run somebody may put a file of that name there."""
    assert judged(line, name).decision is not Decision.ALLOW


def test_what_the_lines_function_answers_to_is_there():
    assert judged("frobnicate() { ls; }; frobnicate").decision is Decision.ALLOW
    assert analyse("frobnicate() { ls; }; frobnicate", place(FILES)).absent == ()


def test_a_folder_of_path_that_others_may_fill_says_nothing():
    shared = place(FILES, env={"PATH": "/usr/bin:/tmp", "HOME": HOME})
    assert analyse("frobnicate", shared).absent == ()
    assert analyse("frobnicate", replace(shared, env={"PATH": "bin:/usr/bin", "HOME": HOME})).absent == ()
    assert analyse("frobnicate", place(FILES)).absent == ("frobnicate",)
