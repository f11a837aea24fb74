"""The package as a program that has never heard of Shield meets it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from audit import keys
from audit.checkpoint import Checkpoint
from audit.errors import (
    EntryError,
    KeyFileError,
    KindError,
    LogBusyError,
    LogExistsError,
    LogMissingError,
    LogTruncatedError,
    NoteError,
    PassphraseError,
)
from audit.reader import kinds_in_force
from audit.verify import Outcome
from audit_support import KINDS, FakeClock, Home, decision

PACKAGE = Path(audit.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "audit-library.md"
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)
THINGS = [audit.Kind(name="thing"), audit.Kind(name="end", ref=audit.Ref.MUST, to=frozenset({"thing"}))]


@pytest.fixture
def folder(tmp_path):
    """pytest's own folders may be readable by others; keys want one that is not."""
    made = tmp_path / "f"
    made.mkdir(mode=0o700)
    return made


def begin(folder, **more):
    return audit.open(folder / "log.db", folder / "keys", THINGS, create=True, **more)


def again(folder, **more):
    return audit.open(folder / "log.db", folder / "keys", THINGS, **more)


def test_the_examples_of_the_reference_run_without_anything_else_of_the_project(folder):
    shutil.copytree(PACKAGE, folder / "alone" / "audit", ignore=shutil.ignore_patterns("__pycache__"))
    blocks = BLOCK.findall(PAGE.read_text())
    script = ["import sys", "assert 'shield' not in sys.modules"]
    expected = []
    for language, text in blocks:
        if language == "python":
            script += [text, "print('----')"]
        else:
            expected.append(text)
    done = subprocess.run(
        [sys.executable, "-P", "-c", "\n".join(script)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "alone"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("----\n") == [*expected, ""]


def test_every_name_of_the_package_loads_and_no_other_does():
    assert sorted(audit.__all__) == sorted(audit._HOME)
    for name in audit.__all__:
        assert getattr(audit, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        audit.nothing  # noqa: B018 - the look-up is the test
    from audit import verify

    assert verify.verify_log is audit.verify_log


def test_importing_the_package_loads_nothing_of_the_writer():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, audit; print([n for n in sys.modules if n.startswith('audit')])"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "['audit']\n"


def test_a_log_is_begun_with_a_key_and_a_name_of_its_own(folder):
    with begin(folder, body={"program": "test"}) as log:
        assert re.fullmatch(r"log/[0-9a-f]{32}", log.name)
        opened = next(iter(log.records())).envelope
        assert (opened.kind, opened.body["program"]) == ("log.open", "test")
        assert set(opened.body["log"]["kinds"]) == {"thing", "end", "log.open", "key.rotate", "redaction"}
        assert (folder / "log.checkpoint").exists()
        first = log.append(audit.Draft(kind="thing", body={}))
        name = log.name
    with again(folder) as log:
        assert (log.name, log.size) == (name, 3)
        log.append(audit.Draft(kind="end", body={}, ref=first.seq))
        report = log.verify()
        assert (report.outcome, report.records) == (Outcome.OK, 4)
        assert report.confirmed is None  # its own file is nothing from outside
        log.checkpoint()
        assert (log.verify().signed, log.verify().confirmed) == (4, None)
        assert log.prove(1).verify(next(iter(log.records(1))).leaf, log.key).size == 4
    assert set(kinds_in_force(folder / "log.db")._by_name) == {"thing", "end", "log.open", "key.rotate", "redaction"}


def test_nothing_is_begun_by_accident_or_twice(folder):
    with pytest.raises(KeyFileError):
        again(folder)
    begin(folder).close()
    with pytest.raises(KeyFileError, match="exists already"):
        begin(folder)
    with pytest.raises(LogExistsError):
        audit.open(folder / "log.db", folder / "other keys", THINGS, create=True)
    with again(folder), pytest.raises(LogBusyError):
        again(folder)
    (folder / "log.db").unlink()
    with pytest.raises(LogMissingError):
        again(folder)


def test_what_is_given_is_used(folder):
    with pytest.raises(NoteError):
        begin(folder, name="no name")
    key = keys.create(folder / "mine", "my.example/1")
    clock = FakeClock()
    with audit.open(folder / "a.db", key, KINDS, create=True, checkpoint_file=folder / "cp", clock=clock) as log:
        assert log.append(decision(1)).time == clock.now_ms
        remembered = log.checkpoint()
    assert (folder / "cp").exists()
    assert not (folder / "a.checkpoint").exists()
    with begin(folder, passphrase="correct horse") as log:
        log.append(audit.Draft(kind="thing", body={}))
    with pytest.raises(PassphraseError):
        again(folder)
    with again(folder, passphrase="correct horse") as log:
        note = log.checkpoint()
    again(folder, passphrase="correct horse", outside=[note]).close()
    shutil.copy(folder / "a.db", folder / "b.db")
    with audit.open(folder / "a.db", key, KINDS, checkpoint_file=folder / "cp") as log:
        ahead = log.checkpoint()
    (folder / "b.checkpoint").write_text(remembered)
    with pytest.raises(LogTruncatedError, match="elsewhere"):
        audit.open(folder / "b.db", key, KINDS, outside=[remembered, ahead])
    audit.open(folder / "b.db", key, KINDS, outside=[remembered]).close()


def test_what_cannot_begin_lets_the_log_go(folder):
    with pytest.raises(EntryError, match="the log's own"):
        begin(folder, body={"log": 1})
    with again(folder) as log:  # the lock is free, and the log is there, still empty
        assert log.size == 1
    with pytest.raises(KindError):
        audit.open(folder / "x.db", folder / "k", [audit.Kind(name="a", then=frozenset({"b"}))], create=True)
    assert not (folder / "k").exists()


def test_a_lost_beginning_is_seen_from_within():
    home = Home()
    with home.open(create=True) as log:
        log.append(decision(1))
        log.checkpoint()
        whole = home.checkpoint.read_text()
        for note, outcome in (
            (Checkpoint(log.name, 9, bytes(32)).sign(home.key), Outcome.TAMPERED),  # it held more
            (Checkpoint(log.name, 1, bytes(32)).sign(home.key), Outcome.TAMPERED),  # it held others
            (whole.replace("\n2\n", "\n1\n"), Outcome.CANNOT_TELL),
            ("\x00", Outcome.CANNOT_TELL),
            (whole, Outcome.OK),
        ):
            home.checkpoint.write_text(note)
            report = log.verify()
            assert (report.outcome, report.confirmed) == (outcome, None)
            assert ("proves 9" in (report.reason or "")) == ("\n9\n" in note)
        home.checkpoint.unlink()
        assert (log.verify().outcome, log.verify().confirmed) == (Outcome.OK, None)
