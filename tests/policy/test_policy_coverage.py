"""Trees written as text again, the places in a condition, and which of them a set of actions comes to."""

import pytest
from hypothesis import given, settings

from policy_conditions import SCHEMA, WORLDS, answer, conditions, shipped
from scale import scale
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.policy.cel import Position, Source, compile_condition, compile_tree
from shield.policy.cel.parser import parse
from shield.policy.load import load_policy, load_text
from shield.policy.shelf import Shelf, shipped_shelf
from shield.policy.tools.asking import Asking
from shield.policy.tools.exercise import Exercise, Seen, percent
from shield.policy.tools.points import points
from shield.policy.tools.sources import read_sources
from shield.policy.tools.tree import written
from shield.policy.world import WORKSPACE, made_place

POLICY = """version: 1
name: t
rules:
  - id: secrets
    effect: block
    when: paths.exists(p, p.access == "read" && (p.recursive || p.raw == "secret"))
    examples:
      match: [{type: read_file, payload: {path: secret}}]
      no_match: [{type: read_file, payload: {path: other}}]
  - {id: reads, effect: allow, grants: path, when: path.inside_workspace && path.access == "read"}
  - {id: mail, effect: escalate, actions: [send_email]}
"""


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "baseline.yaml").write_text("version: 1\nname: baseline\n")
    file = str(tmp_path / "t.yaml")
    return read_sources(load_text(POLICY.encode(), file, Shelf(shipped=tmp_path)), [file])


def ask(name, payload):
    action = make_action(name, payload, WORKSPACE)
    return Asking.of(action, compute(action, lookup(name), made_place()))


@pytest.mark.parametrize("name", ["baseline", "default", "strict", "permissive"])
def test_every_condition_is_written_as_it_is_read(name):
    for rule in shipped(name).rules:
        if rule.condition is not None:
            text = written(rule.condition.tree)
            assert written(parse(Source(text, Position()))) == text


@pytest.mark.parametrize(
    "text",
    [
        "-1 > 2 - 3 - 4 && 1 - (2 - 3) == 2",
        '"a\\"b\\n\\u0007\\\\" != "\\U0001F600é"',
        "b'\\x00\\xff' == b'\\x00\\xff'",
        "[1, 2.5, 1e100][0] == 1.0 || {'a': null}['a'] == null",
        "!(!true) ? false : true ? (false ? true : false) : true",
        "(true || false) && true || !(1 in [1, 2])",
        "[1, 2].map(x, x > 1, x * -1).exists(y, y == -2)",
        "timestamp('2026-01-01T00:00:00Z') + duration('1h') > timestamp('2025-01-01T00:00:00Z')",
        "-9223372036854775807 - 1 < 0",
        "size('abc') == 3 && 'abc'.matches('^a.c$') && has({'a': 1}.a)",
    ],
)
def test_written_means_the_same(text):
    one = compile_condition(text, SCHEMA, policy=False)
    again = compile_condition(written(one.tree), SCHEMA, policy=False)
    assert written(again.tree) == written(one.tree)
    assert [answer(one, world) for world in WORLDS[:3]] == [answer(again, world) for world in WORLDS[:3]]


@settings(max_examples=scale("lint_logic") // 3, deadline=None, database=None)
@given(conditions)
def test_a_place_outside_macros_is_found_one_way_only(text):
    """And what is written from a tree is that tree: the two compile to the same answers."""
    condition = compile_condition(text, SCHEMA)
    again = compile_condition(written(condition.tree), SCHEMA)
    found = points(condition.tree)
    assert [point.whole for point in found] == [True] + [False] * (len(found) - 1)
    compiled = [
        (point, *(compile_tree(side, condition.schema, condition.text) for side in (point.yes, point.no)))
        for point in found[:6]
    ]
    for world in WORLDS[::9]:
        held = answer(condition, world)
        assert answer(again, world) == held
        for point, yes, no in compiled:
            said = answer(yes, world), answer(no, world)
            assert point.depth or said != (True, True)
            if point.whole and held is not None:
                assert said == (held, not held)


def test_what_cases_come_to(sources):
    exercise = Exercise(sources)
    exercise.see(ask("read_file", {"path": "a"}))
    covered = {rule.rule: rule for rule in exercise.covered(exercise.hits)}
    sides = {(side.text, side.value): side.seen for side in covered["secrets"].sides}
    assert covered["secrets"].held is Seen.EXAMPLE
    assert sides['p.access == "read"', True] is Seen.CASE
    assert sides['p.access == "read"', False] is Seen.NOTHING
    assert sides["p.recursive", False] is Seen.CASE
    assert sides['p.raw == "secret"', True] is Seen.EXAMPLE
    assert covered["reads"].held is Seen.CASE
    assert covered["mail"].held is Seen.NOTHING
    before = percent(tuple(covered.values()))
    for name, payload in (
        ("read_file", {"path": "secret"}),
        ("grep_files", {"pattern": "x"}),
        ("write_file", {"path": "a", "content": ""}),
        ("read_file", {"path": "/etc/hosts"}),
        ("send_email", {"to": "a@example.org", "body": "x"}),
    ):
        exercise.see(ask(name, payload))
    assert before < percent(exercise.covered(exercise.hits)) == 100.0


def test_in_a_macro_one_element_is_enough(sources):
    exercise = Exercise(sources)
    exercise.see(ask("copy_file", {"source": "a", "destination": "b"}))
    covered = {rule.rule: rule for rule in exercise.covered(exercise.hits)}
    sides = {(side.text, side.value): side.seen for side in covered["secrets"].sides}
    assert sides['p.access == "read"', True] is sides['p.access == "read"', False] is Seen.CASE
    assert sides['p.raw == "secret"', False] is Seen.CASE
    assert sides['p.raw == "secret"', True] is Seen.EXAMPLE


def test_a_side_stands_where_it_is_written(sources):
    side = next(side for rule in Exercise(sources).covered(()) for side in rule.sides if side.text == "p.recursive")
    line = POLICY.splitlines()[side.mark.line - 1]
    assert line[side.mark.column - 1 :].startswith("p.recursive")


def test_extended_rules_are_left_out_unless_asked_for(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\nname: mine\nextends: [strict]\nrules: [{id: own, effect: block, when: malformed}]\n")
    mine = read_sources(load_policy(str(file), shipped_shelf()), [str(file)])
    assert [rule.rule for rule in Exercise(mine).covered(())] == ["own"]
    everything = {rule.rule for rule in Exercise(mine, extended=True).covered(())}
    assert {"own", "credentials", "commands.read"} <= everything
