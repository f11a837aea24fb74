"""What is understood of loops, branches, functions and expansions, and how the three kinds of `dynamic` are told apart."""

import shutil
import subprocess

import pytest

from shell_world import HOME, WS, accesses, facts, names, settled
from shield.facts.made import MadeFile
from shield.types import Dynamic, Operation, Origin, RunsCode

FILES = {
    "a.py": MadeFile(content=b"x\n"),
    "b.py": MadeFile(content=b"x\n"),
    "x": MadeFile(content=b"x\n"),
    "file": MadeFile(content=b"x\n"),
    "sub/c": MadeFile(content=b"x\n"),
    ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/config": MadeFile(content=b"[core]\n\tbare = false\n"),
}


@pytest.mark.parametrize(
    "line",
    [
        'for f in *.py; do wc -l "$f"; done',
        "for f in *.py; do wc -l $f; done",
        "if [ -f x ]; then cat x; fi",
        'while read -r l; do echo "$l"; done < file',
        'while IFS= read -r l; do echo "$l"; done < file',
        'ls "$HOME" >/dev/null',
        "echo $((2+3))",
        "test -d a && ls a || echo no",
        "cat <<'EOF' > out.txt\nrm -rf / # only text\nEOF",
        'n=$(wc -l < file); echo "$n" $((n + 1))',
        "n=$(grep -c x file); if [ $n -gt 3 ]; then echo many; fi",
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "for i in {1..200}; do echo $i; done",
        "for i in $(seq 1 5); do echo $i; sleep $i; done",
        "for i in 1 2 3; do mkdir -p sub/$i; done",
        'case "$1" in -h|--help) echo help ;; *) echo go ;; esac',
        '[[ -f x && $y == a* ]] && echo ok',
        'greet() { local who=${1:-you}; echo "hi $who"; }; greet me',
        "a=(x file); for i in \"${a[@]}\"; do cat \"$i\"; done; echo ${#a[@]}",
        "declare -A m; m[a]=1; echo ${m[a]}",
        "diff <(sort x) <(sort file)",
        "(cd sub && ls); ls",
        "{ echo a; echo b; } | sort",
        "find . -name '*.py' | while read -r f; do basename \"$f\"; done",
        "set -euo pipefail; trap 'echo bye' EXIT; ls",
        "set -Eeuo pipefail; trap 'echo bye' ERR EXIT; cd sub && ls",
        "export MODE=fast && ls",
        "ls & wait",
        "sleep 5 & kill $!; wait $!",
        "time ls; ! test -f y",
        "x=a.tar.gz; echo ${x%.gz} ${x##*.} ${#x} ${x/a/b} ${x^^}",
        "mkdir -p out/{a,b}/{1..3}",
        "pushd sub && ls && popd && ls",
        "if cd sub; then cat c; fi",
        "printf '%s\\n' {a..e} | tail -1",
        "s=$(date +%s); sleep 1; e=$(date +%s); echo $((e - s))",
        "until [ -f x ]; do sleep 1; done",
        "if ! grep -q x file; then echo none; elif [ -n \"$x\" ]; then echo some; else echo all; fi",
        "for d in */; do (cd \"$d\" && ls); done",
    ],
)  # fmt: skip
def test_everyday_shell_is_understood(line):
    found = facts(line, FILES)
    assert settled(found), (found.unknown, [fact for fact in found.commands if fact.dynamic is Dynamic.CODE])
    assert all(command.runs_code is RunsCode.NONE for command in found.commands)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ls x", Dynamic.NONE),
        ("ls $REPLY", Dynamic.ARGUMENT),
        ("ls $(cat x)", Dynamic.ARGUMENT),
        ("ls *.py", Dynamic.ARGUMENT),
        ("cat < $REPLY", Dynamic.ARGUMENT),
        ('for f in $(ls); do cat -- "$f"; done', Dynamic.ARGUMENT),
        ("read -r x; echo $x", Dynamic.ARGUMENT),
        ("$REPLY y", Dynamic.PROGRAM),
        ("$(cat x) y", Dynamic.PROGRAM),
        ("/bin/l? y", Dynamic.PROGRAM),
        ("read -r x; $x", Dynamic.PROGRAM),
        ("if a; then p=ls; else p=$(cat x); fi; $p", Dynamic.PROGRAM),
        ('eval "$REPLY"', Dynamic.CODE),
        ("rg $REPLY y", Dynamic.CODE),
        ("source nowhere.sh", Dynamic.CODE),
        ("echo $((REPLY))", Dynamic.CODE),
        ("echo ${!x}", Dynamic.CODE),
        ("trap $REPLY EXIT", Dynamic.CODE),
        ("alias ls=rm", Dynamic.NONE),
        ("alias ls=rm; ls", Dynamic.CODE),
        ("shopt -s extglob", Dynamic.CODE),
        ("f() { f; }; f", Dynamic.CODE),
        ("declare -n r=x", Dynamic.CODE),
    ],
)
def test_argument_program_and_code_are_told_apart(line, kind):
    order = (Dynamic.NONE, Dynamic.ARGUMENT, Dynamic.PROGRAM, Dynamic.CODE)
    assert max((command.dynamic for command in facts(line, FILES).commands), key=order.index) is kind


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("p=ls; if a; then p=rm; fi; $p x", {"ls", "rm"}),
        ("for p in ls rm; do $p x; done", {"ls", "rm"}),
        ("f() { \"$@\"; }; f rm x", {"f", "rm"}),
        ("f() { rm x; }; g() { f; }; g", {"f", "g", "rm"}),
        ("case $x in a) rm a;; b) ls;; esac", {"rm", "ls"}),
        ("echo \"${x:-`rm y`}\"", {"rm", "echo"}),
        ("echo $((1 + $(rm y)))", {"rm", "echo"}),
        ("[[ -n $(rm y) ]]", {"rm"}),
        ("cat <<E\n$(rm y)\nE", {"rm", "cat"}),
        ("a=($(rm y))", {"rm"}),
        ("a[$(rm y)]=1", {"rm"}),
        ("for i in $(rm y); do ls; done", {"rm", "ls"}),
        ("IFS=:; for i in $(rm y); do ls; done", {"rm", "ls"}),
        ("for ((i=$(rm y);i<1;i++)); do ls; done", {"rm", "ls"}),
        ("case $(rm y) in $(mv a b)) ls;; esac", {"rm", "mv", "ls"}),
        ("ls > $(rm y)", {"rm", "ls"}),
        ("{ ls; } > $(rm y)", {"rm", "ls"}),
        ("echo {a,$(rm y)}", {"rm", "echo"}),
        ("x=$(rm y) ls", {"rm", "ls"}),
        ("export x=$(rm y)", {"rm", "export"}),
        ("trap 'rm y' EXIT", {"rm", "trap"}),
        ("coproc rm y", {"rm"}),
        ("while rm y; do break; done", {"rm", "break"}),
        ("exit; rm y", {"exit", "rm"}),
        ("echo ${x/$(rm y)/$(mv a b)} ${x:$(ls)}", {"rm", "mv", "ls", "echo"}),
        ("eval 'f() { rm y; }'; f", {"eval", "f", "rm"}),
        ("echo rm y | bash", {"echo", "bash", "rm"}),
        ("$(echo rm) y", {"echo", "rm"}),
        ("unset -f ls; ls() { rm y; }; ls", {"unset", "ls", "rm"}),
    ],
)  # fmt: skip
def test_every_program_is_listed(line, program):
    assert program <= set(names(facts(line, FILES)))


def test_what_is_quoted_in_an_operand_is_not_split():
    assert facts("unset NOPE; ls ${NOPE:-a b}").commands[1].argv == ("ls", "a", "b")
    assert facts('unset NOPE; ls ${NOPE:-"a b"}').commands[1].dynamic is not Dynamic.NONE


def test_what_the_line_unsets_is_empty():
    assert ("/", "delete") in accesses(facts('unset NOPE; rm -rf "$NOPE"/ $NOPE'))
    assert facts("unset NOPE; $NOPE rm x").commands[1].name == "rm"
    assert facts("unset NOPE; rg $NOPE y").commands[1].argv == ("rg", "y")
    # unless something that is not known may have set it again, or only another program knows
    for line in (
        "source nowhere.sh; rg $NOPE y", 'eval "$REPLY"; rg $NOPE y', "$REPLY; rg $NOPE y", "read NOPE; rg $NOPE y",
        "ssh h.example 'rg $NOPE y'", "sudo bash -c 'rg $NOPE y'", "test -f a && NOPE=--pre=x; rg $NOPE y",
        "trap 'rg $NOPE y' EXIT; NOPE=--pre=x", "f() { NOPE=--pre=x; }; test -f a && f; rg $NOPE y",
    ):  # fmt: skip
        last = [command for command in facts("unset NOPE; " + line).commands if command.name == "rg"]
        assert any(command.argv != ("rg", "y") or command.dynamic is Dynamic.CODE for command in last), line
    for name in ("-", "0", "_", "!", "?", "$"):
        assert facts(f"echo x${name}").commands[0].dynamic is Dynamic.ARGUMENT, name


def test_what_is_set_again_is_exported_no_more():
    found = facts("unset LANG; LANG=./safe; sh -c 'cat $LANG/etc/shadow'", env={"LANG": "C"})
    assert any("credential" in path.categories for path in found.paths)
    assert (f"{WS}/safe/etc/shadow", "read") not in accesses(found)


@pytest.mark.parametrize(
    ("line", "dynamic"),
    [
        ('find "$dir" -name x', Dynamic.ARGUMENT),
        ("find $dir -name x", Dynamic.ARGUMENT),
        ('find "${dir%/}" -name x', Dynamic.ARGUMENT),
        ('find "$1" -type f', Dynamic.ARGUMENT),
        ('find "$@"', Dynamic.ARGUMENT),
        ("kill -9 $PID", Dynamic.ARGUMENT),
        ('split "$1"', Dynamic.ARGUMENT),
        ("wait $PID", Dynamic.ARGUMENT),
        ("timeout 5 find $dir", Dynamic.ARGUMENT),
        ("sh -c 'find $dir'", Dynamic.ARGUMENT),
        # it runs something, or is code itself
        ("$X a", Dynamic.PROGRAM),
        ("pytest $X", Dynamic.CODE),
        ("timeout $X find $dir", Dynamic.CODE),
        ("find $dir -exec $X {} +", Dynamic.CODE),
        ('sed -i "$X" a', Dynamic.CODE),
        ('awk "$X" a', Dynamic.CODE),
        ("find $(cat a)", Dynamic.CODE),
        ("find $dir $(cat a)", Dynamic.CODE),
        ("find $REPLY", Dynamic.CODE),
        # the line may have set it
        ("read dir; find $dir", Dynamic.CODE),
        ("source nowhere.sh; find $dir", Dynamic.CODE),
        (". ./nowhere.sh; find $1", Dynamic.CODE),
        ("set -- $REPLY; shift; find $1", Dynamic.CODE),
        ("test -f a && set -- -delete; find $1", Dynamic.CODE),
        ("trap 'find $1' EXIT; set -- -delete", Dynamic.CODE),
        ("bash -s -- -delete <<< 'find $1'", Dynamic.CODE),
        ("sudo bash -c 'find $dir'", Dynamic.CODE),
        ("f() { find $1; }; f $(cat a)", Dynamic.CODE),
        (": ${dir:=$(cat a)}; find $dir", Dynamic.CODE),
        ("dir[0]=$(cat a); find $dir", Dynamic.CODE),
    ],
)
def test_an_argument_that_nothing_sets_is_not_known_and_no_code(line, dynamic):
    found = facts(line, env={"PATH": "/usr/bin:/bin", "HOME": HOME})
    outer = ("bash", "sh", "sudo", "f", "source", ".")
    of = [command.dynamic for command in found.commands if command.name not in outer]
    assert dynamic in (of or [found.commands[0].dynamic]) or (dynamic is Dynamic.CODE and not found.parsed)
    assert dynamic is not Dynamic.ARGUMENT or Dynamic.CODE not in of
    assert not any(command.dynamic is Dynamic.NONE for command in found.commands if command.name == "find")


def test_pwd_prints_where_the_shell_stands():
    assert facts('find "$(pwd)" -name x').commands[-1].argv == ("find", WS, "-name", "x")
    assert facts("cd sub && cat `pwd -P`/c", FILES).commands[-1].argv == ("cat", f"{WS}/sub/c")
    for line in ("cd $REPLY; cat $(pwd)/c", "cd away; cat $(pwd)/c", "cat $(pwd > x)/c", "pwd() { ls; }; cat $(pwd)/c"):
        found = facts(line, {"away": MadeFile(symlink="/etc")})
        assert next(item for item in found.commands if item.name == "cat").dynamic is not Dynamic.NONE, line


def test_what_it_may_hold_is_not_taken_from_an_argument():
    find = facts('find "$dir" -name x')
    assert Operation.DELETE in find.operations
    assert (None, "write") in accesses(find)


@pytest.mark.parametrize(
    ("line", "path"),
    [("rm -rf $NOPE/*", "/etc"), ('rm -rf "$NOPE"/', "/"), ("rm -rf ~/$NOPE", HOME), ("rm -rf $1/etc", "/etc")],
)
def test_a_path_is_shown_as_it_is_where_its_name_is_not_set(line, path):
    found = facts(line, {"/etc/shadow": MadeFile()})
    assert {(path, "delete"), (None, "delete")} <= accesses(found)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to ask")
def test_no_variable_that_bash_sets_itself_is_taken_for_empty():
    bash = [shutil.which("bash"), "--noprofile", "--norc", "-c", "compgen -v"]
    set_by_bash = subprocess.run(bash, env={}, capture_output=True, text=True, check=True).stdout.split()
    assert "BASH_VERSION" in set_by_bash
    assert "PWD" in set_by_bash
    for name in set_by_bash:
        argv = facts(f'echo "${{{name}}}x"', env={}).commands[0].argv
        assert argv[1] != "x", name


def test_the_name_of_a_commit_is_no_option():
    for line in (
        "git log $(git rev-parse HEAD)..",
        "git log $(git merge-base main HEAD)..HEAD",
        "git show $(git branch --show-current)",
    ):
        assert facts(line, FILES).commands[-1].dynamic is Dynamic.ARGUMENT
    assert facts("git log $(git log -1 --format=%s)..", FILES).commands[-1].dynamic is Dynamic.CODE


def test_a_function_is_a_command_and_what_it_runs_is_listed_by_its_name():
    found = facts("f() { cat $1; }; f x")
    call, body = found.commands
    assert (call.name, call.origin, call.dynamic, call.operations) == ("f", Origin.FUNCTION, Dynamic.NONE, frozenset())
    assert (body.argv, body.via) == (("cat", "x"), ("f",))


def test_a_pattern_stands_for_its_matches_one_by_one():
    found = facts('for f in *.py; do mv "$f" "sub/${f%.py}.txt"; done', FILES)
    assert (f"{WS}/sub/a.txt", "write") in accesses(found)
    assert (WS, "list") in accesses(found)
    many = {f"f{index}.py": MadeFile() for index in range(40)}
    found = facts('for f in *.py; do rm "$f"; done', many)
    assert (f"{WS}/f39.py", "delete") in accesses(found)
    assert settled(found)
    # of a name that is put together from one of many nothing is known
    assert not settled(facts('for f in *.py; do mv "$f" "$f.bak"; done', many))
    # nor where a name may fall apart
    assert not settled(facts("for f in *; do cat $f; done", many | {"a /etc/shadow": MadeFile()}))
    assert (f"{WS}/q", "read") in accesses(facts("for f in *; do cat $f; done", {"a q": MadeFile(), "b": MadeFile()}))
    # bash takes `.` and `..` for names that begin with a dot, or since 5.2 the pattern for itself
    of_dots = accesses(facts('for f in .*; do cat "$f"; done', {"b": MadeFile()}))
    assert {(f"{WS}/.*", "read"), (WS, "read")} <= set(of_dots)
    assert (f"{WS}/.*", "read") not in accesses(facts('for f in .*; do cat "$f"; done', {".b": MadeFile()}))


def test_a_script_that_is_sourced_is_followed():
    files = {
        "env.sh": MadeFile(content=b"WHAT=/etc/shadow\nhelp() { rm -rf sub; }\n"),
        "stop.sh": MadeFile(content=b"x=a\nreturn\nx=/etc/shadow\n"),
        "odd.sh": MadeFile(content=b'eval "$1"\n'),
    }
    found = facts("source ./env.sh; cat $WHAT; help", files)
    assert ("/etc/shadow", "read") in accesses(found)
    assert (f"{WS}/sub", "delete") in accesses(found)
    assert (f"{WS}/env.sh", "execute") in accesses(found)
    assert found.commands[0].runs_code is RunsCode.WORKSPACE
    assert ("/etc/shadow", "read") not in accesses(facts(". ./stop.sh; cat $x", files))
    assert facts("source ./odd.sh 'rm x'; ls", files).commands[-2].name == "rm"
    assert not facts("source odd.sh $REPLY", files).parsed
    # a name without a slash is looked for on PATH first
    assert facts("source env.sh", files).commands[0].dynamic is Dynamic.NONE
    on_path = facts("source env.sh", {**files, "/usr/bin/env.sh": MadeFile()})
    assert on_path.commands[0].dynamic is Dynamic.CODE
    # what the line writes is not what was read
    assert facts("echo x > env.sh; source ./env.sh", files).unknown


def test_an_environment_of_python_is_entered():
    files = {
        ".venv/bin/activate": MadeFile(content=b'PATH="x:$PATH"\nfrobnicate $1\n'),
        ".venv/pyvenv.cfg": MadeFile(content=b"home = /usr/bin\n"),
        ".venv/bin/pytest": MadeFile(content=b"#!/usr/bin/python3\n", mode=0o755),
    }
    found = facts("source .venv/bin/activate && pytest -q && ls", files)
    assert found.parsed
    assert [command.program for command in found.commands if command.name == "pytest"] == [f"{WS}/.venv/bin/pytest"]
    # whatever stands there by then may be what is meant
    assert found.commands[-1].runs_code is RunsCode.WORKSPACE
    files.pop(".venv/pyvenv.cfg")
    assert not settled(facts("source .venv/bin/activate && ls", files))


def test_programs_are_looked_for_where_the_line_says():
    assert facts("PATH=$PWD/sub:$PATH; ls").commands[-1].runs_code is RunsCode.WORKSPACE
    assert facts("PATH=$PATH:$PWD/sub; ls").commands[-1].runs_code is RunsCode.NONE
    assert not facts("PATH=/tmp:$PATH; ls").parsed
    assert not facts("PATH=$REPLY; ls").parsed


def test_constants_go_into_and_out_of_substitutions():
    assert ("/etc/shadow", "read") in accesses(facts("d=/etc; cat $(echo $d/shadow)"))
    assert facts("git commit -m \"$(cat <<'EOF'\nfix: it\n\nmore\nEOF\n)\"", FILES).commands[-1].argv[3] == (
        "fix: it\n\nmore"
    )
    # what a redirection takes away is not printed
    assert facts("echo $(echo x > y)").commands[-1].dynamic is Dynamic.ARGUMENT
    assert facts("echo() { :; }; ls $(echo x)").commands[-1].dynamic is Dynamic.ARGUMENT


def test_a_line_ends_within_its_steps():
    for line in (
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do " * 6 + "ls; " + "done; " * 6,
        "".join(f"f{index}() {{ f{index + 1}; f{index + 1}; }}; " for index in range(40)) + "f0",
        "echo " + "{a,b}" * 300,
        "eval " * 2_000 + "ls",
        "echo $((" * 12 + "1" + "))" * 12,
        "x=" + "a" * 2_000 + "; " + "echo ${x//a*a*a/b}; " * 400,
        "[ " + "a -a " * 3_000 + "b ]",
        "while a; do " * 10 + "x=$((x+1)); " + "done; " * 10,
        "cat " + "* " * 300,
        "trap 'trap \"trap a EXIT\" EXIT' EXIT; " * 300,
        "if a; then x=1; else x=2; fi; " * 500 + "echo $x",
    ):
        found = facts(line[:16_384])
        assert found.commands
        assert len(found.commands) <= 2_001


@pytest.mark.parametrize("shell", ["sh", "dash"])
def test_what_another_shell_reads_otherwise_is_not_understood(shell):
    for script in ("[[ a > b ]]", "((ls))", "cat /{a,b}", "x+=y", "function f { ls; }", "echo ${x//a/b}", "source a"):
        assert not facts(f"{shell} -c '{script}'").parsed, script
    assert facts(f"{shell} -c 'for i in 1 2; do ls $((i+1)) \"${{x:-a}}\"; done'").parsed
