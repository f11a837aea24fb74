"""git commands that keep all work: each is run with the real git over uncommitted work, which is there afterwards."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from git_world import git
from shell_world import facts
from shield.facts.local import LocalFiles
from shield.facts.made import MadeFile
from shield.facts.place import Place
from shield.facts.shell import analyse
from shield.types import Operation, RunsCode

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

GENTLE = (
    "git stash",
    "git stash push -m wip",
    "git stash push -m wip -- a.txt",
    "git stash -q",
    "git stash -u",
    "git stash pop",
    "git stash apply stash@{0}",
    "git stash pop --index 0",
    "git checkout other",
    "git checkout -q other",
    "git checkout -",
    "git checkout HEAD~1",
    "git checkout --detach other",
    "git checkout -b new other",
    "git checkout -t other",
    "git switch other",
    "git switch -",
    "git switch -c new other",
    "git switch --detach HEAD~1",
    "git merge other",
    "git merge --no-ff -m x other",
    "git merge --ff-only other",
    "git merge --squash other",
    "git merge -X theirs other",
    "git merge -s ours other",
    "git merge --autostash other",
    "git rebase other",
    "git rebase --autostash other",
    "git rebase --onto other HEAD~1",
    "git rebase --continue",
    "git cherry-pick other",
    "git cherry-pick -x other~1..other",
    "git cherry-pick -n other",
    "git revert HEAD",
    "git revert --no-edit HEAD",
    "git revert -n HEAD",
)
STEPS = tuple(
    f"git {verb} {step}"
    for verb in ("merge", "rebase", "cherry-pick", "revert", "am")
    for step in ("--continue", "--quit")
)
UNDONE = tuple(
    f"git {verb} {step}"
    for verb in ("merge", "rebase", "cherry-pick", "revert", "am")
    for step in ("--abort", "--skip")
)
FORCED = (
    "git stash drop",
    "git stash clear",
    "git stash branch x",
    "git stash -a",
    "git stash push -p",
    "git stash push -- /etc/passwd",
    "git stash push -- ../x",
    "git stash store abc",
    "git stash pop evil",
    "git checkout -f other",
    "git checkout --force other",
    "git checkout -m other",
    "git checkout -B main other",
    "git checkout -p other",
    "git checkout --orphan x",
    "git checkout --ours a.txt",
    "git checkout a.txt",
    "git checkout .",
    "git checkout -- a.txt",
    "git checkout -- gone.txt",
    "git checkout HEAD a.txt",
    "git checkout HEAD -- a.txt",
    "git checkout 'a*'",
    "git checkout :/",
    "git checkout --pathspec-from-file=x",
    "git checkout -b new -f other",
    "git switch -f other",
    "git switch --discard-changes other",
    "git switch -m other",
    "git switch -C main other",
    "git switch --orphan x",
    "git restore a.txt",
    "git restore --source=other .",
    "git reset --hard",
    "git reset --hard other",
    "git reset --merge",
    "git reset --keep HEAD~1",
    "git merge -e other",
    "git merge -s ./mine other",
    "git merge -s evil other",
    "git merge --gpg-sign other",
    "git merge $X",
    "git rebase -i main",
    "git rebase -x ls main",
    "git rebase --exec 'touch x' main",
    "git rebase --edit-todo",
    "git rebase -s evil main",
    "git rebase --strategy=evil main",
    "git cherry-pick -e other",
    "git cherry-pick --strategy evil other",
    "git revert -e HEAD",
    "git am x.patch",
    "git am",
    "git pull -f",
    "git pull --force origin main",
    "git pull origin +main:main",
    "git pull origin main:other",
    "git pull https://index.example/x main",
    "git pull ../x",
    "git pull --rebase=interactive",
    "git pull -s evil origin",
    "git pull --upload-pack=./x origin",
    "git pull origin 'main;x'",
    "git branch -D other",
    "git branch -f main other",
    "git branch -d -f other",
    "git branch -M main other",
    "git clean -fd",
    "git -C .. merge other",
    "git -C sub stash",
    "git --git-dir=x/.git merge other",
    "git --work-tree=/ checkout other",
    "git --bare merge other",
    "git -c core.hooksPath=x merge other",
    "git -c core.editor=./x revert HEAD",
    "GIT_DIR=x git merge other",
    "GIT_EDITOR=./x git rebase --continue",
    "EDITOR=./x git revert HEAD",
    "git worktree add -f ../x",
    "git update-ref -d refs/heads/other",
    "git read-tree -u --reset other",
)
WORLD = {"a.txt": MadeFile(content=b"x"), "x.patch": MadeFile(content=b"x")}


def is_gentle(line: str, files=WORLD) -> bool:
    """What a rule may go by."""
    found = facts(line, files)
    (command,) = [command for command in found.commands if command.name == "git"]
    return (
        command.runs_code is RunsCode.FETCHED
        and command.dynamic.value == "none"
        and not command.assignments
        and Operation.DELETE not in command.operations
        and not found.hosts
        and not found.unknown
    )


@pytest.mark.parametrize("line", [*GENTLE, *STEPS])
def test_what_keeps_work_does_not_delete(line):
    assert is_gentle(line)
    found = facts(line, WORLD)
    assert found.commands[0].operations == {Operation.READ, Operation.WRITE, Operation.EXECUTE}
    assert [path.raw for path in found.paths if path.raw != "."] == []


@pytest.mark.parametrize("line", [*FORCED, *UNDONE])
def test_what_may_lose_work_or_runs_more_is_told_apart(line):
    assert not is_gentle(line)


def test_a_branch_with_the_name_of_a_file_is_not_one():
    assert is_gentle("git checkout main")
    for there in (MadeFile(content=b"x"), MadeFile(directory=True), MadeFile(symlink="/etc")):
        assert not is_gentle("git checkout main", {"main": there})
    assert not is_gentle("git checkout docs/main", {"docs/main": MadeFile(content=b"x")})
    assert is_gentle("git switch main", {"main": MadeFile(content=b"x")})


REPOSITORY = {
    ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/refs": MadeFile(directory=True),
    ".git/objects": MadeFile(directory=True),
    ".git/config": MadeFile(content=b'[remote "origin"]\n\turl = https://git.example/x.git\n'),
}


def test_a_pull_tells_where_from():
    found = facts("git pull --rebase origin main", REPOSITORY)
    assert [host.host for host in found.hosts] == ["git.example"]
    assert found.commands[0].runs_code is RunsCode.FETCHED
    assert Operation.DELETE not in found.commands[0].operations
    assert not found.unknown


@pytest.mark.parametrize(
    "words",
    [
        "https://git.example/x main",
        "../x",
        "./x",
        "-f",
        "origin +main:main",
        "origin a:b",
        "origin a..b",
        "--force origin",
    ],
)
def test_a_pull_of_more_than_a_branch_keeps_the_question(words):
    assert Operation.DELETE in facts(f"git pull {words}", REPOSITORY).commands[0].operations


@pytest.mark.parametrize("value", ['"https://index.example/"x', "https://index.example/\\x", '""', ""])
def test_an_address_that_is_put_together_is_not_known(value):
    plain = REPOSITORY[".git/config"].content.decode()
    config = f'{plain}[remote "origin"]\n\turl = {value}\n'
    assert facts("git fetch origin", {**REPOSITORY, ".git/config": MadeFile(content=config.encode())}).unknown


@pytest.mark.parametrize(
    "line", ["git pull", "git fetch", "git push", "git fetch --all", "git fetch --multiple a origin"]
)
def test_every_remote_that_may_be_meant_is_named(line):
    more = {
        "here": '[branch "main"]\n\tremote = a\n',
        "there": "[remote]\n\tpushDefault = a\n",
        "url": '[branch "main"]\n\tremote = https://index.example/x\n',
        "twice": '[remote "origin"]\n\turl = https://index.example/x\n',
        "commented": '[branch "main"]\n\tremote = a ; since May\n[remote "origin"]\n\turl=https://index.example/x#y\n',
        "old": "[remote.origin]\n\tpushurl = https://index.example/x\n",
    }
    plain = REPOSITORY[".git/config"].content.decode()
    for kind, text in more.items():
        config = f'{plain}[remote "a"]\n\turl = https://index.example/a\n{text}'
        files = {**REPOSITORY, ".git/config": MadeFile(content=config.encode())}
        named = {host.host for host in facts(line, files).hosts}
        assert "index.example" in named or (kind == "url" and "a" in line.split()), (line, kind)
    assert [host.host for host in facts("git fetch", REPOSITORY).hosts] == ["git.example"]
    usual = {
        **REPOSITORY,
        ".git/config": MadeFile(
            content=f'{plain}[branch "main"]\n\tremote = origin\n[push]\n\tdefault = current\n'.encode()
        ),
    }
    assert [host.host for host in facts("git push", usual).hosts] == ["git.example"]


def test_a_pull_with_hooks_has_a_question():
    hook = {".git/hooks/post-merge": MadeFile(content=b"#!/bin/sh\n", mode=0o755)}
    assert facts("git pull", REPOSITORY | hook).unknown
    assert not facts("git merge other", REPOSITORY | hook).unknown


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """main and other differ in a.txt and b.txt, and other alone has new.txt."""
    top = tmp_path_factory.mktemp("pattern")
    git(top, "init", "-q", "-b", "main")
    for text in ("1", "2"):
        (top / "a.txt").write_text(f"{text}\n")
        (top / "b.txt").write_text(f"{text}\n")
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", text)
    git(top, "checkout", "-q", "-b", "other", "HEAD~1")
    (top / "a.txt").write_text("other\n")
    (top / "new.txt").write_text("other\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "other")
    git(top, "checkout", "-q", "main")
    return top


@pytest.fixture
def ws(pattern, tmp_path):
    return Path(shutil.copytree(pattern, tmp_path / "ws", symlinks=True))


PRECIOUS = "uncommitted work of an afternoon"


def everything(top: Path) -> str:
    """What can be found without knowing any name: files, and all that the reflogs reach."""
    texts = [path.read_text(errors="replace") for path in top.rglob("*") if path.is_file() and ".git" not in path.parts]
    # What `--autostash` has put aside until the conflict is solved.
    aside = [name for name in ("MERGE_AUTOSTASH", "rebase-merge/autostash") if (top / ".git" / name).exists()]
    aside = [(top / ".git" / name).read_text().strip() for name in aside]
    return "".join(texts) + git(top, "log", "-p", "-m", "--all", "--reflog", "--full-history", *aside)


def run(top: Path, line: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(top),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
    }
    subprocess.run(["bash", "-c", line], cwd=top, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL)


def local(top: Path, line: str):
    place = Place(
        files=LocalFiles(),
        home=str(top.parent),
        cwd=str(top),
        workspace_roots=(str(top),),
        env={"PATH": os.environ["PATH"], "HOME": str(top.parent)},
        shell="/bin/bash",
    )
    return analyse(line, place)


@pytest.mark.parametrize("line", GENTLE)
@pytest.mark.parametrize(("where", "staged"), [("a.txt", False), ("a.txt", True), ("new.txt", False)])
def test_uncommitted_work_is_there_afterwards(ws, line, where, staged):
    if re.search(r"pop|apply", line):
        (ws / "a.txt").write_text("aside\n")
        git(ws, "stash")
    (ws / where).write_text(f"{PRECIOUS}\n")
    if staged:
        git(ws, "add", where)
    assert Operation.DELETE not in local(ws, line).commands[0].operations
    heads = set(git(ws, "for-each-ref", "--format=%(objectname)", "refs/heads").split())
    run(ws, line)
    after = everything(ws)
    assert PRECIOUS in after
    assert all(f"commit {head}" in after for head in heads)


@pytest.mark.parametrize(
    "line", ["git checkout -f other", "git reset --hard", "git checkout a.txt", "git restore a.txt", "git checkout ."]
)
def test_the_others_lose_it(ws, line):
    """The twin: the check above finds a loss where there is one."""
    (ws / "a.txt").write_text(f"{PRECIOUS}\n")
    assert Operation.DELETE in local(ws, line).commands[0].operations
    run(ws, line)
    assert PRECIOUS not in everything(ws)


@pytest.mark.parametrize("start", ["rebase", "merge", "cherry-pick"])
def test_to_give_up_loses_what_was_solved(ws, start):
    """Why `--abort` is not among them."""
    run(ws, f"git {start} other")
    assert "<<<<<<<" in (ws / "a.txt").read_text()
    (ws / "a.txt").write_text(f"{PRECIOUS}\n")
    git(ws, "add", "a.txt")
    run(ws, f"git {start} --abort")
    assert PRECIOUS not in everything(ws)
    assert Operation.DELETE in facts(f"git {start} --abort").commands[0].operations


def test_a_rebase_that_goes_on_runs_what_its_list_says(ws):
    """Why `--continue` counts as running what was fetched: the list is a file that anything may have written."""
    (ws / "c.txt").write_text("c\n")
    git(ws, "add", "c.txt")
    git(ws, "commit", "-q", "-m", "c")
    run(ws, "git rebase other")
    todo = ws / ".git/rebase-merge/git-rebase-todo"
    assert todo.exists()
    todo.write_text("exec touch ran\n")
    (ws / "a.txt").write_text("solved\n")
    git(ws, "add", "a.txt")
    run(ws, "git rebase --continue")
    assert (ws / "ran").exists()
    assert facts("git rebase --continue").commands[0].runs_code is RunsCode.FETCHED


@pytest.mark.parametrize(
    ("line", "quiet"),
    [
        ("git stash list && git stash show -p", True),
        ("git stash show; git status", True),
        ("git stash push list; git status", False),
        ("git stash; git stash show", False),
        ("git grep -c x; git grep -l y | head", True),
        ("git describe; git diff-tree HEAD; git status", True),
        ("git rm --cached a.txt; git status", True),
        ("git update-index --add x; git status", False),
    ],
)
def test_looking_at_what_was_put_aside_puts_nothing_into_the_index(line, quiet):
    """A later command would else find a repository there that is not looked at (`stages`)."""
    assert (facts(line).commands[-1].runs_code is RunsCode.NONE) is quiet
