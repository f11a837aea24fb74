"""The judged command lines: none may come out known and wrong."""

import runpy
import sys

import pytest

from shared_data import shared
from shell_world import facts, names
from shield.types import Dynamic

# Braces are expanded as bash does it, and what nothing sets is empty: these programs are known.
UNDERSTOOD = {"brace-cmd": {"rm"}, "var-cmd": {"-rf"}}


def judged():
    file = shared("prototypes/shell/cases.py")
    keep = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        return runpy.run_path(str(file))
    finally:
        sys.dont_write_bytecode = keep


def test_no_judged_line_is_known_and_wrong():
    data = judged()
    assert len(data["CASES"]) == 61
    wrong = []
    for case, line, judged_names, targets in data["CASES"]:
        expected = UNDERSTOOD.get(case, judged_names)
        found = facts(line)
        if any(command.dynamic in (Dynamic.CODE, Dynamic.PROGRAM) for command in found.commands):
            continue
        got = set(names(found)) - {""}
        # Commands inside `-c` strings, wrappers and `-exec` come in addition to what the shell itself runs.
        extra = got - expected
        nested = {command.name for command in found.commands if command.via}
        got_targets = {redirect.target for command in found.commands for redirect in command.redirects}
        if not expected - {data["DYN"]} <= got or extra - nested or not set(targets) <= got_targets:
            wrong.append((case, sorted(got), sorted(expected)))
        if data["DYN"] in expected:
            wrong.append((case, "an unknown program came out as known"))
    assert not wrong


def test_every_judged_line_lists_what_a_block_rule_must_see():
    data = judged()
    unseen = []
    for case, line, expected, _ in data["CASES"]:
        # These the tree does not show at all; that they are `dynamic: code` is their whole protection.
        if case in ("line-cont", "crlf", "heredoc-then-cmd", "coproc", "time-bang"):
            continue
        missing = expected - {data["DYN"]} - set(names(facts(line)))
        if missing:
            unseen.append((case, sorted(missing)))
    assert not unseen


def test_lines_that_are_no_shell_are_code():
    for line in judged()["INVALID"]:
        found = facts(line)
        assert found.commands, line
        assert all(command.dynamic is Dynamic.CODE for command in found.commands), line
        assert not found.parsed


@pytest.mark.parametrize("line", ["", " ", "# only a comment", "\n\n"])
def test_a_line_without_commands_has_none(line):
    assert facts(line).commands == ()
