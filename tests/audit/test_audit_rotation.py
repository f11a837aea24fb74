import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit import keys
from audit.chain import Rotation
from audit.checkpoint import Checkpoint
from audit.cli import main
from audit.entry import Draft
from audit.errors import EntryError, KeyFileError, KindError, LogForeignError, PassphraseError, WriteFailedError
from audit.kinds import Kind, KindTable
from audit.log import Log
from audit.note import SigningKey, VerifyKey, split_note
from audit.reader import key_chain
from audit.rotation import rotate
from audit.schema import reading
from audit.verify import Outcome, verify_log
from audit_support import KINDS, NEVER, Home, decision
from terminal import Terminal

TABLE = KindTable.of([*KINDS.kinds, Kind(name="key.rotate")])


def opened(home, *, create=False, key=None, kinds=TABLE):
    log = Log.open(
        home.db,
        key=key or home.key,
        checkpoint_file=home.checkpoint,
        kinds=kinds,
        clock=home.clock,
        create=create,
        seal_every_ms=NEVER,
    )
    log.append(Draft(kind="log.open", body={}))
    return log


def fresh(home):
    return SigningKey(home.key.name, Ed25519PrivateKey.generate())


def chain(home, key=None):
    with reading(home.db) as database:
        return key_chain(database, (key or home.key).verifier)


def notes(home):
    database = sqlite3.connect(home.db)
    try:
        return dict(database.execute("SELECT size, note FROM checkpoints ORDER BY size"))
    finally:
        database.close()


def ok(home, key, outside=()):
    report = verify_log(home.db, key.verifier, outside=[home.checkpoint.read_text(), *outside])
    assert report.outcome is Outcome.OK, report.reason
    return report


# -- in the log --------------------------------------------------------------------------------------------------


def test_the_old_key_signs_up_to_the_change_both_sign_its_end_and_the_new_one_the_rest():
    home = Home()
    new = fresh(home)
    with opened(home, create=True) as log:
        log.append(decision(1))
        before = log.checkpoint()
        log.append(decision(2))
        done = log.rotate(new, {"reason": "yearly"})
        assert (done.seq, log.size, log.unsealed, log.key) == (3, 4, 0, new.verifier)
        record = next(iter(log.records(3))).envelope
        assert (record.kind, record.ref) == ("key.rotate", None)
        assert record.body == {"reason": "yearly", "log": Rotation(3, home.key.verifier, new.verifier).as_json()}
        at_change = log.note
        log.append(decision(3))
        after = log.checkpoint()
        assert log.prove(1).verify(next(iter(log.records(1))).leaf, new.verifier).size == 5
    ids = lambda note: [one.id for one in split_note(note)[1]]  # noqa: E731 - a name for a call
    old_id, new_id = home.key.verifier.id, new.verifier.id
    assert (ids(before), ids(at_change), ids(after)) == ([old_id], [old_id, new_id], [new_id])
    assert set(notes(home)) == {0, 2, 4, 5}
    for trusted in (home.key, new):
        ok(home, trusted, outside=[before, at_change, after])
    assert chain(home).at(4) == (home.key.verifier, new.verifier)


def test_a_log_opens_with_its_newest_key_alone_and_takes_a_checkpoint_file_of_before_the_change():
    home = Home()
    new = fresh(home)
    with opened(home, create=True) as log:
        log.append(decision(1))
        old_note = log.checkpoint()
        log.rotate(new, {})
    with pytest.raises(LogForeignError, match="newer"):
        opened(home)
    with pytest.raises(LogForeignError, match="none that this log has had"):
        opened(home, key=fresh(home))
    home.checkpoint.write_text(old_note)
    with opened(home, key=new) as log:
        newer = fresh(home)
        log.append(decision(2))
        log.rotate(newer, {})
        log.rotate(fresh(home), {})
    assert len(chain(home).keys) == 4
    for key in (home.key, new, newer):
        ok(home, key, outside=[old_note])


def test_only_the_log_writes_the_change_and_only_to_a_key_that_can_follow():
    home = Home()
    with opened(home, create=True) as log:
        with pytest.raises(EntryError, match="`rotate` alone"):
            log.append(Draft(kind="key.rotate", body={}))
        new = fresh(home)
        for key, body in (
            (home.key, {}),
            (SigningKey("test.example/other", new.private), {}),
            (new, {"log": {}}),
            (new, {"x": 0.5}),
        ):
            with pytest.raises(EntryError):
                log.rotate(key, body)
        log.rotate(new, {})
        with pytest.raises(EntryError, match="none before had"):
            log.rotate(home.key, {})
        assert log.healthy.ok
        assert log.append(decision(1)).seq == 2
    ok(home, new)
    other = Home()
    with opened(other, create=True, kinds=KINDS) as log, pytest.raises(KindError, match="add it to the table"):
        log.rotate(fresh(other), {})


def test_before_log_open_nothing_is_rotated():
    home = Home()
    log = Log.open(home.db, key=home.key, checkpoint_file=home.checkpoint, kinds=TABLE, clock=home.clock, create=True)
    with log:
        with pytest.raises(KindError, match=r"log\.open"):
            log.rotate(fresh(home), {})
        assert (log.size, log.key) == (0, home.key.verifier)
        log.append(Draft(kind="log.open", body={}))
    ok(home, home.key)


@pytest.mark.parametrize("reached", [True, False])
def test_a_change_whose_commit_failed_counts_if_it_reached_the_disk(reached):
    home = Home()
    new = fresh(home)
    log = opened(home, create=True)
    log.append(decision(1))
    if reached:
        os.mkdir(f"{home.checkpoint}.new")  # durable, but its checkpoint cannot be kept outside
    else:
        log._store._database.execute("PRAGMA busy_timeout = 1")
        holder = sqlite3.connect(home.db, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(WriteFailedError):
        log.rotate(new, {})
    assert not log.healthy.ok
    if reached:
        os.rmdir(f"{home.checkpoint}.new")
    else:
        holder.execute("ROLLBACK")
        holder.close()
    assert log.append(decision(2)).seq == 2 + reached
    assert log.key == (new if reached else home.key).verifier
    log.close()
    ok(home, new if reached else home.key)


@pytest.mark.parametrize("committed", [True, False])
def test_a_store_that_does_not_know_whether_the_change_was_committed_finds_out(committed):
    home = Home()
    new = fresh(home)
    with opened(home, create=True) as log:
        log.append(decision(1))
        store, state = log._store, log._store.state
        if committed:
            log.rotate(new, {})
            # as if COMMIT had reported an error
            store._inflight, store._successor, store.key, store.state = [store.state.prev], new, home.key, state
        else:
            store._successor = new
        log._writer._latch = "an error"
        for note in (log.checkpoint(), home.checkpoint.read_text()):  # what is published is signed by both
            assert chain(home).open(note).size == 2 + committed
        assert log.append(decision(2)).seq == 2 + committed
        assert log.key == (new if committed else home.key).verifier
        assert log.rotate(fresh(home), {}).seq == 3 + committed
    ok(home, home.key)


# -- on disk -----------------------------------------------------------------------------------------------------


def rotated(home, *, passphrase=None):
    """A log whose key was changed, and its key directory before and after."""
    folder = home.path / "keys"
    with opened(home, create=True) as log:
        log.append(decision(1))
        shutil.copytree(folder, home.path / "before")
        shutil.copy(home.db, home.path / "before.db")
        rotate(log, folder, {}, passphrase=passphrase)
        log.append(decision(2))
    shutil.copytree(folder, home.path / "after")
    return folder


def next_file(home):
    after = home.path / "after"
    return (after / "audit.vkey").read_bytes() + (after / "audit.pem").read_bytes()


def test_the_files_change_with_the_log():
    home = Home()
    folder = rotated(home)
    assert sorted(os.listdir(folder)) == ["audit.pem", "audit.vkey"]
    assert {os.stat(folder / name).st_mode & 0o777 for name in os.listdir(folder)} == {0o600}
    key = keys.load(folder)
    assert key.verifier != home.key.verifier
    with opened(home, key=key) as log:
        assert log.append(decision(3)).seq == 5
    for trusted in (home.key, key):
        ok(home, trusted)


def test_the_old_private_key_is_overwritten_where_it_lay():
    home = Home()
    folder = home.path / "keys"
    os.link(folder / "audit.pem", home.path / "another name of it")
    with opened(home, create=True) as log:
        rotate(log, folder, {})
    assert set((home.path / "another name of it").read_bytes()) == {0}
    assert keys.load(folder).verifier == chain(home).newest


STAGES = {
    # what a crash leaves: (audit.pem, audit.vkey, audit.next, whether the record is durable)
    "before the record": ("old", "old", True, False),
    "after the record": ("old", "old", True, True),
    "public half changed": ("old", "new", True, True),
    "old key overwritten": ("zeros", "new", True, True),
    "old key gone": (None, "new", True, True),
    "both halves changed": ("new", "new", True, True),
    "all done": ("new", "new", False, True),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_crash_at_any_stage_leaves_a_key_that_the_log_takes(stage):
    home = Home()
    folder = rotated(home)
    private, public, aside, durable = STAGES[stage]
    if aside:
        (folder / "audit.next").write_bytes(next_file(home))
        (folder / "audit.next").chmod(0o600)
    (folder / "audit.pem.new").write_bytes(b"half")
    (folder / "audit.vkey.new").write_bytes(b"half")
    old = (home.path / "before" / "audit.pem").read_bytes()
    if private is None:
        (folder / "audit.pem").unlink()
    else:
        (folder / "audit.pem").write_bytes(
            {"old": old, "zeros": bytes(len(old)), "new": (home.path / "after" / "audit.pem").read_bytes()}[private]
        )
    source = "before" if public == "old" else "after"
    shutil.copy(home.path / source / "audit.vkey", folder / "audit.vkey")
    if not durable:
        shutil.copy(home.path / "before.db", home.db)
        home.checkpoint.write_text(notes(home)[0])
    if aside and public == "old":
        with pytest.raises(KeyFileError, match="together with its log"):
            keys.load(folder)
    key = keys.load(folder, log=home.db)
    assert (key.verifier == home.key.verifier) is not durable
    with opened(home, key=key) as log:
        log.append(decision(7))
        rotate(log, folder, {})  # and it can be changed again, whatever was left aside
        assert sorted(name for name in os.listdir(folder) if name.startswith("audit")) == ["audit.pem", "audit.vkey"]
        assert keys.load(folder).verifier == log.key
    ok(home, home.key)


def test_a_record_that_nobody_signed_changes_no_key():
    home = Home()
    folder = home.path / "keys"
    with opened(home, create=True) as log:
        log.append(decision(1))
    stranger = fresh(home)
    (folder / "audit.next").write_bytes(f"{stranger.verifier.line()}\n".encode() + keys.as_pem(stranger, None))
    (folder / "audit.next").chmod(0o600)
    database = sqlite3.connect(home.db)
    with database:
        body = Rotation(2, home.key.verifier, stranger.verifier).as_json()
        row = database.execute("SELECT leaf FROM entries WHERE seq = 1").fetchone()[0]
        leaf = json.loads(row)
        leaf |= {"seq": 2, "kind": "key.rotate", "body": {"log": body}, "call_id": None, "prev": "0" * 64}
        forged = json.dumps(leaf, sort_keys=True, separators=(",", ":"))
        database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (2, ?, zeroblob(32))", (forged,))
    database.close()
    assert chain(home).newest == stranger.verifier  # so the bare records say
    assert keys.load(folder, log=home.db).verifier == home.key.verifier
    assert (folder / "audit.pem").read_bytes() == keys.as_pem(home.key, None)


def test_a_refused_change_leaves_nothing_aside_and_another_logs_folder_is_refused():
    home, other = Home(), Home("test.example/01L")
    with opened(home, create=True) as log:
        with pytest.raises(EntryError):
            rotate(log, home.path / "keys", {"log": 1})
        assert sorted(os.listdir(home.path / "keys")) == ["audit.pem", "audit.vkey"]
        with pytest.raises(KeyFileError, match="another log"):
            rotate(log, other.path / "keys", {})
        assert log.size == 1
        os.chmod(home.path / "keys", 0o755)
        with pytest.raises(KeyFileError, match="0700"):
            rotate(log, home.path / "keys", {})
    ok(home, home.key)


class Dies:
    """A log whose process ends before it records the next change."""

    def __init__(self, log):
        self.name, self.log = log.name, log

    @property
    def key(self):
        return self.log.key

    def checkpoint(self):
        return self.log.checkpoint()

    def rotate(self, new, body):
        raise KeyboardInterrupt


@pytest.mark.parametrize("known", [True, False])
def test_a_change_that_failed_but_was_recorded_is_finished_before_the_next(known):
    home = Home()
    folder = home.path / "keys"
    with opened(home, create=True) as log:
        store, state = log._store, log._store.state
        os.mkdir(f"{home.checkpoint}.new")  # the change is durable, but its checkpoint cannot be kept outside
        with pytest.raises(WriteFailedError):
            rotate(log, folder, {})
        os.rmdir(f"{home.checkpoint}.new")
        aside = VerifyKey.parse((folder / "audit.next").read_text().partition("\n")[0])
        if not known:  # as if COMMIT had reported an error
            store._inflight, store._successor, store.key, store.state = [store.state.prev], store.key, home.key, state
        with pytest.raises(KeyboardInterrupt):
            rotate(Dies(log), folder, {})
    key = keys.load(folder, log=home.db)
    assert key.verifier == aside
    with opened(home, key=key) as log:
        rotate(log, folder, {})
        assert keys.load(folder).verifier == log.key
    ok(home, home.key)


def test_a_folder_whose_key_is_not_in_force_is_refused():
    home = Home()
    with opened(home, create=True) as log:
        shutil.copytree(home.path / "keys", home.path / "copy")
        rotate(log, home.path / "keys", {})
        with pytest.raises(KeyFileError, match="not the one in force"):
            rotate(log, home.path / "copy", {})
        assert sorted(os.listdir(home.path / "copy")) == ["audit.pem", "audit.vkey"]
        assert log.size == 2


@pytest.mark.parametrize("content", [b"", b"noise", b"noise\nnoise", b"\xff\n\xff"])
def test_a_file_left_aside_that_is_no_key_stops_the_start(content):
    home = Home()
    home.fill(2)
    (home.path / "keys" / "audit.next").write_bytes(content)
    (home.path / "keys" / "audit.next").chmod(0o600)
    with pytest.raises(KeyFileError, match="holds no key"):
        keys.load(home.path / "keys", log=home.db)


def test_a_log_that_cannot_be_read_decides_nothing():
    home = Home()
    folder = rotated(home)
    shutil.copytree(home.path / "before", folder, dirs_exist_ok=True)
    (folder / "audit.next").write_bytes(next_file(home))
    (folder / "audit.next").chmod(0o600)
    assert keys.load(folder, log=home.path / "nothing.db").verifier == home.key.verifier
    assert (folder / "audit.next").exists()
    assert keys.load(folder, log=home.db).verifier == chain(home).newest
    assert not (folder / "audit.next").exists()


KILLER = Path(__file__).with_name("rotation_killed.py")


def test_killed_before_any_step_the_key_on_disk_is_the_one_in_force():
    """SIGKILL before each file operation of a change, one process each."""
    done = subprocess.run(
        [sys.executable, str(KILLER)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    steps, undone = map(int, done.stdout.split())
    assert 0 < undone < steps  # killed on both sides of the record


# -- the command line ---------------------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_rotate_key_from_the_command_line():
    home = Home()
    with opened(home, create=True) as log:
        log.append(decision(1))
    folder = home.path / "keys"
    options = ("--keys", folder, "--checkpoint-file", home.checkpoint)
    done = run("rotate-key", home.db, *options, "--reason", "yearly")
    assert done.exit_code == 0, done.output
    new = keys.load(folder)
    assert done.stdout.splitlines() == ["record 3: from here on the log is signed by the key", new.verifier.line()]
    with opened(home, key=new) as log:
        assert [one.envelope.body for one in log.records(2, 4)][1]["reason"] == "yearly"
        busy = run("rotate-key", home.db, *options)
        assert (busy.exit_code, "another process" in busy.output) == (2, True)
    assert keys.load(folder).verifier == new.verifier
    ok(home, home.key)
    assert run("rotate-key", home.path / "nothing.db", *options).exit_code == 2
    without = Home()
    without.fill(1)
    refused = run("rotate-key", without.db, "--keys", without.path / "keys", "--checkpoint-file", without.checkpoint)
    assert (refused.exit_code, "add it to the table" in refused.output) == (2, True)


def test_what_the_commands_take_over_unsigned_is_said():
    home = Home()
    opened(home, create=True).close()
    options = ("--keys", home.path / "keys", "--checkpoint-file", home.checkpoint)
    for count, said in ((2, "records 2 to 3 were not sealed"), (1, "record 7 was not sealed")):
        home.leave_unsealed(opened(home), count)
        done = run("rotate-key", home.db, *options)
        assert done.exit_code == 0, done.output
        assert f"note: {said} when the log was opened" in done.stderr
        home.key = keys.load(home.path / "keys")
    assert "--seq 7..7" in done.stderr
    assert "note" not in run("rotate-key", home.db, *options).stderr


def test_rotate_key_opens_only_a_log_that_holds_what_is_remembered_elsewhere():
    home, other = Home(), Home()
    opened(home, create=True).close()
    options = ("--keys", home.path / "keys", "--checkpoint-file", home.checkpoint)
    ahead = home.path / "ahead"
    ahead.write_text(Checkpoint(home.key.name, 9, bytes(32)).sign(home.key))
    cut = run("rotate-key", home.db, *options, "--outside", home.checkpoint, "--outside", ahead)
    assert (cut.exit_code, "proves 9" in cut.output) == (1, True)
    other.fill(1)
    assert run("rotate-key", home.db, *options, "--outside", other.checkpoint).exit_code == 2
    assert keys.load(home.path / "keys").verifier == home.key.verifier
    assert run("rotate-key", home.db, *options, "--outside", home.checkpoint).exit_code == 0


def test_a_key_with_a_passphrase_is_changed_for_one_with_the_same():
    home = Home()
    shutil.rmtree(home.path / "keys")
    home.key = keys.create(home.path / "keys", home.key.name, "correct horse")
    opened(home, create=True).close()
    options = ("--keys", home.path / "keys", "--checkpoint-file", home.checkpoint)
    asked = run("rotate-key", home.db, *options)
    assert (asked.exit_code, "passphrase" in asked.output) == (2, True)
    reading_end, writing_end = os.pipe()
    os.write(writing_end, b"correct horse\n")
    os.close(writing_end)
    done = run("rotate-key", home.db, *options, "--passphrase-fd", reading_end)
    assert done.exit_code == 0, done.output
    with pytest.raises(PassphraseError):
        keys.load(home.path / "keys")
    new = keys.load(home.path / "keys", "correct horse")
    assert new.verifier == chain(home).newest != home.key.verifier
    ok(home, home.key)
    assert Checkpoint.open(home.checkpoint.read_text(), new.verifier).size == 3


def test_on_a_terminal_passphrases_are_asked_for_and_not_shown():
    home = Home()
    shutil.rmtree(home.path / "keys")
    home.key = keys.create(home.path / "keys", home.key.name, "correct horse")
    opened(home, create=True).close()
    command = [sys.executable, "-P", "-m", "audit", "rotate-key", str(home.db), "--keys", str(home.path / "keys")]
    command += ["--checkpoint-file", str(home.checkpoint), "--new-passphrase"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"}
    for old, code in (("wrong", 2), ("correct horse", 0)):
        with Terminal(command, env) as terminal:
            for question, word in (
                ("New passphrase: ", "battery staple"),
                ("Repeat for confirmation: ", "battery staple"),
                ("Passphrase of the log's key: ", old),
            ):
                terminal.until(question)
                terminal.type(f"{word}\n")
            assert terminal.end() == code, terminal.seen
            assert "horse" not in terminal.seen
            assert "staple" not in terminal.seen
    assert keys.load(home.path / "keys", "battery staple").verifier == chain(home).newest != home.key.verifier
    ok(home, home.key)
