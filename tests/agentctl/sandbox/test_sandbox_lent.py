"""Temporary files that a call names: they are shared with a confined command, and nothing else there is."""

import os

import pytest

from agentctl.sandbox import copied as copying
from agentctl.sandbox.copied import Copied
from agentctl.sandbox.hidden import is_agents
from agentctl.sandbox.lent import Opened, unseen
from agentctl.sandbox.mounts import Show, View
from receipts import named_files
from shield.types import FileIdentity, FileRole
from temporary_files import seen

SHARED = "/tmp"

# --- with a real process ------------------------------------------------------------------------------------------------


def test_what_a_command_writes_by_name_is_there_for_the_next(inside, name):
    answer = inside(f"echo out > {name}; cat {name}", files={"write": [name]})
    assert (answer.stdout, answer.stderr) == ("out\n", ""), answer
    for level in ("none", "state_hidden"):
        assert inside(f"cat {name}", level).stdout == "out\n"
    assert inside(f"cat {name}", files={"read": [name]}).stdout == "out\n"


def test_what_is_outside_is_found_inside_by_its_name_alone(inside, name):
    inside(f"echo one > {name}; echo two > {name}-other", "none")
    answer = inside(f"cat {name}; cat {name}-other", files={"read": [name]})
    assert answer.stdout == "one\n", answer


def test_what_is_only_read_cannot_be_changed(inside, name):
    inside(f"echo one > {name}", "none")
    inside(f"echo two > {name}; rm -f {name}", files={"read": [name]})
    assert inside(f"cat {name}", "none").stdout == "one\n"


def test_what_is_to_be_deleted_cannot_be_written(inside, name):
    inside(f"rm -f {name}; echo two > {name}", files={"delete": [name]})
    assert inside(f"ls {name}", "none").exit_code != 0
    inside(f"echo one > {name}", "none")
    inside(f"echo two > {name}", files={"delete": [name]})
    assert inside(f"cat {name}", "none").stdout == "one\n"
    inside(f"rm -f {name}; echo two > {name}", files={"delete": [name], "write": [name]})
    assert inside(f"cat {name}", "none").stdout == "two\n"


def test_what_is_there_is_added_to_and_stays_the_same_file(inside, name):
    before = inside(f"echo one > {name}; stat -c %i {name}", "none").stdout
    inside(f"echo two >> {name}", files={"write": [name]})
    assert inside(f"cat {name}; stat -c %i {name}", "none").stdout == f"one\ntwo\n{before}"


def test_a_name_that_is_gone_outside_is_gone_inside(inside, name):
    inside(f"echo one > {name}", files={"write": [name]})
    inside(f"rm {name}", "none")
    inside(f"echo two >> {name}", files={"write": [name]})
    assert inside(f"cat {name}", "none").stdout == "two\n"


def test_a_command_that_writes_nothing_leaves_nothing(inside, name):
    assert inside("true", files={"write": [name]}).exit_code == 0
    assert inside(f"ls {name}", "none").exit_code != 0


def test_a_name_that_is_not_shared_stays_inside(inside, name):
    inside(f"echo x > {name}; echo y > {name}-other", files={"write": [name]})
    assert inside(f"cat {name}-other", "none").exit_code != 0


def test_it_is_replaced_by_renaming_put_in_a_new_folder_and_deleted(mounted):
    name = f"{SHARED}/lent-{mounted.pid}"
    try:
        mounted(f"echo one > {name}", "none")
        mounted(f"echo two > {name}.new && mv {name}.new {name}", files={"write": [name]})
        assert mounted(f"cat {name}", "none").stdout == "two\n"
        for files in ({"write": [name]}, {"delete": [name]}):
            mounted(f"echo one > {name}", "none")
            answer = mounted(f"rm {name}", files=files)
            assert answer.exit_code == 0
            assert mounted(f"ls {name}", "none").exit_code != 0
        deep = f"{name}.d/a/b"
        mounted(f"mkdir -p {name}.d/a; echo deep > {deep}; echo x > {name}.d/other", files={"write": [deep]})
        assert mounted(f"cat {deep}; ls {name}.d", "none").stdout == "deep\na\n"
    finally:
        mounted(f"rm -rf {name}*", "none")


def test_what_stayed_inside_is_told_of_where_it_is_not_found(mounted):
    name = f"{SHARED}/lent-{mounted.pid}"
    assert "only commands in the sandbox see" not in mounted(f"cat {name}", "state_hidden", files={"read": [name]}).note
    mounted(f"echo x > {name}")
    assert "only commands in the sandbox see" in mounted(f"cat {name}", "state_hidden", files={"read": [name]}).note
    assert "only commands in the sandbox see" not in mounted("true", "state_hidden").note
    mounted(f"ln -sf {mounted.world}/home/.ssh/id_rsa {name}")
    assert "only commands in the sandbox see" not in mounted(f"cat {name}", "state_hidden", files={"read": [name]}).note


def test_of_a_folder_nothing_is_shared_that_is_not_named_and_that_is_said(mounted):
    name = f"{SHARED}/lent-{mounted.pid}"
    try:
        answer = mounted(f"mkdir -p {name}/z; echo x > {name}/y", files={"write": [name, f"{name}/y"]})
        assert "only what the line names in it is shared" in answer.note
        assert mounted(f"ls {name}", "none").stdout == "y\n"
        mounted(f"rm -rf {name}", "none")
        answer = mounted(f"rm -rf {name}; mkdir {name}; echo x > {name}/y", files={"write": [name, f"{name}/y"]})
        assert answer.note == "exit code 0"
        assert mounted(f"cat {name}/y", "none").stdout == "x\n"
    finally:
        mounted(f"rm -rf {name}", "none")


def test_no_link_of_the_command_is_followed_out_of_its_folder(mounted):
    """Into the workspace, to the user's keys, or over a file of the user's."""
    name = f"{SHARED}/lent-{mounted.pid}"
    home, ws = mounted.world / "home", mounted.world / "ws"
    try:
        mounted(f"mkdir {name}; echo outside > {name}/x", "none")
        # the way to a file that is brought in
        mounted(f"ln -s {ws} {name}")
        answer = mounted(f"cat {name}/x", files={"read": [f"{name}/x"], "write": [f"{name}/y"]})
        assert answer.stdout == "outside\n"
        assert not (ws / "x").exists()
        # what is brought out
        out = f"{name}/z"
        answer = mounted(f"ln -s {home}/.ssh/id_rsa {out}", files={"write": [out]})
        assert f"`{out}` is not shared with the sandbox" in answer.note
        assert mounted(f"cat {out}", "none").exit_code != 0
        mounted(f"rm -f {out}; mkfifo {out}", files={"write": [out]})
        assert mounted(f"ls {out}", "none").exit_code != 0
    finally:
        mounted(f"rm -rf {name}", "none")


# --- what a view says of a path -----------------------------------------------------------------------------------------


def test_what_the_command_sees_anyway_or_must_not_see_is_not_lent(shared):
    for name in ("ws", "hidden", "ssh-1"):
        (shared / name).mkdir()
        (shared / name / "x").write_text("x")
    view = seen(shared, ws=Show.WRITABLE, hidden=Show.HIDDEN)
    files = named_files(read=[str(shared / name / "x") for name in ("ws", "hidden", "ssh-1")])
    files += named_files(read=["/etc/passwd", str(shared)])
    assert Copied(view, files).bring() == []
    assert list((shared.parent / "own").iterdir()) == []
    opened = Opened(view, files)
    assert opened.bring() == []
    assert opened.rights == {}


@pytest.mark.parametrize("show", [Show.WRITABLE, Show.READONLY, Show.HIDDEN])
def test_nothing_is_lent_where_nothing_stands_for_the_folder(shared, show):
    (shared / "x").write_text("x")
    private = seen(shared)
    view = View(base=private.base, places={str(shared): show}, sources=private.sources, watched=())
    copied = Copied(view, named_files(read=[str(shared / "x")]))
    assert copied.bring() == []
    assert list((shared.parent / "own").iterdir()) == []


def test_what_is_outside_too_is_not_said_to_be_inside_only(shared):
    files = named_files(read=[str(shared / "x")])
    (shared.parent / "own" / "x").write_text("x")
    assert len(unseen(seen(shared), files)) == 1
    (shared / "x").write_text("x")
    assert unseen(seen(shared), files) == []


@pytest.mark.parametrize("path", ["{0}/../x", "{0}//x", "{0}/./x", "{0}/a/../../x"])
def test_a_path_that_is_not_resolved_is_not_lent(shared, path):
    (shared.parent / "x").write_text("x")
    files = [FileIdentity(role=FileRole.READ, path=path.format(shared), dev=1, ino=1)]
    opened = Opened(seen(shared), files)
    assert (opened.bring(), opened.rights) == ([], {})


def test_too_much_is_not_copied_either_way(shared, monkeypatch):
    monkeypatch.setattr(copying, "MAX_LENT", 10)
    (shared / "big").write_text("x" * 11)
    (shared / "small").write_text("x" * 9)
    files = named_files(write=[str(shared / name) for name in ("big", "small")])
    copied = Copied(seen(shared), files)
    [note] = copied.bring()
    assert "big" in note
    own = shared.parent / "own"
    assert [each.name for each in own.iterdir()] == ["small"]
    (own / "small").write_text("y" * 11)
    [note] = copied.take_back()
    assert "small" in note
    assert (shared / "small").read_text() == "x" * 9


def test_a_file_with_other_names_is_not_changed(shared):
    (shared / "a").write_text("one")
    os.link(shared / "a", shared.parent / "b")
    copied = Copied(seen(shared), named_files(write=[str(shared / "a")]))
    assert copied.bring() == []
    (shared.parent / "own" / "a").write_text("two")
    [note] = copied.take_back()
    assert "other names" in note
    assert (shared.parent / "b").read_text() == "one"


def test_another_folder_in_the_place_of_the_one_that_was_judged_gets_nothing(shared):
    (shared / "d").mkdir()
    files = named_files(write=[str(shared / "d" / "x")])
    copied = Copied(seen(shared), files)
    assert copied.bring() == []
    (shared.parent / "own" / "d" / "x").write_text("x")
    (shared / "d").rename(shared / "e")
    (shared / "d").mkdir()
    assert copied.take_back()
    opened = Opened(seen(shared), files)
    assert opened.bring()
    assert opened.rights == {}
    assert not (shared / "d" / "x").exists()


def test_no_special_mode_comes_out_and_time_and_mode_do(shared):
    path = shared / "tool"
    copied = Copied(seen(shared), named_files(write=[str(path)]))
    assert copied.bring() == []
    made = shared.parent / "own" / "tool"
    made.write_text("#!/bin/sh")
    made.chmod(0o6755)
    os.utime(made, ns=(1, 1_000_000_000))
    assert copied.take_back() == []
    assert path.stat().st_mode & 0o7777 == 0o755
    assert path.stat().st_mtime_ns == 1_000_000_000


@pytest.mark.parametrize("text", ["of somebody else", None])
@pytest.mark.parametrize("anew", [False, True])
def test_what_has_changed_outside_meanwhile_stays(shared, text, anew):
    """Another file, the same with other content, or none: whether the command wrote a file there or deleted it."""
    for deleted in (False, True):
        path, own = shared / "x", shared.parent / "own" / "x"
        path.write_text("one")
        copied = Copied(seen(shared), named_files(write=[str(path)]))
        assert copied.bring() == []
        own.unlink()
        if not deleted:
            own.write_text("two")
        if anew or text is None:
            path.unlink()
        if text is not None:
            path.write_text(text)
        assert (copied.take_back() == []) is (deleted and text is None)
        assert (path.read_text() if path.exists() else None) == text


def test_names_that_only_begin_like_an_agents_are_ordinary():
    for name in ("screens", "uscreens", "ssh-XXXX", "tmux-1000", ".X11-unix", "x.sock", "dbus-Zz"):
        assert is_agents(name)
    for name in ("screenshot.png", "screen.txt", "uscreen", "sshx", "socket.txt", "x.sock.txt", "notes.txt"):
        assert not is_agents(name)
