"""What no policy can allow, tool by tool; each with a harmless twin."""

import pytest

from shield.facts.place import Protected
from shield.protection import protect
from shield.types import (
    Access,
    Answer,
    CommandFact,
    Dynamic,
    Facts,
    HostFact,
    IpClass,
    PathFact,
    Tier,
)

PROTECTED = Protected(ports=frozenset({8470}), pids=frozenset({4242}))


def judge(**found):
    return {opinion.rule: opinion for opinion in protect(Facts(unknown=(), malformed=False, **found), PROTECTED)}


def path(access, *, categories=(), covers=()):
    return PathFact(
        raw="x", resolved="/x", access=access, categories=frozenset(categories), covers=frozenset(covers), recursive=bool(covers)
    )  # fmt: skip


BLOCKED = {
    "shield_state": set(Access),
    "shield_code": {Access.WRITE, Access.DELETE},
    "host_config": {Access.WRITE, Access.DELETE},
    "agent_identity": {Access.WRITE, Access.DELETE},
}
RAISED = {"workspace_policy": Tier.PERSON, "agent_instruction": Tier.JUDGE, "agent_memory": Tier.CLASSIFIER}


@pytest.mark.parametrize("category", BLOCKED)
@pytest.mark.parametrize("access", Access)
def test_blocked_categories(category, access):
    found = judge(paths=(path(access, categories=[category]),))
    assert (f"protection.{category}" in found) == (access in BLOCKED[category])
    assert all(opinion.answer is Answer.BLOCK and opinion.advice for opinion in found.values())


@pytest.mark.parametrize("category", BLOCKED)
@pytest.mark.parametrize("access", Access)
def test_a_recursive_access_above_counts_but_a_listing_does_not(category, access):
    found = judge(paths=(path(access, covers=[category]),))
    assert bool(found) == (access in BLOCKED[category] and access is not Access.LIST)


@pytest.mark.parametrize(("category", "need"), RAISED.items())
def test_raised_categories(category, need):
    for access in (Access.WRITE, Access.DELETE):
        (opinion,) = judge(paths=(path(access, categories=[category]),)).values()
        assert (opinion.answer, opinion.need) == (Answer.NO_OBJECTION, need)
    assert not judge(paths=(path(Access.READ, categories=[category]),))


@pytest.mark.parametrize("category", BLOCKED)
def test_unpacking_above_what_a_workspace_may_hold_is_a_persons_decision(category):
    (opinion,) = judge(paths=(path(Access.WRITE, covers=[category]),)).values()
    asked = category in ("host_config", "agent_identity")
    assert (opinion.answer is Answer.NO_OBJECTION) == asked
    assert opinion.need is Tier.PERSON
    both = (path(Access.WRITE, covers=[category]), path(Access.DELETE, covers=[category]))
    assert judge(paths=both)[f"protection.{category}"].answer is Answer.BLOCK


def test_an_ordinary_path_is_nobodys_business():
    assert not judge(paths=(path(Access.WRITE, categories=["source", "executable"]),))


@pytest.mark.parametrize(("ip_class", "port", "guarded"), [
    (IpClass.LOOPBACK, 8470, True), (IpClass.LOOPBACK, 8000, False), (IpClass.PUBLIC, 8470, False),
    (IpClass.NAME, 8470, True), (IpClass.PRIVATE, 8470, True), (IpClass.PRIVATE, 8000, False),
])  # fmt: skip
def test_the_listener(ip_class, port, guarded):
    host = HostFact(url="u", scheme="http", host="h", port=port, ip_class=ip_class)
    assert ("protection.listener" in judge(hosts=(host,))) == guarded


def command(line, dynamic=Dynamic.NONE):
    words = tuple(line.split())
    return CommandFact(name=words[0], argv=words, dynamic=dynamic)


@pytest.mark.parametrize("line", [
    "shield", "shield approvals approve 01A", "shield trust .", "shield serve", "agentctl chat", "shield --home x reload",
    "python -m shield", "python3 -P -m shield.cli trust", "python3.11 -Pm agentctl", "python -mshield serve",
    "python -I -P -m shield --embedded", "shield init --help x",
])  # fmt: skip
def test_our_own_commands_are_a_persons(line):
    assert judge(commands=(command(line),))["protection.command"].answer is Answer.BLOCK


@pytest.mark.parametrize("line", [
    "shield check read_file path=x", "shield eval default", "shield --help", "shield --version", "agentctl tools",
    "python -m pytest tests/shield", "python shield.py", "python -m shieldy", "ls shield", "python -c m", "python - -m shield",
])  # fmt: skip
def test_what_only_judges_is_not(line):
    assert "protection.command" not in judge(commands=(command(line),))


@pytest.mark.parametrize("line", [
    "kill 4242", "kill -9 4242", "kill -KILL -- -4242", "kill -9 -1", "pkill -f shield", "killall agentctl", "gdb -p 4242",
    "strace -p 4242", "pkill Shield",
])  # fmt: skip
def test_our_processes_are_left_alone(line):
    assert judge(commands=(command(line),))["protection.process"].answer is Answer.BLOCK


def test_a_target_that_nobody_knows_needs_a_person():
    assert judge(commands=(command("kill $PID", Dynamic.ARGUMENT),))["protection.process"].need is Tier.PERSON
    assert judge(commands=(command("pkill node"),))["protection.process"].need is Tier.PERSON
    assert not judge(commands=(command("kill 77"),))
    assert not judge(commands=(command("kill -9 77"),))
    assert not judge(commands=(command("kill -1 77"),))
