"""A workspace that `git worktree` added to a repository elsewhere: what git writes there for it, and nothing else."""

import os
import shlex
import subprocess

import pytest

from agentctl.linked import linked

GIT = "git -c safe.directory=* -c user.email=a@b.example -c user.name=a"
COMMIT = f"{GIT} commit -q --allow-empty -m x"


def made(base, user=None):
    """`base/main` with two added working trees, `base/main-x` and `base/other-x`."""
    script = (
        f"rm -rf {base}; mkdir {base}; git init -q -b main {base}/main && cd {base}/main && {COMMIT}"
        f" && {GIT} worktree add -q ../main-x && {GIT} worktree add -q ../other-x && {GIT} tag t && {GIT} pack-refs --all"
    )
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    subprocess.run(["bash", "-c", script], check=True, env=env)
    if user is not None:
        subprocess.run(["chown", "-R", f"{user}:{user}", str(base)], check=True)
    return base / "main-x"


def test_what_is_lent_is_what_git_writes(tmp_path):
    tree = made(tmp_path / "w")
    git = tmp_path / "w/main/.git"
    found = linked(str(tree))
    assert (found.own, found.common) == (str(git / "worktrees/main-x"), str(git))
    assert found.written == tuple(str(git / name) for name in ("worktrees/main-x", "objects", "refs", "logs"))
    assert linked(str(tmp_path / "w/main")) is None
    (git / "refs").rename(git / "away")
    (git / "refs").symlink_to("away")
    assert str(git / "refs") not in linked(str(tree)).written


@pytest.mark.parametrize(
    "forge",
    [
        "cp .git ../copy/.git",
        "rm .git; ln -s ../main/.git .git",
        "echo gitdir: ../main/.git > .git",
        "echo gitdir: ../main/.git/worktrees/other-x > .git",
        "echo gitdir: ../main/.git/worktrees/../worktrees > .git",
        "mv ../main ../real; ln -s real ../main",
        "echo .. > ../main/.git/worktrees/main-x/commondir",
        "echo ../main-x/.git > ../main/.git/worktrees/main-x/gitdir",
        "rm ../main/.git/worktrees/main-x/gitdir",
    ],
)
def test_nothing_is_lent_to_what_the_other_side_does_not_name(tmp_path, forge):
    tree = made(tmp_path / "w")
    (tmp_path / "w/copy").mkdir()
    subprocess.run(forge, shell=True, check=True, cwd=tree)
    assert linked(str(tmp_path / "w/copy" if "copy" in forge else tree)) is None


@pytest.fixture
def tree(inside):
    """The working tree as the driver's workspace."""
    found = made(inside.world / "linked", inside.user)
    inside.ask({"do": "renew", "root": str(found)})
    yield found
    inside.ask({"do": "renew", "root": str(inside.world / "ws")})


def within(inside, tree, command, level="confined"):
    return inside(f"cd {shlex.quote(str(tree))} && {command}", level, cwd=str(tree), env={"HOME": "/nonexistent"})


def test_git_works_there(inside, tree):
    work = (
        f"echo x > new && {GIT} add new && {GIT} commit -q -m more && {GIT} switch -q -c further && {COMMIT}"
        f" && {GIT} stash -q; {GIT} rebase -q HEAD~1 && {GIT} log --oneline | wc -l"
    )
    answer = within(inside, tree, work)
    assert answer.stdout == "3\n", answer
    assert "aside" not in answer.note
    log = subprocess.run(
        ["bash", "-c", f"{GIT} log --oneline further | wc -l"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert log.stdout == "3\n"


@pytest.mark.parametrize(
    "name",
    [
        "main/.git/config",
        "main/.git/hooks/pre-commit",
        "main/.git/info/attributes",
        "main/.git/HEAD",
        "main/.git/index",
        "main/.git/packed-refs",
        "main/.git/commondir",
        "main/.git/worktrees/other-x/HEAD",
        "main/.git/worktrees/other-x/config.worktree",
        "main/.git/worktrees/main-x/config.worktree",
        "main/.git/worktrees/main-x/commondir",
        "main/.git/worktrees/main-x/gitdir",
        "main/.git/worktrees/new/HEAD",
        "main-x/.git",
        "main/file",
        "other-x/file",
    ],
)
def test_nothing_else_of_the_repository_is_written(inside, tree, name):
    path = tree.parent / name
    before = path.read_bytes() if path.exists() else None
    answer = within(inside, tree, f"rm -rf {path}; mkdir -p {path.parent}; echo evil > {path}; echo ran")
    assert answer.stdout == "ran\n", answer
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("name", ["config", "hooks/pre-commit", "config.worktree", ".git"])
def test_what_leads_git_in_its_submodules_stays_as_it_is(inside, tree, name):
    """git keeps these beneath what it keeps for the tree."""
    own = tree.parent / "main/.git/worktrees/main-x"
    mine, theirs = (f"chown -R {user}:{user} {tree.parent}" for user in (os.geteuid(), inside.user))
    script = f"{mine} && git -c protocol.file.allow=always submodule --quiet add {tree.parent}/main sub && {theirs}"
    subprocess.run(script, shell=True, check=True, cwd=tree, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    path = tree / "sub/.git" if name == ".git" else own / "modules/sub" / name
    before = path.read_bytes() if path.exists() else None
    answer = within(inside, tree, f"rm -rf {path}; mkdir -p {path.parent}; echo evil > {path}; echo ran")
    assert answer.stdout == "ran\n", answer
    assert (path.read_bytes() if path.exists() else None) == before


def test_what_is_hidden_stays_so(inside, tree):
    """A repository beneath what commands must not see is lent to nobody."""
    hidden = inside.world / "shield/w"
    found = made(hidden, inside.user)
    moved = inside.world / "moved"
    subprocess.run(f"rm -rf {moved}; {GIT} worktree move {found} {moved}", shell=True, check=True, cwd=hidden / "main")
    subprocess.run(["chown", "-R", f"{inside.user}:{inside.user}", str(moved), str(hidden)], check=True)
    assert len(linked(str(moved)).written) == 4
    inside.ask({"do": "renew", "root": str(moved)})
    answer = within(
        inside, moved, f"ls {hidden}/main/.git/objects; echo x > {hidden}/main/.git/refs/heads/evil; echo ran"
    )
    assert answer.stdout == "ran\n", answer
    assert not (hidden / "main/.git/refs/heads/evil").exists()
