"""Lines that work in temporary files and folders: which go ahead, and which attacks on that do not.

Each line was marked before it was judged; what the policy says otherwise stands in `left`, with the reason.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from git_world import committed
from shield.actions.request import make_action
from shield.facts.made import PLAIN_PROGRAMS, MadeFile, MadeFiles
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.policy.world import HOME, NOW, WORKSPACE, made_place
from shield.types import ActionRequest, Decision, Facts, Isolation, Tier, Verdict

DATA = yaml.safe_load((Path(__file__).parent / "temporary" / "lines.yaml").read_text(encoding="utf-8"))
PROBES = yaml.safe_load((Path(__file__).parent / "temporary" / "probes.yaml").read_text(encoding="utf-8"))
MARKS = {"refused": "aa", "blocked": "bb", "goes": "gg", "confined": "ga"}
LEVELS = (Isolation.CONFINED, Isolation.NONE)


@dataclass(frozen=True, kw_only=True)
class Line:
    kind: str
    mark: str
    command: str


LINES = [
    Line(kind=kind, mark=mark, command=command)
    for kind in ("work", "attacks")
    for mark, commands in DATA[kind].items()
    for command in commands
]


@cache
def world() -> MadeFiles:
    files = DATA["files"]
    made = committed(files, tuple(DATA["committed"].split()))
    made |= {path: MadeFile(content=text.encode()) for path, text in files.items()}
    made |= {path: MadeFile(content=b"#!/bin/sh\n", mode=0o755) for path in ("bin/tool", "mktemp", DATA["run"])}
    made["/home/user/docs/letter.txt"] = MadeFile(content=b"x")
    made["lnk"] = MadeFile(symlink="/home/user/docs")
    return MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=PLAIN_PROGRAMS | set(DATA["programs"].split()))


@cache
def default():
    return load_policy("default", shipped_shelf())


def judge(command: str, isolation: Isolation) -> tuple[Verdict, Facts]:
    place = replace(made_place(), files=world(), isolation=isolation)
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": command}, WORKSPACE))
    now = int(NOW.timestamp() * 1000)
    return dry_run(request, place, default(), agent="agent", now_ms=now, max_tier=Tier.POLICY, monotonic=lambda: 0.0)


def holds(mark: str, decision: Decision) -> bool:
    if mark == "g":
        return decision is Decision.ALLOW
    return decision is Decision.BLOCK if mark == "b" else decision is not Decision.ALLOW


def misjudged(lines: list[Line]) -> dict[str, str]:
    return {
        line.command: line.mark
        for line in lines
        if not all(holds(m, judge(line.command, at)[0].decision) for m, at in zip(line.mark, LEVELS, strict=True))
    }


@pytest.mark.parametrize("kind", ["work", "attacks"])
def test_lines_with_temporary_files_are_judged_as_marked(kind):
    left = DATA.get("left", {})
    lines = [line for line in LINES if line.kind == kind]
    assert misjudged(lines).keys() == {line.command for line in lines if line.command in left}


def test_no_attack_is_left_to_go_ahead():
    assert not {line.command for line in LINES if line.kind == "attacks"} & DATA.get("left", {}).keys()
    assert len({line.command for line in LINES}) == len(LINES) >= 120


def test_a_relative_name_is_taken_as_it_is_printed():
    """It lies where the shell stood, and to another directory it means another file."""
    _, facts = judge('t=$(mktemp -d XXXX) && rm -r "$t"; cd src && ls "$t"', Isolation.NONE)
    found = {(path.access.value, path.resolved, "fresh" in path.categories) for path in facts.paths if path.raw == "$t"}
    assert found == {
        ("delete", "/home/user/ws/XXXXXX001", True),
        ("list", "/home/user/ws/src/XXXXXX001", False),
    }


@pytest.mark.parametrize("kind", MARKS)
def test_probes_of_what_is_proven_of_temporary_names(kind):
    lines = [Line(kind=kind, mark=MARKS[kind], command=command) for command in PROBES[kind]]
    assert misjudged(lines) == {}


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ('t=$(mktemp -d); rm -rf "$t"/*', "protection.shield_state"),
        ('t=$(mktemp -d); cp a.txt "$t/etc/hosts"', "broad.blank"),
        ('t=$(mktemp -d); touch "$t/x"', "files.unmade"),
        ('t=$(mktemp -d); date > "$t/x"', "files.unmade"),
    ],
)
def test_a_refusal_says_how_to_end_where_nothing_was_made(command, rule):
    verdict, _ = judge(command, Isolation.CONFINED)
    assert (verdict.rule, "|| exit 1" in (verdict.advice or "")) == (rule, True)


def test_a_name_by_chance_is_no_known_text():
    """It stands in no word as a text, and of two it is not known that they are the same."""
    _, facts = judge('t=$(mktemp -d) && cp a.txt "$t/x" && "$t/x"', Isolation.NONE)
    assert [command.argv for command in facts.commands if command.name == "cp"] == [("cp", "a.txt", "$t/x")]
    assert [command.dynamic.value for command in facts.commands][-1] == "program"


def test_names_are_of_letters_that_the_line_does_not_hold():
    _, plain = judge('t=$(mktemp -d) && ls "$t"', Isolation.NONE)
    _, taken = judge('t=$(mktemp -d) && ls "$t"; ls /tmp/tmp.XXXXXX001', Isolation.NONE)
    assert "/tmp/tmp.XXXXXX001" in {path.resolved for path in plain.paths}
    fresh = {path.resolved for path in taken.paths if "fresh" in path.categories}
    assert fresh == {"/tmp/tmp.XXXXXXX001"}


@pytest.mark.parametrize(
    "command",
    [
        f't=$(mktemp {"X" * 60_000}aX); rm -rf "$t"',
        f"t=$(mktemp {'XXXa' * 15_000})",
        f"t=$(mktemp -d); ls {'$t' * 20_000}",
        "t=$(mktemp -d); echo " + '"$t" ' * 8_000,
        "t=$(mktemp -d) || exit; s=' y z '; echo " + "$t$s" * 3_900,
        ";".join(f"t{i}=$(mktemp -d); trap 'rm \"$t{i}\" {i}' EXIT" for i in range(8)) + ";x=$(mktemp)" * 900,
        "t=$(mktemp -d) || exit; rm " + '"$t"/.' + "[!.]" * 3_000,
        "; ".join(f"f{i}() {{ f{i + 1} $t; f{i + 1} $t; }}" for i in range(12)) + "; f12() { :; }; t=`mktemp`; f0",
    ],
    ids=["one run", "many runs", "one word", "many words", "words of one", "traps", "brackets", "functions"],
)
def test_long_lines_are_read_in_steps_that_grow_with_them(command):
    """Squares of these lengths would be 10**9 steps: nothing is timed, the suite's own limit is met or it is not."""
    assert judge(command, Isolation.NONE)[0].decision in set(Decision)
