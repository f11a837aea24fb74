"""Repositories whose directory has another name than `.git`, held against what the real git does."""

import shutil

import pytest

from git_world import git
from shield.facts.local import LocalFiles
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot
from shield.facts.unseen import UnknownFiles
from shield.types import Access

WS = "/home/user/ws"
FOLDER = MadeFile(directory=True)
REPOSITORY = {"store/HEAD": MadeFile(content=b"ref: refs/heads/x"), "store/objects": FOLDER, "store/refs": FOLDER}
WORKTREE = {"store/HEAD": MadeFile(content=b"ref: refs/heads/x"), "store/commondir": MadeFile(content=b"../..")}
CONFIG, HOOK = {"vcs_config"}, {"vcs_config", "vcs_hook"}


def place(files, platform: str = "linux", cwd: str = WS) -> Place:
    return Place(files=files, home="/home/user", cwd=cwd, workspace_roots=(cwd,), env={}, platform=platform)


def meaning(name: str, where: Place) -> set[str]:
    return {*path_fact(name, Access.WRITE, where, base=where.cwd).categories} & HOOK


@pytest.mark.parametrize("files", [REPOSITORY, WORKTREE])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("store/config", CONFIG),
        ("store/Config", CONFIG),
        ("store/config.worktree", CONFIG),
        ("store/commondir", CONFIG),
        ("store/info/attributes", CONFIG),
        ("store/info", CONFIG),
        ("store/hooks", HOOK),
        ("store/hooks/post-commit", HOOK),
        ("store/hooks/new/x", set()),  # git runs none that stands deeper
        ("store/description", set()),
        ("store/sub/config", set()),
        ("config", set()),
    ],
)
def test_what_makes_a_repository_run_something(files, name, found):
    assert meaning(name, place(MadeFiles(files, home="/home/user", cwd=WS))) == found


@pytest.mark.parametrize("lacking", [*REPOSITORY])
def test_a_directory_that_is_none(lacking):
    files = {name: entry for name, entry in REPOSITORY.items() if name != lacking}
    known = meaning("store/config", place(MadeFiles(files, home="/home/user", cwd=WS)))
    assert known == (CONFIG if lacking != "store/HEAD" else set())  # the other two can be made by anybody


def test_no_order_of_making_one_goes_without_its_head():
    empty = place(MadeFiles({"src/HEAD/x": MadeFile()}, home="/home/user", cwd=WS))
    assert meaning("store/HEAD", empty) == meaning("HEAD", empty) == CONFIG
    assert meaning("src/HEAD", empty) == set()  # a directory
    assert meaning("src/HEAD/x", empty) == meaning("HEADER", empty) == meaning("head", empty) == set()
    assert meaning("head", place(empty.files, "darwin")) == CONFIG  # the same file there


def test_where_the_disk_tells_nothing_it_is_one():
    assert meaning("store/config", place(UnknownFiles())) == CONFIG


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_makes_elsewhere_is_guarded(tmp_path):
    git(tmp_path, "init", "-q", "--separate-git-dir", "store", "sub")
    git(tmp_path, "init", "-q", "--bare", "bare")
    (tmp_path / "sub/a").write_text("x")
    git(tmp_path / "sub", "add", "a")
    git(tmp_path / "sub", "commit", "-q", "-m", "x")
    git(tmp_path / "sub", "worktree", "add", "-q", str(tmp_path / "tree"))
    here = place(Snapshot(LocalFiles()), cwd=str(tmp_path))
    for name in ("store/config", "bare/config", "store/worktrees/tree/config.worktree"):
        assert meaning(name, here) == CONFIG, name
        assert meaning(name.replace("config", "other"), here) == set(), name
    assert meaning("store/hooks/post-commit", here) == HOOK
    ran = tmp_path / "ran"
    git(tmp_path / "sub", "config", "core.fsmonitor", f"touch {ran}; false")
    git(tmp_path / "sub", "status")
    assert ran.exists()  # what it is guarded for
