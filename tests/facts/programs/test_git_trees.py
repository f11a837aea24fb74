"""`git worktree`: what becomes of the folders and the commits of further working trees."""

from functools import cache

import pytest

from git_world import repository
from shell_world import WS, reading_policy, text
from shield.facts.made import MadeFile
from shield.types import Decision

COMMIT = "1" * 40
TREE = ".git/worktrees/old"


@cache
def plain() -> dict[str, MadeFile]:
    return repository({"a.txt": "x\n", ".gitignore": "*.log\n"})


def world(head: str = "ref: refs/heads/old\n", **more: MadeFile) -> dict[str, MadeFile]:
    """A repository with a further tree in `/tmp/old`."""
    made = plain()
    return {
        **made,
        f"{TREE}/HEAD": text(head),
        f"{TREE}/commondir": text("../..\n"),
        f"{TREE}/gitdir": text("/tmp/old/.git\n"),
        f"{TREE}/index": made[".git/index"],
        "/tmp/old/.git": text(f"gitdir: {WS}/{TREE}\n"),
        "/tmp/old/a.txt": made["a.txt"],
        "/tmp/old/.gitignore": made[".gitignore"],
        **more,
    }


def goes(line: str, files: dict[str, MadeFile] | None = None, *, confined: bool = True) -> bool:
    return reading_policy(line, world() if files is None else files, confined=confined) is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "git worktree list --porcelain",
        "git worktree add -q --detach /tmp/other v1.3.0",
        "git worktree add -b fix /tmp/other origin/main 2>&1 | tail -1",
        "git worktree add trees/other main",
        "git worktree list && git worktree remove /tmp/old",
        "git worktree lock --reason 'on a disk' /tmp/old",
        "git worktree prune -v",
        "git worktree prune --dry-run",
    ],
)
def test_trees_come_and_go(line):
    assert goes(line)


@pytest.mark.parametrize(
    "line",
    [
        "git worktree add /tmp/other main",  # hooks, filters, and what another person wrote
        "git worktree add trees/other",
    ],
)
def test_what_comes_in_counts_as_fetched(line):
    assert goes(line)
    assert not goes(line, confined=False)


@pytest.mark.parametrize(
    "line",
    [
        "git worktree add .git/hooks main",
        "git worktree add .husky main",
        "git worktree add .github/workflows main",
        "git worktree add .claude main",
        "git worktree add ~/.config/autostart main",
        "git worktree add ../other main",
        "git worktree add /tmp/bin main",  # a `rails` in it is looked for from beneath
        "git worktree add /tmp/node_modules main",
        "git worktree add /tmp/.cargo main",
        "git worktree add /tmp/a/../../home/user/x main",
        'git worktree add "$WHERE" main',
        'git worktree add /tmp/other "$WHAT"',
        "git worktree add -f /tmp/other main",
        "git worktree add -B main /tmp/other HEAD~9",
        "git worktree add --force --detach /tmp/other",
        "git -c core.hooksPath=/tmp/h worktree add /tmp/other main",
        "git -C /tmp/elsewhere worktree add /tmp/other main",
        "git worktree add /tmp/other main && bash /tmp/other/run.sh",
        "git worktree add /tmp/other main && cd /tmp/other && make",
        "cp -r src /tmp/other; git worktree add /tmp/other main",
        "git worktree remove --force /tmp/old",
        "git worktree remove old",
        "git worktree remove ../ws",
        'git worktree remove "$TREE"',
        "git worktree remove /tmp/old /tmp/x",
        "mv a.txt /tmp/old/a.log; git worktree remove /tmp/old",
        "ln -s ~/docs .git/worktrees/x; git worktree prune",
        "git worktree move /tmp/old /tmp/new",
        "git worktree repair /tmp/elsewhere",
    ],
)
def test_what_is_asked(line):
    assert not goes(line)


LOSING = {
    "what is ignored": {"/tmp/old/run.log": text("x")},
    "a repository in it": {"/tmp/old/inner/.git/HEAD": text("ref: refs/heads/x\n")},
    "a rebase": {f"{TREE}/rebase-merge/onto": text("x")},
    "references of its own": {f"{TREE}/refs/bisect/bad": text(COMMIT)},
    "a commit without a name": {f"{TREE}/HEAD": text(f"{COMMIT}\n")},
    "another way back": {f"{TREE}/gitdir": text("/home/user/docs/.git\n"), "/home/user/docs/a": text("x")},
    "settings that run": {".git/config": text("[core]\n\tfsmonitor = ./x\n")},
    "a link for a tree": {"/tmp/old": MadeFile(symlink="/home/user/docs"), "/home/user/docs/a": text("x")},
}


@pytest.mark.parametrize("more", LOSING.values(), ids=LOSING)
def test_a_tree_is_removed_only_where_git_keeps_all_of_it(more):
    files = world()
    if "/tmp/old" in more:
        files = {path: file for path, file in files.items() if not path.startswith("/tmp/old/")}
    assert not goes("git worktree remove /tmp/old", {**files, **more})


PRUNED = {
    "a commit without a name": {f"{TREE}/HEAD": text(f"{COMMIT}\n")},
    "a rebase": {f"{TREE}/rebase-merge/onto": text("x")},
    "a link, which git empties where it leads": {".git/worktrees/x": MadeFile(symlink="/home/user/docs")},
    "all of them a link": {".git/worktrees": MadeFile(symlink="/home/user/docs"), "/home/user/docs/x/a": text("x")},
}


@pytest.mark.parametrize("more", PRUNED.values(), ids=PRUNED)
def test_what_pruning_may_lose_is_asked(more):
    files = world()
    if ".git/worktrees" in more:
        files = {path: file for path, file in files.items() if not path.startswith(".git/worktrees/")}
    assert not goes("git worktree prune", {**files, **more})


def test_a_commit_with_a_name_and_a_locked_tree_stay():
    named = {f"{TREE}/HEAD": text(f"{COMMIT}\n"), ".git/refs/tags/v1": text(f"{COMMIT}\n")}
    packed = {f"{TREE}/HEAD": text(f"{COMMIT}\n"), ".git/packed-refs": text(f"# pack-refs\n{COMMIT} refs/tags/v1\n")}
    assert goes("git worktree prune", {**world(), **named})
    assert goes("git worktree remove /tmp/old", {**world(), **packed})
    assert goes("git worktree prune", {**world(f"{COMMIT}\n"), f"{TREE}/locked": text("")})
