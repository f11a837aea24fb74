"""Where `.git` is a file: what `git worktree` and `git submodule` made, and what only looks like it."""

import shutil
from pathlib import Path

import pytest

from git_world import git
from shield.facts.local import LocalFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.facts.shell import analyse
from shield.facts.snapshot import Snapshot
from shield.types import Access, RunsCode

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
LINES = ("git status", "git diff", "git log -p", "git add a.txt", "git commit -m x", "git branch new")


class Linked:
    """A repository at `main`, and `tree`, whose `.git` is a file that leads to `own` with settings in `common`."""

    def __init__(self, home: Path, kind: str) -> None:
        self.home, self.main, self.kind = home, home / "main", kind
        self.main.mkdir(parents=True)
        git(self.main, "init", "-q", "-b", "main")
        (self.main / "a.txt").write_text("x\n")
        git(self.main, "add", "a.txt")
        git(self.main, "commit", "-q", "-m", "x")
        if kind == "worktree":
            self.tree = home / "tree"
            git(self.main, "worktree", "add", "-q", str(self.tree))
            self.own, self.common = self.main / ".git/worktrees/tree", self.main / ".git"
        else:
            holder = home / "holder"
            git(home, "init", "-q", "holder")
            git(holder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(self.main), "lib/tree")
            self.tree = holder / "lib/tree"
            self.own = self.common = holder / ".git/modules/lib/tree"

    def place(self, cwd: Path | None = None) -> Place:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        at = str(cwd or self.tree)
        return Place(
            files=Snapshot(LocalFiles()),
            home=str(self.home),
            cwd=at,
            workspace_roots=(str(self.tree),),
            env=env,
            shell="/bin/bash",
        )

    def says(self, line: str = "git status", cwd: Path | None = None) -> RunsCode:
        return analyse(line, self.place(cwd)).commands[-1].runs_code

    def kept(self, name: str) -> bool:
        fact = path_fact(name, Access.DELETE, self.place(), base=str(self.tree))
        return "committed" in fact.categories

    def taken(self, line: str) -> set[str]:
        found = analyse(line, self.place()).paths
        return {str(fact.resolved).removeprefix(f"{self.tree}/") for fact in found if "credential" in fact.categories}


@pytest.fixture(params=["worktree", "submodule"])
def linked(tmp_path, request):
    return Linked(tmp_path / "home", request.param)


@pytest.fixture
def worktree(tmp_path):
    return Linked(tmp_path / "home", "worktree")


@pytest.fixture
def submodule(tmp_path):
    return Linked(tmp_path / "home", "submodule")


@pytest.mark.parametrize("line", LINES)
def test_what_git_made_is_as_plain_as_its_settings(linked, line):
    assert linked.says(line) is RunsCode.NONE
    with (linked.common / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./evil\n")
    assert linked.says(line) is RunsCode.WORKSPACE


def test_hooks_are_those_of_all_its_working_trees(linked):
    (linked.common / "hooks/pre-commit").write_text("#!/bin/sh\n")
    assert linked.says("git commit -m x") is RunsCode.WORKSPACE
    assert linked.says("git status") is RunsCode.NONE


def test_below_its_top_it_is_the_same(linked):
    inner = linked.tree / "src"
    inner.mkdir()
    assert linked.says(cwd=inner) is RunsCode.NONE


def test_relative_paths_are_followed_as_git_does(worktree):
    (worktree.tree / ".git").write_text("gitdir: ../main/.git/worktrees/tree\n")
    (worktree.own / "gitdir").write_text("../../../../tree/.git\n")
    assert git(worktree.tree, "rev-parse", "--git-dir").strip() == str(worktree.own)
    assert worktree.says() is RunsCode.NONE


def test_settings_of_one_working_tree_alone_count(worktree):
    git(worktree.main, "config", "extensions.worktreeConfig", "true")
    assert worktree.says() is RunsCode.NONE
    git(worktree.main, "config", "--worktree", "core.fsmonitor", "./evil")
    assert worktree.says() is RunsCode.NONE
    git(worktree.tree, "config", "--worktree", "core.fsmonitor", "./evil")
    assert (worktree.own / "config.worktree").exists()
    assert worktree.says() is RunsCode.WORKSPACE
    (worktree.own / "config.worktree").unlink()
    (worktree.own / "config.worktree").symlink_to("elsewhere")
    assert worktree.says() is RunsCode.WORKSPACE


def test_another_working_tree_in_the_settings_counts(submodule):
    git(submodule.tree, "config", "--add", "core.worktree", "/")
    assert submodule.says() is RunsCode.WORKSPACE
    git(submodule.tree, "config", "--replace-all", "core.worktree", "../../../../lib")
    assert submodule.says() is RunsCode.WORKSPACE


def test_a_pointer_that_nothing_points_back_to_may_lead_anywhere(linked):
    other = linked.home / "other"
    other.mkdir()
    pointer = (linked.tree / ".git").read_text()
    (other / ".git").write_text(pointer.replace("../..", str(linked.tree.parent.parent)))
    assert linked.says(cwd=other) is RunsCode.WORKSPACE
    linked.tree.rename(linked.home / "moved")
    assert linked.says(cwd=linked.home / "moved") is RunsCode.WORKSPACE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gitdir:",
        "gitdir: ",
        "gitdir:OWN\n",
        " gitdir: OWN\n",
        "gitdir: OWN/\x01\n",
        "gitdir: OWN\nmore\n",
        "gitdir: OWN/refs\n",
        "gitdir: COMMON\n",
        "gitdir: OWN" + " " * 5000,
        "\xff",
    ],
)
def test_a_pointer_that_git_reads_otherwise(worktree, text):
    text = text.replace("OWN", str(worktree.own)).replace("COMMON", str(worktree.common))
    (worktree.tree / ".git").write_bytes(text.encode("latin-1"))
    assert worktree.says() is RunsCode.WORKSPACE


@pytest.mark.parametrize("name", ["commondir", "gitdir"])
def test_a_part_that_is_missing_or_says_something_else(worktree, name):
    content = (worktree.own / name).read_text()
    for other in (content.replace("/", "//x"), "../../..\n", None):
        if other is None:
            (worktree.own / name).unlink()
        else:
            (worktree.own / name).write_text(other)
        assert worktree.says() is RunsCode.WORKSPACE, other


def test_a_link_on_the_way_leads_elsewhere(worktree):
    moved = worktree.home / "moved"
    worktree.main.rename(moved)
    worktree.main.symlink_to(moved)
    assert worktree.says() is RunsCode.WORKSPACE


def test_what_is_committed_there_is_kept(linked):
    assert linked.kept("a.txt")
    (linked.tree / "a.txt").write_text("y\n")
    assert not linked.kept("a.txt")
    (linked.tree / "a.txt").write_text("x\n")
    shutil.rmtree(linked.common / "objects")
    (linked.common / "objects").mkdir()
    assert not linked.kept("a.txt")


def test_nothing_is_kept_behind_a_pointer_of_somebodys_own(worktree):
    (worktree.own / "gitdir").write_text("/elsewhere/.git\n")
    assert not worktree.kept("a.txt")


@pytest.mark.parametrize("line", ["git add .", "git add -A"])
def test_a_secret_that_nothing_ignores_is_taken(linked, line):
    (linked.tree / ".env").write_text("x")
    assert linked.taken(line) == {".env"}
    (linked.common / "info/exclude").write_text(".env\n")
    assert linked.taken(line) == set()


def test_what_git_has_already_is_no_news(linked):
    (linked.tree / ".env").write_text("x")
    git(linked.tree, "add", ".env")
    assert linked.taken("git add .") == set()


def test_where_the_repository_is_not_known_every_secret_counts(worktree):
    (worktree.tree / ".env").write_text("x")
    git(worktree.tree, "add", ".env")
    (worktree.own / "gitdir").write_text("/elsewhere/.git\n")
    assert worktree.taken("git add .") == {".env"}
    said = analyse("git add -A", worktree.place())
    assert any("name the files" in text for text in said.unknown)


def test_bytes_that_are_no_text_lead_where_they_say(worktree):
    """Where the text would be taken for another, that other would be judged, and this one run."""
    odd = worktree.home.joinpath("x\ufffd")
    worktree.main.rename(odd)
    (odd / ".git/worktrees/tree/gitdir").write_text(f"{worktree.tree}/.git\n")
    pointer = str(odd / ".git/worktrees/tree").encode()
    (worktree.tree / ".git").write_bytes(b"gitdir: " + pointer + b"\n")
    assert worktree.says() is RunsCode.NONE
    (worktree.tree / ".git").write_bytes(b"gitdir: " + pointer.replace("\ufffd".encode(), b"\xff") + b"\n")
    assert worktree.says() is RunsCode.WORKSPACE
