"""`shield diff`: over cases, and over what a real log recorded, as far as it holds it."""

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline_bench import Bench
from shield.cli.comparison import Direction, Judgement, compare
from shield.cli.diff import command
from shield.cli.replay import Fidelity, recorded
from shield.config.home import Home
from shield.errors import StateError
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.service import home as homes
from shield.service.birth import initialise
from shield.service.journal import AuditJournal
from shield.service.log import load_key, open_log
from shield.types import Decision, Tier

SECRET = "ghp_" + "a1B2" * 9
PLAIN = """version: 1
name: plain
rules:
  - {id: reads, effect: allow, grants: path, when: 'path.inside_workspace && path.access == "read"'}
"""
MINE = """version: 1
name: mine
extends: [plain.yaml]
rules:
  - {id: frozen, effect: block, when: 'paths.exists(p, p.raw == "a.txt")'}
  - {id: asked, effect: escalate, when: 'paths.exists(p, p.raw == "b.txt")'}
"""
CASES = """version: 1
cases:
  - {id: a, action: {type: read_file, payload: {path: a.txt}}, expect: {decision: ALLOW}}
  - {id: b, action: {type: read_file, payload: {path: b.txt}}, expect: {decision: ALLOW}}
  - {id: c, action: {type: read_file, payload: {path: c.txt}}, expect: {decision: ALLOW}}
"""


def run(folder, *words, env=None):
    with contextlib.chdir(folder):
        done = CliRunner().invoke(command, list(words), env={"GITHUB_ACTIONS": "", **(env or {})})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plain.yaml").write_text(PLAIN)
    (tmp_path / "mine.yaml").write_text(MINE)
    (tmp_path / "cases.yaml").write_text(CASES)
    return tmp_path


def judgement(decision, need=3, rule="r"):
    return Judgement(decision=Decision(decision), need=Tier(need), rule=rule)


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        (("ALLOW", 0), ("BLOCK", 3), "stricter"),
        (("BLOCK", 3), ("ESCALATE", 3), "weaker"),
        (("ESCALATE", 3), ("ALLOW", 0), "weaker"),
        (("ESCALATE", 3), ("ESCALATE", 2), "weaker"),
        (("ESCALATE", 2), ("ESCALATE", 3), "stricter"),
        (("BLOCK", 3), ("BLOCK", 2), "same"),
        (("ALLOW", 0), ("ALLOW", 1), "same"),
    ],
)
def test_what_is_weaker(before, after, direction):
    assert compare(judgement(*before), judgement(*after)) is Direction(direction)
    assert compare(judgement(*before), judgement(*before, rule="other")) is Direction.RULE


def test_cases_that_another_policy_judges_otherwise(folder):
    done = run(folder, "plain.yaml", "mine.yaml", "--cases", "cases.yaml", "--format", "text")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0] == (
        "plain.yaml → mine.yaml: 3 judged, 2 differ, 0 weaker; 0 decided alike by another rule"
    )
    assert "stricter  cases.yaml:3: a: ALLOW by `reads` → BLOCK by `frozen`" in done.stdout
    assert "→ ESCALATE to 3 by `asked`" in done.stdout
    back = json.loads(run(folder, "mine.yaml", "plain.yaml", "--cases", "cases.yaml", "--json").stdout)
    assert (back["compared"], back["differ"], back["weaker"]) == (3, 2, 2)
    assert [change["direction"] for change in back["changes"]] == ["weaker", "weaker"]


def test_exit_codes(folder):
    assert run(folder, "plain.yaml", "plain.yaml", "--cases", "cases.yaml").exit_code == 0
    assert run(folder, "plain.yaml", "mine.yaml", "--cases", "cases.yaml", "--fail-on", "weaker").exit_code == 0
    assert run(folder, "mine.yaml", "plain.yaml", "--cases", "cases.yaml", "--fail-on", "weaker").exit_code == 1
    assert run(folder, "plain.yaml", "none.yaml", "--cases", "cases.yaml").exit_code == 2
    assert run(folder, "plain.yaml", "plain.yaml").exit_code == 2
    assert run(folder, "plain.yaml", "plain.yaml", "--cases", "cases.yaml", "--log", "home").exit_code == 2
    assert run(folder, "plain.yaml", "plain.yaml", "--log", "none.db").exit_code == 2


def test_annotations(folder):
    done = run(folder, "mine.yaml", "plain.yaml", "--cases", "cases.yaml", "--format", "github")
    assert done.stdout.startswith("::warning file=cases.yaml,line=3,col=1,title=diff.weaker::a: BLOCK by `frozen` →")


@pytest.fixture
def world(tmp_path, folder):
    """A home with an empty log, a workspace, and a pipeline that judges with `plain.yaml`."""
    place = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    home = Home(path=f"{place}/h")
    homes.prepare(home)
    initialise(home, now_ms=0, checkpoints=f"{place}/state", roles=())
    bench = Bench(tmp_path)
    bench.rules = load_policy(str(folder / "plain.yaml"), shipped_shelf())
    (bench.workspace / "a.txt").write_text("hello\n")
    yield home, bench
    bench.close()
    shutil.rmtree(place)


def record(world, *payloads, sealed=()):
    """Judge, and write what was recorded into the real log. `sealed`: payloads that are kept beside their records."""
    home, bench = world

    async def judge():
        bench.pipeline._evaluator = replace(bench.pipeline._evaluator, policy=lambda session: bench.rules)
        for payload in payloads:
            evaluator = replace(bench.pipeline._evaluator, payloads=payload in sealed)
            request = bench.request(payload=payload)
            await evaluator.evaluate(request, session=bench.session, agent="tester", owner="tok")

    async def write():
        journal = AuditJournal(open_log(home, load_key(home)), home, asyncio.get_running_loop())
        try:
            await journal.append("log.open", {"version": "0"})
            for entry in bench.log.records:
                call, kept = entry["call_id"], entry["kept"]
                if entry["kind"] == "decision":
                    await journal.append(
                        "decision", entry["body"], session="s1", agent="tester", call_id=call, kept=kept
                    )
        finally:
            journal.close()

    asyncio.run(judge())
    asyncio.run(write())
    return Path(home.audit_db), Path(home.audit_private)


def test_what_is_recorded_is_told_exactly_with_the_private_key_and_likely_without(world):
    long = {"path": "a.txt", "note": "x" * 300}
    hidden = {"path": "a.txt", "headers": {"Authorization": f"Bearer {SECRET}"}}
    log, private = record(
        world, {"path": "a.txt"}, long, hidden, {"path": "b.txt", "n": long["note"]}, sealed=(long, hidden)
    )
    assert [past.fidelity for past in recorded(log, private)] == [
        Fidelity.EXACT,
        Fidelity.EXACT,  # the view is cut, what is kept beside it is whole
        Fidelity.REDACTED,
        Fidelity.LOST,
    ]
    without = list(recorded(log, None))
    assert [past.fidelity for past in without] == [Fidelity.LIKELY, Fidelity.LOST, Fidelity.LOST, Fidelity.LOST]
    assert dict(without[0].request.action.payload) == {"path": "a.txt"}
    assert [past.request is None for past in without] == [False, True, True, True]
    assert [past.seq for past in recorded(log, None, 2)] == [without[2].seq, without[3].seq]
    for past in recorded(log, private):
        assert SECRET not in str(past.request)


def test_a_text_that_looks_cut_is_no_likely_one(world):
    log, private = record(world, {"path": "a…"}, {"path": "[redacted x]"}, {"path": "..."})
    assert [past.fidelity for past in recorded(log, None)] == [Fidelity.LOST, Fidelity.LOST, Fidelity.LIKELY]
    assert {past.fidelity for past in recorded(log, private)} == {Fidelity.EXACT}


def test_a_log_over_two_policies(world, folder):
    home, bench = world
    log, _ = record(world, {"path": "a.txt"}, {"path": "a.txt"}, {"path": "b.txt"}, {"path": "a.txt", "x": "y" * 300})
    words = ("plain.yaml", "mine.yaml", "--log", str(log), "--workspace", str(bench.workspace), "--home", str(folder))
    done = run(folder, *words, "--json", env={"SHIELD_HOME": home.path})
    shape = json.loads(done.stdout)
    assert done.exit_code == 1
    assert shape["log"] == {
        "records": 4, "exact": 0, "likely": 3, "redacted": 0, "lost": 1, "differs_from_record": 0
    }  # fmt: skip
    assert (shape["compared"], shape["differ"], shape["weaker"]) == (3, 3, 0)
    assert sorted((change["times"], change["b"]["rule"]) for change in shape["changes"]) == [
        (1, "asked"),
        (2, "frozen"),
    ]
    (bench.workspace / ".shield.yaml").write_text("version: 1\nrules: [\n")
    broken = run(folder, *words, "--json", env={"SHIELD_HOME": home.path})
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert f"{bench.workspace}/.shield.yaml:3:1" in broken.stderr
    (bench.workspace / ".shield.yaml").unlink()
    own = ("plain.yaml", "mine.yaml", "--log", "home", "--workspace", str(bench.workspace), "--home", str(folder))
    text = run(folder, *own, "--format", "text", env={"SHIELD_HOME": home.path}).stdout
    assert (
        "of 4 recorded decisions 3 are replayed exactly, 0 most likely, 0 without their secrets, 1 not at all" in text
    )
    assert "(2 times): ALLOW by `reads` → BLOCK by `frozen`" in text


def test_what_was_decided_otherwise_then_is_said(world, folder):
    home, bench = world
    bench.rules = load_policy("baseline", shipped_shelf())
    log, _ = record(world, {"path": "a.txt"}, {"path": "/etc/hosts"})
    words = ("plain.yaml", "plain.yaml", "--log", str(log), "--workspace", str(bench.workspace), "--home", str(folder))
    done = run(folder, *words, "--format", "text", env={"SHIELD_HOME": home.path})
    assert done.exit_code == 0
    assert "judged otherwise by A today than they were then" in done.stdout


def test_a_log_of_another_program_is_exit_2(world, folder):
    home, _ = world

    async def write():
        journal = AuditJournal(open_log(home, load_key(home)), home, asyncio.get_running_loop())
        await journal.append("log.open", {"version": "0"})
        await journal.append("decision", {"n": 1})
        journal.close()

    asyncio.run(write())
    with pytest.raises(StateError, match="no decision of Shield's"):
        list(recorded(Path(home.audit_db), None))
    done = run(folder, "plain.yaml", "plain.yaml", "--log", home.audit_db)
    assert (done.exit_code, done.stdout) == (2, "")
    other = folder / "text.db"
    other.write_text("no database")
    assert run(folder, "plain.yaml", "plain.yaml", "--log", str(other)).exit_code == 2


def test_only_the_commitment_tells_an_action_exactly(world):
    """What is kept beside a record is another action: it is not taken for the recorded one."""
    home, bench = world
    log, private = record(world, {"path": "a.txt"})
    (past,) = recorded(log, private)
    assert past.fidelity is Fidelity.EXACT
    (entry,) = bench.log.records
    args = {**entry["body"]["args"], "view": {"path": "b.txt"}}
    entry["body"] = {**entry["body"], "args": args}

    async def write():
        journal = AuditJournal(open_log(home, load_key(home)), home, asyncio.get_running_loop())
        await journal.append("log.open", {"version": "0"})
        await journal.append("decision", entry["body"], session="s1", agent="tester", kept=entry["kept"])
        journal.close()

    asyncio.run(write())
    assert [past.fidelity for past in recorded(log, private)] == [Fidelity.EXACT, Fidelity.LOST]
