"""The pre-commit hooks and the GitHub Action: read as their programs read them, and their commands run in a repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import shield

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
BAD = "version: 1\nname: bad\nrules:\n  - {id: r, effect: block, reason: x, when: malformed && !malformed}\n"
GOOD = BAD.replace(" && !malformed", "")
CASES = """version: 1
cases:
  - id: read
    action: {type: read_file, payload: {path: a}}
    expect: {decision: ESCALATE}
"""


@pytest.fixture
def repository(tmp_path):
    """Policies, cases, and a `shield` that is this checkout."""
    for name, text in (("policies/bad.yaml", BAD), ("policies/good.yaml", GOOD), ("cases/a.yaml", CASES)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    program = tmp_path / "bin" / "shield"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec env PYTHONPATH="{PACKAGES}" "{sys.executable}" -P -m shield "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(repository, words, **env):
    path = f"{repository / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        words,
        cwd=repository,
        env={"PATH": path, "HOME": str(repository), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_hooks_have_what_pre_commit_asks_for():
    assert [hook["id"] for hook in HOOKS] == ["shield-lint", "shield-eval"]
    for hook in HOOKS:
        assert {"id", "name", "entry", "language"} <= set(hook)
        assert hook["language"] == "python"
        re.compile(hook["files"])


@pytest.mark.parametrize(
    ("path", "lint", "evaluate"),
    [
        ("policies/team.yaml", True, True),
        ("sub/policies/team.yml", True, True),
        (".shield.yaml", True, True),
        ("cases/team.yaml", False, True),
        ("policies.yaml", False, False),
        ("README.md", False, False),
        ("policies/team.yaml.txt", False, False),
    ],
)
def test_hooks_run_for_the_right_files(path, lint, evaluate):
    assert [bool(re.search(hook["files"], path)) for hook in HOOKS] == [lint, evaluate]


def test_the_lint_hook_runs_with_the_files_that_changed(repository):
    entry = HOOKS[0]["entry"].split()
    assert run(repository, [*entry, "policies/good.yaml"]).returncode == 0
    done = run(repository, [*entry, "policies/good.yaml", "policies/bad.yaml"])
    assert done.returncode == 1
    assert "policies/bad.yaml:4:45: SH001 error" in done.stdout


def test_the_eval_hook_runs_with_its_arguments(repository):
    entry = HOOKS[1]["entry"].split()
    done = run(repository, [*entry, "policies/good.yaml", "--cases", "cases/a.yaml"])
    assert (done.returncode, done.stdout) == (0, "policies/good.yaml: 1 passed, 0 failed\n")


def test_the_action_is_composite_pinned_and_documented():
    runs = ACTION["runs"]
    assert runs["using"] == "composite"
    for step in runs["steps"]:
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])  # a tag can be moved
        else:
            assert step["shell"] == "bash"
            assert "${{" not in step["run"]  # text of an input is never part of a script
    used = " ".join(value for step in runs["steps"] for value in step.get("env", {}).values())
    assert set(re.findall(r"inputs\.(\w+)", used)) == set(ACTION["inputs"])
    assert all(given["description"] for given in ACTION["inputs"].values())


def action(repository, **inputs):
    """The last step's script with these inputs, as the runner calls it."""
    step = ACTION["runs"]["steps"][-1]
    env = {}
    for name, value in step["env"].items():
        key = re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value).group(1)
        env[name] = inputs.get(key, ACTION["inputs"][key].get("default", ""))
    script = repository / "script.sh"
    script.write_text(step["run"])
    given = {"SHIELD": str(repository / "bin" / "shield"), "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(repository)}
    bash = shutil.which("bash")
    return run(repository, [bash, "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)], **given, **env)


def test_the_action_lints_and_tests(repository):
    done = action(repository, policies="policies/good.yaml", cases="cases/a.yaml")
    assert done.returncode == 0, done.stderr
    assert "::notice file=policies/good.yaml,line=4" in done.stdout
    assert "policies/good.yaml: 1 passed, 0 failed" in done.stdout


def test_the_action_fails_where_lint_does_and_writes_sarif(repository):
    done = action(repository, policies="policies/good.yaml policies/bad.yaml", sarif="out.sarif", cases="cases/a.yaml")
    assert done.returncode == 1
    assert "::error file=policies/bad.yaml,line=4,col=45,title=SH001 r::" in done.stdout
    assert yaml.safe_load((repository / "out.sarif").read_text())["version"] == "2.1.0"


def test_the_action_fails_where_a_case_does_or_coverage_is_low(repository):
    (repository / "cases" / "b.yaml").write_text(CASES.replace("ESCALATE", "ALLOW"))
    done = action(repository, policies="policies/good.yaml", cases="cases/a.yaml cases/b.yaml", coverage="100")
    assert done.returncode == 1
    assert "::error file=cases/b.yaml,line=3" in done.stdout
    assert "wanted 100 %" in done.stderr


def test_an_input_is_never_run(repository):
    done = action(repository, policies="policies/good.yaml $(touch pwned) ;touch pwned", cases="-x `touch pwned`")
    assert done.returncode == 2
    assert not (repository / "pwned").exists()
    for text in ("$(touch pwned)", "`touch pwned`", "x); touch pwned; (", '"; touch pwned; "'):
        action(repository, policies=text, cases=text, overlay=text)
        assert not (repository / "pwned").exists(), text
    assert action(repository, policies="").returncode == 2
