"""`for f in $(find …)`, `wc -l $(git ls-files)`: what stands for names that a program prints, and nothing but names."""

import pytest

from shell_world import HOME, WS, accesses, facts, settled
from shield.facts.made import MadeFile

KEY = f"{HOME}/.ssh/id_rsa"
FILES = {
    "src/a.py": MadeFile(content=b"x"), "src/b/c.py": MadeFile(content=b"x"), "link": MadeFile(symlink=KEY),
    "y/a.py": MadeFile(symlink=KEY), KEY: MadeFile(content=b"k"), "list": MadeFile(content=b".env\n"),
}  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [
        "$(find src -name '*.py')", "`find src -name '*.py'`", "$(find src -name '*.py' | sort)", "$(grep -rl x src)",
        "$(find src -type f | grep -v test | head -3)", "$(find src -name '*.py' 2>/dev/null)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", ["cat $f", 'wc -l "$f"', "[ -f $f ] && head -1 $f", "x=$(basename $f); echo $x"])
def test_each_name_is_one_of_the_tree(names, body):
    found = facts(f"for f in {names}; do {body}; done", FILES)
    assert settled(found), found.unknown
    assert KEY not in {path.resolved for path in found.paths}
    assert all((path.resolved or "").startswith(f"{WS}/src") or path.resolved == WS for path in found.paths)


@pytest.mark.parametrize(
    "line", ["for f in $(find . -name '*.py'); do cat $f; done", "for f in $(find .); do cat $f; done"]
)
def test_a_link_among_them_leads_where_it_leads(line):
    assert KEY in {path.resolved for path in facts(line, FILES).paths}
    assert KEY not in {path.resolved for path in facts(line.replace("find .", "find . -type f"), FILES).paths}


@pytest.mark.parametrize(
    "line",
    [
        # what is printed is not names, or other names too
        "for f in $(cat list); do cat $f; done", "for f in $(find src; echo .env); do cat $f; done",
        "for f in $(find src -printf '%p\\n'); do cat $f; done", "for f in $(find src -print0); do cat $f; done",
        "for f in $(find src | tr a b); do cat $f; done", "find() { echo .env; }; for f in $(find src); do cat $f; done",
        "cat $(find src | head 5)", "cat $(git ls-files | tail 5)", "cat $(find src | head -n 1 5)",
        "cat $(find src | tail -1 5)", "cat $(find src | head -n)", "cat $(grep -rl x src --colour=always)",
        "cat $(find src | sort; echo .env)", "cat $(echo .env; find src | sort)", "cat $(find src | sort && cat list)",
        "cat $(find src | sort || cat list)", "cat $(find src | sort & cat list)", "cat `find src | sort; cat list`",
        "cat $( (find src | sort); cat list)", "cat $(if true; then find src | sort; fi; cat list)",
        "cat $(find src | (sort; cat list))", "cat $(find src | { sort; cat list; })", "cat $(find src | sort - list)",
        "for f in $(find src | sort; cat list); do cat $f; done", "x=$(find src | sort; cat list); cat $x",
        # names that another one before has printed
        "cat $(find src | sort) $(< list)", "wc -l $(find src); cat $(cat list)", "wc -l $(find src); cat $(< list)",
        "wc -l $(find src | sort); for f in $(cat list); do cat $f; done", "find src | sort; cat $(cat list)",
        "cat $(echo $(find src | sort) .env)",
        # the word is more, or split at other places
        "for f in x$(find src); do cat $f; done", 'for f in "$(find src)"; do cat $f; done',
        "IFS=/; for f in $(find src); do cat $f; done", "for f in $(find src); do IFS=/; cat $f; done",
        # somewhere else it is another file
        "for f in $(find src); do cd src; cat $f; done", "for f in $(find src); do cat ../$f; done",
        # it is code, or where code is looked for
        "for f in $(find src); do $f; done", "for f in $(find src); do eval $f; done",
        "cat x$(find src)", 'cat "$(find src)"', "cat $(find src)/../x", "IFS=/; cat $(find src)", "x=$(find src); cat $x",
        "$(find src)", "env $(find src) ls", "sh $(find src)", "eval $(find src)", "xargs -a $(find src) cat",
        "for PATH in $(find src); do ls; done", "for f in $(find src); do LD_PRELOAD=$f ls; done",
    ],
)  # fmt: skip
def test_what_is_not_known_stays_unknown(line):
    assert not settled(facts(line, FILES))


@pytest.mark.parametrize(
    "name", ["src/a b.py", "src/[a].py", "src/*.py", "src/a?.py", "src/a\nb.py", "src/'q.py", "src/@(a).py"]
)
def test_a_name_that_the_shell_takes_apart_is_not_known(name):
    line = "for f in $(find src -name '*.py'); do cat $f; done"
    assert not settled(facts(line, {**FILES, name: MadeFile()}))


@pytest.mark.parametrize("line", ["cat $(FIND)", "FIND | xargs cat", "for f in $(FIND); do cat $f; done"])
@pytest.mark.parametrize("tests", ["-type f", "-name '*.py' -type f", "-type f -name '*.py'"])
def test_a_test_behind_print_leaves_nothing_out(line, tests):
    for find in (f"find . -print {tests}", f"find . -print {tests} -print", f"find . {tests} -print -follow"):
        found = facts(line.replace("FIND", find), FILES)
        assert KEY in {path.resolved for path in found.paths} or not settled(found)
    for find in (f"find . {tests} -print", f"find . {tests}"):
        assert KEY not in {path.resolved for path in facts(line.replace("FIND", find), FILES).paths}


@pytest.mark.parametrize("count", ["head -5", "head -n 5", "head -n5", "tail -n -5", "tail -n +5", "tail -5", "head"])
def test_a_number_of_lines_leaves_names(count):
    assert settled(facts(f"cat $(find src -type f | {count})", FILES))


@pytest.mark.parametrize(
    "body", ["mv link src/a.py; cat $f", "cp -P link src/a.py; cat $f", "ln -sf ../link src/a.py; cat $f"]
)
def test_what_the_line_puts_there_counts(body):
    found = facts(f"for f in $(find src -name '*.py'); do {body}; done", FILES)
    assert KEY in {path.resolved for path in found.paths}


@pytest.mark.parametrize(
    "line", ["wc -l $(find src -name '*.py')", "cat $(grep -rl x src | head -2)", "grep -n x $(find src -type f)"]
)
def test_names_as_words_of_a_command(line):
    found = facts(line, FILES)
    assert settled(found), found.unknown
    assert {path.resolved for path in found.paths} == {f"{WS}/src"}


@pytest.mark.parametrize(
    "line",
    [
        "tee $(find src -name '*.py') < list", "uniq $(find src -name '*.py')", "sort -o $(find src -name '*.py') list",
        "cp list $(find src -name '*.py')", "sed -i s/a/b/ $(find src -name '*.py')", "echo x > $(find src -name '*.py')",
    ],
)  # fmt: skip
def test_names_that_are_written(line):
    assert (f"{WS}/src", "write") in accesses(facts(line, FILES))


def test_there_may_be_none():
    """Without a name the command has other words: `find -delete` takes everything."""
    assert (WS, "delete") in accesses(facts("find $(find src -name '*.x') -delete", FILES))
