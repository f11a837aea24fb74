"""The git tools against repositories that try to start a program. Each trap leaves a file if it springs."""

import os
import subprocess

import pytest


def git(folder, *arguments, **env):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **env},
    )


@pytest.fixture
def repository(bench):
    git(bench.workspace, "init", "-q", "-b", "main")
    (bench.workspace / "a.txt").write_text("one\n")
    git(bench.workspace, "add", "a.txt")
    git(bench.workspace, "commit", "-q", "-m", "first commit")
    git(bench.workspace, "config", "user.name", "Tester")
    git(bench.workspace, "config", "user.email", "tester@example.com")
    return bench


def test_status_diff_log_and_commit(repository):
    folder = repository.workspace
    (folder / "a.txt").write_text("two\n")
    (folder / "new.txt").write_text("n\n")
    status = repository.do("git_status").content
    assert "## main" in status
    assert " M a.txt" in status
    assert "?? new.txt" in status
    assert "-one\n+two" in repository.do("git_diff").content
    assert "first commit" in repository.do("git_log").content
    assert repository.do("git_commit", message="second", args=["-a"]).is_error is False
    assert not repository.do("git_commit", message="third\n\nwith a body", path="new.txt").is_error
    log = repository.do("git_log", args=["--oneline"]).content
    assert [line.split(" ", 1)[1] for line in log.splitlines()] == ["third", "second", "first commit"]
    assert "?? " not in repository.do("git_status").content
    assert "Tester" in repository.do("git_log", args=["-n1"]).content
    # git itself agrees, and nothing of ours stayed behind
    git(folder, "fsck", "--strict")
    assert not any(name.startswith("agentctl-git") for name in os.listdir(folder))


def test_paths_and_revisions(repository):
    (repository.workspace / "b.txt").write_text("b")
    assert repository.do("git_status", path="b.txt").content.endswith("?? b.txt")
    assert "first commit" in repository.do("git_log", args=["HEAD", "-n1"]).content
    assert repository.do("git_diff", args=["HEAD", "--stat"]).content == "[exit code 0]"


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("git_diff", ["--output=/tmp/x"]),
        ("git_diff", ["--ext-diff"]),
        ("git_diff", ["--textconv"]),
        ("git_diff", ["--no-index", "/etc/passwd", "/dev/null"]),
        ("git_log", ["--output=x"]),
        ("git_log", ["-p", "--ext-diff"]),
        ("git_log", ["--format=%G?"]),
        ("git_log", ["--show-signature"]),
        ("git_commit", ["--amend"]),
        ("git_commit", ["--template=/etc/passwd"]),
        ("git_log", [7]),
        ("git_log", {"a": 1}),
    ],
)
def test_options_that_are_not_on_the_list_are_refused(repository, kind, arguments):
    payload = {"message": "m"} if kind == "git_commit" else {}
    assert repository.do(kind, args=arguments, **payload).is_error


@pytest.fixture
def trapped(repository):
    """A repository whose configuration starts a program wherever git knows how to."""
    folder = repository.workspace
    trap = folder / "trap.sh"
    sprung = folder.parent / f"{folder.name}.sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {sprung}\ncat\n')
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "sequence.editor",
        "pager.log",
        "pager.status",
        "pager.diff",
        "interactive.diffFilter",
        "filter.trap.smudge",
        "merge.trap.driver",
        "uploadpack.packObjectsHook",
        "trailer.x.command",
    ):
        git(folder, "config", name, str(trap))
    git(folder, "config", "alias.status", f"!{trap}")
    git(folder, "config", "alias.log", f"!{trap}")
    git(folder, "config", "commit.gpgSign", "true")
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "format.pretty", "%G? %GG")
    git(folder, "config", "core.hooksPath", str(folder / "hooks"))
    git(folder, "config", "core.worktree", "/")
    for hooks in (folder / "hooks", folder / ".git" / "hooks"):
        hooks.mkdir(exist_ok=True)
        for name in (
            "pre-commit",
            "commit-msg",
            "prepare-commit-msg",
            "post-commit",
            "post-index-change",
            "reference-transaction",
        ):
            (hooks / name).write_text(trap.read_text())
            (hooks / name).chmod(0o755)
    (folder / ".gitattributes").write_text("* diff=trap filter=trap merge=trap\n")
    (folder / "included").write_text(f"[core]\n\tfsmonitor = {trap}\n[user]\n\tname = Included\n")
    git(folder, "config", "include.path", str(folder / "included"))
    (folder / "a.txt").write_text("two\n")
    yield repository, sprung
    sprung.unlink(missing_ok=True)


@pytest.mark.parametrize("filtered", [False, True])
def test_no_trap_springs(trapped, filtered):
    bench, sprung = trapped
    if filtered:
        trap = bench.workspace / "trap.sh"
        config = bench.workspace / ".git" / "config"
        config.write_text(config.read_text() + f'[filter "trap"]\n\tclean = {trap}\n\tprocess = {trap}\n')
    assert " M a.txt" in bench.do("git_status").content
    assert "+two" in bench.do("git_diff").content
    assert "first commit" in bench.do("git_log").content
    committed = bench.do("git_commit", message="second", args=["-a"])
    assert committed.is_error is filtered, committed.content
    assert not sprung.exists(), sprung.read_text()


def test_the_traps_do_spring_for_plain_git(trapped):
    """The broken twin: the same repository under git as a shell runs it."""
    bench, sprung = trapped
    config = bench.workspace / ".git" / "config"
    config.write_text(config.read_text().replace("worktree = /", ""))
    subprocess.run(
        ["git", "diff"],
        cwd=bench.workspace,
        check=False,
        capture_output=True,
        timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
    assert sprung.exists()


def test_a_submodule_runs_nothing_and_stops_a_commit(repository):
    folder = repository.workspace
    sprung = folder.parent / f"{folder.name}.sub"
    inner = folder / "sub"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "f").write_text("f")
    git(inner, "add", "f")
    git(inner, "commit", "-q", "-m", "inner")
    git(folder, "add", "sub")
    git(folder, "commit", "-q", "-m", "with sub")
    trap = folder.parent / f"{folder.name}.trap"
    trap.write_text(f"#!/bin/sh\necho x > {sprung}\n")
    trap.chmod(0o755)
    git(inner, "config", "core.fsmonitor", str(trap))
    (inner / "f").write_text("g")
    try:
        repository.do("git_status")
        repository.do("git_diff")
        repository.do("git_log", args=["--stat"])
        repository.do("git_commit", message="m", args=["-a"])
        assert not sprung.exists()
    finally:
        trap.unlink()
        sprung.unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_git_directory_that_is_elsewhere_is_not_followed(repository, kind):
    folder = repository.workspace
    moved = folder / "moved"
    (folder / ".git").rename(moved)
    if kind == "file":
        (folder / ".git").write_text(f"gitdir: {moved}\n")
    else:
        (folder / ".git").symlink_to(moved)
    assert repository.do("git_status").is_error


def test_unfinished_work_is_not_committed(repository):
    (repository.workspace / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    assert "merge" in repository.do("git_commit", message="m").content
    (repository.workspace / ".git" / "MERGE_HEAD").unlink()
    git(repository.workspace, "checkout", "-q", "--detach")
    assert "branch" in repository.do("git_commit", message="m").content


def test_outside_a_repository(bench):
    assert "no git repository" in bench.do("git_status").content


@pytest.mark.parametrize(
    "name", ["index", "logs/HEAD", "logs/refs", "logs/refs/heads/main", "refs/heads", "refs/heads/main"]
)
def test_a_commit_writes_nowhere_else(repository, tmp_path, name):
    """git follows a link that a project brought along, and adds the message to whatever stands there."""
    there, moved = repository.workspace / ".git" / name, tmp_path / "moved"
    there.rename(moved)
    there.symlink_to(moved)
    (repository.workspace / "a.txt").write_text("two\n")
    before = _contents(moved)
    refused = repository.do("git_commit", message="; touch sprung; #", args=["-a"])
    assert refused.is_error
    assert f"/.git/{name}` stands for something elsewhere" in refused.content
    assert _contents(moved) == before


def test_a_commit_adds_to_no_file_of_another_name(repository, tmp_path):
    log = repository.workspace / ".git/logs/HEAD"
    log.unlink()
    (tmp_path / "profile").write_text("")
    log.hardlink_to(tmp_path / "profile")
    assert repository.do("git_commit", message="m", args=["--all"]).is_error
    assert (tmp_path / "profile").read_text() == ""


@pytest.mark.parametrize("how", ["objects/info/alternates", "objects/pack"])
def test_objects_of_another_repository_are_not_shown(repository, tmp_path, how):
    """Four digits of a commit's name are enough for git, and where they are not, it lists those that there are."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("private\n")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-q", "-m", "a private matter")
    git(tmp_path, "gc", "-q")
    commit = (tmp_path / ".git/packed-refs").read_text().splitlines()[-1].split()[0]
    there = repository.workspace / ".git" / how
    if how == "objects/pack":
        there.rmdir()
        there.symlink_to(tmp_path / ".git/objects/pack")
    else:
        there.write_text(f"{tmp_path}/.git/objects\n")
    for kind in ("git_log", "git_diff"):
        shown = repository.do(kind, args=[commit[:7]])
        assert shown.is_error
        assert "objects of another repository" in shown.content
        assert "private" not in shown.content


def _contents(place):
    return {path: path.read_bytes() for path in (place, *place.rglob("*")) if path.is_file()}


@pytest.fixture
def added(bench, tmp_path):
    """The workspace is a working tree that `git worktree` added to a repository elsewhere, where `other` is another."""
    main = tmp_path / "elsewhere"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "first commit")
    git(main, "config", "user.name", "Tester")
    git(main, "worktree", "add", "-q", "-b", "work", str(bench.workspace))
    (bench.workspace / "a.txt").write_text("one\n")
    git(bench.workspace, "add", "a.txt")
    git(bench.workspace, "commit", "-q", "-m", "in the tree")
    (bench.workspace / "a.txt").write_text("two\n")
    return bench, main


def test_an_added_working_tree_is_shown(added):
    bench, main = added
    status = bench.do("git_status").content
    assert "## work" in status
    assert " M a.txt" in status
    assert "-one\n+two" in bench.do("git_diff").content
    log = bench.do("git_log", args=["--oneline"]).content
    assert [line.split(" ", 1)[1] for line in log.splitlines()] == ["in the tree", "first commit"]
    assert bench.do("git_log", args=["--oneline", "main"]).content.endswith("first commit")
    # the log of HEAD that lies beside these is that of another working tree
    assert bench.do("git_log", args=["HEAD@{1}"]).is_error
    assert (main / ".git/logs/HEAD").read_text().count("\n") == 1


def test_in_an_added_working_tree_nothing_is_committed(added):
    bench, _ = added
    refused = bench.do("git_commit", message="x", args=["-a"])
    assert refused.is_error
    assert "use execute_command to commit there" in refused.content
    assert " M a.txt" in bench.do("git_status").content


def test_settings_of_an_added_working_tree_start_nothing(added, tmp_path):
    bench, main = added
    trap = tmp_path / "sprung"
    for folder in (main / ".git", main / ".git/worktrees" / bench.workspace.name):
        with (folder / "config").open("a") as file:
            file.write(f"[core]\n\tfsmonitor = touch {trap}\n\tpager = touch {trap}\n")
        (folder / "config.worktree").write_text(f"[core]\n\tfsmonitor = touch {trap}\n")
    git(main, "config", "extensions.worktreeConfig", "true")
    assert " M a.txt" in bench.do("git_status").content
    assert not trap.exists()


@pytest.mark.parametrize("broken", ["gitdir", "commondir"])
def test_a_repository_that_does_not_name_the_tree_is_not_shown(added, broken):
    bench, main = added
    (main / ".git/worktrees" / bench.workspace.name / broken).write_text(f"{main}/other/.git\n")
    refused = bench.do("git_log")
    assert refused.is_error
    assert "points to another directory" in refused.content
