"""`git branch -d`: tried with the real git, which deletes a branch that its upstream reaches, whatever that is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from git_world import git
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.shell import analyse
from shield.types import Operation, RunsCode

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ORIGIN = '[remote "origin"]\n\turl = https://git.example/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
ITSELF = '[branch "f"]\n\tremote = .\n\tmerge = refs/heads/f\n'
THEIRS = '[branch "f"]\n\tremote = origin\n\tmerge = refs/heads/f\n'


@pytest.fixture
def top(tmp_path):
    """`f` and `g` are one commit ahead of `main`, on which one stands."""
    path = tmp_path / "home/ws"
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "x")
    git(path, "checkout", "-q", "-b", "f")
    git(path, "commit", "-q", "--allow-empty", "-m", "work")
    git(path, "branch", "g")
    git(path, "checkout", "-q", "main")
    return path


def told(top: Path, config: str, line: str):
    with (top / ".git/config").open("a") as file:
        file.write(config)
    place = Place(
        files=LocalFiles(),
        home=str(top.parent),
        cwd=str(top),
        workspace_roots=(str(top),),
        env={"PATH": "/usr/bin:/bin", "HOME": str(top.parent)},
    )
    return analyse(line, place).commands[-1]


def is_lost(top: Path, line: str) -> bool:
    """Whether the work is reachable by no name after the line has run."""
    work = git(top, "rev-parse", "f").strip()
    subprocess.run(line, shell=True, cwd=top, check=False, capture_output=True)
    return git(top, "for-each-ref", "--contains", work) == ""


def put(top: Path, name: str, text: str) -> None:
    path = top / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


TO_EACH_OTHER = ITSELF.replace("heads/f", "heads/g") + ITSELF.replace('"f"', '"g"')


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (ITSELF, "git branch -d f g"),
        (ITSELF.replace("\tmerge", '[branch "f"]\n\tmerge'), "git branch --delete f g"),
        (TO_EACH_OTHER, "git branch -d f g"),
        (TO_EACH_OTHER, "git branch -d @{-1} g"),
    ],
)
def test_a_branch_that_only_reaches_itself_is_lost(top, config, line):
    git(top, "config", "branch.g.remote", ".")
    git(top, "config", "branch.g.merge", "refs/heads/f")
    assert Operation.DELETE in told(top, config, line).operations
    assert is_lost(top, line)


@pytest.mark.parametrize(
    "line",
    [
        "git branch -f g f; git branch --track x f; git branch --set-upstream-to=x f; git branch -D g; git branch -d f x",
        "git branch --set-upstream-to=g f; git branch -D g; git branch -m f g; git branch -d g",
        "git checkout -q -b x --track f; git branch -u x f; git checkout main; git branch -D g; git branch -d f x",
    ],
)
def test_what_the_line_says_of_upstreams_before_counts(top, line):
    assert Operation.DELETE in told(top, "", line).operations
    assert is_lost(top, line)


def test_an_upstream_that_is_another_name_for_it_is_lost(top):
    git(top, "branch", "-D", "g")
    git(top, "symbolic-ref", "refs/remotes/origin/f", "refs/heads/f")
    assert Operation.DELETE in told(top, ORIGIN + THEIRS, "git branch -d f").operations
    assert is_lost(top, "git branch -d f")


def test_a_remote_in_a_file_of_the_old_kind_fetches_onto_the_branch_itself(top):
    git(top, "branch", "-D", "g")
    put(top, "branches/f", "https://git.example/x#f\n")
    config = THEIRS.replace("origin", "f")
    assert told(top, config, "git branch -d f").runs_code is RunsCode.WORKSPACE
    assert is_lost(top, "git branch -d f")


def test_a_name_of_what_others_have_is_deleted_unasked(top):
    work = git(top, "rev-parse", "f").strip()
    git(top, "update-ref", "refs/remotes/origin/f", work)
    git(top, "branch", "-D", "f", "g")
    assert Operation.DELETE in told(top, "", "git branch -d -r origin/f").operations
    git(top, "branch", "-d", "-r", "origin/f")
    assert git(top, "for-each-ref", "--contains", work) == ""


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("", "git branch -d f"),
        ("", "git branch -d f g"),
        ("", "git branch -d @{-1}"),
        (ORIGIN + THEIRS, "git branch -d f g"),
        (ORIGIN + "\tfetch = +refs/pull/*/head:refs/remotes/origin/pr/*\n" + THEIRS, "git branch -d f g"),
        (ITSELF.replace("heads/f", "heads/g"), "git branch -d f"),
        (ITSELF.replace("heads/f", "heads/main"), "git branch -d f g"),
        (ITSELF, "git branch -d g"),
        ("", "git branch -vv; git branch x f; git branch -d f"),
    ],
)
def test_what_another_name_reaches_is_kept(top, config, line):
    put(top, "branches/.keep", "")
    (top / ".git/branches/.keep").unlink()
    git(top, "update-ref", "refs/remotes/origin/f", "f")
    command = told(top, config, line)
    assert command.operations == {Operation.READ, Operation.WRITE}
    assert command.runs_code is RunsCode.NONE
    assert not is_lost(top, line)
