"""Temporary files that a call names, where something is not as it was judged, or cannot be done."""

import errno
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from agentctl.sandbox import kernel, landlock, temporary
from agentctl.sandbox.copied import Copied
from agentctl.sandbox.lent import Opened, unseen
from receipts import named_files
from shield.types import FileIdentity, FileRole
from temporary_files import both, seen

pytestmark = pytest.mark.usefixtures("open_files")


def reads(path: Path, **changes) -> FileIdentity:
    [found] = named_files(read=[str(path)])
    return replace(found, **changes)


# --- other files than those that were judged ----------------------------------------------------------------------------


def test_another_file_than_the_one_that_was_judged_is_not_shared(shared, own):
    path = shared / "x"
    path.write_text("one")
    wrong = [reads(path, **{name: 1}) for name in ("dev", "ino", "size", "ctime_ns")]
    wrong += [reads(path, absent=True, dev=None, ino=None), reads(path, role=FileRole.LARGE, size=4)]
    for judged in wrong:
        for call in both(shared, [judged]):
            [note] = call.bring()
            assert "not the file that was judged" in note
            assert getattr(call, "rights", {}) == {}
            assert list(own.iterdir()) == []
            call.take_back()
    path.write_text("two")
    right = Copied(seen(shared), [reads(path)])
    assert right.bring() == []
    assert (own / "x").read_text() == "two"


def test_code_that_does_not_hold_what_was_judged_is_not_shared(shared, own):
    path = shared / "x"
    path.write_text("one")
    for text, notes in (("one", 0), ("two", 1)):
        digest = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
        path.write_text(text)
        judged = FileIdentity(role=FileRole.CONTENT, path=str(path), kind="file", sha256=digest)
        call = Copied(seen(shared), [judged])
        assert len(call.bring()) == notes
        assert [each.name for each in own.iterdir()] == ["x"] * (1 - notes)
        (own / "x").unlink(missing_ok=True)


def test_nothing_is_deleted_or_brought_in_from_another_folder_than_the_judged_one(shared, own):
    (shared / "d").mkdir()
    (shared / "d" / "x").write_text("one")
    files = named_files(write=[str(shared / "d" / "x")])
    call = Copied(seen(shared), files)
    assert call.bring() == []
    (own / "d" / "x").unlink()
    (shared / "d").rename(shared / "e")
    (shared / "d").mkdir()
    os.link(shared / "e" / "x", shared / "d" / "x")
    [note] = call.take_back()
    assert "its folder" in note
    assert (shared / "d" / "x").read_text() == "one"
    for again in both(shared, files):
        assert "its folder" in again.bring()[0]
        assert getattr(again, "rights", {}) == {}
        again.take_back()


def test_no_folder_is_made_in_another_folder_than_the_judged_one(shared, own):
    (shared / "d").mkdir()
    call = Copied(seen(shared), named_files(write=[str(shared / "d" / "x")]))
    assert call.bring() == []
    (own / "d" / "x").mkdir()
    (shared / "d").rename(shared / "e")
    (shared / "d").mkdir()
    [note] = call.take_back()
    assert "its folder" in note
    assert list((shared / "d").iterdir()) == []


def test_rights_are_on_the_file_that_was_looked_at_whatever_stands_there_by_then(shared):
    """Another user who owns a folder puts a link to the user's own files in its place before the command starts."""
    if kernel.landlock_abi() < landlock.LEAST_ABI:
        pytest.skip("no Landlock here")
    for name in ("d", "keys"):
        (shared / name).mkdir()
        (shared / name / "x").write_text(name)
    call = Opened(seen(shared), named_files(write=[str(shared / "d" / "x")]))
    assert call.bring() == []
    (shared / "d").rename(shared / "e")
    (shared / "d").symlink_to(shared / "keys")
    ruleset = landlock.make(landlock.Domain(fs=(1 << 16) - 1), call.rights)
    child = os.fork()
    if child == 0:
        kernel.no_new_privileges()
        kernel.restrict_self(ruleset)
        os._exit(10 * opens(shared / "keys" / "x") + opens(shared / "e" / "x"))
    os.close(ruleset)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    call.take_back()


def opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError:
        return False
    return True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_a_folder_that_another_user_made_first_gets_nothing(shared, own):
    path = shared / "new" / "x"
    call = Copied(seen(shared), named_files(write=[str(path)]))
    assert call.bring() == []
    (own / "new").mkdir()
    (own / "new" / "x").write_text("secret")
    path.parent.mkdir()
    os.chown(path.parent, 65534, 65534)
    [note] = call.take_back()
    assert "another user" in note
    assert not path.exists()


@pytest.mark.parametrize("there", ["file", "link", "dangling"])
def test_what_stands_in_the_way_inside_is_put_aside(shared, own, there):
    (shared / "d" / "e").mkdir(parents=True)
    (shared / "d" / "e" / "x").write_text("one")
    (shared / "keys").mkdir()
    {"file": own.joinpath("d").touch, "link": lambda: own.joinpath("d").symlink_to(shared / "keys")}.get(
        there, lambda: own.joinpath("d").symlink_to("nowhere")
    )()
    call = Copied(
        seen(shared), named_files(read=[str(shared / "d" / "e" / "x")], write=[str(shared / "d" / "e" / "y")])
    )
    assert call.bring() == []
    assert (own / "d" / "e" / "x").read_text() == "one"
    (own / "d" / "e" / "y").write_text("two")
    assert call.take_back() == []
    assert (shared / "d" / "e" / "y").read_text() == "two"
    assert list((shared / "keys").iterdir()) == []


def test_a_program_with_rights_of_its_own_is_not_changed(shared, own):
    for mode in (0o4755, 0o2755):
        path = shared / "x"
        path.write_text("one")
        path.chmod(mode)
        for call in both(shared, named_files(write=[str(path)])):
            notes = call.bring()
            (own / "x").write_text("two")
            notes += call.take_back()
            assert "rights of its own" in notes[0]
            assert (path.read_text(), path.stat().st_mode & 0o7777) == ("one", mode)


def test_what_is_never_shared_is_told_of_where_it_is_written(shared, own):
    paths = [str(shared / "tmux-notes.txt"), str(shared / "ssh-x" / "agent")]
    for call in both(shared, named_files(write=paths)):
        assert [note.rpartition(": ")[2] for note in call.bring()] == [
            "by names like this one programs listen for others"
        ] * 2
        (own / "tmux-notes.txt").write_text("one")
        assert call.take_back() == []
        assert list(shared.iterdir()) == []
    for call in both(shared, named_files(read=paths)):
        assert [*call.bring(), *call.take_back()] == []
    assert unseen(seen(shared), named_files(read=paths)) == []


def test_a_temporary_folder_may_be_a_link(shared, own, monkeypatch):
    link = shared.parent / "link"
    link.symlink_to(shared)
    monkeypatch.setattr(temporary, "TEMPORARY", (str(link), str(shared.parent / "none")))
    call = Copied(seen(shared), named_files(write=[str(shared / "x")]))
    assert call.bring() == []
    (own / "x").write_text("one")
    assert call.take_back() == []
    assert (shared / "x").read_text() == "one"


# --- what does not work out ---------------------------------------------------------------------------------------------


def test_where_there_is_no_room_nothing_is_lost(shared, own):
    path = shared / "x"
    path.write_text("one")
    call = Copied(seen(shared), named_files(write=[str(path), str(shared / "y")]))
    assert call.bring() == []
    for name in ("x", "y"):
        (own / name).write_text("two" * 5_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, limits[1]))
    try:
        notes = call.take_back()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(notes) == 2
    assert path.read_text() == "one"
    assert not (shared / "y").exists()


def test_too_much_makes_no_folders(shared, own):
    call = Copied(seen(shared), named_files(write=[str(shared / "new" / "x")]))
    assert call.bring() == []
    (own / "new").mkdir()
    (own / "new" / "x").touch()
    os.truncate(own / "new" / "x", 1 << 40)
    [note] = call.take_back()
    assert "256 MB" in note
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("name", ["x\0", "\ud800", "x" * 256, "a\nb" + "x" * 255])
def test_a_name_that_no_file_can_have_is_told_of_on_one_line(shared, name):
    files = [FileIdentity(role=FileRole.TARGET, path=f"{shared}/{name}", dev=1, ino=1)]
    files = [replace(each, dev=os.stat(shared).st_dev, ino=os.stat(shared).st_ino) for each in files]
    for call in both(shared, files):
        [note] = call.bring()
        assert note.isprintable()
        note.encode()
        assert call.take_back() == []
    assert unseen(seen(shared), files) == []


def test_of_a_folder_what_is_empty_is_deleted_and_nothing_else(shared, own):
    for holds, notes in ((None, 0), ("y", 1)):
        (shared / "d").mkdir()
        if holds:
            (shared / "d" / holds).touch()
        call = Copied(seen(shared), named_files(delete=[str(shared / "d")]))
        assert call.bring() == []
        assert list((own / "d").iterdir()) == []
        assert call.take_back() == []
        assert (shared / "d").exists()
        assert call.bring() == []
        (own / "d").rmdir()
        said = call.take_back()
        assert len(said) == notes
        assert (shared / "d").exists() is bool(notes)
        assert not notes or "holds what is not shared" in said[0]


def test_what_is_neither_file_nor_folder_stays_and_that_is_said(shared, own):
    os.mkfifo(shared / "x")
    for files in (named_files(delete=[str(shared / "x")]), named_files(write=[str(shared / "x")])):
        call = Copied(seen(shared), files)
        [note] = call.bring()
        assert "it is no file" in note
        (own / "x").write_text("one")
        assert call.take_back() == []
        assert (shared / "x").is_fifo()
        (own / "x").unlink()


def test_a_file_does_not_take_the_place_of_a_folder_nor_a_folder_that_of_a_file(shared, own):
    (shared / "d").mkdir()
    (shared / "x").write_text("one")
    call = Copied(seen(shared), named_files(write=[str(shared / "d"), str(shared / "x")]))
    assert call.bring() == []
    (own / "d").rmdir()
    (own / "d").write_text("two")
    (own / "x").unlink()
    (own / "x").mkdir()
    assert len(call.take_back()) == 2
    assert (shared / "d").is_dir()
    assert (shared / "x").read_text() == "one"


def test_room_that_was_reserved_in_vain_is_given_up(shared, own, monkeypatch):
    (shared / "x").write_text("one")
    call = Copied(seen(shared), named_files(write=[str(shared / "x")]))
    assert call.bring() == []
    (own / "x").write_text("two, longer")

    def half(descriptor: int, offset: int, size: int) -> None:
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", half)
    [note] = call.take_back()
    assert "no space" in note
    assert (shared / "x").read_text() == "one"
