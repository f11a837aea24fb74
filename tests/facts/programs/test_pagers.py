"""Pagers show and do nothing else, unless something tells them what to run; the rest stands in `bypasses/pagers.yaml`."""

from dataclasses import replace

import pytest

from model_world import WORLD
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.shell import analyse
from shield.types import RunsCode

SHOWN = ("less a.txt", "more a.txt", "man ls", "git help log", "git log --help")


def runs(line, **changes):
    return {command.runs_code for command in analyse(line, replace(WORLD, **changes)).commands}


@pytest.mark.parametrize("line", SHOWN)
def test_a_pager_shows(line):
    assert runs(line) == {RunsCode.NONE}


@pytest.mark.parametrize("line", SHOWN)
@pytest.mark.parametrize(
    "changes",
    [
        {"env": {**WORLD.env, "LESSOPEN": "|x %s", "MANPATH": "/x"}},
        {"env": {**WORLD.env, "LESSKEYIN": "/x", "MANROFFSEQ": "x"}},
        {"workspace_roots": ("/home/user",)},
        {"workspace_roots": ("/home",)},
        {"files": MadeFiles({"~/.lesskey": MadeFile(content=b"#env\nLESSOPEN=|x %s\n")})},
        {"files": MadeFiles({"~/.less": MadeFile(content=b"x")})},
        {"files": MadeFiles({"~/.config/lesskey": MadeFile(content=b"x")})},
        {"files": MadeFiles({"~/.manpath": MadeFile(content=b"x")})},
    ],
    ids=[
        "variables",
        "more variables",
        "home is the workspace",
        "above the home",
        "lesskey",
        "less",
        "config",
        "manpath",
    ],
)
def test_what_may_tell_it_to_run_something_counts(line, changes):
    assert RunsCode.INLINE in runs(line, **changes)


@pytest.mark.parametrize("path", ["/home/user/ws/bin:/usr/bin", "bin:/usr/bin", ":/usr/bin"])
def test_pages_beside_the_path_are_the_workspaces(path):
    assert RunsCode.INLINE in runs("man ls", env={**WORLD.env, "PATH": path})


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("", RunsCode.NONE),
        ('[man "x"]\n\tcmd = ./run\n', RunsCode.WORKSPACE),
        ("[help]\n\tformat = web\n", RunsCode.WORKSPACE),
    ],
)
def test_what_shows_a_page_of_git_is_a_setting(config, code):
    folders = {f".git/{name}": MadeFile(directory=True) for name in ("objects", "refs")}
    files = {".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"), ".git/config": MadeFile(content=config.encode())}
    for line in ("git help log", "git log --help"):
        found = analyse(line, replace(WORLD, files=MadeFiles({**folders, **files})))
        assert found.commands[0].runs_code is code
