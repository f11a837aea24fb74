"""Programs that start others: what they take away, what they add, and what cannot be told of them."""

import pytest

from shell_world import HOME, PATH, WS, accesses, facts, names, settled
from shield.facts.made import MadeFile
from shield.facts.programs.model import ALL_OPERATIONS
from shield.types import Dynamic, Operation, Origin, RunsCode

FILES = {"a.txt": MadeFile(content=b"x\n"), "ls": MadeFile(content=b"#!/bin/sh\n", mode=0o755)}


@pytest.mark.parametrize(
    "line",
    [
        "env -i ls",
        "env - ls -l",
        "env -u A -- ls",
        "env -uA ls",
        "env -i -u LD_PRELOAD ls",
        'env -i PATH="$PATH" bash -c ls',
        'env -i PATH="$PATH" HOME="$HOME" bash -c ls',
        "env -u PATH ls",
        'PATH="$PATH" ls',
        "command -p ls",
        "exec ls",
        "//usr//bin//ls",
        "setsid -w ls",
        "script -q -c ls a.txt",
        "script -qc 'ls -l' a.txt",
        "script a.txt ls",
    ],
)
def test_the_same_in_disguise(line):
    found = facts(line, FILES)
    assert settled(found), found
    assert found.commands[-1].operations == {Operation.READ}
    assert found.commands[-1].origin is Origin.SYSTEM


@pytest.mark.parametrize(
    "line",
    [
        "env -i PATH=/tmp/x ls",
        "env -i PATH=.:$PATH ls",
        "env -i PATH=/tmp/x bash -c ls",
        "env -u PATH PATH=/tmp/x ls",
        "PATH=/tmp/x ls",
        "PATH=.:$PATH command -p bash -c ls",
        "cd /; PATH=.; env -i PATH=. ls",
        "ls() { rm -rf a; }; command -p eval ls",
        "hash -p ./ls ls; command -p ls",
        "exec -a x ls",
        "LD_PRELOAD=./e.so; LD_PRELOAD=./e.so ls",
        "CC=./x; CC=./x ls",
        "HOME=/tmp; env -i HOME=$HOME ls",
        "exec -c ls",
    ],
)
def test_another_program_by_the_same_name(line):
    found = facts(line, FILES)
    assert not settled(found) or Operation.DELETE in found.operations


def test_the_systems_own_directories_are_looked_through():
    for line in ("command -p ls", "env -i ls", "env -u PATH ls"):
        found = facts(line, env={"PATH": "/nowhere"}).commands[-1]
        assert (found.program, found.origin) == ("/usr/bin/ls", Origin.SYSTEM), line
    assert facts("ls", env={"PATH": "/nowhere"}).commands[-1].origin is Origin.UNKNOWN


def test_what_is_set_to_what_it_is_in_the_environment_changes_nothing():
    for line in ("FOO=/etc/x; FOO=/etc/x make", "export FOO=/etc/x; make"):
        assert ("/etc/x", "read") in accesses(facts(line)), line
    assert ("/etc/x", "read") not in accesses(facts("FOO=/etc/x make", env={"PATH": PATH, "FOO": "/etc/x"}))


def test_what_is_taken_away_is_not_there():
    assert (f"{HOME}/x", "read") not in accesses(facts("env -i bash -c 'cat $HOME/x'"))
    assert (f"{HOME}/x", "read") not in accesses(facts("env -u HOME bash -c 'cat ~/x'"))
    assert ("/x", "delete") in accesses(facts("env -u D bash -c 'rm -rf $D/x'", env={"PATH": PATH, "D": "/srv"}))
    assert ("/srv/x", "delete") in accesses(facts("env -u E bash -c 'rm -rf $D/x'", env={"PATH": PATH, "D": "/srv"}))
    assert ("/y/x", "delete") in accesses(facts("env -i D=/y bash -c 'rm -rf $D/x'", env={"PATH": PATH, "D": "/srv"}))
    # this very shell keeps its own
    found = facts("command -p cd /tmp; rm x; env -i ls; rm $D/y", env={"PATH": PATH, "HOME": HOME, "D": "/srv"})
    assert {("/tmp/x", "delete"), ("/srv/y", "delete")} <= accesses(found)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("screen -S x -dm rm -rf a", "rm"),
        ("tmux new-session -d 'rm -rf a'", "rm"),
        ("xterm -e rm a", "rm"),
        ("tmux send-keys 'rm -rf a' Enter", "rm"),
        ("find . | parallel rm", "rm"),
        ("ls | parallel -j4 rm {}", "rm"),
        ("script -c 'rm -rf a'", "rm"),
        ("script /dev/null rm a", "rm"),
    ],
)
def test_what_a_session_starts_is_listed_and_asked(line, name):
    found = facts(line)
    assert name in names(found)
    assert found.parsed
    started = next(command for command in found.commands if command.name == line.split(" | ")[-1].split()[0])
    assert started.dynamic is Dynamic.NONE
    assert started.runs_code is RunsCode.INLINE or started.name == "script"


@pytest.mark.parametrize(
    "line",
    [
        "tmux new-session -d $REPLY",
        'screen -dm "$REPLY"',
        "ls | parallel",
        "ls | parallel bash -c",
        "ls | parallel 'sh -c {}'",
        "ls | parallel -q $REPLY {}",
        'script -c "$REPLY" a',
    ],
)
def test_what_a_session_is_told_may_be_code(line):
    found = facts(line)
    assert not found.parsed or Dynamic.CODE in {command.dynamic for command in found.commands}


def test_a_shell_without_a_command_is_code_that_is_not_seen():
    assert facts("script").commands[0].runs_code is RunsCode.INLINE
    assert (f"{WS}/typescript", "write") in accesses(facts("script -c ls"))
    assert (f"{WS}/out", "write") in accesses(facts("script -qc ls out"))
    assert (f"{WS}/t", "write") in accesses(facts("script -T t -c ls out"))


@pytest.mark.parametrize("line", ['foo "$REPLY"', "foo $(cat a)", "ls | xargs foo", "find . -exec foo {} +"])
def test_an_unknown_program_is_known_by_its_name(line):
    command = facts(line).commands[-1]
    assert (command.name, command.dynamic, command.origin) == ("foo", Dynamic.ARGUMENT, Origin.UNKNOWN)
    assert command.operations == ALL_OPERATIONS


# --- names that nothing sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "find $d -type f -exec rm -f {} \\;",
        'find "$d" -exec rm {} +',
        "find $d -exec grep $x {} \\;",
        "find $d -name $x -delete",
        "find ${1:-.} -name x",
        'find "${d?}" -name x -exec gzip {} \\;',
        "split -l ${n:-100} a",
        "find $d -exec foo {} \\;",
    ],
)
def test_what_runs_is_seen_whether_a_name_is_set_or_not(line):
    found = facts(line)
    assert found.parsed
    assert {command.dynamic for command in found.commands} <= {Dynamic.NONE, Dynamic.ARGUMENT}
    assert not settled(found)  # where it leads is not known
    assert Operation.NETWORK in found.commands[0].operations  # nor is what an option in it would do


@pytest.mark.parametrize(
    "line",
    [
        "find . -exec $x {} \\;",
        'find $d -exec sh -c "$x" \\;',
        "timeout $x ls $y",
        "flock $x ls $y",
        "xargs -n $x ls",
        "nice -n $x $y",
        "find $a $b $c $d $e -name x",
        "find $d $(cat a)",
        "read d; find $d -exec rm {} \\;",
        "find ${d:-$(cat a)} -name x",
    ],
)
def test_what_runs_may_be_another_program(line):
    found = facts(line)
    assert not found.parsed or {command.dynamic for command in found.commands} & {Dynamic.CODE, Dynamic.PROGRAM}


def test_a_default_that_is_an_option_is_one():
    found = facts("find ${d:--delete} -name x")
    assert not settled(found)
    assert Operation.DELETE in found.operations


def test_to_look_at_all_there_is_was_not_meant():
    for line in ("find $a/$b -name x", "find $a/* -name x", 'grep -r x "$a/$b"', "ls -R /$a"):
        found = facts(line)
        assert not any(path.categories or path.covers for path in found.paths if path.source == "commands[0]"), line
        assert not settled(found)
    for line in ('rm -rf "$a/$b"', "rm -rf /$a", "find $a/$b -delete", "find $a/* -exec rm {} +"):
        assert any(path.covers for path in facts(line).paths), line
    assert ("/etc/shadow", "read") in accesses(facts("cat $a/etc/shadow"))
