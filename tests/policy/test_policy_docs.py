"""The examples of docs/reference/policy.md load and do what the text says."""

import re
from pathlib import Path

from policy_support import ask, facts
from shield.cli.trial import try_case
from shield.policy.cases import read_cases
from shield.policy.load import add_workspace, load_policy, load_text
from shield.policy.shelf import shipped_shelf
from shield.types import Answer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "policy.md"


def blocks() -> list[bytes]:
    return [text.encode() for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)]


def test_the_examples_load():
    team, workspace, cases = blocks()
    policy = load_text(team, "team.yaml", shipped_shelf())
    assert policy.overridden == ("git.force",)
    assert ask(policy, "send_email", facts("send_email", recipients=("ana@example.org",))).answer is Answer.ALLOW
    assert ask(policy, "send_email", facts("send_email", recipients=("eve@example.org",))).answer is Answer.ESCALATE
    assert all(layer.error is None for layer in add_workspace(policy, workspace, ".shield.yaml").overlays)
    default = load_policy("default", shipped_shelf())
    assert [try_case(case, default).status for case in read_cases(cases, "cases.yaml")] == ["pass"]
