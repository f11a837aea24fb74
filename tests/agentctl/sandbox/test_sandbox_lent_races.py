"""Temporary files that calls side by side name, and the end of a session."""

import os
from dataclasses import replace

import pytest

from agentctl.sandbox import Offer, Places, Sandbox
from agentctl.sandbox import lent as lending
from agentctl.sandbox.copied import Copied
from agentctl.sandbox.lent import Lent, Opened
from agentctl.sandbox.scratch import Scratch
from receipts import named_files
from temporary_files import seen

pytestmark = pytest.mark.usefixtures("open_files")


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


def test_a_session_takes_nothing_back_once_its_folder_is_being_removed(tmp_path, monkeypatch):
    home = str(tmp_path)
    places = Places(shield_home=f"{home}/shield", workspace_roots=(), home=home, scratch=f"{home}/scratch")
    sandbox = Sandbox(places, Offer())
    closed = []
    monkeypatch.setattr(sandbox._scratch, "close", lambda: closed.append(sandbox._lent.closed))
    sandbox.close()
    assert closed == [True]


def test_a_session_that_has_ended_has_nothing_of_its_own(tmp_path):
    home = str(tmp_path)
    places = Places(shield_home=f"{home}/shield", workspace_roots=(), home=home, scratch=f"{home}/scratch")
    scratch = Scratch(places.scratch)
    assert all(map(os.path.isdir, scratch.private(places).values()))
    assert scratch.made is not None
    scratch.close()
    assert scratch.made is None


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


def test_what_is_read_and_written_and_not_there_yet_is_made(shared):
    call = Opened(seen(shared), named_files(read=[str(shared / "x")], write=[str(shared / "x")]))
    assert call.bring() == []
    assert list(call.rights.values()) == [True]
    assert call.take_back() == []


def test_an_empty_file_that_was_written_at_once_is_kept(shared):
    for index in range(20):
        path = shared / f"x{index}"
        call = Opened(seen(shared), named_files(write=[str(path)]))
        assert call.bring() == []
        path.write_text("")
        assert call.take_back() == []
        assert path.exists()
        assert path.stat().st_mode & 0o777 == 0o644


def test_no_rights_are_given_on_what_is_no_file(shared):
    """Rights on a folder would be rights on all that it holds."""
    (shared / "folder" / "x").mkdir(parents=True)
    (shared / "link").symlink_to(shared / "folder")
    os.mkfifo(shared / "fifo")
    paths = [str(shared / name) for name in ("folder", "link", "fifo", "link/x", "folder/x")]
    for files in (named_files(write=paths), [replace(each, kind=None) for each in named_files(read=paths)]):
        call = Opened(seen(shared), files)
        call.bring()
        assert call.rights == {}
        call.take_back()


def test_no_link_on_the_way_is_followed(shared, own):
    """Inside, where the command puts it; outside, where another user does."""
    keys = shared.parent / "keys"
    keys.mkdir()
    (keys / "x").write_text("SECRET")
    (shared / "d").mkdir()
    call = Copied(seen(shared), named_files(write=[str(shared / name / "x") for name in ("d", "new")]))
    assert call.bring() == []
    for name in ("d", "new"):
        (own / name).mkdir(exist_ok=True)
        (own / name).rmdir()
        (own / name).symlink_to(keys)
    assert len(call.take_back()) == 2
    assert list(shared.rglob("*")) == [shared / "d"]
    for name in ("d", "new"):
        (own / name).unlink()
        (own / name).mkdir()
        (own / name / "x").write_text("hostile")
    (shared / "d").rmdir()
    for name in ("d", "new"):
        (shared / name).symlink_to(keys)
    assert len(call.take_back()) == 2
    assert (keys / "x").read_text() == "SECRET"
    reading = named_files(read=[str(shared / "d" / "x")])
    for again in (Copied(seen(shared), reading), Opened(seen(shared), reading)):
        assert len(again.bring()) == 1
        assert "SECRET" not in (own / "d" / "x").read_text()
        again.take_back()
