"""On a real disk: the file that decides what is installed is bound by its content, and read where it really lies."""

import os
from dataclasses import replace

import pytest

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.files import identities
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.types import FileRole

PINNED = "six==1.0 --hash=sha256:" + "a" * 64 + "\n"


@pytest.fixture
def world(tmp_path):
    """A workspace with an installer of its own on PATH, and a folder outside it."""
    root, programs = tmp_path / "ws", tmp_path / "bin"
    root.mkdir()
    programs.mkdir()
    for name in ("pip", "npm"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    (root / "r.txt").write_text(PINNED)
    (root / "package-lock.json").write_text("{}")
    place = Place(
        files=LocalFiles(),
        home=str(tmp_path),
        cwd=str(root),
        workspace_roots=(str(root),),
        env={"PATH": str(programs), "HOME": str(tmp_path)},
        shell="/usr/bin/bash",
    )
    return root, place


def look(command, place):
    action = make_action("execute_command", {"command": command}, place.cwd)
    facts = compute(action, lookup("execute_command"), place)
    return facts, identities(action, facts, replace(place, files=LocalFiles()))


@pytest.mark.parametrize(("command", "name"), [("pip install -r r.txt", "r.txt"), ("npm ci", "package-lock.json")])
def test_another_content_is_another_state(world, command, name):
    root, place = world
    facts, before = look(command, place)
    assert facts.unknown == ()
    assert any(found.role is FileRole.CONTENT and found.path == str(root / name) for found in before)
    os.utime(root / name, (1, 1))
    assert look(command, place)[1] == before
    with (root / name).open("a") as file:
        file.write("# more\n")
    assert look(command, place)[1] != before


def test_a_requirements_file_is_read_where_its_link_leads(world):
    root, place = world
    (root / "real.txt").write_text("six\n")
    (root / "r.txt").unlink()
    (root / "r.txt").symlink_to("real.txt")
    assert any("not pinned" in line for line in look("pip install -r r.txt", place)[0].unknown)
    (root / "real.txt").write_text(PINNED)
    facts, bound = look("pip install -r r.txt", place)
    assert facts.unknown == ()
    assert any(found.role is FileRole.CONTENT and found.path == str(root / "real.txt") for found in bound)


def test_a_requirements_file_that_cannot_be_read_is_unknown(world):
    root, place = world
    (root / "r.txt").unlink()
    os.mkfifo(root / "r.txt")
    assert look("pip install -r r.txt", place)[0].unknown
    (root / "r.txt").unlink()
    (root / "r.txt").symlink_to("r.txt")
    assert look("pip install -r r.txt", place)[0].unknown
