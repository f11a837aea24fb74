import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from audit.cli import main
from audit.entry import MAX_PRIVATE, Draft, Private
from audit.errors import (
    EntryError,
    KeyFileError,
    KindError,
    LogBusyError,
    LogDamagedError,
    LogForeignError,
    PrivateError,
    WriteFailedError,
)
from audit.kinds import Kind, KindTable, Ref
from audit.log import Log
from audit.private import MasterKey, commitment, create_master, find, load_master, open_private
from audit.redaction import Redaction, count
from audit.schema import OBJECTS
from audit.verify import Outcome, verify_log
from audit_support import KINDS, NEVER, Home, decision
from scale import scale, seed
from terminal import Terminal

TABLE = KindTable.of([*KINDS.kinds, Kind(name="redaction", ref=Ref.MUST), Kind(name="forget")])
MASTER = MasterKey(b"m" * 32)


def opened(home, *, master=MASTER, create=False, **more):
    log = Log.open(
        home.db,
        key=home.key,
        checkpoint_file=home.checkpoint,
        kinds=TABLE,
        clock=home.clock,
        create=create,
        seal_every_ms=NEVER,
        master=master,
        **more,
    )
    log.append(Draft(kind="log.open", body={}))
    return log


def private(content=b"what was asked"):
    return Private(salt=os.urandom(32), content=content)


def kept(number, content=b"what was asked", session="s1"):
    """A decision that commits to its content, and what is kept beside it."""
    one = private(content)
    body = {"decision": "ALLOW", "number": number, "args": {"commit": commitment(one.salt, content)}}
    return Draft(kind="decision", body=body, session=session, call_id=f"call-{number}", private=one)


def rows(home, sql):
    database = sqlite3.connect(home.db)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def master_file(home, folder=None):
    file = (folder or home.path) / "private.key"
    file.write_text(MASTER.raw.hex() + "\n")
    file.chmod(0o600)
    return file


def all_bytes(home):
    # by another process: closing a file in this one would let go of SQLite's locks on it
    return subprocess.run(["cat", *glob.glob(f"{home.db}*")], capture_output=True, check=True).stdout


def ok(home):
    report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
    assert report.outcome is Outcome.OK, report.reason
    return report


# -- keeping ----------------------------------------------------------------------------------------------------


def test_what_is_kept_opens_with_the_master_key_and_is_what_the_record_commits_to():
    home = Home()
    drafts = [kept(1), kept(2, b""), kept(3, session=None), kept(4, session="s2")]
    with opened(home, create=True) as log:
        places = [log.append(draft).seq for draft in drafts]
        bodies = {one.envelope.seq: one.envelope.body for one in log.records()}
        for seq, draft in zip(places, drafts, strict=True):
            found = open_private(home.db, seq, MASTER)
            assert (found.salt, found.content) == (draft.private.salt, draft.private.content)
            assert find(bodies[seq], commitment(found.salt, found.content)) == ["args.commit"]
    assert rows(home, "SELECT session FROM private_keys ORDER BY session") == [("",), ("s1",), ("s2",)]
    with opened(home) as log:  # the session goes on with its key
        log.append(kept(5))
        assert open_private(home.db, 6, MASTER).content == b"what was asked"
    assert len(rows(home, "SELECT 1 FROM private_keys")) == 3
    ok(home)


def test_nothing_of_it_stands_in_the_files_in_clear():
    home = Home()
    draft = kept(1, b"the PIN of the door is 471108, " + b"x" * 6000)
    with opened(home, create=True) as log:
        log.append(draft)
        shown = repr(draft) + repr(MASTER)
        for secret in (b"of the door is 471108", draft.private.salt, MASTER.raw, MASTER.raw.hex().encode()):
            assert secret not in all_bytes(home)
            assert repr(secret)[2:-1] not in shown
    assert b"of the door is 471108" not in all_bytes(home)


def test_without_a_master_key_nothing_is_kept_and_nothing_recorded():
    home = Home()
    with opened(home, master=None, create=True) as log:
        with pytest.raises(EntryError, match="master key"):
            log.append(kept(1))
        assert log.append(replace(kept(1), private=None)).seq == 1


@pytest.mark.parametrize(
    "bad",
    [
        Private(salt=b"short", content=b""),
        Private(salt="x" * 32),
        Private(salt=bytes(32), content="text"),
        Private(salt=bytes(32), content=bytes(MAX_PRIVATE + 1)),
    ],
)
def test_what_cannot_be_kept_is_refused_at_the_door(bad):
    home = Home()
    with opened(home, create=True) as log, pytest.raises(EntryError, match="private to a record"):
        log.submit(replace(decision(1), private=bad))


def test_a_repeated_call_keeps_nothing_again():
    home = Home()
    with opened(home, create=True) as log:
        first = log.append(kept(1))
        sealed = rows(home, "SELECT * FROM private")
        again = replace(decision(1), body=next(iter(log.records(1))).envelope.body, agent=None, private=private())
        assert log.append(again) == replace(first, duplicate=True)
        both = [log.submit(replace(decision(2), private=private())) for _ in range(2)]  # in one group
        assert {one.result(30).seq for one in both} == {2}
        assert log.append(replace(decision(3), private=private())).seq == 3
        mixed = [log.submit(replace(decision(number), private=private())) for number in (4, 2)]
        assert [one.result(30).seq for one in mixed] == [4, 2]
    assert rows(home, "SELECT * FROM private WHERE seq = 1") == sealed
    assert rows(home, "SELECT seq FROM private") == [(1,), (2,), (3,), (4,)]
    for seq in (1, 2, 3, 4):
        open_private(home.db, seq, MASTER)


def test_a_refused_draft_leaves_nothing_behind():
    home = Home()
    with opened(home, create=True) as log, pytest.raises(KindError):
        log.append(Draft(kind="outcome", body={}, ref=99, session="gone", private=private()))
    assert rows(home, "SELECT (SELECT count(*) FROM private), (SELECT count(*) FROM private_keys)") == [(0, 0)]


def test_a_session_key_of_a_transaction_that_failed_is_not_used_again():
    home = Home()
    log = opened(home, create=True)
    log._store._database.execute("PRAGMA busy_timeout = 1")
    holder = sqlite3.connect(home.db, isolation_level=None)
    log.append(kept(1, session="s1"))
    # The key of "s9" is made inside a transaction that cannot be committed: the row for it is taken away again.
    log._store._database.execute(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON tiles BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(Exception, match="no"):
        log.append(kept(2, session="s9"))
    holder.close()
    assert log.append(kept(2, session="s9")).seq == 2  # after recovery: a new connection without the trigger
    log.close()
    assert open_private(home.db, 2, MASTER).content == b"what was asked"


def test_another_master_key_does_not_open_the_log():
    home = Home()
    with opened(home, create=True) as log:
        log.append(kept(1))
    other = MasterKey(b"o" * 32)
    with pytest.raises(LogForeignError, match="master key"):
        opened(home, master=other)
    with pytest.raises(PrivateError, match="master key"):
        open_private(home.db, 1, other)
    with opened(home, master=None) as log:  # whoever keeps nothing needs none
        assert log.size == 3


def test_what_was_moved_or_changed_does_not_open():
    home = Home()
    with opened(home, create=True) as log:
        for number in (1, 2, 3):
            log.append(kept(number, session="s1" if number < 3 else "s2"))
    database = sqlite3.connect(home.db)
    with database:
        database.execute("CREATE TEMP TABLE old AS SELECT * FROM private")
        database.execute("UPDATE private SET sealed = (SELECT sealed FROM old WHERE seq = 2) WHERE seq = 1")
        database.execute("UPDATE private SET sealed = zeroblob(5) WHERE seq = 2")
        database.execute("UPDATE private_keys SET wrapped = (SELECT wrapped FROM private_keys WHERE session = 's1')")
    database.close()
    for seq, why in ((1, "changed or moved"), (2, "changed or moved"), (3, "master key"), (0, "nothing is kept")):
        with pytest.raises(PrivateError, match=why):
            open_private(home.db, seq, MASTER)
    ok(home)  # a verifier takes no notice of what these tables hold


def test_a_session_whose_key_was_tampered_with_takes_nothing_until_it_is_redacted():
    home = Home()
    with opened(home, create=True) as log:
        log.append(kept(1, session="a"))
        log.append(kept(2, session="b"))
    database = sqlite3.connect(home.db)
    with database:
        database.execute("UPDATE private_keys SET wrapped = zeroblob(60) WHERE session = 'b'")
    database.close()
    with opened(home) as log:
        with pytest.raises(PrivateError, match="redact"):
            log.append(kept(3, session="b"))
        assert log.append(kept(4, session="a")).seq == 4
        log.redact(Redaction(session="b"), {})
        assert log.append(kept(3, session="b")).seq == 6
        assert open_private(home.db, 6, MASTER).content
    ok(home)


def test_many_sessions_are_remembered_and_forgotten(monkeypatch):
    home = Home()
    with opened(home, create=True) as log:
        monkeypatch.setattr("audit.private.CACHED", 3)
        for number in range(12):
            log.append(kept(number, session=f"s{number % 6}"))
        assert len(log._store._vault._keys) == 3
    assert len(rows(home, "SELECT 1 FROM private_keys")) == 6
    for seq in range(1, 13):
        assert open_private(home.db, seq, MASTER).content


# -- the master key's file -----------------------------------------------------------------------------------------


def test_the_master_key_has_a_file_of_its_own(tmp_path):
    folder = tmp_path / "keys"
    made = create_master(folder)
    assert os.stat(folder / "private.key").st_mode & 0o777 == 0o600
    assert load_master(folder) == load_master(folder / "private.key") == made
    with pytest.raises(KeyFileError, match="exists already"):
        create_master(folder)
    os.chmod(folder / "private.key", 0o640)
    with pytest.raises(KeyFileError, match="0600"):
        load_master(folder)
    os.chmod(folder / "private.key", 0o600)
    for text in ("", "zz", "00" * 31 + "\n", "AB" * 32 + "\n", "00" * 32):
        (folder / "private.key").write_text(text)
        with pytest.raises(KeyFileError, match="no master key"):
            load_master(folder)
    with pytest.raises(KeyFileError):
        load_master(folder / "nothing")


# -- redaction -----------------------------------------------------------------------------------------------------


def filled(sessions=("s1", "s1", "s2", None)):
    home = Home()
    drafts = [kept(number, f"content {number}".encode() * 40, session) for number, session in enumerate(sessions, 1)]
    with opened(home, create=True) as log:
        for draft in drafts:
            home.clock.now_ms += 1000
            log.append(draft)
    return home


@pytest.mark.parametrize(
    ("where", "gone", "sessions"),
    [
        (Redaction(first=2, last=2), {2}, 0),
        (Redaction(first=3), {3, 4}, 2),
        (Redaction(last=2), {1, 2}, 1),
        (Redaction(seqs=(1, 3, 77)), {1, 3}, 1),
        (Redaction(session="s1"), {1, 2}, 1),
        (Redaction(session=""), {4}, 1),
        (Redaction(session="s1", first=2), {2}, 0),
        (Redaction(until=1_795_000_003_000), {1, 2}, 1),
        (Redaction(first=0), {1, 2, 3, 4}, 3),
    ],
)
def test_what_is_redacted_is_gone_from_every_file_and_everything_still_verifies(where, gone, sessions):
    home = filled()
    sealed = dict(rows(home, "SELECT seq, sealed FROM private"))
    wrapped = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
    leaves = rows(home, "SELECT leaf FROM entries")
    with opened(home) as log:
        done = log.redact(where, {"reason": "a person asked for it"})
        assert log.purged
        assert all(
            value[at : at + 32] not in all_bytes(home) for seq, value in sealed.items() if seq in gone for at in (0, 40)
        )
        left = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
        assert all(value not in all_bytes(home) for session, value in wrapped.items() if session not in left)
        assert len(wrapped) - len(left) == sessions
        record = next(iter(log.records(done.seq))).envelope
        assert (record.kind, record.ref) == ("redaction", min(gone))
        assert record.body == {
            "reason": "a person asked for it",
            "redacted": {"first": min(gone), "last": max(gone), "records": len(gone), "sessions": sessions},
        }
        assert log.unsealed == 0
        for seq in sealed:
            if seq in gone:
                with pytest.raises(PrivateError, match="redacted"):
                    open_private(home.db, seq, MASTER)
            else:
                assert open_private(home.db, seq, MASTER).content.startswith(b"content")
    assert rows(home, "SELECT leaf FROM entries")[: len(leaves)] == leaves
    assert ok(home).records == 7
    with opened(home) as log:  # and the sessions go on
        again = [log.append(kept(10 + at, session=session)).seq for at, session in enumerate(("s1", "s2", None))]
        assert [open_private(home.db, seq, MASTER).content for seq in again] == [b"what was asked"] * 3


def test_within_one_opening_a_redacted_session_goes_on_with_a_new_key():
    home = Home()
    with opened(home, create=True) as log:
        log.append(kept(1))
        (old,) = rows(home, "SELECT wrapped FROM private_keys")
        log.redact(Redaction(session="s1"), {})
        log.append(kept(2))
        (new,) = rows(home, "SELECT wrapped FROM private_keys")
        assert old != new
        assert open_private(home.db, 3, MASTER).content


def test_a_master_key_is_not_needed_to_destroy_whole_sessions():
    home = filled()
    with opened(home, master=None) as log:
        log.redact(Redaction(session="s2"), {})
        before = rows(home, "SELECT * FROM private"), rows(home, "SELECT * FROM private_keys")
        with pytest.raises(PrivateError, match="master key"):
            log.redact(Redaction(first=2), {})  # of `s1` the first would stay
        assert (rows(home, "SELECT * FROM private"), rows(home, "SELECT * FROM private_keys")) == before
        assert (log.size, log.healthy.ok) == (7, True)
    assert ok(home).records == 7


def test_what_a_session_keeps_gets_a_new_key_and_goes_on(monkeypatch):
    monkeypatch.setattr("audit.private.BATCH", 3)
    home = Home()
    drafts = {number: kept(number, session="s1" if number % 3 else "s2") for number in range(1, 31)}
    with opened(home, create=True) as log:
        for draft in drafts.values():
            log.append(draft)
        with sqlite3.connect(home.db) as database:  # a row that opens with no key holds nothing up
            database.execute("UPDATE private SET sealed = zeroblob(70) WHERE seq = 8")
        database.close()
        old = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
        log.redact(Redaction(first=4, last=5), {})
        new = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
        assert (new["s1"] != old["s1"], new["s2"]) == (True, old["s2"])
        assert old["s1"][:16] not in all_bytes(home)
        assert log.append(kept(31)).seq == 32  # by the same writer, which knew the old key
        drafts[32] = next(iter(log.records(32)))
    for seq in set(drafts) - {4, 5, 8}:
        found = open_private(home.db, seq, MASTER)
        assert seq == 32 or found == drafts[seq].private
    for seq, why in ((4, "redacted"), (5, "redacted"), (8, "changed or moved")):
        with pytest.raises(PrivateError, match=why):
            open_private(home.db, seq, MASTER)
    ok(home)


@pytest.mark.parametrize("refused", ["by the record", "by the disk"])
def test_a_redaction_that_is_not_recorded_changes_no_key(refused):
    home = filled()
    with opened(home) as log:
        before = rows(home, "SELECT * FROM private"), rows(home, "SELECT * FROM private_keys")
        if refused == "by the disk":
            log._store._database.execute(
                "CREATE TEMP TRIGGER refuse BEFORE INSERT ON tiles BEGIN SELECT raise(ABORT, 'no'); END"
            )
        with pytest.raises((EntryError, WriteFailedError)):
            log.redact(Redaction(first=2, last=2), {"x": 0.5} if refused == "by the record" else {})
        assert (rows(home, "SELECT * FROM private"), rows(home, "SELECT * FROM private_keys")) == before
        again = log.append(kept(9)).seq
        for seq in (1, 2, again):
            assert open_private(home.db, seq, MASTER).content
    ok(home)


def test_no_copy_of_a_key_that_went_is_left_on_any_page():
    """Pages that were split or merged show keys that were moved to a neighbour: they go with the key, too."""
    chance = random.Random(7)
    home = Home()
    with opened(home, create=True) as log:
        names = [f"{number:03}{'x' * chance.randrange(50)}" for number in range(600)]
        chance.shuffle(names)
        waiting = [log.submit(kept(at, b"", session=name)) for at, name in enumerate(names)]
        seqs = [one.result(60).seq for one in waiting]
        wrapped = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
        for _ in range(3):
            chosen = [seqs.pop(chance.randrange(len(seqs))) for _ in range(60)]
            done = log.redact(Redaction(seqs=tuple(chosen)), {})
            assert next(iter(log.records(done.seq))).envelope.body["redacted"]["sessions"] == 60
            left = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
            gone = [value for session, value in wrapped.items() if session not in left]
            found = all_bytes(home)
            assert not any(value[at : at + 16] in found for value in gone for at in (0, 20, 44))


def test_no_key_that_is_left_opens_what_was_redacted_wherever_copies_of_it_lie():
    """SQLite leaves copies of moved rows in the unused space of pages; this finds some, and opens none."""
    chance = random.Random(5)
    home = Home()
    with opened(home, create=True) as log:
        waiting = [
            (draft, log.submit(draft))
            for draft in (kept(number, chance.randbytes(chance.choice([0, 40, 200, 700]))) for number in range(150))
        ]
        salts = {one.result(60).seq: draft.private for draft, one in waiting}
        left, sealed = set(salts), {}
        while len(left) > 5:
            sealed |= rows(home, "SELECT seq, sealed FROM private")
            (old,) = rows(home, "SELECT wrapped FROM private_keys")[0]
            chosen = chance.sample(sorted(left), min(len(left) - 3, chance.choice([1, 3, 10])))
            log.redact(Redaction(seqs=tuple(chosen)), {})
            left.difference_update(chosen)
            found, (new,) = all_bytes(home), rows(home, "SELECT wrapped FROM private_keys")[0]
            assert log.purged
            assert not any(old[at : at + 16] in found for at in range(0, len(old) - 15, 4))
            key = MASTER.unwrap(new, log=home.key.name, session="s1")
            for seq in set(salts) - left:
                at = found.find(sealed[seq][:44])
                if at >= 0:  # the counter that GCM begins with: what is cut off at the end does not matter
                    stream = Cipher(algorithms.AES(key), modes.CTR(found[at : at + 12] + b"\0\0\0\2")).decryptor()
                    assert stream.update(found[at + 12 : at + 44]) != salts[seq].salt
        for seq in left:
            assert open_private(home.db, seq, MASTER) == salts[seq]
    ok(home)


@pytest.mark.parametrize("wrong", [{"first": 1.5}, {"seqs": (object(),)}, {"session": b"s1"}, {"until": "now"}])
def test_what_cannot_be_meant_is_no_redaction(wrong):
    with pytest.raises(PrivateError, match="whole numbers"):
        Redaction(**wrong)


@pytest.mark.parametrize(
    ("where", "body", "kind", "error"),
    [
        (Redaction(), {}, "redaction", PrivateError),
        (Redaction(session="nobody"), {}, "redaction", PrivateError),
        (Redaction(first=90), {}, "redaction", PrivateError),
        (Redaction(first=2**70), {}, "redaction", PrivateError),
        (Redaction(session="\ud800"), {}, "redaction", PrivateError),
        (Redaction(first=0), {"redacted": 1}, "redaction", EntryError),
        (Redaction(first=0), {"x": 0.5}, "redaction", EntryError),
        (Redaction(first=0), {}, "nope", KindError),
        (Redaction(first=0), {}, "outcome", KindError),
    ],
)
def test_what_cannot_be_recorded_is_not_destroyed_and_the_log_goes_on(where, body, kind, error):
    home = filled()
    with opened(home) as log:
        before = rows(home, "SELECT * FROM private"), rows(home, "SELECT * FROM private_keys")
        size_before = log.size
        with pytest.raises(error):
            log.redact(where, body, kind=kind)
        assert (rows(home, "SELECT * FROM private"), rows(home, "SELECT * FROM private_keys")) == before
        assert (log.size, log.healthy.ok) == (size_before, True)
        log.append(kept(9))


def test_a_kind_that_refers_to_nothing_can_record_it_too():
    home = filled()
    with opened(home) as log:
        done = log.redact(Redaction(first=0), {}, kind="forget")
        assert next(iter(log.records(done.seq))).envelope.ref is None
    ok(home)


def test_while_a_reader_holds_the_wal_it_is_not_purged_and_then_it_is():
    home = filled()
    with opened(home) as log:
        reader = sqlite3.connect(home.db, isolation_level=None)
        reader.execute("BEGIN")
        (sealed,) = reader.execute("SELECT sealed FROM private WHERE seq = 1").fetchone()
        log.append(kept(7))
        log.redact(Redaction(first=1, last=1), {})
        assert not log.purged
        assert sealed[:32] in all_bytes(home)
        reader.execute("COMMIT")
        reader.close()
        pause = threading.Event()
        for _ in range(300):  # the writer tries again by itself
            if log.purged:
                break
            pause.wait(0.1)
        assert log.purged
        assert sealed[:32] not in all_bytes(home)


KILLED = """
import os, sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_audit_private import *
home = Home.__new__(Home); home.__dict__.update({state})
from audit import keys; from audit_support import FakeClock
home.key = keys.load(home.path / "keys"); home.clock = FakeClock()
log = opened(home)
# after COMMIT, before the WAL is emptied
log._store._database.set_trace_callback(lambda sql: os.kill(os.getpid(), 9) if "wal_checkpoint" in sql else None)
log.redact(Redaction(session="s1"), {{}})
"""


def test_a_writer_killed_before_it_emptied_the_wal_has_it_emptied_at_the_next_opening():
    home = filled()
    sealed = [value for (value,) in rows(home, "SELECT sealed FROM private WHERE session = 's1'")]
    state = (
        "{" + ", ".join(f"{name!r}: Path({str(getattr(home, name))!r})" for name in ("path", "db", "checkpoint")) + "}"
    )
    code = KILLED.format(path=[os.path.dirname(__file__), *sys.path], state=state)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -9, done.stderr
    assert any(value[:32] in all_bytes(home) for value in sealed)
    with opened(home) as log:
        assert log.purged
        assert not any(value[:32] in all_bytes(home) for value in sealed)
    assert rows(home, "SELECT count(*) FROM private WHERE session = 's1'") == [(0,)]
    ok(home)


def test_under_any_load_nothing_is_left_that_opens_what_was_redacted():
    chance = random.Random(seed())
    home = Home()
    number = 0
    drafts = {}
    with opened(home, create=True) as log:
        for _ in range(scale("audit_redaction")):
            waiting = []
            for _ in range(chance.choice([40, 250])):
                number += 1
                session = f"{chance.randrange(99):02}{os.urandom(3).hex()}"[: chance.choice([2, 8])]
                content = os.urandom(chance.choice([0, 10, 200, 5000]))
                draft = kept(number, content, session)
                waiting.append((draft, log.submit(draft)))
            drafts |= {one.result(60).seq: draft.private for draft, one in waiting}
            sealed = {seq: rest for seq, *rest in rows(home, "SELECT seq, session, sealed FROM private")}
            wrapped = dict(rows(home, "SELECT session, wrapped FROM private_keys"))
            at = chance.randrange(number)
            for where in (
                Redaction(first=at, last=at + 60),
                Redaction(seqs=tuple(chance.sample(range(number), 40))),
                Redaction(session=chance.choice(sorted(wrapped))),
            ):
                try:
                    log.redact(where, {})
                except PrivateError:
                    pass  # chance met nothing that is kept
            left = (
                dict(rows(home, "SELECT seq, 1 FROM private")),
                dict(rows(home, "SELECT session, wrapped FROM private_keys")),
            )
            # pieces of rows may be left; what opens them is not
            concerned = {session for seq, (session, _) in sealed.items() if seq not in left[0]}
            assert all(left[1].get(session) != wrapped[session] for session in concerned)
            found = all_bytes(home)
            assert not any(wrapped[session][at : at + 16] in found for session in concerned for at in (0, 20, 44))
            for seq in chance.sample(sorted(left[0]), min(20, len(left[0]))):
                assert open_private(home.db, seq, MASTER) == drafts[seq]
    ok(home)


# -- the command line ----------------------------------------------------------------------------------------------


def run(*arguments, given=""):
    return CliRunner().invoke(main, [str(one) for one in arguments], input=given)


def test_redact_and_open_from_the_command_line():
    home = filled()
    create_master(home.path / "other")
    master = master_file(home)
    shown = run("open", home.db, 1, "--private-key", master)
    assert shown.exit_code == 0
    assert "`args.commit`" in shown.output
    assert "content 1content 1" in shown.output
    assert run("open", home.db, 1, "--private-key", master, "--raw").stdout_bytes == b"content 1" * 40
    options = ("--keys", home.path / "keys", "--checkpoint-file", home.checkpoint, "--reason", "asked")
    for wrong in ((), ("--seq", "1", "--session", "s1")):
        assert run("redact", home.db, *options, *wrong, "--yes").exit_code == 2
    refused = run("redact", home.db, *options, "--session", "s1")
    assert (refused.exit_code, rows(home, "SELECT count(*) FROM private")) == (2, [(4,)])
    assert "2 records, 1 to 2" in refused.output
    done = run("redact", home.db, *options, "--session", "s1", "--yes")
    assert done.exit_code == 0, done.output
    assert "record 6" in done.stdout
    assert rows(home, "SELECT seq FROM private") == [(3,), (4,)]
    assert run("redact", home.db, *options, "--session", "s1", "--yes").exit_code == 2
    assert "nothing is kept" in run("open", home.db, 1, "--private-key", master).output
    assert run("open", home.db, 3, "--private-key", home.path / "other").exit_code == 2
    with opened(home), pytest.raises(LogBusyError):
        opened(home)
    with opened(home):
        busy = run("redact", home.db, *options, "--seq", "3..4", "--yes")
        assert (busy.exit_code, "another process" in busy.output) == (2, True)
    assert run("redact", home.db, *options, "--seq", "3..4", "--yes", "--kind", "forget").exit_code == 0
    assert json.loads(rows(home, "SELECT leaf FROM entries ORDER BY seq DESC")[0][0])["kind"] == "forget"
    ok(home)


def test_on_a_terminal_redact_asks_and_goes_by_the_answer():
    home = filled()
    master_file(home, home.path / "keys")
    command = [
        *(sys.executable, "-P", "-m", "audit", "redact", str(home.db), "--keys", str(home.path / "keys")),
        *("--checkpoint-file", str(home.checkpoint), "--reason", "asked", "--seq", "2..3"),
    ]
    for word, code, left in (("n", 2, 4), ("", 2, 4), ("y", 0, 2)):
        with Terminal(command, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"}) as terminal:
            terminal.until(r"Nothing brings it back.*\nGo on\? \[y/N\]: ")
            terminal.answer(word)
            assert terminal.end() == code, terminal.seen
        assert rows(home, "SELECT count(*) FROM private") == [(left,)]
    assert open_private(home.db, 1, MASTER).content
    ok(home)


def test_redact_takes_the_master_key_where_a_session_keeps_more():
    home = filled()
    options = ("--keys", home.path / "keys", "--checkpoint-file", home.checkpoint, "--reason", "asked", "--yes")
    lacking = run("redact", home.db, *options, "--seq", "1")
    assert (lacking.exit_code, "needs the master key" in lacking.output) == (2, True)
    assert rows(home, "SELECT count(*) FROM private") == [(4,)]
    assert run("redact", home.db, *options, "--seq", "1", "--private-key", master_file(home)).exit_code == 0
    assert open_private(home.db, 2, MASTER).content
    ok(home)


def test_redact_opens_only_a_log_that_holds_what_is_remembered_elsewhere():
    home = filled()
    early = home.checkpoint.read_text()
    shutil.copy(home.db, home.path / "early.db")
    with opened(home) as log:
        log.append(kept(9))
    late = home.checkpoint.read_text()
    kept_outside = home.path / "outside"
    kept_outside.write_text(f"{late}\n{early}\n{late[:40]}")  # the last one is torn
    shutil.copy(home.path / "early.db", home.db)
    home.checkpoint.write_text(early)
    options = ("--keys", home.path / "keys", "--checkpoint-file", home.checkpoint, "--reason", "asked", "--yes")
    cut = run("redact", home.db, *options, "--session", "s1", "--outside", kept_outside)
    assert (cut.exit_code, "proves" in cut.output) == (1, True)
    for content in ("", "noise", f"noise\n\n{early}"):
        kept_outside.write_text(content)
        assert run("redact", home.db, *options, "--session", "s1", "--outside", kept_outside).exit_code == 2
    assert rows(home, "SELECT count(*) FROM private") == [(4,)]
    kept_outside.write_text(early)
    assert run("redact", home.db, *options, "--session", "s1", "--outside", kept_outside).exit_code == 0


def test_open_says_when_the_record_commits_to_something_else_and_compares_what_is_given():
    home = Home()
    only_salt = kept(2, b"")
    content = b"\x1b[31mred"
    body = {"list": [{"sum": commitment(only_salt.private.salt, content)}]}
    with opened(home, create=True) as log:
        log.append(replace(kept(1), body={"args": {"commit": "00" * 32}}))
        log.append(replace(only_salt, body=body))
        log.append(kept(3, content))
    master = master_file(home)
    other = run("open", home.db, 1, "--private-key", master)
    assert (other.exit_code, "something else" in other.output) == (1, True)
    assert "only the salt is kept" in run("open", home.db, 2, "--private-key", master).output
    (home.path / "given").write_bytes(content)
    given = run("open", home.db, 2, "--private-key", master, "--content", home.path / "given")
    assert (given.exit_code, "`list[0].sum`" in given.output) == (0, True)
    (home.path / "given").write_bytes(b"another")
    assert run("open", home.db, 2, "--private-key", master, "--content", home.path / "given").exit_code == 1
    shown = run("open", home.db, 3, "--private-key", master).output
    assert "\\u001b[31mred" in shown
    assert "\x1b" not in shown


def test_open_says_so_where_the_record_itself_is_gone():
    home = filled()
    with sqlite3.connect(home.db) as database:
        database.execute("DROP TRIGGER entries_delete")
        database.execute("DELETE FROM entries WHERE seq = 2")
        database.execute(next(sql for sql in OBJECTS if "TRIGGER entries_delete" in sql))
    database.close()
    shown = run("open", home.db, 2, "--private-key", master_file(home))
    assert (shown.exit_code, "record 2 is missing" in shown.output) == (1, True)


def test_counting_needs_what_destroying_needs():
    home = filled()
    assert count(home.db, Redaction(session="s1")).as_json() == {"first": 1, "last": 2, "records": 2, "sessions": 0}
    with pytest.raises(PrivateError):
        count(home.db, Redaction(session="nobody"))


def test_an_intruder_who_takes_the_next_private_row_holds_nothing_up():
    home = Home()
    with opened(home, create=True) as log:
        log.append(kept(1))
        with sqlite3.connect(home.db) as database:
            database.execute("INSERT INTO private VALUES (2, 's1', zeroblob(70))")
        database.close()
        assert log.append(kept(2)).seq == 2
        assert open_private(home.db, 2, MASTER).content == b"what was asked"


def test_damage_of_the_log_still_closes_it():
    home = Home()
    log = opened(home, create=True)
    log.append(kept(1))
    with sqlite3.connect(home.db) as database:
        database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (2, '{}', zeroblob(32))")
    database.close()
    with pytest.raises(LogDamagedError):
        log.redact(Redaction(first=0), {})
    assert rows(home, "SELECT count(*) FROM private") == [(1,)]
    assert not log.healthy.ok
