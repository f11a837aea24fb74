"""What goes to the temporary folder: outputs of the project's code are new there, or files; nothing there is run or set."""

import pytest

from shell_world import MadeFile, reading_policy
from shield.types import Decision

PROGRAM = MadeFile(content=b"#!/bin/sh\nls\n", mode=0o755)
HELD = {
    **dict.fromkeys(("run", ".venv/bin/pytest", ".venv/bin/ipython", "node_modules/.bin/tsx"), PROGRAM),
    "gen.py": MadeFile(content=b"x = 1\n"),
    "p.json": MadeFile(content=b"{}"),
    "d/a": MadeFile(content=b"x"),
    "tree/gen.py": MadeFile(content=b"x = 1\n"),
    "link": MadeFile(symlink="/etc/fstab"),
    "/tmp/old.txt": MadeFile(content=b"x"),
    "/tmp/d/a": MadeFile(content=b"x"),
}


def decided(line):
    return reading_policy(line, HELD, confined=True)


@pytest.mark.parametrize(
    "line",
    [  ".venv/bin/pytest --junitxml=/tmp/x.xml", "pytest --junitxml=/tmp/old.txt",
     "go test ./... -coverprofile=/tmp/c.out", "go test -coverprofile /tmp/old.txt ./...", "mypy --html-report /tmp/new src", "cargo build --target-dir /tmp/new",
     "dotnet test --results-directory /tmp/new", "mkdocs build --site-dir /tmp/new", "jq . p.json > /tmp/p.json && mv /tmp/p.json p.json", "sed s/a/b/ gen.py > /tmp/g; mv -f /tmp/g gen.py"],
)  # fmt: skip
def test_outputs_go_ahead(line):
    assert decided(line) is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["./run /tmp/old.txt", "./run /tmp/new.csv", "npx tsx /tmp/new.ts", "./run /tmp/d", "./run /tmp/conftest.py", "./run /tmp/n; ./run /tmp/n", "printf x > /tmp/new.py; ./run /tmp/new.py", "cp gen.py /tmp/n.py; .venv/bin/ipython /tmp/n.py",
     "printf x > /tmp/n.ini; .venv/bin/pytest -c /tmp/n.ini", "PYTHONPATH=/tmp/x .venv/bin/pytest", "make -f /tmp/new", "node_modules/.bin/tsx /tmp/new.ts", "python3 /tmp/new.py",
     "./run --out /tmp/a; . /tmp/a", "pytest --junitxml=/tmp/d", "cargo build --target-dir /tmp/d", "mkdocs build --site-dir /tmp/d",
     "mv /tmp/old.txt p.json", "mv /tmp/d src", "ls > /tmp/d; mv /tmp/d src", "cat gen.py > /tmp/g; mv /tmp/g .git/hooks/pre-commit", "ls > /tmp/g; mv gen.py /tmp/g; rm -f /tmp/g"],
)  # fmt: skip
def test_what_lies_there_and_what_others_of_the_line_make_is_asked(line):
    assert decided(line) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["mv gen.py g.py && cat g.py", "mv gen.py g.py && sed -i s/x/y/ g.py", "mv gen.py d/ && cat d/gen.py", "git mv gen.py g.py && rg -n gen .", "git mv gen.py g.py && sed -i s/gen/g/ p.json"],
)  # fmt: skip
def test_a_file_that_was_moved_is_the_file_that_it_was(line):
    assert decided(line) is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["mv link g && cat g", "mv tree t && cat t/gen.py", "ln -sf /etc/fstab gen.py; mv gen.py g; cat g", "mv new g && cat g", "mv $X g && cat g", "mv --exchange gen.py tree; cat gen.py/x",
     "mv gen.py json.py && python3 -c 'import json'", "mv gen.py g.sh && bash g.sh", "mv gen.py Makefile && make", "git mv tree t && cat t/gen.py"],
)  # fmt: skip
def test_a_link_or_a_tree_that_was_moved_may_be_another(line):
    assert decided(line) is not Decision.ALLOW
