"""What a permit binds: what must change it does, what must not does not; what is not certain gives no permit."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.files import identities
from shield.facts.glob import matches
from shield.facts.local import LocalFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot
from shield.types import Access, Action, CommandFact, Facts, FileIdentity, FileRole, Origin


class _World:
    def __init__(self, top: str) -> None:
        self.ws = f"{top}/home/ws"
        os.makedirs(self.ws)
        self.place = Place(
            files=LocalFiles(), home=f"{top}/home", cwd=self.ws, workspace_roots=(self.ws,), env={"PATH": "/usr/bin"}
        )

    def judge(self, name: str, **payload: object) -> tuple[Action, Facts]:
        action = make_action(name, payload, self.ws)
        return action, compute(action, lookup(name), self.place)

    def bind(self, name: str, **payload: object) -> tuple[FileIdentity, ...] | None:
        action, facts = self.judge(name, **payload)
        return identities(action, facts, self.place)

    def write(self, name: str, content: str = "x") -> str:
        path = f"{self.ws}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text(content)
        return path


@pytest.fixture
def world() -> Iterator[_World]:
    top = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield _World(top)
    shutil.rmtree(top, ignore_errors=True)


def _roles(found: tuple[FileIdentity, ...] | None) -> dict[str, FileRole]:
    assert found is not None
    return {f"{os.path.basename(identity.path)}:{identity.role}": identity.role for identity in found}


def test_a_read_binds_the_file_and_not_its_content(world: _World) -> None:
    path = world.write("a.txt")
    before = world.bind("read_file", path="a.txt")
    assert list(_roles(before).values()) == [FileRole.READ]
    Path(path).write_text("other content")
    assert world.bind("read_file", path="a.txt") == before
    os.rename(world.write("b.txt"), path)
    assert world.bind("read_file", path="a.txt") != before
    os.remove(path)
    absent = world.bind("read_file", path="a.txt")
    assert absent is not None
    assert absent[0].absent
    assert absent != before


def test_an_edit_binds_the_content(world: _World) -> None:
    path = world.write("a.txt", "one two")
    before = world.bind("edit_file", path="a.txt", old="one", new="1")
    assert FileRole.CONTENT in _roles(before).values()
    inode = os.stat(path).st_ino
    Path(path).write_text("one 2wo")  # same file, same size
    assert os.stat(path).st_ino == inode
    assert world.bind("edit_file", path="a.txt", old="one", new="1") != before


def test_an_edit_is_not_bothered_by_a_save_of_the_same_content(world: _World) -> None:
    path = world.write("a.txt", "one two")
    before = world.bind("edit_file", path="a.txt", old="one", new="1")
    os.rename(world.write("b.txt", "one two"), path)  # as editors and formatters save
    assert world.bind("edit_file", path="a.txt", old="one", new="1") == before
    os.remove(path)
    os.symlink("b.txt", path)
    world.write("b.txt", "one two")
    assert world.bind("edit_file", path="a.txt", old="one", new="1") != before


@pytest.mark.parametrize("size", [100, 2 << 20])
def test_unpacking_binds_what_is_in_the_archive_and_the_directory_it_goes_to(world: _World, size: int) -> None:
    path = world.write("x.tar", "a" * size)
    os.mkdir(f"{world.ws}/out")
    before = world.bind("archive_extract", path="x.tar", destination="out")
    assert before is not None
    world.write("out/more")  # what is in there is the tool's to look at
    assert world.bind("archive_extract", path="x.tar", destination="out") == before
    os.rename(f"{world.ws}/out", f"{world.ws}/away")
    os.mkdir(f"{world.ws}/out")
    other = world.bind("archive_extract", path="x.tar", destination="out")
    assert other != before
    with open(path, "r+") as file:  # the same file, the same size
        file.write("b")
    assert world.bind("archive_extract", path="x.tar", destination="out") != other


def test_a_write_binds_the_directory(world: _World) -> None:
    os.mkdir(f"{world.ws}/d")
    before = world.bind("write_file", path="d/new", content="x")
    assert list(_roles(before).values()) == [FileRole.TARGET]
    world.write("d/other")  # the directory's times change, its identity does not
    assert world.bind("write_file", path="d/new", content="x") == before
    world.write("d/new")
    assert world.bind("write_file", path="d/new", content="x") != before
    os.remove(f"{world.ws}/d/new")
    os.rename(f"{world.ws}/d", f"{world.ws}/e")
    os.mkdir(f"{world.ws}/d")
    assert world.bind("write_file", path="d/new", content="x") != before
    os.symlink("/etc", f"{world.ws}/f")
    assert world.bind("write_file", path="f/new", content="x") != before


def test_a_write_below_missing_directories_binds_the_nearest_one(world: _World) -> None:
    before = world.bind("write_file", path="p/q/new", content="x")
    assert set(_roles(before).values()) == {FileRole.TARGET, FileRole.DIRECTORY}
    os.symlink("/tmp", f"{world.ws}/p")
    assert world.bind("write_file", path="p/q/new", content="x") != before


def test_deleting_a_link_binds_the_link(world: _World) -> None:
    world.write("a.txt")
    os.symlink("a.txt", f"{world.ws}/link")
    found = world.bind("delete_file", path="link")
    assert found is not None
    assert {identity.path for identity in found} == {f"{world.ws}/link"}
    assert {identity.kind for identity in found} == {"link"}


def test_what_a_command_deletes_is_told_from_what_it_writes(world: _World) -> None:
    """Whoever shares a file with a sandbox must not let be written what was judged as deleted."""
    world.write("a")
    for command, expected in (
        ("rm a", {True}),
        ("rm -f b", {True}),
        ("echo x > a", {False}),
        ("rm a; echo x > a", {True, False}),
        ("mv a c", {True, False}),
    ):
        found = world.bind("execute_command", command=command)
        assert found is not None
        assert {each.deleted for each in found if each.role is FileRole.TARGET} == expected, command
        assert not any(each.deleted for each in found if each.role is not FileRole.TARGET)
    assert not any(each.deleted for each in world.bind("delete_file", path="a") or ())


def test_attachments_bind_content_and_large_files_their_numbers(world: _World) -> None:
    path = world.write("a.bin")
    assert list(_roles(world.bind("send_email", to="a@b.example", attachments=["a.bin"])).values()) == [
        FileRole.CONTENT
    ]
    with open(path, "wb") as file:
        file.truncate((1 << 20) + 1)
    before = world.bind("send_email", to="a@b.example", attachments="a.bin")
    assert list(_roles(before).values()) == [FileRole.LARGE]
    with open(path, "r+b") as file:
        file.write(b"y")
    assert world.bind("send_email", to="a@b.example", attachments="a.bin") != before


def test_directories_bind_no_times(world: _World) -> None:
    before = world.bind("list_directory", path=".")
    assert list(_roles(before).values()) == [FileRole.DIRECTORY]
    world.write("new")
    assert world.bind("list_directory", path=".") == before


def test_unknown_paths_of_tools_bind_nothing(world: _World) -> None:
    for raw in ("~root/x", "a\0b"):
        action, facts = world.judge("read_file", path=raw)
        assert facts.unknown
        assert identities(action, facts, world.place) is None


def test_what_moved_since_the_facts_gives_no_permit(world: _World) -> None:
    path = world.write("a.txt", "one")
    action, facts = world.judge("read_file", path="a.txt")
    assert identities(action, facts, world.place) is not None
    os.remove(path)
    assert identities(action, facts, world.place) is None
    os.symlink("/etc/passwd", path)
    assert identities(action, facts, world.place) is None

    path = world.write("b.txt", "one")
    action, facts = world.judge("edit_file", path="b.txt", old="one", new="two")
    Path(path).write_text("one and more")
    assert identities(action, facts, world.place) is None  # the result that was judged is not the one to come


def test_one_view_of_the_disk_binds_what_was_judged_and_the_next_one_sees_what_moved(world: _World) -> None:
    path = world.write("a.txt", "one")
    os.symlink("a.txt", f"{world.ws}/link")
    for name, payload in (("read_file", {"path": "link"}), ("list_directory", {"path": "."})):
        action = make_action(name, payload, world.ws)
        before = identities(action, compute(action, lookup(name), world.place), world.place)
        once = replace(world.place, files=Snapshot(LocalFiles()))
        facts = compute(action, lookup(name), once)
        os.rename(world.ws, f"{world.ws}.old")
        os.makedirs(world.ws)
        os.symlink("/etc/passwd", path)
        assert identities(action, facts, once) == before  # what was judged, not what is there now
        after = replace(world.place, files=Snapshot(LocalFiles()))
        assert identities(action, compute(action, lookup(name), after), after) != before
        shutil.rmtree(world.ws)
        os.rename(f"{world.ws}.old", world.ws)

    # content is looked at when it is bound: a result that was judged is still the one to come
    once = replace(world.place, files=Snapshot(LocalFiles()))
    action = make_action("edit_file", {"path": "a.txt", "old": "one", "new": "two"}, world.ws)
    facts = compute(action, lookup("edit_file"), once)
    Path(path).write_text("one and more")
    assert identities(action, facts, once) is None


def test_programs(world: _World) -> None:
    script = world.write("run.sh", "ls\n")
    os.chmod(script, 0o755)
    base = Facts(malformed=False, unknown=())
    action = make_action("execute_command", {"command": "./run.sh"}, world.ws)

    def bind(program: str, origin: Origin) -> tuple[FileIdentity, ...] | None:
        facts = replace(base, commands=(CommandFact(name="run.sh", program=program, origin=origin),))
        return identities(action, facts, world.place)

    before = bind(script, Origin.WORKSPACE)
    assert list(_roles(before).values()) == [FileRole.CONTENT]
    Path(script).write_text("rm\n")
    assert bind(script, Origin.WORKSPACE) != before
    # the project's own program, which the line makes first, is bound as one that is not there yet
    absent = bind(f"{world.ws}/missing", Origin.WORKSPACE)
    assert [(each.role, each.absent) for each in absent or ()] == [(FileRole.TARGET, True)]
    assert bind(f"{world.place.home}/missing", Origin.USER) is None
    # what is called a system program but is not root's is bound by content all the same
    if os.geteuid() == 0:
        os.chown(script, 1000, -1)
    else:
        os.chmod(script, 0o777)
    assert list(_roles(bind(script, Origin.SYSTEM)).values()) == [FileRole.CONTENT]


def test_globs_bind_their_matches(world: _World) -> None:
    world.write("a.py")
    world.write("b.py")
    world.write(".hidden.py")
    files = LocalFiles()
    assert matches(f"{world.ws}/*.py", files) == (f"{world.ws}/a.py", f"{world.ws}/b.py")
    assert matches(f"{world.ws}/.*.py", files) == (f"{world.ws}/.hidden.py",)
    assert matches(f"{world.ws}/[!a].py", files) == matches(f"{world.ws}/[^a].py", files) == (f"{world.ws}/b.py",)
    assert matches(f"{world.ws}/no/*", files) == ()

    fact = replace(path_fact(".", Access.READ, world.place, base=world.ws, source="commands[0]"), raw="*.py")
    facts = Facts(paths=(fact,), malformed=False, unknown=())
    action = make_action("execute_command", {"command": "cat *.py"}, world.ws)
    before = identities(action, facts, world.place)
    assert FileRole.GLOB in _roles(before).values()
    world.write("c.txt")
    assert identities(action, facts, world.place) == before
    world.write("c.py")
    assert identities(action, facts, world.place) != before


def test_order_and_repetition(world: _World) -> None:
    world.write("a")
    world.write("b")
    one = world.bind("send_email", to="a@b.example", attachments=["a", "b", "a"])
    two = world.bind("send_email", to="a@b.example", attachments=["b", "a"])
    assert one == two
    assert one is not None
    assert len(one) == 2
