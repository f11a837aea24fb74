"""Mutants: every kind is made, each is another rule, a sample is spread and repeatable."""

from collections import Counter

import pytest

from policy_conditions import shipped
from shield.policy.load import load_text
from shield.policy.shelf import Shelf
from shield.policy.tools.mutation import Change, bred, changes, sample
from shield.policy.tools.sources import read_sources
from shield.policy.tools.tree import written

POLICY = """version: 1
name: t
lists: {tools: [make, ninja]}
rules:
  - id: block
    effect: block
    when: commands.exists(c, c.name in lists.tools || !(c.name == "x" && c.argv.size() > 1)) && malformed
  - {id: ask, effect: escalate, to: 2, when: 'agent.startsWith("a") || agent in ["b", "c"]'}
  - {id: reads, effect: allow, grants: path, when: path.inside_workspace && path.access == "read"}
  - {id: plain, effect: allow, grants: action, actions: [memory_search]}
"""


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "baseline.yaml").write_text("version: 1\nname: baseline\n")
    file = str(tmp_path / "t.yaml")
    return read_sources(load_text(POLICY.encode(), file, Shelf(shipped=tmp_path)), [file])


def test_every_kind_of_mistake_is_made(sources):
    found = [(mutant.rule.id, mutant.change, mutant.before, mutant.after) for mutant in changes(sources)]
    for wanted in (
        ("block", Change.REMOVED, "the block rule", "no rule"),
        ("block", Change.EFFECT, "block", "escalate"),
        ("ask", Change.EFFECT, "escalate", "block"),
        ("ask", Change.TIER, "to: 2", "to: 3"),
        ("reads", Change.TIER, "min_tier: 0", "min_tier: 3"),
        ("block", Change.LIST, '"make"', "left out"),
        ("ask", Change.LIST, '"b"', "left out"),
        ("block", Change.COMPARISON, 'c.name == "x"', 'c.name != "x"'),
        ("block", Change.COMPARISON, "c.argv.size() > 1", "c.argv.size() >= 1"),
        ("block", Change.CONSTANT, "1", "2"),
        ("block", Change.OPERAND, "malformed", "left out"),
        ("ask", Change.FUNCTION, 'agent.startsWith("a")', 'agent.endsWith("a")'),
        ("ask", Change.NEGATION, 'agent in ["b", "c"]', '!(agent in ["b", "c"])'),
        ("reads", Change.NEGATION, "path.inside_workspace", "!path.inside_workspace"),
        ("plain", Change.REMOVED, "the allow rule", "no rule"),
    ):
        assert wanted in found, wanted
    assert {change for _, change, _, _ in found} == set(Change)
    logic = [after for _, change, _, after in found if change is Change.LOGIC]
    assert 'path.inside_workspace || path.access == "read"' in logic


def test_each_mutant_is_another_rule_and_the_policy_is_left_alone(sources):
    before = [written(rule.condition.tree) for rule in sources.rules if rule.condition]
    for mutant in changes(sources):
        grown = bred(sources, mutant)
        if grown is None or grown.changed is None:
            continue
        was, now = mutant.rule, grown.changed
        same = (was.effect, was.tier) == (now.effect, now.tier)
        assert not same or written(was.condition.tree) != written(now.condition.tree), mutant.as_json()
    assert [written(rule.condition.tree) for rule in sources.rules if rule.condition] == before


def test_what_would_not_load_is_no_mutant(sources):
    constant = [mutant for mutant in changes(sources) if mutant.before == '"read"' and mutant.change is Change.CONSTANT]
    assert [bred(sources, mutant) for mutant in constant] == [None]  # `access` is never "read~"


def test_a_mutant_stands_where_its_mistake_is(sources):
    for mutant in changes(sources):
        if mutant.change is Change.LIST and mutant.rule.id == "ask":
            line = POLICY.splitlines()[mutant.mark.line - 1]
            assert line[mutant.mark.column - 1 :].startswith(mutant.before)


def test_replacing_changes_one_rule(sources):
    rule = sources.rules[0]
    assert [one.id for one in sources.replacing(rule, None).rules] == [one.id for one in sources.rules[1:]]
    other = bred(sources, next(mutant for mutant in changes(sources) if mutant.change is Change.EFFECT)).changed
    assert sources.replacing(rule, other).rules == (other, *sources.rules[1:])


def test_a_sample_is_spread_and_repeatable():
    found = changes(shipped("baseline"))
    some = sample(found, 60, 7)
    assert len(some) == 60
    assert [found.index(mutant) for mutant in some] == sorted(found.index(mutant) for mutant in some)
    assert some == sample(found, 60, 7)
    assert some != sample(found, 60, 8)
    assert sample(found, len(found) + 1, 0) == found
    # the words of one long list are many, and take no more than their share
    assert max(Counter((mutant.rule.id, mutant.change) for mutant in some).values()) == 1
    # a small sample is not always of the same rules
    assert len({mutant.rule.id for seed in range(20) for mutant in sample(found, 3, seed)}) > 10
