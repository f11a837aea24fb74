"""Temporary files that a call names, where something changes at the worst moment."""

import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentctl.sandbox import kernel, landlock
from agentctl.sandbox import lent as lending
from agentctl.sandbox.copied import Copied
from agentctl.sandbox.lent import Lent, Opened, unseen
from receipts import named_files, seen
from shield.types import FileIdentity, FileRole


@pytest.fixture
def own(shared: Path) -> Path:
    """What the command has in the place of `shared`."""
    return shared.parent / "own"


@pytest.fixture(autouse=True)
def open_files() -> Iterator[None]:
    """Nothing is left open."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


def both(shared: Path, files: list[FileIdentity], lent: Lent | None = None) -> list[Copied | Opened]:
    return [means(seen(shared), files, lent) for means in (Copied, Opened)]


def reads(path: Path, **changes) -> FileIdentity:
    [found] = named_files(read=[str(path)])
    return replace(found, **changes)


# --- calls side by side, and the end of the session ---------------------------------------------------------------------


def test_a_call_that_begins_or_ends_takes_no_file_from_one_that_runs(shared, own):
    for old in (None, "old"):
        path = shared / f"x{old}"
        if old is not None:
            path.write_text(old)
        lent = Lent()
        first = Copied(seen(shared), named_files(write=[str(path)]), lent)
        assert first.bring() == []
        (own / path.name).write_text("one")
        second = Copied(seen(shared), named_files(write=[str(path)]), lent)
        assert second.bring() == []
        assert (own / path.name).read_text() == "one"
        assert first.take_back() == []
        assert path.read_text() == "one"
        (own / path.name).write_text("two, later")
        assert second.take_back() == []
        assert path.read_text() == "two, later"


def test_it_is_brought_anew_when_nobody_has_it(shared, own):
    path, lent = shared / "x", Lent()
    for text in ("one", "two"):
        path.write_text(text)
        call = Copied(seen(shared), named_files(read=[str(path)]), lent)
        assert call.bring() == []
        assert (own / "x").read_text() == text
        (own / "x").write_text("of code")
        assert call.take_back() == []
        assert path.read_text() == text
    path.unlink()
    assert Copied(seen(shared), named_files(read=[str(path)]), lent).bring() == []
    assert (own / "x").read_text() == "of code"  # which was left among the sandboxed ones


def test_a_copy_goes_when_what_it_was_of_is_gone(shared, own):
    path, lent = shared / "x", Lent()
    path.write_text("one")
    call = Copied(seen(shared), named_files(read=[str(path)]), lent)
    assert [*call.bring(), *call.take_back()] == []
    path.unlink()
    assert Copied(seen(shared), named_files(read=[str(path)]), lent).bring() == []
    assert list(own.iterdir()) == []


def test_what_is_removed_with_the_session_is_not_deleted_outside(shared, own):
    (shared / "x").write_text("one")
    lent = Lent()
    call = Copied(seen(shared), named_files(write=[str(shared / "x")]), lent)
    assert call.bring() == []
    lent.close()
    (own / "x").unlink()
    [note] = call.take_back()
    assert "the session has ended" in note
    assert (shared / "x").read_text() == "one"


def test_what_was_made_for_two_calls_stays_while_one_runs(shared):
    path, lent = shared / "x", Lent()
    first, second = (Opened(seen(shared), named_files(write=[str(path)]), lent) for _ in range(2))
    assert [*first.bring(), *second.bring(), *first.take_back()] == []
    assert list(second.rights.values()) == [True]
    assert path.exists()
    assert second.take_back() == []
    assert not path.exists()


def test_names_are_not_remembered_for_ever(shared, monkeypatch):
    monkeypatch.setattr(lending, "_MAX_KNOWN", 3)
    lent = Lent()
    held = Copied(seen(shared), named_files(write=[str(shared / "held")]), lent)
    held.bring()
    for index in range(9):
        call = Copied(seen(shared), named_files(write=[str(shared / f"x{index}")]), lent)
        assert [*call.bring(), *call.take_back()] == []
    assert len(lent.known) <= 3
    assert str(shared / "held") in lent.known
    held.take_back()


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


def test_a_folder_that_is_to_be_deleted_stays_and_that_is_said(shared):
    (shared / "d").mkdir()
    call = Copied(seen(shared), named_files(delete=[str(shared / "d")]))
    notes = call.bring()
    assert "it is no file" in notes[0]
    assert call.take_back() == []
    assert (shared / "d").is_dir()
