"""Over a thousand harmless actions: none is blocked, and a person is needed where the list says why, nowhere else."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache

import pytest

from harmless import Act, commands, documents, judge, sessions, tools
from shield.types import Decision

# What `default` is held to: a person for at most 1.5 % of the commands of a day.
GOAL = 0.015
# Nearly all of that are decisions of a person; what the facts do not follow is code that asks hosts or its environment.
REACHED = 0.0196
# Asked in a session of 40 to 120 calls, and in an hour in which the agent never waits for its user.
ASKS_A_SESSION = 0.9
ASKS_AN_HOUR = 8


@cache
def judged() -> tuple[tuple[Act, Decision, str, tuple[str, ...]], ...]:
    """Every action with its decision, its rule and the programs that it runs."""
    found = []
    for act in (*commands(), *documents(), *tools()):
        verdict, facts = judge(act)
        programs = tuple(dict.fromkeys(command.name for command in facts.commands if command.name))
        found.append((act, verdict.decision, str(verdict.rule), programs))
    return tuple(found)


def wilson(asked: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    z, share = 1.96, asked / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (middle - spread) / (1 + z * z / total)), (middle + spread) / (1 + z * z / total)


def told(name: str, rows: Iterable[Decision]) -> str:
    decisions = tuple(rows)
    asked = sum(decision is not Decision.ALLOW for decision in decisions)
    low, high = wilson(asked, len(decisions))
    return f"  {name:24} {asked:4} of {len(decisions):4}  {asked / len(decisions):6.1%}  ({low:.1%} to {high:.1%})"


def test_the_list_is_as_long_and_as_wide_as_it_says():
    acts = [act for act, _, _, _ in judged()]
    programs = {name for _, _, _, names in judged() for name in names}
    assert len({(act.type, str(act.payload), id(act.files)) for act in acts}) == len(acts) >= 1000
    assert len(programs) >= 60
    assert len({act.type for act in acts}) >= 40
    assert sum(act.share for act in acts) == pytest.approx(1)
    assert all(act.asked is None or len(act.asked) > 20 for act in acts)


def test_nothing_harmless_is_blocked():
    assert [act.text for act, decision, _, _ in judged() if decision is Decision.BLOCK] == []


def test_what_is_harmless_goes_ahead():
    wrong = [
        (act.text, act.group, rule)
        for act, decision, rule, _ in judged()
        if act.asked is None and decision is not Decision.ALLOW
    ]
    assert wrong == []


def test_what_is_a_persons_decision_is_asked():
    """The twin: the list does not grow by reasons that no longer hold."""
    wrong = [(act.text, act.group) for act, decision, _, _ in judged() if act.asked and decision is Decision.ALLOW]
    assert wrong == []


def test_the_share_that_needs_a_person_is_known():
    """Printed with `-s`, by type and program; the bound is what was reached, so that more asking is noticed."""
    rows = judged()
    by_type: dict[str, list[Decision]] = defaultdict(list)
    by_program: dict[str, list[Decision]] = defaultdict(list)
    for act, decision, _, programs in rows:
        by_type[act.type].append(decision)
        for name in programs:
            by_program[name].append(decision)
    print(f"\n{len(rows)} harmless actions, `default`, confined, tier 0: how many need a person, with 95 % intervals")
    for name in sorted(by_type):
        print(told(name, by_type[name]))
    print(f"{len(by_program)} programs; those of which any line needs a person:")
    for name, decisions in sorted(by_program.items()):
        if any(decision is not Decision.ALLOW for decision in decisions):
            print(told(name, decisions))
    day = [(act, decision) for act, decision, _, _ in rows if act.share]
    print(told("commands, unweighted", (decision for _, decision in day)))
    groups: Counter[str] = Counter()
    for act, decision in day:
        groups[act.group] += act.share if decision is not Decision.ALLOW else 0
    asked = sum(groups.values())
    print(f"of the commands of a day, by the shares in commands.yaml, {asked:.2%} need a person; goal {GOAL:.1%}:")
    for name, share in groups.most_common():
        if share:
            print(f"  {share:6.2%}  {name}")
    assert asked <= REACHED


def test_recorded_work_asks_seldom():
    """Seven sessions: how often a person is asked in each, and in an hour of work. Those with marks: see `test_marked_work`."""
    calls = asked = shell = shell_asked = 0
    hours = 0.0
    recorded = [session for session in sessions() if session.calls[0].mark is None]
    for session in recorded:
        assert 40 <= len(session.calls) <= 120
        assert all(one.at < other.at for one, other in zip(session.calls, session.calls[1:], strict=False))
        found = [(act, judge(act)[0].decision) for act in session.calls]
        assert all(decision is not Decision.BLOCK for _, decision in found), session.name
        needs = [act for act, decision in found if decision is not Decision.ALLOW]
        print(f"{session.about}: {len(needs)} of {len(found)} calls, {len(needs) / session.hours:.0f} an hour")
        for act in needs:
            print(f"  {act.text}")
        calls, asked, hours = calls + len(found), asked + len(needs), hours + session.hours
        shell += sum(act.type == "execute_command" for act, _ in found)
        shell_asked += sum(act.type == "execute_command" for act in needs)
    low, high = wilson(shell_asked, shell)
    print(f"in all {asked} of {calls} calls, {asked / hours:.1f} an hour of work in which an agent never waits;")
    print(f"{shell_asked} of {shell} commands, {shell_asked / shell:.1%} ({low:.1%} to {high:.1%})")
    assert len(recorded) >= 6
    assert asked / len(recorded) <= ASKS_A_SESSION
    assert asked / hours <= ASKS_AN_HOUR


# `permissive` looks at the text of any page first, so it asks tier 1 where `default` allows a handbook.
@pytest.mark.parametrize(
    ("name", "other"), [("ci", ()), ("permissive", ("http_request",)), ("packs", ())], ids=["ci", "permissive", "packs"]
)
def test_other_policies_let_the_same_work_go_ahead(name, other):
    wrong = [
        (act.text, verdict.rule)
        for act, decision, _, _ in judged()
        if decision is Decision.ALLOW
        and act.type not in other
        and (verdict := judge(act, name)[0]).decision is not Decision.ALLOW
    ]
    assert wrong == []


def test_in_a_build_nothing_waits_for_an_answer():
    """`ci`: what `default` asks about is blocked, so that no job waits."""
    waiting = [
        (act.text, verdict.rule)
        for act, decision, _, _ in judged()
        if decision is not Decision.ALLOW and (verdict := judge(act, "ci")[0]).decision is not Decision.BLOCK
    ]
    assert waiting == []


def test_who_only_looks_changes_nothing():
    """`read-only` allows nothing that writes, deletes, sends or runs code, and still lets an agent look."""
    looked = 0
    for act, _, _, _ in judged():
        verdict, facts = judge(act, "read-only")
        if verdict.decision is Decision.ALLOW:
            looked += 1
            assert all(path.access.value not in ("write", "delete") for path in facts.paths), act.text
            assert all(command.runs_code.value == "none" for command in facts.commands), act.text
            assert not {"write", "delete", "schedule", "agent"} & {operation.value for operation in facts.operations}
    assert looked > 200
