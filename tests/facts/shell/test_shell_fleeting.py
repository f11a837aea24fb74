"""Words that may be none: what prints them may fail, and then every word behind them stands one place further on."""

import pytest

from shell_world import WS, accesses, facts, names
from shield.facts.made import MadeFile
from shield.types import Dynamic, Origin

FILES = {"a.txt": MadeFile(content=b"x\n"), "src/m.py": MadeFile(content=b"x\n")}
GONE = "$(wc -l < nofile)"


@pytest.mark.parametrize(
    "line",
    [
        f"sort -S {GONE} -k --output=out a.txt",
        f"n={GONE}; sort -S $n -k --output=out a.txt",
        f"n={GONE} m={GONE}; sort -S $n -S $m -k --output=out a.txt",
        f"n={GONE}; bash -c 'sort -S \"$@\" a.txt' x $n -k --output=out",
        f"f() {{ sort $1 a.txt; }}; f {GONE} --output=out",
        f"set -- {GONE} --output=out; sort $1 a.txt",
        f"set -- {GONE} --output=out; sort $@ a.txt",
        f'set -- {GONE} --output=out; sort "$@" a.txt',
        f"sort {GONE}--output=out a.txt",
        f'sort "{GONE}--output=out" a.txt',
        f"x={GONE}--output=out; sort $x a.txt",
        "sort -S $(git rev-parse -q --verify nope) -k --output=out a.txt",
        "sort -S $(stat -c %s nofile) -k --output=out a.txt",
        "sort -S $(id -u nobody9) -k --output=out a.txt",
        "sort -S $(date -d never +%s) -k --output=out a.txt",
        "sort -S $(which nothing) -k --output=out a.txt",
        "sort -S $! -k --output=out a.txt",
        "for n in $(seq 1 0); do :; done; sort -S $n -k --output=out a.txt",
    ],
)
def test_a_word_that_is_none_hides_no_option(line):
    found = facts(line, FILES)
    sure = found.parsed and all(command.dynamic is not Dynamic.CODE for command in found.commands)
    assert not sure or {(f"{WS}/out", "write"), (None, "write")} & accesses(found), line


def test_a_file_that_is_then_an_operand_is_read():
    assert (f"{WS}/src/m.py", "read") in accesses(facts(f"head -n {GONE} -c src/m.py", FILES))
    assert ("/etc/shadow", "read") in accesses(facts(f"grep -m {GONE} -e -f/etc/shadow a.txt", FILES))


def test_a_program_that_is_then_run_is_listed():
    found = facts(f"timeout {GONE} 5 rm a.txt")
    assert {"rm", "5"} <= set(names(found))
    assert "rm" in names(facts(f"nice -n {GONE} timeout rm a.txt"))


def test_four_of_them_are_too_many():
    found = facts(f"n={GONE}; sort $n $n $n $n a.txt")
    assert found.commands[-1].dynamic is Dynamic.CODE


@pytest.mark.parametrize(
    "line",
    [
        f"n={GONE}; head -n $n a.txt; tail -n $((n-1)) a.txt; [ $n -gt 3 ] && echo many",
        f"head -n {GONE} a.txt",
        f"sleep {GONE}",
        "sort -S $(( $(wc -l < nofile) + 1 )) a.txt",  # a sum is a number
        'sort -S "$(wc -l < nofile)" a.txt',  # an empty word is a word
        f"n={GONE}; sort -S ${{n:-5}} a.txt",
        "ls -l $(git rev-parse --short HEAD)",
    ],
)
def test_everyday_numbers_are_no_code(line):
    found = facts(line, FILES)
    assert found.parsed
    assert Dynamic.CODE not in {command.dynamic for command in found.commands}
    assert {access for _, access in accesses(found)} <= {"read", "list"}


# --- what is known of what programs print -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "printer",
    [
        "whoami",
        "hostname",
        "hostname -s",
        "uname -r",
        "id -un",
        "date +%F",
        "date +%Y%m%d-%H%M",
        "date -u -d yesterday +%F",
        "date +%Y-%m-%d -d '1 day ago'",
        "which gcc",
        "git rev-parse HEAD",
        "git branch --show-current",
        "expr 10 \\* 1024 \\* 2",
        "dirname src/m.py",
        "basename src/m.py .py",
    ],
)
def test_one_word_that_is_no_option(printer):
    for line in (f"sort -k $({printer}) a.txt", f"x=$({printer}); sort -k $x a.txt", f'sort -k "a-$({printer})" a.txt'):
        found = facts(line, FILES)
        assert found.parsed, line
        assert Dynamic.CODE not in {command.dynamic for command in found.commands if command.origin is Origin.SYSTEM}


@pytest.mark.parametrize(
    "printer",
    [
        "date",
        "date +-x",
        "date +%z",
        "date '+%d %B'",
        "date +%A",
        "date -f a.txt +%F",
        "uname -a",
        "which -a gcc",
        "which $x",
        "cat a.txt",
        "echo -x",
        "expr a : b",
        "readlink -f a.txt",  # blanks in a name make words of it
        "pwd -P x",
        "basename -a x",
        "hostname -x",
        "whoami > b",
        "X=1 whoami",
        "tput cols",
    ],
)
def test_what_may_be_an_option_is_taken_for_one(printer):
    found = facts(f"sort -k 1 $({printer}) a.txt", FILES)
    sort = [command for command in found.commands if command.name == "sort"]
    assert not found.parsed or sort[-1].dynamic is Dynamic.CODE or (None, "write") in accesses(found)


def test_which_may_print_anything_where_path_is_not_absolute():
    for path in ("/usr/bin:.", "/usr/my bin", "bin"):
        found = facts("sort $(which gcc) a.txt", FILES, env={"PATH": f"/usr/bin:/bin:{path}"})
        assert found.commands[-1].dynamic is Dynamic.CODE, path


def test_a_text_is_begun_by_what_is_known_of_it():
    found = facts("f=backup-$(date +%F).tar; tar cf $f src", FILES)
    assert found.commands[-1].dynamic is Dynamic.ARGUMENT
    assert ("/home/user/ws/backup-0000-00-00.tar", "write") in accesses(found)
    assert ("/home/user/ws/backup-.tar", "write") in accesses(found)
    for line in ("f=-$(date +%F); tar cf $f src", "f=$(date +%F)' -x'; sort $f", "f=$(cat a)$(date +%F); sort $f"):
        assert facts(line, FILES).commands[-1].dynamic is Dynamic.CODE, line
