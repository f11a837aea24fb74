"""The examples of docs/reference/policy.md load and do what the text says."""

import re
from pathlib import Path

from policy_support import NOW, ask, command, facts, path
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.cli.trial import try_case
from shield.pipeline import dry_run
from shield.policy.cases import read_cases
from shield.policy.cel import compile_condition
from shield.policy.cel.functions import FUNCTIONS, METHODS, QUALIFIED
from shield.policy.keys import FILE_KEYS, RULE_KEYS
from shield.policy.load import add_workspace, load_policy, load_text
from shield.policy.roots import schema_for
from shield.policy.rule import Grant
from shield.policy.shelf import shipped_shelf
from shield.policy.world import made_place
from shield.types import Access, ActionRequest, Answer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "policy.md"


def blocks(language: str = "yaml") -> list[bytes]:
    text = PAGE.read_text(encoding="utf-8")
    return [found.encode() for found in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def test_the_examples_load():
    team, _, _, _, workspace, cases = blocks()
    policy = load_text(team, "team.yaml", shipped_shelf())
    assert policy.overridden == ("git.force",)
    assert ask(policy, "send_email", facts("send_email", recipients=("ana@example.org",))).answer is Answer.ALLOW
    assert ask(policy, "send_email", facts("send_email", recipients=("eve@example.org",))).answer is Answer.ESCALATE
    assert all(layer.error is None for layer in add_workspace(policy, workspace, ".shield.yaml").overlays)
    default = load_policy("default", shipped_shelf())
    assert [try_case(case, default).status for case in read_cases(cases, "cases.yaml")] == ["pass"]


def test_rules_for_some_agents(tmp_path):
    (tmp_path / "reviewers.yaml").write_bytes(blocks()[1])
    text = b"version: 1\nname: x\nextends: [default, reviewers.yaml]\n"
    policy = load_text(text, str(tmp_path / "x.yaml"), shipped_shelf())
    written = facts("write_file", paths=(path(access=Access.WRITE),))
    action = make_action("write_file", {"path": "a", "content": ""}, "/home/user/ws")
    for agent, blocked in (("reviewer", True), ("reviewer-2", True), ("agent", False)):
        opinion = policy.judge(action, lookup("write_file"), written, agent=agent, workspace="/home/user/ws", now=NOW)
        assert (opinion.rule == "reviewers.look") is blocked


def test_a_rule_that_is_tried():
    policy = load_text(blocks()[2], "trying.yaml", shipped_shelf())
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": "git push"}, "/home/user/ws"))
    verdict, _ = dry_run(request, made_place(), policy, agent="agent", now_ms=int(NOW.timestamp() * 1000))
    (line,) = [line for line in verdict.evidence if line.startswith("not enforced")]
    assert f"``{line} ``" in PAGE.read_text(encoding="utf-8")


def test_macros():
    policy = load_text(blocks()[3], "frontend.yaml", shipped_shelf())
    assert ask(policy, "read_file", paths=(path("/home/user/ws/src/a.js"),)).answer is Answer.ALLOW
    assert ask(policy, "read_file", paths=(path("/home/user/ws/dist/a.js"),)).answer is Answer.ESCALATE
    assert (
        ask(policy, "execute_command", payload={"command": "x"}, commands=(command("docker"),)).rule
        == "frontend.docker"
    )
    # 12:00 UTC is within office hours
    assert ask(policy, "execute_command", payload={"command": "x"}, commands=(command("kubectl"),)).rule == "default"


def test_every_condition_on_the_page_is_one():
    conditions = [line for block in blocks("cel") for line in block.decode().splitlines()]
    assert len(conditions) >= 10
    for condition in conditions:
        grants = Grant.PATH if condition.startswith("path.") else None
        compile_condition(condition, schema_for(None, grants, {}))


def test_every_key_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for key in (*FILE_KEYS, *RULE_KEYS):
        assert f"`{key}`" in text, key
    functions = [*METHODS, *FUNCTIONS, *QUALIFIED, "glob", "reaches"]
    standard = {"size", "bool", "int", "double", "string", "bytes", "timestamp", "duration"}
    dates = {"getDayOfMonth", "getDayOfYear", "getMilliseconds"}
    missing = [name for name in functions if name not in standard | dates and name not in text]
    assert missing == []
