"""`explain` says what `judge` did: the same rules, the same elements, the same gaps."""

import pytest

from policy_conditions import shipped
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.policy.load import load_text
from shield.policy.shelf import Shelf
from shield.policy.tools.asking import Asking
from shield.policy.tools.explanation import State, explain
from shield.policy.tools.sources import read_sources
from shield.policy.world import AGENT, NOW, WORKSPACE, made_place
from shield.types import Answer

POLICY = """version: 1
name: t
rules:
  - id: keys
    effect: block
    when: paths.exists(p, p.access == "read" && (p.raw == "key" || p.recursive)) || agent == "nobody"
  - {id: broken, effect: escalate, when: 'hosts.exists(h, int(h.scheme) > 1) && !malformed'}
  - {id: reads, effect: allow, grants: path, when: path.inside_workspace && path.access == "read"}
  - {id: lists, effect: allow, grants: path, when: path.inside_workspace && path.access == "list"}
  - {id: tried, effect: allow, grants: path, enforce: false, when: path.access == "write"}
  - {id: others, effect: block, agents: [somebody], when: "!malformed"}
"""


def ask(name, payload):
    action = make_action(name, payload, WORKSPACE)
    return Asking.of(action, compute(action, lookup(name), made_place()))


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "baseline.yaml").write_text("version: 1\nname: baseline\n")
    file = str(tmp_path / "t.yaml")
    return read_sources(load_text(POLICY.encode(), file, Shelf(shipped=tmp_path)), [file])


def test_a_rule_that_holds_says_where(sources):
    found = explain(sources, ask("read_file", {"path": "key"}))
    story = next(story for story in found.rules if story.rule.id == "keys")
    steps = {step.text: step.state for step in story.steps}
    assert story.state is State.TRUE
    assert steps['p.raw == "key"'] is State.TRUE
    assert steps["p.recursive"] is State.UNREACHED
    assert steps['agent == "nobody"'] is State.UNREACHED
    assert found.others == 1  # for another agent
    line = POLICY.splitlines()[story.steps[0].mark.line - 1]
    assert "p.access" in line


def test_values_are_shown_where_they_are_one(sources):
    found = explain(sources, ask("write_file", {"path": "a", "content": ""}), every=True)
    steps = {step.text: step for story in found.rules for step in story.steps}
    assert (steps['agent == "nobody"'].state, steps['agent == "nobody"'].value) == (State.FALSE, f'"{AGENT}"')
    assert steps['path.access == "list"'].value == '"write"'


def test_an_error_is_an_error(sources):
    found = explain(sources, ask("http_request", {"url": "https://example.org/"}))
    story = next(story for story in found.rules if story.rule.id == "broken")
    assert story.state is State.ERROR
    assert {step.state for step in story.steps} >= {State.ERROR}


def test_elements_have_their_rules_or_the_nearest_one(sources):
    found = explain(sources, ask("copy_file", {"source": "a", "destination": "b"}))
    elements = {element.text.rpartition(" ")[2]: element for element in found.elements}
    assert elements["(read)"].rules == ("reads",)
    missing = elements["(write)"]
    assert (missing.rules, missing.nearest, missing.missing) == ((), "reads", 'path.access == "read"')
    assert found.gaps  # a rule that is only tried covers nothing


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("read_file", {"path": "README.md"}),
        ("read_file", {"path": "~/.ssh/id_rsa"}),
        ("execute_command", {"command": "ls; git push; cat /etc/shadow > x"}),
        ("execute_command", {"command": "$(x)"}),
        ("http_request", {"url": "http://169.254.169.254/"}),
        ("send_email", {"to": "a@example.org", "subject": "x", "body": "y"}),
        ("memory_search", {"query": "x"}),
        ("mcp:x/y", {}),
    ],
)
def test_it_agrees_with_the_judge(name, payload):
    policy = shipped("default").policy
    asking = ask(name, payload)
    opinion = policy.judge(asking.action, lookup(name), asking.facts, agent=AGENT, workspace=WORKSPACE, now=NOW)
    found = explain(shipped("default"), asking)
    held = {story.rule.id for story in found.rules if story.state is State.TRUE}
    assert (opinion.rule in held) == (opinion.rule != "default")
    uncovered = [element for element in found.elements if not element.rules]
    if opinion.answer is Answer.ALLOW:
        assert found.gaps == ()
        assert uncovered == []
    elif opinion.rule == "default":
        assert set(opinion.evidence) == set(found.gaps)
    for element in uncovered:
        assert f"{element.grant.value} {element.position} is covered by no rule" in found.gaps or len(found.gaps) == 20
