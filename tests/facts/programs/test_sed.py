"""Scripts of sed: what is surely no more than text and the files it names, and what is not understood."""

import random
import shutil
import subprocess

import pytest

from shell_world import facts
from shield.facts.made import MadeFile
from shield.facts.programs.sed import sed_files
from shield.types import Access, RunsCode

PLAIN = [
    "",
    "p",
    "$=",
    "10q",
    "q 3",
    "5,10!s/a/b/",
    "0,/re/s//x/",
    "2~3p",
    "/a/I,+2p",
    "/a/,/b/{/c/!d;s/x/y/g}",
    r"\|a/b|d",
    r"\,a,,\,b,d",
    r":a;N;$!ba;s/\n/,/g",
    ":a\nN\n$!ba\ns/\\n/ /g",
    ":a\ns/x/y\\\nz/\nta",
    ":a\na foo\\\nw x",
    "/a/{n;d}",
    "{:a;N;ba}",
    "$!N;$!D",
    "/^$/N;/\\n$/D",
    "1!G;h;$!d",
    "s/a/b/;;s/c/d/g ; p # and so on",
    "s/^[[:space:]]*//;s/[ \\t]*$//",
    r"s#.*/\([^/]*\)#\1#",
    "s/[^/]*$//",
    "s/[]/]/x/",
    "s/x/w/",
    "s/a/b\\\nw x/",
    "y/abc/xyz/",
    r"y/a\/b/x\/y/",
    "1i\\\nhello",
    "1i #!/bin/sh",
    "/x/a\\  foo",
    "/x/c\\foo",
    "$a w x",
    "# w x\np",
    "F;z;l 3",
]
FILES = {
    "/x/w out.txt": {(Access.WRITE, "out.txt")},
    "/x/W out.txt": {(Access.WRITE, "out.txt")},
    "/x/r in.txt": {(Access.READ, "in.txt")},
    "R in.txt": {(Access.READ, "in.txt")},
    "s/a/b/w out.txt": {(Access.WRITE, "out.txt")},
    "s/a/b/gp w out.txt": {(Access.WRITE, "out.txt")},
    "q;w x": {(Access.WRITE, "x")},
    "{w x\n};:a;bend;w y": {(Access.WRITE, "x"), (Access.WRITE, "y")},
}
REFUSED = [
    "e",
    "1e ls",
    "s/a/b/e",
    "s/a/b/ge",
    "w",
    "w x;p",
    "w x y",
    "s/a/b/w x;p",
    "s/a/b\nw x/",
    "s/a\\\nb/c/",
    "sxaxbx",
    "s/[/]/w x/",
    "s,[,],pw x,",
    "s/[\\]w x/y/]/z/",
    "y/[/]/w x/",
    "a",
    "a\n",
    "a\\  \nw x",
    "a foo\\",
    "{a foo}",
    "# hi\\\nw x",
    "p}",
    "}",
    "{p",
    "{p}w x",
    ":a w x",
    "b a w x",
    ":a;a foo\\\nw x",
    "ba;s/x/y\\\nw x/",
    "/a/\nw x",
    "M",
    "p\rw x",
    "p;" * 300,
    "p" + " " * 5_000,
]


@pytest.mark.parametrize("script", PLAIN)
def test_what_every_sed_takes_for_text_touches_no_other_file(script):
    assert sed_files(script) == ()


@pytest.mark.parametrize("script", FILES)
def test_files_that_a_script_names(script):
    assert set(sed_files(script) or ()) == FILES[script]


@pytest.mark.parametrize("script", REFUSED)
def test_what_some_sed_may_take_for_a_command_is_not_understood(script):
    assert sed_files(script) is None


_TOKENS = ["s/a/b/", "s/[/]", "/", "\\", "\n", ";", "{", "}", "w x", "w y", " ", "a foo", "a\\", "i\\", "c", "e touch z",
           "e", ":a", "ba", "t", "[", "]", "[^/]", "#", "y/a/b/", "y/[/", "p", "n", "N", "!", "$", "1", "2,3", "/a/", "\\,a,",
           "I", "g", "s,a,b,", "s|x|", "q", "r b", "W v", "=", ",", "s/a/", "+1", "]/", "[:alpha:]", "D", "\\]", "w"]  # fmt: skip


@pytest.mark.skipif(shutil.which("sed") is None, reason="sed is not installed")
def test_the_real_one_makes_no_file_that_is_not_named(tmp_path):
    chance = random.Random(7)
    understood = 0
    while understood < 150:
        script = "".join(chance.choice(_TOKENS) for _ in range(chance.randint(1, 7)))
        files = sed_files(script)
        if files is None or not set("wWe") & set(script) or set("bt") & set(script):  # it may loop for ever
            continue
        understood += 1
        folder = tmp_path / str(understood)
        folder.mkdir()
        (folder / "in").write_text("a/b\nx[y]\nabc\n")
        subprocess.run(["sed", "-n", script, "in"], cwd=folder, capture_output=True, check=False)
        assert {entry.name for entry in folder.iterdir()} <= {"in", *(name for _, name in files)}, script


def test_pieces_are_lines_of_one_script():
    for line in (r"sed -e ':a' -e '$!{N;ba' -e '}' -e 's/\n/ /g' a", r"sed -e 'a\' -e 'w x' a"):
        assert facts(line).commands[0].runs_code is RunsCode.NONE, line
    # what a file between them ends with, the next may go on
    found = facts(r"sed -e 'a hi\' -f b.sed -e 'w x' a", {"b.sed": MadeFile(content=b"p\n")})
    assert found.commands[0].runs_code is RunsCode.INLINE
    assert facts("sed -e p -e $X a").commands[0].runs_code is RunsCode.INLINE
