"""Settings with which git starts neither pager nor editor, and what else is put into the same variables."""

import pytest

from shell_world import facts
from shield.types import Dynamic, RunsCode

IDLE = [
    "GIT_PAGER=cat git log",
    "GIT_PAGER= git log",
    "env GIT_PAGER=cat git log",
    "GIT_EDITOR=: git log",
    "GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0 git log",
    "export GIT_PAGER=cat; git log",
    "X=cat; export GIT_PAGER=$X; git log",
    "declare -x GIT_PAGER=cat; git log",
    "export GIT_PAGER=cat; : ${GIT_PAGER:=./x}; git log",
    "GZIP=-9 gzip -c a.txt",
]
ACTIVE = [
    "GIT_PAGER=./x git log",
    "GIT_PAGER='cat x' git log",
    "GIT_PAGER=$X git log",
    "GIT_EDITOR=./x git log",
    "PAGER=./x git log",
    "export GIT_PAGER; git log",
    "export GIT_PAGER=cat; GIT_PAGER=./x git log",
    "export GIT_PAGER=cat; GIT_PAGER=./x; git log",
    "GIT_PAGER=cat; export GIT_PAGER; GIT_PAGER=./x; git log",
    "export GIT_PAGER=cat; GIT_PAGER+=x; git log",
    "export GIT_PAGER=cat; read GIT_PAGER < a; git log",
    "export GIT_PAGER=cat; printf -v GIT_PAGER ./x; git log",
    "export GIT_PAGER=cat; for GIT_PAGER in ./x; do git log; done",
    "export GIT_PAGER=; : ${GIT_PAGER:=./x}; git log",
    "export GIT_PAGER=cat; if a; then GIT_PAGER=./x; fi; git log",
    "f() { local GIT_PAGER=./x; git log; }; export GIT_PAGER=cat; f",
    "export GIT_PAGER=cat; bash -c 'GIT_PAGER=./x; git log'",
    "GZIP=-S.md gzip -c a.txt",
    "ZIP=-m zip x.zip a.txt",
    "ZIPINFO=-z zipinfo a.zip",
]


def settled(line: str) -> bool:
    found = facts(line)
    plain = all(command.dynamic is Dynamic.NONE and command.runs_code is RunsCode.NONE for command in found.commands)
    return found.parsed and not found.unknown and plain


@pytest.mark.parametrize("line", IDLE)
def test_a_pager_that_is_none_runs_nothing(line):
    assert settled(line)


@pytest.mark.parametrize("line", ACTIVE)
def test_any_other_is_code(line):
    assert not settled(line)
