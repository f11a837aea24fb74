"""What ack and rustup are led by: a file where they run or above, unless it is the user's own."""

from dataclasses import replace

import pytest

from model_world import WORLD
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.shell import analyse

FILE = MadeFile(content=b"x")
TELLS = (
    "rustup show",
    "rustup --version",
    "rustup -q -V",
    "rustup show active-toolchain -v",
    "rustup which rustc",
    "rustup target list",
    "rustup component list --installed",
)
# These tell of no toolchain, or of one that is named.
APART = ("rustup show home", "rustup toolchain list", "rustup --help", "rustup which --toolchain stable rustc")


def found(line, files, **changes):
    return analyse(line, replace(WORLD, files=MadeFiles(files, programs=frozenset(("ack", "ag", "rustup"))), **changes))


def runs(line, files, **changes):
    facts = found(line, files, **changes)
    return bool(facts.unknown) and facts.commands[-1].runs_code == "workspace"


@pytest.mark.parametrize("line", TELLS)
@pytest.mark.parametrize("name", ["rust-toolchain", "rust-toolchain.toml", "/home/rust-toolchain", "/rust-toolchain"])
def test_the_compiler_that_a_file_names_is_run(line, name):
    assert runs(line, {name: FILE})
    assert runs(f"cd src && {line}", {name: FILE, "src": MadeFile(directory=True)})


@pytest.mark.parametrize("line", TELLS)
def test_the_compiler_that_the_user_chose_is_theirs(line):
    for files in ({}, {"src/rust-toolchain": FILE}, {"/home/user/rust-toolchain": FILE}):
        assert not found(line, files).unknown
        assert found(line, files).operations == {"read"}
    assert runs(line, {"/home/user/rust-toolchain": FILE}, workspace_roots=("/home/user",))
    assert runs(line, {}, env={**WORLD.env, "RUSTUP_TOOLCHAIN": "/x"})
    assert runs(f"cd $X; {line}", {})


@pytest.mark.parametrize("line", APART)
def test_no_compiler_is_run(line):
    assert not found(line, {"rust-toolchain": FILE}).unknown


@pytest.mark.parametrize("name", [".ackrc", "_ackrc", "/home/_ackrc"])
def test_settings_of_the_project_name_what_ack_searches(name):
    assert found("ack x src", {name: FILE}).unknown
    assert not found("ack --noenv x src", {name: FILE}).unknown
    assert not found("ag x src", {name: FILE}).unknown


def test_settings_of_the_user_are_theirs():
    assert not found("ack x src", {"/home/user/.ackrc": FILE}).unknown


@pytest.mark.parametrize(
    "line",
    ["echo x > .ackrc; ack x src", "cp a _ackrc && ack x", "echo x > src/rust-toolchain.toml; cd src; rustup show"],
)
def test_a_line_that_writes_the_file_is_not_judged_by_what_was_there(line):
    assert [each for each in found(line, {"a": FILE, "src/b": FILE}).unknown if "may change it" in each]


@pytest.mark.parametrize("line", ["echo x > a; ack x src", "echo x > node_modules/a; rustup show"])
def test_a_line_that_writes_another_file_goes_on(line):
    assert not found(line, {"node_modules/b": FILE, "src/b": FILE}).unknown
