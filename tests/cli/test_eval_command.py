"""`shield eval`: reports in three forms, exit codes, overlays, and failures that say why."""

import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

import shield
from shield.cli.evaluate import command

PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout
RUN = "from shield.cli.evaluate import command; command(prog_name='shield eval')"
CASES = """version: 1
cases:
  - id: creds-cat
    action: {type: execute_command, payload: {command: cat ~/.ssh/id_rsa}}
    files: {~/.ssh/id_rsa: {content: x}, link: {symlink: ~/.ssh/id_rsa}, bin/run: {content: "ls\\n", mode: "0755"}}
    session: {labels: {confidentiality: secret}}
    expect: {decision: BLOCK, rule: credentials}
  - id: read
    action: {type: read_file, payload: {path: README.md}}
    expect: {decision: [ALLOW, ESCALATE], need: 0, facts: {paths: [{inside_workspace: true}], hosts: []}}
"""
WRONG = CASES + "  - id: wrong\n    action: {type: read_file, payload: {path: a}}\n    expect: {decision: BLOCK}\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.yaml").write_text(CASES)
    (tmp_path / "wrong.yaml").write_text(WRONG)
    return tmp_path


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def evaluate(folder, *words) -> Done:
    with contextlib.chdir(folder):
        done = CliRunner().invoke(command, list(words))
    return Done(done.exit_code, done.stdout, done.stderr)


def evaluate_as_process(folder, *words):
    return subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONPATH": PACKAGES},
        timeout=60,
    )


def test_json_has_the_shape_of_the_contract(folder):
    done = evaluate(folder, "default", "--cases", "good.yaml", "--format", "json")
    report = json.loads(done.stdout)["policies"]
    assert (done.returncode, len(report)) == (0, 1)
    assert (report[0]["policy"], report[0]["passed"], report[0]["failed"]) == ("default", 2, 0)
    assert report[0]["digest"].startswith("sha256:")
    first = report[0]["cases"][0]
    assert (first["id"], first["file"], first["line"], first["status"]) == ("creds-cat", "good.yaml", 3, "pass")
    assert first["expected"] == {"decision": "BLOCK", "rule": "credentials"}
    assert first["got"]["rule"] == "credentials"


def test_a_failure_says_which_rule_decided_on_which_facts(folder):
    done = evaluate(folder, "default", "--cases", "wrong.yaml", "--format", "text")
    assert done.returncode == 1
    assert "default: 2 passed, 1 failed" in done.stdout
    assert "wrong.yaml:11: wrong: decision is ALLOW, not BLOCK" in done.stdout
    assert "decided by `files.read.workspace`" in done.stdout
    assert '"resolved":"/home/user/ws/a"' in done.stdout


def test_junit_is_xml(folder):
    done = evaluate(folder, "default", "strict", "--cases", "wrong.yaml", "--format", "junit")
    root = ET.fromstring(done.stdout)
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [
        ("default", "3", "1"),
        ("strict", "3", "1"),
    ]
    assert done.returncode == 1


def test_each_policy_is_tried_alone_and_several_files_follow_one_option(folder):
    done = evaluate(folder, "default", "strict", "permissive", "--cases", "good.yaml", "wrong.yaml")
    report = json.loads(done.stdout)["policies"]
    assert [entry["policy"] for entry in report] == ["default", "strict", "permissive"]
    assert [len(entry["cases"]) for entry in report] == [5, 5, 5]
    assert len({entry["digest"] for entry in report}) == 3


def test_an_overlay_is_added_as_a_workspace_file(folder):
    (folder / "ws.yaml").write_text("version: 1\nrules: [{id: mine, effect: block, actions: [read_file]}]\n")
    done = evaluate(folder, "default", "--cases", "good.yaml", "--overlay", "ws.yaml")
    got = json.loads(done.stdout)["policies"][0]["cases"][1]["got"]
    assert (got["decision"], got["rule"], done.returncode) == ("BLOCK", "workspace:mine", 1)


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nextends: [permissive]\n",
        "version: 1\nrules: [\n",
        "",
        "version: 1\nrules: [{id: a, effect: block, actions: [x], examples: {blocks: [{path: a}]}}]\n",
    ],
)
def test_an_overlay_that_does_not_load_is_exit_2(folder, text):
    # read as a workspace's file it would make every action a person's, and cases that expect that would pass
    (folder / "ws.yaml").write_text(text)
    (folder / "ask.yaml").write_text(CASES.replace("BLOCK, rule: credentials", "[BLOCK, ESCALATE]"))
    done = evaluate(folder, "default", "--cases", "ask.yaml", "--overlay", "ws.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("shield eval: ws.yaml:")


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("version: 1\ncases: []", "bad.yaml:2:1", "empty"),
        ("version: 1\ncases:\n  - {id: a}", "bad.yaml:3:5", "needs the key `action`"),
        ("version: 1\ncases:\n  - {id: a, action: {type: x, payload: {}}, expect: {decision: allow}}", "bad.yaml:3:64", "ALLOW"),
        ("version: 1\ncases:\n  - {id: a, action: {type: x, payload: {}}, expect: {decision: []}}", "bad.yaml:3:64", "empty"),
        ("version: 1\ncases:\n  - {id: a, action: {type: x, payload: []}, expect: {decision: ALLOW}}", "bad.yaml:3:40", "mapping"),
        ("version: 1\ncases:\n  - {id: a, action: {type: x, payload: {}}, expect: {decision: ALLOW}, file: {}}", "bad.yaml:3:72", "did you mean `files`?"),
        ("version: 1\nversion: 1\ncases: []", "bad.yaml:2:1", "given twice"),
        (CASES + CASES.split("cases:\n")[1], "bad.yaml:11:5", "used twice"),
    ],
)  # fmt: skip
def test_a_case_file_that_does_not_load_is_exit_2(folder, text, place, part):
    (folder / "bad.yaml").write_text(text)
    done = evaluate(folder, "default", "--cases", "bad.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert place in done.stderr
    assert part in done.stderr


@pytest.mark.parametrize("jobs", ["1", "2", "5"])
@pytest.mark.parametrize("files", [("empty.yaml",), ("good.yaml", "empty.yaml"), ("empty.yaml", "empty.yaml")])
def test_an_empty_case_file_does_not_load_with_any_number_of_jobs(folder, files, jobs):
    (folder / "empty.yaml").write_text("")
    words = [word for name in files for word in ("--cases", name)]
    done = evaluate(folder, "default", *words, "--jobs", jobs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "empty.yaml:1:1: the file is empty" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--coverage",), "mine.yaml: there is no side to be seen in rules of its own; name the policy that has them"),
        (("--mutate",), "mine.yaml: there is no mistake to be made in rules of its own; name the policy that has them"),
    ],
)
def test_a_share_of_nothing_is_enough_for_nobody(folder, words, said):
    (folder / "mine.yaml").write_text("version: 1\nname: mine\nextends: [default]\n")
    done = evaluate(folder, "mine.yaml", "--cases", "good.yaml", *words, "--fail-under", "0", "--format", "text")
    assert done.returncode == 1
    assert said in done.stderr
    assert "%" not in done.stdout


@pytest.mark.parametrize("words", [("--mutants", "3"), ("--seed", "0"), ("--extended",), ("--fail-under", "1")])
def test_an_option_about_what_was_not_asked_for_is_wrong_usage(folder, words):
    done = evaluate(folder, "default", "--cases", "good.yaml", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`{words[0]}` is about " in done.stderr
    assert "`--mutate`: add " in done.stderr


def test_files_that_are_not_there_are_exit_2(folder):
    assert evaluate(folder, "default", "--cases", "none.yaml").returncode == 2
    assert evaluate(folder, "nope", "--cases", "good.yaml").returncode == 2
    assert evaluate(folder, "default", "--cases", "good.yaml", "--overlay", "none.yaml").returncode == 2
    assert evaluate(folder, "default").returncode == 2
    assert evaluate(folder, "--cases", "good.yaml").returncode == 2


def test_nothing_of_this_machine_counts(folder):
    # the same digest and verdicts from another directory and another home
    one = evaluate_as_process(folder, "default", "--cases", str(folder / "good.yaml"))
    other = evaluate(Path("/"), "default", "--cases", str(folder / "good.yaml"))
    assert one.stdout == other.stdout
