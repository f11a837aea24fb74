"""What bash does against what the facts say of the same line: programs that ran, with their words, and files written."""

import json
import posixpath
import random
from collections import Counter

import pytest

from bash_world import WORKSPACE, Ran, Run, bash_world, judged_place, needs_bash_world
from runnable_lines import RunnableLines
from scale import SOAK, scale, seed
from shared_data import shared
from shield.facts.shell import ShellAnalysis, analyse
from shield.types import Access, CommandFact, Dynamic, PathFact, RunsCode

UNDERSTOOD = 0.35  # of the grammar's lines; less, and the comparison would prove little
NOT_FOLLOWED = 0.05  # of commands that people wrote, at most; those that bash itself refuses are counted, too


@pytest.fixture(scope="module")
def world():
    with bash_world() as made:
        yield made


def followed(found: ShellAnalysis) -> bool:
    """Whether the facts claim to name every program that the line runs, if not what it does."""
    return _known(found, RunsCode.NONE)


def understood(found: ShellAnalysis) -> bool:
    """Whether they claim to know the words and the files, too: nothing asks before it goes ahead in a sandbox."""
    return _known(found, RunsCode.NONE, RunsCode.WORKSPACE) and not found.unknown


def _known(found: ShellAnalysis, *kinds: RunsCode) -> bool:
    return found.parsed and all(
        command.dynamic in (Dynamic.NONE, Dynamic.ARGUMENT) and command.runs_code in kinds for command in found.commands
    )


def unnamed(found: ShellAnalysis, run: Run) -> set[str]:
    """Programs that ran and are not in the facts."""
    return {ran.name for ran in run.ran} - {posixpath.basename(command.name) for command in found.commands}


def missed(found: ShellAnalysis, run: Run) -> list[str]:
    """What bash did that facts which claim to know the line do not say; empty if there is nothing."""
    made = {*run.written, *run.made}
    wrong = [
        f"ran: {' '.join(ran.argv)}" for ran in run.ran if not any(_is(fact, ran, made) for fact in found.commands)
    ]
    writes = [path for path in found.paths if path.access in (Access.WRITE, Access.DELETE)]
    wrong += [f"written: {name}" for name in run.written if not any(_covers(path, name) for path in writes)]
    return wrong


def _is(fact: CommandFact, ran: Ran, made: set[str]) -> bool:
    """The same program with the same words, if the facts claim to know them; a pattern may meet what the line made."""
    if fact.name != ran.name:
        return False
    return fact.dynamic is not Dynamic.NONE or (
        len(fact.argv) == len(ran.argv)
        and all(
            said == word or (real in made and not word.startswith("-"))
            for said, word, real in list(zip(fact.argv, ran.argv, ran.real, strict=True))[1:]
        )
    )


def _covers(path: PathFact, name: str) -> bool:
    if path.resolved is None:
        return True  # asks by itself
    return path.resolved == name or (path.recursive and name.startswith(path.resolved.rstrip("/") + "/"))


@needs_bash_world()
def test_what_bash_does_is_in_the_facts(world):
    rng = random.Random(seed())
    total = scale("bash_differential")
    place = judged_place()
    wrong, counted = [], Counter()
    for _ in range(total):
        line = RunnableLines(rng).line()
        found = analyse(line, place)
        counted["understood"] += understood(found)
        counted["parsed"] += found.parsed
        if not (followed(found) or understood(found)):
            continue  # asks a person, whatever it does
        run = world.run(line)
        counted["compared"] += 1
        lost = [*unnamed(found, run), *(missed(found, run) if understood(found) else ())]
        counted["ran"] += bool(run.ran)
        counted["wrote"] += bool(run.written)
        counted["late"] += run.late
        if lost:
            wrong.append({"line": line, "missed": lost, "facts": [command.argv for command in found.commands]})
    print(f"of {total} lines: {dict(counted)}")
    assert not wrong, json.dumps(wrong[:10], indent=1, default=str)
    assert counted["understood"] >= UNDERSTOOD * total
    assert counted["ran"] >= 0.7 * counted["compared"]
    assert counted["late"] <= total // 200


@needs_bash_world()
def test_the_comparison_notices_what_is_lost(world):
    """A program, a word or a file that the facts leave out is seen."""
    place = judged_place()
    run = world.run("ls a.txt; echo $(rm x) >out")
    assert missed(analyse("ls a.txt; echo $(rm x) >out", place), run) == []
    assert missed(analyse("ls a.txt; echo x >out", place), run) == ["ran: rm x"]
    assert missed(analyse("ls b.txt; echo $(rm x) >out", place), run) == ["ran: ls a.txt"]
    assert missed(analyse("ls a.txt; echo $(rm x) >other", place), run) == [f"written: {WORKSPACE}/out"]


@pytest.mark.parametrize(
    "line",
    [
        "echo x >o.t?t",  # where nothing matches, the pattern is the name
        "echo 'cat b.txt' >s.sh; bash s.sh",  # a script that is not there before
        "echo 'cat b.txt' | tee s.sh; sh s.sh",
        "echo x >./--pre=sh; for i in *; do rg x $i; done",  # a name that becomes an option
        "cp x $-",
        "cp x ${v@Q}",
        "cd $v&&echo 'touch a.txt' | tee s.sh >/dev/null; sh s.sh",  # the same name, nobody knows where
    ],
)
@needs_bash_world()
def test_what_the_comparison_once_found(world, line):
    found = analyse(line, judged_place())
    run = world.run(line)
    assert not understood(found) or missed(found, run) == []
    assert not (followed(found) or understood(found)) or not unnamed(found, run)


def test_few_commands_that_people_wrote_are_not_followed():
    lines = shared("data/eval/nl2bash.txt").read_text().splitlines()[:: 1 if SOAK else 8]
    place = judged_place()
    lost = [line for line in lines if _not_followed(analyse(line, place))]
    print(f"{len(lost)} of {len(lines)} lines are not followed, {len(lost) / len(lines):.1%}")
    assert len(lost) < NOT_FOLLOWED * len(lines)


def _not_followed(found: ShellAnalysis) -> bool:
    return not found.parsed or any(command.dynamic is Dynamic.CODE for command in found.commands)
