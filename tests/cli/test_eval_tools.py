"""`shield eval`: rule coverage, mutants, reports for CI servers, and the same report with any number of processes."""

import contextlib
import io
import json
from dataclasses import dataclass
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from shield.cli.evaluate import command
from shield.cli.outcome import try_case
from shield.cli.progress import Progress
from shield.cli.trial import Wanted, load_subjects, run_trials
from shield.cli.workers import can_fork, spread
from shield.errors import ShieldError
from shield.policy.cases import read_cases
from shield.policy.tools.exercise import Seen
from shield.policy.tools.sources import read_sources

POLICY = """version: 1
name: team
rules:
  - id: frozen
    effect: block
    when: paths.exists(p, p.access == "write" && p.raw.startsWith("vendor/"))
    reason: Vendored code is not edited.
  - {id: reads, effect: allow, grants: path, when: 'path.inside_workspace && path.access in ["read", "list"]'}
  - {id: unused, effect: escalate, actions: [send_email]}
"""
CASES = """version: 1
cases:
  - id: vendor
    action: {type: write_file, payload: {path: vendor/a, content: x}}
    expect: {decision: BLOCK, rule: frozen}
  - id: read
    action: {type: read_file, payload: {path: a}}
    expect: {decision: ALLOW}
  - id: outside
    action: {type: read_file, payload: {path: /etc/hosts}}
    expect: {decision: ESCALATE}
"""
WRONG = "  - id: 'wrong: %, one'\n    action: {type: read_file, payload: {path: a}}\n    expect: {decision: BLOCK}\n"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "team.yaml").write_text(POLICY)
    (tmp_path / "cases.yaml").write_text(CASES)
    (tmp_path / "wrong.yaml").write_text(CASES + WRONG)
    many = [
        f"  - {{id: c{n}, action: {{type: read_file, payload: {{path: f{n}}}}}, expect: {{decision: ALLOW}}}}"
        for n in range(70)
    ]
    (tmp_path / "many.yaml").write_text("version: 1\ncases:\n" + "\n".join(many) + "\n")
    return tmp_path


def evaluate(folder, *words, env=None):
    with contextlib.chdir(folder):
        done = CliRunner().invoke(command, list(words), env={"GITHUB_ACTIONS": "", **(env or {})})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def test_coverage_names_rules_and_sides_that_no_case_comes_to(folder):
    done = evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--coverage", "--format", "text")
    assert done.code == 0
    assert "coverage: 2 of 3 rules held" in done.out
    assert "team.yaml:9: unused: no case makes it hold" in done.out
    assert 'never false in a case: `p.raw.startsWith("vendor/")`' in done.out
    shape = json.loads(evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--coverage").out)["policies"][0]
    rules = {rule["rule"]: rule for rule in shape["coverage"]["rules"]}
    assert set(rules) == {"frozen", "reads", "unused"}  # not what comes with the baseline
    assert rules["unused"]["held"] == "nothing"
    missing = [(gap["condition"], gap["value"]) for gap in rules["frozen"]["missing"]]
    assert ('p.raw.startsWith("vendor/")', False) in missing
    assert all(gap["line"] == 6 for gap in rules["frozen"]["missing"])


def test_too_little_coverage_is_exit_1(folder):
    assert evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--coverage", "--fail-under", "50").code == 0
    done = evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--coverage", "--fail-under", "100")
    assert done.code == 1
    assert "wanted 100 %" in done.err
    assert evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--fail-under", "1").code == 2


def test_mutants_that_nothing_notices(folder):
    done = evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--mutate", "--format", "json")
    found = json.loads(done.out)["policies"][0]["mutation"]
    assert done.code == 0
    assert found["tried"] <= found["possible"]
    alive = [(mutant["rule"], mutant["change"], mutant["before"]) for mutant in found["survivors"]]
    assert ("unused", "removed", "the escalate rule") in alive
    assert ("frozen", "removed", "the block rule") not in alive
    assert ("reads", "negation", "path.inside_workspace") not in alive
    assert ("reads", "list", '"list"') in alive
    assert ("reads", "list", '"read"') not in alive
    one = next(mutant for mutant in found["survivors"] if mutant["before"] == '"list"')
    assert (one["file"], one["line"], one["after"]) == ("team.yaml", 8, "left out")
    done = evaluate(folder, "team.yaml", "--cases", "cases.yaml", "--mutate", "--fail-under", "100", "--format", "text")
    assert done.code == 1
    assert "seed 0" in done.out


def test_a_new_case_kills_a_mutant(folder):
    more = CASES + (
        "  - id: list\n    action: {type: list_directory, payload: {path: src}}\n    expect: {decision: ALLOW}\n"
    )
    (folder / "more.yaml").write_text(more)
    alive = [
        {(mutant["rule"], mutant["before"]) for mutant in json.loads(done.out)["policies"][0]["mutation"]["survivors"]}
        for done in (evaluate(folder, "team.yaml", "--cases", file, "--mutate") for file in ("cases.yaml", "more.yaml"))
    ]
    assert alive[0] - alive[1] == {("reads", '"list"')}


def test_an_example_notices_as_well(folder):
    shown = POLICY.replace(
        "    reason: Vendored",
        "    examples: {no_match: [{type: write_file, payload: {path: src/a, content: x}}]}\n    reason: Vendored",
    )
    (folder / "shown.yaml").write_text(shown)
    alive = [
        {mutant["before"] for mutant in json.loads(done.out)["policies"][0]["mutation"]["survivors"]}
        for done in (
            evaluate(folder, file, "--cases", "cases.yaml", "--mutate") for file in ("team.yaml", "shown.yaml")
        )
    ]
    assert 'p.raw.startsWith("vendor/")' in alive[0] - alive[1]


@pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")
def test_any_number_of_processes_gives_the_same_report(folder):
    words = ("team.yaml", "strict", "--cases", "many.yaml", "cases.yaml", "--coverage", "--mutate", "--mutants", "25")
    reports = [evaluate(folder, *words, "--jobs", jobs).out for jobs in ("1", "2", "5")]
    assert reports[0] == reports[1] == reports[2]
    assert [case["id"] for case in json.loads(reports[0])["policies"][0]["cases"]][:2] == ["c0", "c1"]


@pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")
def test_a_broken_file_is_the_same_error_with_any_number_of_processes(folder):
    (folder / "broken.yaml").write_text((folder / "many.yaml").read_text() + "  - {id: c1}\n")
    said = [
        evaluate(folder, "team.yaml", "--cases", "many.yaml", "broken.yaml", "--jobs", jobs) for jobs in ("1", "2", "3")
    ]
    assert [done.code for done in said] == [2, 2, 2]
    assert said[0].err == said[1].err == said[2].err
    assert "broken.yaml:73:5" in said[0].err


def _work(item, tick):
    tick("items", 1)
    if item == 13:
        raise SystemExit(1)
    return item * item


@pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")
def test_work_comes_back_in_order_and_a_dead_worker_is_an_error():
    seen = []
    assert list(spread(_work, range(12), jobs=3, tick=lambda *said: seen.append(said))) == [n * n for n in range(12)]
    assert seen == [("items", 1)] * 12
    with pytest.raises(ShieldError, match="worker process ended"):
        list(spread(_work, range(20), jobs=2))


def test_parts_of_a_file_are_the_file(folder):
    raw = (folder / "many.yaml").read_bytes()
    whole = [case.id for case in read_cases(raw, "many.yaml")]
    for parts in (1, 2, 3, 7, 71):
        found = [case.id for part in range(parts) for case in read_cases(raw, "many.yaml", (part, parts))]
        assert found == whole


def test_sarif_has_what_the_format_requires(folder):
    done = evaluate(folder, "team.yaml", "--cases", "wrong.yaml", "--coverage", "--mutate", "--format", "sarif")
    assert done.code == 1
    check_sarif(json.loads(done.out), {"case.failed", "coverage.rule", "coverage.side", "mutant.survived"})


def check_sarif(log, codes):
    """SARIF 2.1.0: the properties that its schema requires, and references that hold (3.13 to 3.52)."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "shield"
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rule["shortDescription"]["text"] for rule in rules)
    assert run["columnKind"] == "unicodeCodePoints"
    assert codes <= {result["ruleId"] for result in run["results"]}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        uri = urlsplit(place["artifactLocation"]["uri"])
        assert uri.scheme in ("", "file")
        assert " " not in uri.path
        assert place["region"]["startLine"] >= 1
        assert place["region"].get("startColumn", 1) >= 1


def test_junit_has_what_the_format_requires(folder):
    done = evaluate(folder, "team.yaml", "--cases", "wrong.yaml", "--format", "junit")
    root = ET.fromstring(done.out)
    assert root.tag == "testsuites"
    (suite,) = root
    assert {"name", "tests", "failures", "errors"} <= set(suite.attrib)
    assert int(suite.get("tests")) == len(suite) == 4
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 1
    assert all({"name", "classname"} <= set(test.attrib) for test in suite)


def test_github_annotations_cannot_be_talked_out_of_their_line(folder):
    done = evaluate(folder, "team.yaml", "--cases", "wrong.yaml", "--format", "github")
    first = done.out.splitlines()[0]
    assert first.startswith("::error file=wrong.yaml,line=12,col=1,title=case.failed::")
    assert "wrong: %25, one" in first
    assert done.out.splitlines()[1].startswith("team.yaml: 3 passed, 1 failed")
    by_itself = evaluate(folder, "team.yaml", "--cases", "wrong.yaml", env={"GITHUB_ACTIONS": "true"})
    assert by_itself.out == done.out


def test_a_case_file_cannot_write_a_workflow_command(folder):
    text = CASES + '  - id: "x\\n::error::y\\r::stop-commands::z"\n' + WRONG.split("\n", 1)[1]
    (folder / "evil.yaml").write_text(text)
    done = evaluate(folder, "team.yaml", "--cases", "evil.yaml", "--format", "github")
    assert done.code == 1
    assert [line for line in done.out.splitlines() if line.startswith("::")] == [done.out.splitlines()[0]]


def test_results_are_those_of_one_case_after_the_other(folder):
    (subject,) = load_subjects([str(folder / "team.yaml")])
    cases = read_cases((folder / "wrong.yaml").read_bytes(), "wrong.yaml")
    one_by_one = tuple(try_case(case, subject.policy).result() for case in cases)
    with contextlib.chdir(folder):
        report = run_trials(["team.yaml"], ["wrong.yaml"], wanted=Wanted(coverage=True), jobs=2)
    assert report.trials[0].outcomes == one_by_one
    assert not report.passed
    assert {rule.held for rule in report.trials[0].coverage} == {Seen.CASE, Seen.NOTHING}
    assert read_sources(subject.policy, []).of(extended=False) == ()


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_and_long_runs():
    now = [0.0]
    shown, hidden = _Terminal(), io.StringIO()
    for stream in (shown, hidden):
        now[0] = 0.0
        with Progress(stream, clock=lambda: now[0]) as tick:
            tick("cases", 10)
            assert stream.getvalue() == ""  # a short run shows nothing
            now[0] += 5.0
            tick("cases", 2_990)
            now[0] += 5.0
            tick("mutants", 3)
    assert hidden.getvalue() == ""
    assert "\r3,000 cases" in shown.getvalue()
    assert "\r3,000 cases, 3 mutants" in shown.getvalue()
    assert shown.getvalue().endswith("\r")
