"""What a repository makes git run: tried with the real git, and said by the facts before it happens."""

import os
import shutil
import struct
import subprocess

import pytest

from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.programs.git.index import holds_gitlinks
from shield.facts.shell import analyse
from shield.types import RunsCode

GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")
LOOKING = ("git status", "git status -uno", "git diff", "git diff HEAD", "git add sub", "git commit -a -m x")


class Yard:
    """A repository `ws` in a home of its own, and a mark that a program of it leaves."""

    def __init__(self, home):
        self.home, self.ws, self.mark = home, home / "ws", home / "MARK"
        (home / ".gitconfig").write_text('[user]\nname=a\nemail=a@b\n[protocol "file"]\nallow=always\n')
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        self.make(self.ws)

    def sh(self, line, where=None):
        return subprocess.run(
            line,
            shell=True,
            cwd=where or self.ws,
            env=self.env,
            capture_output=True,
            timeout=30,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def make(self, where):
        where.mkdir(parents=True)
        self.sh("git init -q . && echo a > a && git add a && git commit -qm 1 && touch -d yesterday a", where)

    @property
    def program(self):
        return f"touch {self.mark}; false"

    def hook(self, name, where=None):
        path = (where or self.ws) / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {self.mark}\n")
        path.chmod(0o755)

    def submodule(self, name="sub"):
        sub = self.ws / name
        self.make(sub)
        self.sh(f"git update-index --add --cacheinfo 160000,$(git -C {name} rev-parse HEAD),{name}")
        self.sh(f'git config core.fsmonitor "{self.program}"; echo b > a', sub)

    def runs(self, line, where=None):
        self.mark.unlink(missing_ok=True)
        self.sh(line, where)
        return self.mark.exists()

    def says(self, line, where=None):
        place = Place(
            files=LocalFiles(),
            home=str(self.home),
            cwd=str(where or self.ws),
            workspace_roots=(str(self.ws),),
            env=self.env,
            shell="/bin/bash",
        )
        return analyse(line, place).commands[-1].runs_code


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


@pytest.mark.parametrize(
    "line", [*LOOKING, "git log", "git add a", "git commit -m x", "git branch new", "git ls-files"]
)
def test_an_ordinary_repository_runs_nothing(yard, line):
    yard.hook("pre-commit.sample")
    assert yard.says(line) is RunsCode.NONE
    assert not yard.runs(line)


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("line", LOOKING)
def test_a_gitlink_runs_what_its_repository_says(yard, line, version):
    yard.submodule()
    yard.sh(f"git -c core.fsmonitor= update-index --index-version {version}")
    assert yard.says(line) is RunsCode.WORKSPACE
    assert yard.runs(line)


@pytest.mark.parametrize(
    "line", ["git log -p", "git show", "git status --ignore-submodules=all", "git diff --ignore-submodules=all"]
)
def test_what_does_not_look_into_submodules_stays_plain(yard, line):
    yard.submodule()
    assert yard.says(line) is RunsCode.NONE
    assert not yard.runs(line)


def test_ignoring_submodules_counts_only_where_nothing_takes_it_back(yard):
    yard.submodule()
    for line in (
        "git status --ignore-submodules=all --ignore-submodules=none",
        "git diff --ignore-submodules=all --ignore-submodules=none",
        "git status -- --ignore-submodules=all .",
    ):
        assert yard.runs(line)
        assert yard.says(line) is RunsCode.WORKSPACE
    assert yard.says("git diff -O --ignore-submodules=all") is not RunsCode.NONE


def test_history_that_names_submodules_is_shown_by_them(yard):
    assert yard.says("git log -p --submodule=diff") is RunsCode.WORKSPACE
    assert yard.says("git log -p --submodule=log") is RunsCode.NONE


@pytest.mark.parametrize("line", LOOKING)
def test_only_what_the_index_names_is_looked_into(yard, line):
    yard.submodule()
    (yard.ws / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./x\n')
    yard.sh("git commit -qm x; git rm -qf --cached sub")
    assert yard.says(line) is RunsCode.NONE
    assert not yard.runs(line)


@pytest.mark.parametrize("left", [".gitmodules", ".git/modules"])
def test_traces_of_submodules_count(yard, left):
    (yard.ws / left).mkdir()
    assert yard.says("git describe") is RunsCode.WORKSPACE
    assert yard.says("git status --recurse-submodules") is RunsCode.WORKSPACE
    assert yard.says("git status") is RunsCode.NONE  # the index names none
    assert yard.says("git log") is RunsCode.NONE


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("line", LOOKING)
def test_a_gitlink_to_a_repository_that_runs_nothing(yard, line, version):
    yard.submodule()
    yard.sh("git config --unset core.fsmonitor", yard.ws / "sub")
    yard.sh(f"git update-index --index-version {version}")
    yard.hook("pre-commit", yard.ws / "sub")
    assert yard.says(line) is RunsCode.NONE
    assert not yard.runs(line)
    yard.hook("post-index-change", yard.ws / "sub")
    assert yard.says(line) is RunsCode.WORKSPACE


def test_what_a_submodule_names_counts_too(yard):
    yard.submodule()
    sub = yard.ws / "sub"
    yard.sh("git config --unset core.fsmonitor", sub)
    yard.make(sub / "inner")
    yard.sh("git update-index --add --cacheinfo 160000,$(git -C inner rev-parse HEAD),inner", sub)
    assert yard.says("git status") is RunsCode.NONE
    assert not yard.runs("git status")
    yard.sh(f'git config core.fsmonitor "{yard.program}"', sub / "inner")
    assert yard.says("git status") is RunsCode.WORKSPACE
    assert yard.runs("git status")


def test_a_submodule_may_be_anywhere_its_file_says(yard):
    yard.submodule()
    (yard.ws / "sub/.git").rename(yard.home / "elsewhere")
    assert yard.says("git status") is RunsCode.NONE  # it is not there
    (yard.ws / "sub/.git").write_text(f"gitdir: {yard.home}/elsewhere\n")
    assert yard.says("git status") is RunsCode.WORKSPACE
    assert yard.runs("git status")


@pytest.mark.parametrize("name", ["../other", "sub/../../other", "/other", "sub/"])
def test_a_gitlink_by_a_name_that_leads_out_is_not_followed(yard, name):
    """git refuses such names; whoever writes the file itself may put one in."""
    length = len(name)
    yard.sh(f"git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),{'s' * length}")
    index = yard.ws / ".git/index"
    assert yard.says("git status") is RunsCode.NONE
    index.write_bytes(index.read_bytes().replace(b"s" * length, name.encode()))
    assert yard.says("git status") is RunsCode.WORKSPACE


@pytest.mark.parametrize("line", ["git status", "git diff"])
def test_a_git_directory_that_is_none_is_passed_over(yard, line):
    inner = yard.ws / "d"
    (inner / ".git").mkdir(parents=True)
    assert yard.says(line, inner) is RunsCode.NONE
    yard.sh(f'git config core.fsmonitor "{yard.program}"')
    assert yard.runs(line, inner)
    assert yard.says(line, inner) is RunsCode.WORKSPACE


def test_any_directory_can_be_a_bare_repository(yard):
    inner = yard.ws / "d"
    inner.mkdir()
    yard.sh("git init -q --bare . && git config core.bare false && git config core.worktree .", inner)
    yard.sh(f'git config core.fsmonitor "{yard.program}"', inner)
    for line in ("git status", "git --bare status"):
        assert yard.runs(line, inner)
        assert yard.says(line, inner) is RunsCode.WORKSPACE
    (inner / ".git").mkdir()
    assert yard.runs("git status", inner)
    assert yard.says("git status", inner) is RunsCode.WORKSPACE


@pytest.mark.parametrize(
    ("hook", "line"),
    [
        ("post-index-change", "git status"),
        ("post-index-change", "git diff"),
        ("reference-transaction", "git branch new"),
        ("reference-transaction", "git tag new"),
    ],
)
def test_reading_commands_run_hooks_too(yard, hook, line):
    yard.hook(hook)
    assert yard.says(line) is RunsCode.WORKSPACE
    assert yard.runs(line)


LATER_TEXT = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push pre-receive update post-receive post-update push-to-checkout pre-auto-gc
post-rewrite sendemail-validate fsmonitor-watchman
"""
QUIET_TEXT = """
git add a; git add -A; git stage a; git apply p; git apply --index p; git clean -fd; git mv a b; git reset; git reset HEAD a
git reset --hard; git reset --soft HEAD; git rm a; git rm --cached a; git status; git diff
git branch new; git tag new; git log
"""


@pytest.mark.parametrize("line", [line.strip() for line in QUIET_TEXT.replace("\n", ";").split(";") if line.strip()])
def test_what_changes_files_and_index_alone_runs_none_of_the_later_hooks(yard, line):
    for name in LATER_TEXT.split():
        yard.hook(name)
    yard.sh("echo b > a; git diff > p; git checkout -q -- a; touch new-file")
    if " reset" in line:
        yard.sh("echo c >> a; git add a")
    assert not yard.runs(line)
    assert yard.says(line) is RunsCode.NONE
    yard.hook("post-index-change")
    assert yard.says(line) is RunsCode.WORKSPACE


@pytest.mark.parametrize("folder", [".husky/_", ".husky", ".githooks", ".git-hooks/"])
def test_hooks_in_a_guarded_directory_count_as_those_of_git(yard, folder):
    yard.sh(f"git config core.hooksPath {folder}")
    assert yard.says("git status") is RunsCode.NONE
    assert yard.says("git commit -m x") is RunsCode.NONE  # nothing is there yet
    inner = yard.ws / folder
    inner.mkdir(parents=True)
    for name in ("h", "husky.sh", ".gitignore", "pre-commit"):
        (inner / name).write_text(f"#!/bin/sh\ntouch {yard.mark}\n")
        (inner / name).chmod(0o755)
    assert yard.says("git status") is RunsCode.NONE
    assert yard.says("git add a") is RunsCode.NONE
    assert yard.says("git commit -a -m x") is RunsCode.WORKSPACE
    assert not yard.runs("echo b > a; git status; git add a")
    assert yard.runs("git commit -a -m x")
    (inner / "pre-commit").rename(inner / "post-index-change")
    assert yard.says("git status") is RunsCode.WORKSPACE
    assert yard.runs("touch a; git status")


@pytest.mark.parametrize(
    "folder", ["hooks", "/tmp/x", "../x", ".husky/../x", "~/x", '".husky"', ".husky/a/b", ".huskyx", ""]
)
def test_hooks_in_any_other_directory_may_be_anybodys(yard, folder):
    with (yard.ws / ".git/config").open("a") as file:
        file.write(f"[core]\n\thooksPath = {folder}\n")
    assert yard.says("git status") is RunsCode.WORKSPACE


def test_a_directory_of_hooks_that_is_a_link_may_lead_anywhere(yard):
    yard.sh("git config core.hooksPath .husky/_; mkdir -p other/_; ln -s other .husky")
    assert yard.says("git status") is RunsCode.WORKSPACE


def test_restoring_runs_what_checking_out_does(yard):
    yard.hook("post-checkout")
    yard.sh("echo b > a")
    assert yard.says("git restore a") is RunsCode.WORKSPACE
    assert yard.runs("git restore a")


def test_hooks_of_writing_commands_do_not_concern_reading_ones(yard):
    yard.hook("pre-commit")
    assert yard.says("git status") is RunsCode.NONE
    assert not yard.runs("git status")
    yard.sh("echo b > a")
    assert yard.says("git commit -a -m x") is RunsCode.WORKSPACE
    assert yard.runs("git commit -a -m x")


def test_missing_objects_are_fetched_by_a_program_of_the_settings(yard):
    yard.sh("git config remote.origin.url . && git config remote.origin.promisor true")
    assert yard.says("git log") is RunsCode.WORKSPACE


@pytest.mark.parametrize(
    "line", ["submodule.recurse true", "submodule.x.update checkout", "fetch.recurseSubmodules true"]
)
def test_settings_that_lead_into_submodules_count(yard, line):
    yard.sh(f"git config {line}")
    assert yard.says("git status") is RunsCode.WORKSPACE


def _index(yard):
    return (yard.ws / ".git/index").read_bytes()


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_index_of_git_is_understood(yard, version):
    yard.sh(
        f"mkdir -p x/y; for i in $(seq 60); do echo $i > x/y/file$i; done; git add . && git update-index --index-version {version}"
    )
    yard.sh("git -c index.threads=3 update-index --force-write-index; touch n; git add -N n")
    assert not holds_gitlinks(_index(yard))
    yard.sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x/z")
    assert holds_gitlinks(_index(yard))


def test_an_index_that_could_be_read_otherwise_counts(yard):
    content = _index(yard)
    body, tail = content[:-20], content[-20:]
    entries = 12 + 72 if b"TREE" not in content else content.index(b"TREE")
    assert not holds_gitlinks(content)
    gitlink = bytearray(content)
    struct.pack_into(">I", gitlink, 12 + 24, 0x1234E1FF)  # git looks at the type alone
    for other in (
        b"",
        content[:30],
        bytes(gitlink),
        content.replace(b"DIRC\0\0\0\2", b"DIRC\0\0\0\5"),
        content.replace(b"DIRC\0\0\0\2\0\0\0\1", b"DIRC\0\0\0\2\0\0\0\2"),
        body + b"link" + struct.pack(">I", 4) + b"abcd" + tail,
        body + b"sdir" + struct.pack(">I", 0) + tail,
        body + b"ZZZZ" + struct.pack(">I", 0) + tail,
        content[:entries] + b"IEOT" + struct.pack(">IIII", 12, 1, 20, 1) + tail,
        body + b"EOIE" + struct.pack(">II", 24, 12) + b"x" * 20 + tail,
    ):
        assert holds_gitlinks(other)


def test_an_unreadable_or_split_index_counts(yard):
    yard.sh("git update-index --split-index")
    assert yard.says("git status") is RunsCode.WORKSPACE
    (yard.ws / ".git/index").unlink()
    (yard.ws / ".git/index").symlink_to("elsewhere")
    assert yard.says("git status") is RunsCode.WORKSPACE


def test_what_git_passes_over_is_no_repository(yard):
    """git's blanks are four; a repository by another one hides the one above."""
    inner = yard.ws / "sub"
    yard.make(inner)
    yard.sh("chmod -R a+rX .git sub")  # else it is not surely one, whatever it holds
    (inner / ".git/HEAD").write_bytes(b"ref:\x0brefs/heads/main\n")
    assert yard.says("git status", inner) is RunsCode.NONE
    yard.sh(f'git config core.fsmonitor "{yard.program}"')
    assert yard.says("git status", inner) is RunsCode.WORKSPACE
    assert yard.runs("git status", inner)


def test_a_bare_repository_may_have_its_objects_elsewhere(yard):
    inner = yard.ws / "d"
    yard.sh("git init -q --bare e; mkdir d; echo ref: refs/heads/main > d/HEAD; echo ../e > d/commondir")
    hook = yard.ws / "e/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {yard.mark}\n")
    hook.chmod(0o755)
    yard.sh("git --git-dir=../.git push -q ../e HEAD:refs/heads/main", inner)
    assert yard.says("git branch new", inner) is RunsCode.WORKSPACE
    assert yard.runs("git branch new", inner)


def test_hooks_are_looked_for_where_git_stays(yard):
    yard.sh("git config core.bare true; git config core.hooksPath .husky; mkdir -p sub/.husky")
    hook = yard.ws / "sub/.husky/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {yard.mark}\n")
    hook.chmod(0o755)
    assert yard.says("git branch new", yard.ws / "sub") is RunsCode.WORKSPACE
    assert yard.runs("git branch new", yard.ws / "sub")


LINKS = (
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "logs",
    "logs/HEAD",
    "refs/tags",
    "objects",
    "packed-refs",
    "shallow",
    "MERGE_MSG",
)


@pytest.mark.parametrize("name", [*LINKS, "SQUASH_MSG", "info/exclude", "rebase-merge"])
def test_a_link_in_a_repository_leads_its_hand(yard, name):
    there = yard.ws / ".git" / name
    if there.exists():
        there.rename(yard.home / "moved")
    there.symlink_to(yard.home / "moved")
    for line in ("git status", "git log", "git commit -a -m x", "git tag new"):
        assert yard.says(line) is RunsCode.WORKSPACE, line


@pytest.mark.parametrize("name", ["logs/refs/heads/fix/parser", "logs/refs/heads/fix", "refs/heads/fix/other"])
def test_a_link_among_branches_with_folders_in_their_names_leads_its_hand(yard, name):
    """The log of the branch one is on: git adds a line to it, which holds the message."""
    yard.sh("git checkout -q -b fix/parser")
    assert yard.says("git commit -a -m x") is RunsCode.NONE
    there = yard.ws / ".git" / name
    if there.exists():
        there.rename(yard.home / "moved")
    there.symlink_to(yard.home / "moved")
    assert yard.says("git commit -a -m x") is RunsCode.WORKSPACE


def test_names_of_any_case_may_be_any_file(yard):
    (yard.ws / "sub").mkdir()
    (yard.ws / "sub/.env").write_text("x")
    files, ws = LocalFiles(), str(yard.ws)
    place = Place(files=files, home=str(yard.home), cwd=ws, workspace_roots=(ws,), env=yard.env, shell="/bin/bash")
    found = analyse("git --icase-pathspecs grep --untracked x -- SUB", place)
    assert f"{ws}/sub/.env" in {fact.resolved for fact in found.paths}


@pytest.mark.parametrize("name", ["objects/info/alternates", "MERGE_AUTOSTASH", "remotes"])
def test_what_brings_in_more_than_the_repository_has(yard, name):
    (yard.ws / ".git" / name).write_text("x\n")
    assert yard.says("git log -p") is RunsCode.WORKSPACE


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_changed_file_that_git_does_not_look_at_is_lost(yard, flag):
    place = Place(
        files=LocalFiles(),
        home=str(yard.home),
        cwd=str(yard.ws),
        workspace_roots=(str(yard.ws),),
        env=yard.env,
        shell="/bin/bash",
    )
    assert not analyse("git rm a", place).unknown
    yard.sh(f"git update-index {flag} a; echo changed > a")
    assert analyse("git rm a", place).unknown
    yard.sh("git rm a")
    assert not (yard.ws / "a").exists() or flag == "--skip-worktree"
