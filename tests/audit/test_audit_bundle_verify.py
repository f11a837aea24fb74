"""Verifying a bundle: the same verdict as of the database it was made from, and each broken twin is found."""

import shutil

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.export import export_bundle
from audit.query import Filter
from audit.verify import Outcome, Outside, verify_log
from audit_attacks import (
    LATE,
    ROTATED,
    SIZE,
    edited,
    leaves_of,
    plain,
    rewrite,
    rotated,
    stored_notes,
)
from audit_support import Home


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles")
    for name, original in (("plain", plain()), ("rotated", rotated())):
        key = original.home.key.verifier
        export_bundle(original.home.db, folder / name, key)
        export_bundle(original.home.db, folder / f"{name}-some", key, Filter(start=250, stop=290))
    return folder


@pytest.fixture
def copied(bundles, tmp_path):
    def copy(name):
        return shutil.copytree(bundles / name, tmp_path / name)

    return copy


@pytest.mark.parametrize("original", [plain, rotated])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_whole_bundle_gives_the_report_of_its_database(bundles, original, jobs):
    kept = original()
    outside = Outside(since=[kept.remembered], notes=[kept.witnessed], witnesses=[kept.witness])
    key = kept.home.key.verifier
    report = verify_log(bundles / original.__name__, key, outside=outside, jobs=jobs)
    assert report.outcome is Outcome.OK, report.reason
    assert (report.records, report.presented, report.confirmed, report.since) == (SIZE, SIZE, SIZE, 256)
    assert report == verify_log(kept.home.db, key, outside=outside)


def test_any_key_of_the_chain_will_do(bundles):
    kept = rotated()
    assert kept.old is not None
    for key in (kept.old.verifier, kept.home.key.verifier):
        assert verify_log(bundles / "rotated", key).outcome is Outcome.OK
        assert verify_log(kept.home.db, key).outcome is Outcome.OK
    assert verify_log(bundles / "rotated", plain().home.key.verifier).outcome is Outcome.TAMPERED


@pytest.mark.parametrize("name", ["plain", "rotated"])
def test_a_selection_says_how_much_was_presented(bundles, name):
    kept = plain() if name == "plain" else rotated()
    report = verify_log(bundles / f"{name}-some", kept.home.key.verifier, outside=[kept.witnessed], selection=True)
    assert report.outcome is Outcome.OK, report.reason
    # the record that changes the key is always there
    assert (report.records, report.presented) == (SIZE, 40 if name == "plain" else 41)
    assert (report.signed, report.confirmed, report.unsealed) == (SIZE, SIZE, 0)


def lines(folder):
    return (folder / "records.jsonl").read_bytes().splitlines(keepends=True)


def write_lines(folder, some):
    (folder / "records.jsonl").write_bytes(b"".join(some))


def edit_line(folder, at):
    some = lines(folder)
    changed = some[at].replace(b'"number":', b'"nombre":')
    assert changed != some[at]
    write_lines(folder, [*some[:at], changed, *some[at + 1 :]])


def swap_lines(folder, at):
    some = lines(folder)
    some[at], some[at + 1] = some[at + 1], some[at]
    write_lines(folder, some)


def flip(path, at=5):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


def replace(path, old, new):
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))


def notes_file(notes):
    return "".join(f"{len(note.encode())}\n{note}" for note in notes)


def without_note(folder, size):
    notes = stored_notes(plain().home.db)
    (folder / "checkpoints").write_text(notes_file(note for at, note in sorted(notes.items()) if at != size))


def note_under_other_text(folder):
    notes = stored_notes(plain().home.db)
    notes[256] = notes[256].replace("\n256\n", "\n257\n")
    (folder / "checkpoints").write_text(notes_file(note for _, note in sorted(notes.items())))


WHOLE = {  # name: (change, first bad record)
    "a record edited": (lambda b: edit_line(b, LATE), LATE),
    "two records swapped": (lambda b: swap_lines(b, 300), 300),
    "a record twice": (lambda b: write_lines(b, [*lines(b), lines(b)[-1]]), SIZE),
    "a newline missing at the end": (lambda b: write_lines(b, [*lines(b)[:-1], lines(b)[-1][:-1]]), None),
    "an endless line": (lambda b: write_lines(b, [b"x" * 70_000]), None),
    "a tile flipped": (lambda b: flip(b / "tile/0/000", 40), 1),
    "a tile gone": (lambda b: (b / "tile/0/001").unlink(), 256),
    "the edge flipped": (lambda b: flip(b / "tile/0/002.p/89"), 512),
    "the edge of level 1 flipped": (lambda b: flip(b / "tile/1/000.p/2"), None),
    "the edge of level 1 gone": (lambda b: (b / "tile/1/000.p/2").unlink(), None),
    "a tile too many": (lambda b: shutil.copy(b / "tile/0/001", b / "tile/0/002"), None),
    "an entry bundle flipped": (lambda b: flip(b / "tile/entries/001", 90), None),
    "an entry bundle gone": (lambda b: (b / "tile/entries/000").unlink(), None),
    "a stranger among the tiles": (lambda b: (b / "tile/entries/notes.txt").write_text("x"), None),
    "a tile that is a folder": (lambda b: ((b / "tile/0/001").unlink(), (b / "tile/0/001").mkdir()), 256),
    "a tile that is a link": (
        lambda b: ((b / "tile/0/001").rename(b / "moved"), (b / "tile/0/001").symlink_to(b / "moved")),
        256,
    ),
    "the first checkpoint left out": (lambda b: without_note(b, 0), 0),
    "the newest checkpoint left out": (lambda b: without_note(b, SIZE), None),
    "a checkpoint of another size": (note_under_other_text, 100),
    "checkpoints gone": (lambda b: (b / "checkpoints").unlink(), 0),
    "checkpoints with noise": (lambda b: (b / "checkpoints").write_text("12\nx"), None),
    "checkpoint malformed": (lambda b: (b / "checkpoint").write_text("noise\n"), None),
    "the key gone": (lambda b: (b / "audit.vkey").unlink(), None),
    "another key": (lambda b: (b / "audit.vkey").write_text(f"{rotated().home.key.verifier.line()}\n"), None),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_broken_bundle_is_found(copied, name):
    change, bad = WHOLE[name]
    bundle = copied("plain")
    change(bundle)
    key = plain().home.key.verifier
    report = verify_log(bundle, key)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, bad), report.reason
    assert verify_log(bundle, key, jobs=2) == report


SOME = {
    "a record edited": (lambda b: edit_line(b, 3), 253),
    "two records swapped": (lambda b: swap_lines(b, 7), 257),
    "a record twice": (lambda b: write_lines(b, [*lines(b), lines(b)[-1]]), 289),
    "a tile flipped at a record": (lambda b: flip(b / "tile/0/000", 251 * 32), 251),
    "a tile flipped before the first": (lambda b: flip(b / "tile/0/000", 249 * 32), 250),
    "a tile flipped elsewhere": (lambda b: flip(b / "tile/0/002.p/89"), 400),
    "a tile of level 1 flipped": (lambda b: flip(b / "tile/1/000.p/2"), None),
    "a tile gone": (lambda b: (b / "tile/0/002.p/89").unlink(), None),
    "the first checkpoint left out": (lambda b: without_note(b, 0), 0),
    "entries beside a selection": (
        lambda b: ((b / "tile/entries").mkdir(), shutil.copy(b / "tile/0/000", b / "tile/entries/000")),
        None,
    ),
}


@pytest.mark.parametrize("name", SOME)
def test_a_broken_selection_is_found(copied, name):
    change, bad = SOME[name]
    bundle = copied("plain-some")
    change(bundle)
    report = verify_log(bundle, plain().home.key.verifier)
    assert report.outcome is Outcome.TAMPERED, report
    if name != "a tile gone":  # of which it is open whether records or tree are looked at first
        assert report.bad == bad, report.reason


def test_a_selection_without_the_record_that_changes_the_key_does_not_pass(copied):
    bundle = copied("rotated-some")
    write_lines(bundle, [line for line in lines(bundle) if b'"kind":"key.rotate"' not in line])
    kept = rotated()
    assert kept.old is not None
    for key in (kept.old.verifier, kept.home.key.verifier):
        assert verify_log(bundle, key).outcome is Outcome.TAMPERED


def test_what_is_no_bundle_of_this_log_cannot_be_told(copied, tmp_path):
    key = plain().home.key.verifier
    for gone in ("records.jsonl", "checkpoint"):
        bundle = copied("plain")
        (bundle / gone).unlink()
        assert verify_log(bundle, key).outcome is Outcome.CANNOT_TELL
        shutil.rmtree(bundle)
    assert verify_log(tmp_path, key).outcome is Outcome.CANNOT_TELL
    other = Home("test.example/other")
    assert verify_log(copied("plain"), other.key.verifier).outcome is Outcome.CANNOT_TELL


def test_a_rewritten_and_signed_bundle_is_shown_by_a_checkpoint_from_outside(tmp_path):
    kept = plain()
    path = shutil.copy(kept.home.db, tmp_path / "audit.db")
    rewrite(path, edited(leaves_of(path), LATE), kept.home.key)
    export_bundle(path, tmp_path / "bundle", kept.home.key.verifier)
    assert verify_log(tmp_path / "bundle", kept.home.key.verifier).outcome is Outcome.OK
    report = verify_log(tmp_path / "bundle", kept.home.key.verifier, outside=[kept.witnessed])
    assert (report.outcome, report.confirmed) == (Outcome.TAMPERED, None)


def test_other_files_at_the_top_are_nobodys_business(copied):
    bundle = copied("plain")
    (bundle / "README").write_text("how this came about")
    assert verify_log(bundle, plain().home.key.verifier).outcome is Outcome.OK


def test_a_selection_passes_only_where_one_was_asked_for(bundles, tmp_path):
    """Anyone can take records out of a bundle, without any key."""
    kept = rotated()
    report = verify_log(bundles / "rotated-some", kept.home.key.verifier, outside=[kept.witnessed])
    assert report.outcome is Outcome.CANNOT_TELL
    assert (report.signed, report.confirmed, report.presented) == (SIZE, SIZE, 41)
    key = tmp_path / "audit.vkey"
    shutil.copy(bundles / "rotated" / "audit.vkey", key)
    asked = ["verify", str(bundles / "rotated-some"), "--key", str(key)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 2
    assert f"a selection of 41 of {SIZE} records; ask for it" in done.output
    done = CliRunner().invoke(main, [*asked, "--selection"])
    assert done.exit_code == 0, done.output
    assert f"a selection: 41 of {SIZE} records presented, the others not judged" in done.output
    assert "the key came with the bundle" not in done.output
    assert ROTATED in range(SIZE)


def test_a_key_that_came_with_the_bundle_is_no_proof(bundles):
    done = CliRunner().invoke(main, ["verify", str(bundles / "plain"), "--key", str(bundles / "plain" / "audit.vkey")])
    assert done.exit_code == 0, done.output
    assert "note: the key came with the bundle: it shows nothing of who wrote it" in done.output
