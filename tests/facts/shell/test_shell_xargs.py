"""Names that one program prints and `xargs` hands to another: which words these can be, and where that is not known."""

import subprocess

import pytest

from shell_world import WS, facts
from shield.facts.made import MadeFile


def facts_of(line, *, files):
    made = {
        f"{WS}/{name}": MadeFile(content=given.encode()) if isinstance(given, str) else MadeFile(**given)
        for name, given in files.items()
    }
    return facts(line, made)


def words(line, *, files):
    """The arguments of the last command, and the unresolved paths of the line."""
    facts = facts_of(line, files=files)
    return facts.commands[-1].argv, [path.raw for path in facts.paths if path.resolved is None]


PLAIN = {"src/a.py": "x\n", "src/b/c.py": "x\n"}
UNDERSTOOD = [
    "find . -name '*.py' | xargs wc -l",
    "find src -type f -print0 | xargs -0 cat",
    "find src -type f | grep -v test | sort -u | head -n 3 | xargs -n 1 cat",
    "find . -name '*.py' -o -name '*.txt' | xargs -I{} cp {} src/",
    "find . -type f -print0 | sort -z | xargs -0 -r wc",
    "grep -rl x src | xargs sed -i s/x/y/",
    "grep -rl x src 2>/dev/null | xargs -d '\\n' cat",
    "find src | nice xargs cat",
    "find src -type f -print0 | xargs -0 -n1 -I{} wc -l {}",
    "find src -type f -print0 | xargs -0 --max-lines=1 wc -l",
    "find src -type f | xargs -I A -I B cat B",
    "find src -type f | xargs grep -l 'x.*y' | xargs cat",
    "find src -type f -print0 | xargs -0 grep -liE x | xargs cat",
    "find src -type f -print0 | xargs -0 grep -l -Z x | sort -z | xargs -0 cat",
    "grep -rl x src | xargs -r grep -L y | head -3 | xargs wc -l",
    "find src -type f | xargs grep -L x | xargs cat",
]
NOT_UNDERSTOOD = [
    "find . -print0 | xargs cat",  # the ends do not fit
    "find . | xargs -0 cat",
    "find . -print0 | grep a | xargs -0 cat",
    "find . | xargs -d , cat",
    "find . -print0 | xargs -0 -d '\\n' cat",  # the last one counts
    "find . | xargs -a list cat",
    "find . -printf 'x%p\\n' | xargs cat",
    "find . -ls | xargs cat",
    "find . -exec echo x ';' -print | xargs cat",
    "find $(cat list) | xargs cat",
    "find -L -- -x | xargs cat",
    "grep -rl x | sed s,a,b, | xargs cat",
    "grep -r x src | xargs cat",
    "grep -rlZ x src | xargs cat",
    "grep -rlc x src | xargs cat",
    "rg -l --path-separator ' ' x src | xargs cat",
    "find . | head -c 3 | xargs cat",  # part of a name is another name
    "find . | cut -c 2- | xargs cat",
    "find . | sed s,./src,/etc, | xargs cat",
    "find . | grep -o a | xargs cat",
    "find . | grep a list | xargs cat",
    "find . | sort - list | xargs cat",
    "find . | uniq -c | xargs cat",
    "find . | { head -c 3; xargs cat; }",
    "find . | ( read x; xargs cat )",
    "f() { head -c 3; xargs cat; }; find . | f",
    "find . | sh -c 'head -c 3; xargs cat'",
    "find . | while xargs cat; do :; done",
    "find . | xargs cat < list",
    "find . > list | xargs cat",
    "find . 2>&1 | xargs cat",
    "touch 'src/a /etc/b'; find . | xargs cat",
    'for i in 1 2; do find . | xargs cat; touch "src/a $i"; done',
    "grep -rl --label=/etc/x x src - | xargs cat",
    "echo /etc/x | xargs -I A -I B cat B",
    "find src | xargs -I A -I B cat A",  # a name like this one
    "echo /etc/x | xargs -I A -L 1 cat list",
    "echo /etc/x | xargs -I A -n 2 cat list",
    "echo /etc/x | xargs -i --max-lines=1 cat list",
    # a grep that prints more than names, names of other files, or its input's
    "find src | xargs grep x | xargs cat",
    "find src | xargs grep -lc x | xargs cat",
    "find src | xargs grep -l x list | xargs cat",
    "find src | xargs grep -l -f list | xargs cat",
    "find src | xargs grep -l x -e y | xargs cat",
    "find src | xargs grep -l --label=/etc/x x - | xargs cat",
    "find src | xargs grep -l --color=always x | xargs cat",
    "find src | xargs grep -lr x | xargs cat",
    "find src | xargs -a list grep -l x | xargs cat",
    "find src | xargs -I{} grep -l x {} list | xargs cat",
    "find src | xargs env grep -l x | xargs cat",
    "find src | xargs ./grep -l x | xargs cat",
    'find src | xargs grep -l "$x" | xargs cat',
    "find src | xargs grep -l $(cat list) | xargs cat",
    "find src | xargs grep -l x 2>&1 | xargs cat",
    "find src | xargs grep -l x < list | xargs cat",
    "cat list | xargs grep -l x | xargs cat",
    "grep() { echo /etc/x; }; find src | xargs grep -l x | grep x | xargs cat",
    # names that were taken apart at other places
    "find src -print0 | xargs grep -l x | xargs cat",
    "find src | xargs -0 grep -l x | xargs cat",
    "find src | xargs grep -lZ x | xargs -0 cat",
    "find src | xargs grep -l -Z x | xargs -0 cat",
]


@pytest.mark.parametrize("line", UNDERSTOOD)
def test_names_that_are_known(line):
    found, lost = words(line, files=PLAIN)
    assert "{}" in found
    assert lost == []


@pytest.mark.parametrize("line", NOT_UNDERSTOOD)
def test_names_that_are_not_known(line):
    facts = facts_of(line, files={**PLAIN, "list": "src/a.py\n"})
    assert all("{}" not in command.argv for command in facts.commands if command.name == "cat")


@pytest.mark.parametrize("name", ["a b", "a\tb", "a'b", 'a"b', "a\\b", "a\nb", " a"])
@pytest.mark.parametrize("line", ["find . | xargs cat", "grep -rl x src | xargs cat", "find src | sort | xargs cat"])
def test_a_name_that_xargs_would_take_apart(name, line):
    found, _ = words(line, files={**PLAIN, f"src/{name}": "x"})
    assert "{}" not in found
    found, _ = words("find . -print0 | xargs -0 grep -l x | xargs cat", files={**PLAIN, f"src/{name}": "x"})
    assert "{}" not in found
    found, lost = words("find . -print0 | xargs -0 cat", files={**PLAIN, f"src/{name}": "x"})
    assert "{}" in found
    assert lost == []


def test_a_file_that_has_the_name_of_the_input_may_be_meant():
    line = "find src -type f | xargs grep -L x | xargs -d '\\n' cat"
    found, _ = words(line, files=PLAIN)
    assert "{}" in found
    found, _ = words(line, files={**PLAIN, "(standard input)": {"symlink": "/etc/shadow"}})
    assert "{}" not in found


def test_what_they_lead_to_counts():
    files = {**PLAIN, "src/link": {"symlink": "/etc/shadow"}, "src/.env": "x"}
    paths = facts_of("find . -print0 | xargs -0 cat", files=files).paths
    assert any(path.resolved == "/etc/shadow" and path.access.value == "read" for path in paths)
    assert any("credential" in path.categories and path.access.value == "read" for path in paths)
    chosen = facts_of("find . -type f -name '*.py' -print0 | xargs -0 cat", files=files).paths
    assert all("credential" not in path.categories for path in chosen)


def test_an_empty_list_starts_the_command_once():
    commands = facts_of("find . -name x | xargs ls", files=PLAIN).commands
    assert [command.argv for command in commands if command.name == "ls"] == [("ls",), ("ls", "{}")]
    commands = facts_of("find . -name x | xargs -r ls", files=PLAIN).commands
    assert [command.argv for command in commands if command.name == "ls"] == [("ls", "{}")]


@pytest.mark.parametrize("line", UNDERSTOOD[:3] + UNDERSTOOD[4:5])
def test_real_programs_get_names_beneath_the_roots_only(line, tmp_path):
    """The same lines under a real bash, with `cat`, `wc` printing their arguments."""
    for name in PLAIN:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    shown = (
        'show() { for a in "$@"; do case $a in -*|[0-9]) ;; *) printf \'%s\\n\' "$a";; esac; done; }; export -f show;'
    )
    line = (
        line.replace("xargs", "xargs -x")
        .replace(" cat", " bash -c 'show \"$@\"' _")
        .replace(" wc", " bash -c 'show \"$@\"' _")
    )
    run = subprocess.run(["bash", "-c", shown + line], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout
    assert all(name.startswith(("./", "src")) and (tmp_path / name).exists() for name in run.stdout.splitlines())


def test_what_follows_an_option_without_its_value_is_the_command():
    found = facts_of("find src | xargs --max-lines ./run cat", files=PLAIN)
    assert ("./run", "cat") in {command.argv[:2] for command in found.commands}
