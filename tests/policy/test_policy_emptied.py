"""A file of the workspace that is emptied is deleted by another name: asked where something stands in it."""

import pytest

from shell_world import reading_policy, text
from shield.types import Decision

EMPTIES = [
    "truncate -s 0 FILE", "truncate --size=-5 FILE", "truncate -r other FILE", ": > FILE", "> FILE", "true >| FILE", "cat /dev/null > FILE",
    "cp /dev/null FILE", "cd data && : > a", "bash -c ': > FILE'", "find data -name a -exec truncate -s 0 {} +", "find data -name a -exec cp /dev/null {} \\;",
]  # fmt: skip


def decided(line, file="data/a"):
    held = {
        "data/a": "1\n",
        "none": "",
        "build/a": "1\n",
        "logs/app.log": "1\n",
        "other": "1\n",
        "Makefile": f"x:\n\t{line}\n",
    }
    return reading_policy(line.replace("FILE", file), {at: text(said) for at, said in held.items()}, confined=True)


@pytest.mark.parametrize("line", EMPTIES)
def test_what_stands_in_a_file_is_asked(line):
    assert decided(line) is Decision.ESCALATE


@pytest.mark.parametrize("line", [line for line in EMPTIES if "FILE" in line])
@pytest.mark.parametrize("file", ["none", "new", "build/a", "/tmp/a", "logs/app.log"])
def test_what_is_empty_new_or_made_again_goes_ahead(line, file):
    assert decided(line, file) is Decision.ALLOW


@pytest.mark.parametrize("line", [": >> FILE", "truncate -s +5 FILE", "cat other > FILE", ": 2> FILE", "echo x > FILE"])
def test_what_is_written_is_an_edit(line):
    assert decided(line) is Decision.ALLOW


def test_a_recipe_that_empties_is_asked():
    held = {"data/a": "1\n", "Makefile": "x:\n\t: > data/a\ny:\n\t: > build/a\n", "build/a": "1\n"}
    files = {at: text(said) for at, said in held.items()}
    assert reading_policy("make x", files, confined=True) is Decision.ESCALATE
    assert reading_policy("make y", files, confined=True) is Decision.ALLOW
