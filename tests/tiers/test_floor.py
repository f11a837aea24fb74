"""What code and policy alike cannot lower: which sandbox level code asks for that nobody judged."""

from dataclasses import replace

import pytest

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.tiers.floor import floor, required_isolation
from shield.types import CommandFact, Dynamic, Facts, Isolation, RunsCode, ShellFact, Tier


def facts(*runs_code, **more):
    commands = tuple(CommandFact(name="x", runs_code=kind, dynamic=Dynamic.NONE, **more) for kind in runs_code)
    return Facts(commands=commands, shell=ShellFact(parsed=True), malformed=False)


def rules(found, isolation):
    action = make_action("execute_command", {"command": "x"}, "/w")
    opinions = floor(action, lookup("execute_command"), found, min_tier=Tier.POLICY, isolation=isolation)
    assert all(opinion.need is Tier.PERSON for opinion in opinions)
    return [opinion.rule for opinion in opinions]


@pytest.mark.parametrize(
    ("runs_code", "level"),
    [
        ((), Isolation.NONE),
        ((RunsCode.NONE,), Isolation.NONE),
        ((RunsCode.WORKSPACE,), Isolation.STATE_HIDDEN),
        ((RunsCode.INLINE,), Isolation.STATE_HIDDEN),
        ((RunsCode.FETCHED,), Isolation.CONFINED),
        ((RunsCode.NONE, RunsCode.WORKSPACE, RunsCode.FETCHED), Isolation.CONFINED),
        ((RunsCode.FETCHED, RunsCode.WORKSPACE), Isolation.CONFINED),
        ((RunsCode.WORKSPACE, RunsCode.NONE), Isolation.STATE_HIDDEN),
    ],
)
def test_what_runs_asks_for_a_level(runs_code, level):
    assert required_isolation(facts(*runs_code)) is level


def test_a_command_of_unknown_kind_counts_as_code():
    assert required_isolation(Facts(commands=(CommandFact(name="x"),))) is Isolation.STATE_HIDDEN


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("kind", RunsCode)
def test_a_person_is_asked_where_the_level_is_not_offered(kind, isolation):
    found = facts(kind)
    expected = {RunsCode.FETCHED: ["facts.fetched_code"]}.get(kind, ["facts.runs_code"])
    assert rules(found, isolation) == ([] if isolation.covers(required_isolation(found)) else expected)


@pytest.mark.parametrize("isolation", Isolation)
def test_no_sandbox_answers_for_what_cannot_be_read(isolation):
    assert rules(replace(facts(RunsCode.NONE), shell=ShellFact(parsed=False)), isolation) == ["facts.code"]
    for dynamic, rule in ((Dynamic.CODE, "facts.code"), (Dynamic.PROGRAM, "facts.program")):
        command = CommandFact(name="x", runs_code=RunsCode.NONE, dynamic=dynamic)
        assert rules(replace(facts(), commands=(command,)), isolation) == [rule]
