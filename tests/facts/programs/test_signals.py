"""Signals whose aim nobody knows: held back by a sandbox, else a person's decision."""

from dataclasses import replace

import pytest

from model_world import WORLD
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.place import Protected
from shield.facts.programs.aims import aim, only_signals
from shield.protection import protect
from shield.tiers.floor import floor, required_isolation
from shield.types import Answer, Isolation, Tier

GUARDED = Protected(pids=frozenset((4711,)), processes=("shield serve", "agentctl chat"))


def facts(line):
    action = make_action("execute_command", {"command": line}, WORLD.cwd)
    return action, compute(action, lookup("execute_command"), WORLD)


def needs(line, isolation):
    """The rules of protection and floor that ask or block."""
    action, found = facts(line)
    opinions = (
        *protect(found, GUARDED, isolation),
        *floor(action, lookup("execute_command"), found, min_tier=Tier.POLICY, isolation=isolation),
    )
    return {opinion.rule: opinion.answer for opinion in opinions}


@pytest.mark.parametrize("line", ["pkill node", "killall node", "kill 77", "sleep 9 & kill $!", "bash -c 'pkill node'"])
def test_a_sandbox_holds_signals_back(line):
    _, found = facts(line)
    assert required_isolation(found) is Isolation.STATE_HIDDEN
    for isolation in (Isolation.STATE_HIDDEN, Isolation.CONFINED):
        assert needs(line, isolation) == {}
    assert "facts.signals" in needs(line, Isolation.NONE)


def test_without_a_sandbox_the_guard_asks_as_well():
    assert needs("pkill node", Isolation.NONE).keys() == {"protection.process", "facts.signals"}
    assert protect(facts("pkill node")[1], GUARDED)[0].need is Tier.PERSON


@pytest.mark.parametrize("line", ["kill %1", "kill -l", "jobs", "pgrep node", "ls"])
def test_what_signals_nobody_else_needs_no_sandbox(line):
    _, found = facts(line)
    assert required_isolation(found) is Isolation.NONE
    assert needs(line, Isolation.NONE) == {}


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize(
    "line", ["kill 4711", "pkill -f shield", "killall agentctl", "kill -9 -1", "kill $(pgrep shield)"]
)
def test_our_own_processes_are_blocked_at_every_level(line, isolation):
    assert needs(line, isolation)["protection.process"] is Answer.BLOCK


@pytest.mark.parametrize(
    "line",
    [
        'pkill "$x"', "sudo pkill node", "docker exec web pkill node", "fuser -k 80/tcp",
        "systemd-run kill 77", "gdb -p 77", "strace -p 77", "pkill n*",
    ],
)  # fmt: skip
def test_no_sandbox_answers_for_what_is_more_than_a_signal_or_not_known(line):
    _, found = facts(line)
    assert not any(only_signals(command) for command in found.commands), line


@pytest.mark.parametrize("words", ["--args target/debug/x", "-ex run target/release/x", "--batch ./target/x core"])
def test_a_debugger_of_what_cargo_builds_reaches_no_process(words):
    assert aim(facts(f"gdb {words}")[1].commands[0]) is None
    assert aim(facts(f"gdb -ex 'target remote :1' {words}")[1].commands[0]) is not None


def test_a_program_of_that_name_is_none():
    _, found = facts("pkill node")
    command = found.commands[0]
    assert only_signals(command)
    assert not only_signals(replace(command, origin="workspace"))
    assert not only_signals(replace(command, via=("ssh",)))


@pytest.mark.parametrize(
    "line",
    ["kill $(pgrep -f node)", "kill -9 $(lsof -ti:3000)", "kill $(lsof -t -i:8000)", "kill $(pidof node)", "pgrep node | xargs kill",
     "lsof -ti tcp:3000 2>/dev/null | xargs -r kill -9", "pgrep -f node | head -1 | xargs kill", "pgrep node | xargs -I{} kill -9 {}",
     "p=$(pgrep -f node); kill $p", 'p=$(pgrep -f node); [ -n "$p" ] && kill "$p"', "for p in $(pgrep node); do kill $p; done"],
)  # fmt: skip
def test_numbers_that_a_program_prints_are_numbers_of_processes(line):
    _, found = facts(line)
    assert not found.unknown
    assert required_isolation(found) is Isolation.STATE_HIDDEN
    assert needs(line, Isolation.STATE_HIDDEN) == {}
    assert "protection.process" in needs(line, Isolation.NONE)


@pytest.mark.parametrize(
    "line",
    ["kill $(cat x)", "env kill $PPID", "timeout 3 kill $PPID", "kill ${PPID:-1}", "p=$PPID; kill $p", "p=$PPID; /bin/kill $p", "for p in $PPID; do kill $p; done", "env kill $(cat x)", "xargs kill < x", "cat x | xargs kill", "kill $p", "kill $(pgrep -l node)", "kill $(pgrep -a node)",
     "kill $(pgrep -c node)", "kill $(pgrep -d- node)", "kill $(pgrep $x)", "kill $(pgrep node; echo -1)", "kill -$(pgrep node)", "kill -9 -$(pgrep -o node)",
     "pgrep node | xargs -I{} kill -9 -{}", "pgrep node | xargs -d, kill", "pgrep node | xargs -a x kill", "pgrep node > a | xargs kill",
     "pgrep node | sed s/^/-/ | xargs kill", "pgrep node | head -1 x | xargs kill", "pgrep node | sort x | xargs kill", "lsof -ti:3000 -F n | xargs kill",
     "pgrep() { echo -1; }; kill $(pgrep node)", "(cat x; pgrep node) | xargs kill", "kill $(PATH=. pgrep node)"],
)  # fmt: skip
def test_what_may_be_another_word_is_not(line):
    _, found = facts(line)
    assert found.unknown or any(command.dynamic.value == "code" for command in found.commands)


@pytest.mark.parametrize(
    "line",
    ["timeout $(pgrep node) ls", "xargs -n $(pgrep node) ls", "cat $(pgrep node)", "rm $(seq 3)", "head -n $(pgrep node)", "pgrep node | xargs rm",
     "cat /proc/$(pgrep node)/environ", "pgrep node | xargs timeout", "pgrep node | xargs -I{} cat /proc/{}/environ"],
)  # fmt: skip
def test_numbers_are_words_like_others_to_other_programs(line):
    _, found = facts(line)
    loose = any(command.dynamic.value in ("code", "program") for command in found.commands)
    assert loose or any(path.resolved is None for path in found.paths)


def test_what_ps_is_told_of_processes_shows_no_environment():
    for line in (
        "ps -p $(pgrep -f node) -o pid,cmd",
        "ps -o cmd -p $(pgrep node | head -1)",
        "ps $(pgrep node)",
        "pgrep node | xargs ps -o cmd -p",
    ):
        _, found = facts(line)
        assert not found.unknown
        assert not any("proc_environ" in path.categories for path in found.paths)
    for line in ("ps $(cat x)", "ps $x"):
        _, found = facts(line)
        assert found.unknown
        assert not any("proc_environ" in path.categories for path in found.paths)
    for line in ("ps auxe", "ps -p $(pgrep node) e", "pgrep node | xargs ps e"):
        _, found = facts(line)
        assert any("proc_environ" in path.categories for path in found.paths)
