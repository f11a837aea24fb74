import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.aio import AsyncLog
from audit.batch import Stamp
from audit.checkpoint import Checkpoint
from audit.disk import create_log
from audit.entry import Draft, decode, encode
from audit.errors import (
    AppendTimeoutError,
    AuditError,
    BodyTooLargeError,
    ConflictError,
    EntryError,
    KindError,
    LogBusyError,
    LogClosedError,
    LogDamagedError,
    LogExistsError,
    LogForeignError,
    LogMissingError,
    LogTruncatedError,
    LogUnprovenError,
    PrivateError,
    ProofError,
    QueueFullError,
    ReadError,
    SignatureError,
    WriteFailedError,
)
from audit.merkle import Edge, leaf_hash, verify_consistency
from audit.private import MasterKey, open_private
from audit.query import Filter, select
from audit.reader import prove
from audit.schema import APPLICATION_ID, FORMATS
from audit.store import Store
from audit.verify import Outcome, verify_log
from audit_support import KINDS, FakeClock, Home, decision


def test_append_verify_prove_reopen():
    home = Home()
    with home.open(create=True) as log:
        first = log.append(decision(1))
        assert (first.seq, first.time, first.duplicate) == (1, home.clock.now_ms, False)
        assert (log.size, log.name, log.healthy.ok) == (2, "test.example/01K", True)
        records = list(log.records())
        assert [one.envelope.seq for one in records] == [0, 1]
        assert records[1].leaf_hash == first.leaf_hash == leaf_hash(records[1].leaf)
        assert records[1].envelope.prev == records[0].leaf_hash.hex()
        assert (records[1].envelope.boot_id, records[1].envelope.mono_ns) == ("boot-1", "1000000000")
        proof = log.prove(1)
        assert proof.verify(records[1].leaf, home.key.verifier).size == 2
        with pytest.raises(ReadError):
            log.prove(2)
    assert verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()]).outcome is Outcome.OK
    with home.open() as log:
        assert log.size == 3
        assert log.append(decision(2)).seq == 3
    report = verify_log(home.db, home.key.verifier)
    assert (report.outcome, report.records, report.signed, report.unsealed) == (Outcome.OK, 4, 4, 0)


def test_files_are_the_owners_alone():
    home = Home()
    with home.open(create=True):
        for name in ("audit.db", "audit.db-wal", "audit.db.lock", "checkpoint"):
            assert stat.S_IMODE(os.stat(home.path / name).st_mode) == 0o600, name


def test_log_open_comes_first_and_says_how_the_log_was_found():
    home = Home()
    with home.open(create=True, begin=False) as log:
        with pytest.raises(KindError, match=r"log\.open"):
            log.append(decision(1))
        with pytest.raises(EntryError, match="the log's own"):
            log.append(Draft(kind="log.open", body={"log": {}}))
        log.append(Draft(kind="log.open", body={"permit_key": "x"}))
        opened = next(iter(log.records())).envelope.body
        assert opened["permit_key"] == "x"
        assert (opened["log"]["size"], opened["log"]["sealed"]) == (0, 0)
        assert opened["log"]["kinds"]["outcome"]["to"] == ["executing"]
    with home.open(begin=False) as log:
        with pytest.raises(KindError, match=r"log\.open"):
            log.append(decision(1))
        log.append(Draft(kind="log.open", body={}))
        assert next(iter(log.records(1))).envelope.body["log"]["size"] == 1


def test_a_retried_call_is_one_record():
    home = Home()
    with home.open(create=True) as log:
        first = log.append(decision(1))
        assert log.append(decision(1)) == replace(first, duplicate=True)
        both = [log.submit(decision(2)) for _ in range(2)]
        assert {one.result().seq for one in both} == {2}
        with pytest.raises(ConflictError) as caught:
            log.append(replace(decision(1), body={"decision": "ALLOW"}))
        assert caught.value.seq == 1
        assert log.append(Draft(kind="approval", body={}, call_id="call-1", ref=1)).seq == 3
        assert log.size == 4
    with home.open() as log:
        assert log.append(decision(1)).seq == 1
        mixed = [log.submit(decision(number)) for number in (7, 1, 8, 2, 7)]
        assert [one.result().seq for one in mixed] == [5, 1, 6, 2, 5]
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


def test_drafts_without_call_id_are_never_the_same():
    home = Home()
    with home.open(create=True) as log:
        same = Draft(kind="decision", body={})
        assert [log.append(same).seq for _ in range(3)] == [1, 2, 3]


def test_refs_are_held_to_the_table():
    home = Home()
    with home.open(create=True) as log:
        seq = log.append(decision(1)).seq
        running = Draft(kind="executing", body={}, call_id="r1", ref=seq)
        started = log.append(running)
        assert log.append(running) == replace(started, duplicate=True)
        refused = [
            Draft(kind="executing", body={}, call_id="r2", ref=seq),  # a second run of one decision
            Draft(kind="executing", body={}, ref=seq),
            Draft(kind="executing", body={}, ref=0),  # log.open is no decision
            Draft(kind="executing", body={}, ref=99),
            Draft(kind="outcome", body={}, ref=seq),
        ]
        for draft in refused:
            with pytest.raises(KindError):
                log.append(draft)
        for draft in (
            Draft(kind="executing", body={}),
            Draft(kind="decision", body={}, ref=0),
            Draft(kind="nope", body={}),
        ):
            with pytest.raises(KindError):
                log.submit(draft)
        assert log.append(Draft(kind="outcome", body={}, ref=started.seq)).seq == 3
        assert log.size == 4


def test_two_runs_of_one_decision_in_one_group_are_one():
    home = Home()
    with home.open(create=True) as log:
        seq = log.append(decision(1)).seq
        both = [log.submit(Draft(kind="executing", body={"n": n}, call_id=f"r{n}", ref=seq)) for n in range(4)]
        errors = [one.exception(30) for one in both]
        assert [type(error) for error in errors].count(KindError) == 3
        assert log.size == 3
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


def test_a_refused_draft_stops_no_other():
    home = Home()
    with home.open(create=True) as log:
        waiting = [log.submit(draft) for draft in (decision(1), Draft(kind="executing", body={}, ref=99), decision(2))]
        assert [one.exception(30) is None for one in waiting] == [True, False, True]
        assert log.healthy.ok


def test_bodies_are_refused_at_the_door():
    home = Home()
    with home.open(create=True) as log:
        with pytest.raises(BodyTooLargeError):
            log.submit(Draft(kind="decision", body={"x": "y" * 20_000}))
        with pytest.raises(EntryError):
            log.submit(Draft(kind="decision", body={"x": 0.5}))
        assert log.size == 1


def test_a_submitted_record_cannot_be_cancelled():
    home = Home()
    with home.open(create=True) as log:
        future = log.submit(decision(1))
        assert not future.cancel()
        assert future.result(30).seq == 1


def test_many_threads_write_one_chain():
    home = Home()
    log = home.open(create=True, seal_every_ms=0)
    done = []

    def client(first):
        done.extend(log.append(decision(first * 100 + number)).seq for number in range(20))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert sorted(done) == list(range(1, 121))
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


class HeldClock(FakeClock):
    """A clock that lets nobody pass while it is held: the writer reads it before each group."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    def time_ms(self):
        self.reached.set()
        assert self.gate.wait(30)
        return super().time_ms()


def held_log(**more):
    home = Home()
    home.clock = HeldClock()
    log = home.open(create=True, **more)
    home.clock.gate.clear()
    home.clock.reached.clear()
    first = log.submit(decision(0))
    assert home.clock.reached.wait(30)
    return home, log, first


def test_what_waits_while_the_disk_works_is_one_group():
    home, log, first = held_log()
    waiting = [log.submit(decision(number)) for number in range(1, 41)]
    assert not first.done()
    home.clock.now_ms += 5
    home.clock.gate.set()
    results = [one.result(30) for one in waiting]
    assert [one.seq for one in results] == list(range(2, 42))
    assert {one.time for one in results} == {home.clock.now_ms}
    log.close()


def test_the_queue_is_bounded_and_append_gives_up_in_time():
    home, log, first = held_log(queue_limit=3)
    waiting = [log.submit(decision(number)) for number in range(1, 4)]
    with pytest.raises(QueueFullError):
        log.submit(decision(9))
    home.clock.gate.set()
    assert [one.result(30).seq for one in (first, *waiting)] == [1, 2, 3, 4]
    log.close()


def test_append_gives_up_in_time():
    home, log, first = held_log()
    with pytest.raises(AppendTimeoutError):
        log.append(decision(1), timeout_s=0.01)
    home.clock.gate.set()
    assert first.result(30).seq == 1
    log.close()


def test_close_writes_what_waits_and_nothing_enters_after():
    home, log, first = held_log()
    waiting = [log.submit(decision(number)) for number in range(1, 5)]
    closer = threading.Thread(target=log.close)
    closer.start()
    pause = threading.Event()
    while log.healthy.ok:
        pause.wait(0.001)
    with pytest.raises(LogClosedError):
        log.submit(decision(9))
    home.clock.gate.set()
    closer.join(30)
    assert [one.result(0).seq for one in (first, *waiting)] == [1, 2, 3, 4, 5]
    log.close()
    with pytest.raises(LogClosedError):
        log.checkpoint()
    assert (log.healthy.ok, log.healthy.reason) == (False, "the log is closed")
    assert Checkpoint.open(home.checkpoint.read_text(), home.key.verifier).size == 6


def test_checkpoints_are_due_by_the_clock_and_at_close():
    home = Home()
    with home.open(create=True, seal_every_ms=250) as log:
        home.clock.now_ns += 250_000_000
        log.append(decision(1))
        assert log.unsealed == 0
        assert Checkpoint.open(log.checkpoint(), home.key.verifier).size == 2
    with home.open(create=False) as log:
        log.append(decision(2))
        assert log.unsealed == 2
        assert Checkpoint.open(log.checkpoint(), home.key.verifier).size == 4
        assert home.checkpoint.read_text() == log.checkpoint()
        assert log.unsealed == 0
    notes = sqlite3.connect(home.db).execute("SELECT size FROM checkpoints ORDER BY size").fetchall()
    assert notes == [(0,), (2,), (4,)]


def test_an_idle_log_is_sealed_by_itself():
    home = Home()
    with home.open(create=True, seal_every_ms=1) as log:
        log.append(decision(1))
        sealed = threading.Event()
        for _ in range(3000):
            if log.unsealed == 0:
                sealed.set()
                break
            sealed.wait(0.01)
        assert sealed.is_set()


def signed_sizes(home):
    with closing(sqlite3.connect(home.db)) as database:
        return [size for (size,) in database.execute("SELECT size FROM checkpoints ORDER BY size")]


def test_an_end_that_was_found_unsealed_is_signed_with_the_record_that_says_so_and_never_before():
    home = Home()
    home.fill(3)
    home.leave_unsealed(home.open(), 2)
    for again in range(2):  # an opening that came to nothing has signed nothing
        with home.open(begin=False, seal_every_ms=0) as log:
            assert (log.taken_over, log.unsealed, log.size) == (range(5, 7), 2, 7)
            assert Checkpoint.open(log.checkpoint(), home.key.verifier).size == 5
            with pytest.raises(KindError):  # refused, in a group that would be sealed
                log.append(decision(20))
            with pytest.raises(ReadError, match="no sealed record"):
                log.prove(6)
        assert signed_sizes(home) == [0, 4, 5], again
        assert verify_log(home.db, home.key.verifier).unsealed == 2
    with home.open() as log:
        assert log.taken_over == range(5, 7)
        opening = next(log.records(7)).envelope.body["log"]
        assert (opening["size"], opening["sealed"]) == (7, 5)
        # the next signature covers them and the record at once
        assert Checkpoint.open(log.checkpoint(), home.key.verifier).size == 8
    assert signed_sizes(home) == [0, 4, 5, 8]
    report = verify_log(home.db, home.key.verifier)
    assert report.outcome is Outcome.OK
    assert report.notes == ("records 5 to 6 were not sealed when the log was opened at 7",)
    with home.open() as log:
        assert not log.taken_over


def test_nor_is_it_signed_while_the_disk_recovers():
    home = Home()
    home.fill(3)
    home.leave_unsealed(home.open(), 1)
    with home.open(begin=False) as log:
        log._store._database.execute("PRAGMA busy_timeout = 1")
        with closing(sqlite3.connect(home.db, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(WriteFailedError, match="locked"):
                log.append(Draft(kind="log.open", body={}))
        assert Checkpoint.open(log.checkpoint(), home.key.verifier).size == 5
        log.append(Draft(kind="log.open", body={}))
        assert Checkpoint.open(log.checkpoint(), home.key.verifier).size == log.size
        assert log.taken_over == range(5, 6)
    assert signed_sizes(home) == [0, 4, 5, 7]


def test_coroutines_share_a_wake_up():
    home = Home()

    async def main(log):
        front = AsyncLog(log, asyncio.get_running_loop())
        results = await asyncio.gather(
            *(front.append(decision(number)) for number in range(50)),
            front.append(Draft(kind="executing", body={}, ref=999)),
            return_exceptions=True,
        )
        assert isinstance(results.pop(), KindError)
        assert sorted(one.seq for one in results) == list(range(1, 51))
        cancelled = asyncio.ensure_future(front.append(decision(60)))
        await asyncio.sleep(0)
        cancelled.cancel()
        assert (await front.append(decision(61))).seq == 52  # the cancelled one was written all the same
        return front

    with home.open(create=True) as log:
        front = asyncio.run(main(log))
        log.submit_to(decision(70), front, object())  # the loop is closed: the answer goes nowhere, the record stays
        assert log.append(decision(71)).seq == 54


class BadSink:
    def settled(self, answers):
        raise ZeroDivisionError


def test_a_sink_that_raises_stops_the_writer_and_nobody_waits_for_ever():
    home = Home()
    log = home.open(create=True)
    log.submit_to(decision(1), BadSink(), None)
    try:
        log.append(decision(2), timeout_s=30)  # may still be in the group that the writer began
    except AuditError:
        pass
    with pytest.raises(LogClosedError, match="writer stopped"):
        log.append(decision(3), timeout_s=30)
    assert not log.healthy.ok
    with pytest.raises(WriteFailedError):
        log.close()
    with home.open() as log:
        assert log.size >= 3


def test_what_goes_wrong_in_the_writers_thread_is_told_to_who_waits_for_it():
    home = Home()
    log = home.open(create=True)
    with pytest.raises(ZeroDivisionError):
        log._writer.record(lambda stamp: 1 // 0)
    with pytest.raises(WriteFailedError, match="ZeroDivisionError"):
        log.close()


def test_whoever_waits_when_the_thread_ends_is_told():
    home = Home()
    log = home.open(create=True)
    log._store._kinds = None  # nothing that a group can be checked with
    with pytest.raises(LogClosedError, match="writer stopped"):
        log.append(decision(1), timeout_s=30)
    with pytest.raises(WriteFailedError):
        log.close()


# -- opening --------------------------------------------------------------------------------------------------


def test_two_writers_are_refused():
    home = Home()
    with home.open(create=True), pytest.raises(LogBusyError):
        home.open()
    with home.open():
        pass


def test_a_new_log_is_begun_only_on_purpose_and_never_over_an_old_one():
    home = Home()
    with pytest.raises(LogMissingError):
        home.open()
    assert os.listdir(home.path) == ["keys"]
    home.open(create=True).close()
    with pytest.raises(LogExistsError):
        home.open(create=True)
    home.db.unlink()
    with pytest.raises(LogMissingError):
        home.open()
    with pytest.raises(LogExistsError, match="checkpoint"):
        home.open(create=True)


def test_a_crash_while_beginning_leaves_no_half_log():
    home = Home()
    (home.path / "audit.db.new").write_bytes(b"half")
    (home.path / "audit.db.new-journal").write_bytes(b"half")
    home.open(create=True).close()
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


def test_no_folder_for_the_checkpoint_means_no_log():
    home = Home()
    home.checkpoint = home.path / "gone" / "checkpoint"
    with pytest.raises(WriteFailedError, match="gone"):
        home.open(create=True)
    assert not home.db.exists()


def raw(home, *statements):
    """Change the database as somebody without scruples would: triggers off, schema restored."""
    database = sqlite3.connect(home.db, isolation_level=None)
    triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        database.execute(*statement if isinstance(statement, tuple) else (statement,))
    for _, sql in triggers:
        database.execute(sql)
    database.close()


ADDED = (
    "INSERT INTO entries(seq, leaf, leaf_hash) "
    "SELECT seq + 1, replace(leaf, 'call-', 'kall-'), leaf_hash FROM entries ORDER BY seq DESC LIMIT 1"
)
DAMAGE = {
    "last record dropped": ("DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)",),
    "record missing": ("DELETE FROM entries WHERE seq = 3",),
    "leaf edited": ("UPDATE entries SET leaf = replace(leaf, 'BLOCK', 'ALLOW') WHERE seq = 1",),
    "leaf hash edited": ("UPDATE entries SET leaf_hash = zeroblob(32) WHERE seq = 2",),
    "tile edited": ("UPDATE tiles SET hashes = zeroblob(length(hashes))",),
    "tile cut": ("UPDATE tiles SET hashes = substr(hashes, 1, 64)",),
    "tile missing": ("DELETE FROM tiles",),
    "tile added": ("INSERT INTO tiles VALUES (1, 0, zeroblob(32))",),
    "checkpoints gone": ("DELETE FROM checkpoints",),
    "checkpoint edited": ("UPDATE checkpoints SET note = replace(note, 'test', 'tess')",),
    "checkpoint no text": ("UPDATE checkpoints SET note = 'x'",),
    "index gone": ("DROP INDEX entries_call",),
    "view forged": ("DROP VIEW decisions", "CREATE VIEW decisions AS SELECT 1"),
    "trigger added": ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END",),
    "no audit log": ("PRAGMA application_id = 1",),
    "other format": ("PRAGMA user_version = 9",),
    "other name": ("UPDATE meta SET value = 'test.example/other'",),
    "name gone": ("DELETE FROM meta",),
    "record added": (ADDED,),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_log_does_not_open_and_says_what_to_do(name):
    home = Home()
    home.fill(6)
    raw(home, *DAMAGE[name])
    with pytest.raises((LogDamagedError, LogForeignError), match=r"verify|restore|path|key|newer|copy"):
        home.open()
    assert verify_log(home.db, home.key.verifier).outcome is not Outcome.OK


def test_a_log_shorter_than_its_checkpoint_file_does_not_open():
    home = Home()
    home.fill(3)
    kept = home.db.read_bytes()
    with home.open() as log:
        log.append(decision(9))
    home.db.write_bytes(kept)  # an older copy put back: in itself flawless
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK
    with pytest.raises(LogTruncatedError, match="proves 6"):
        home.open()
    report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 4)


def test_a_missing_or_foreign_checkpoint_file_stops_the_start():
    home = Home()
    home.fill(3)
    good = home.checkpoint.read_text()
    home.checkpoint.unlink()
    with pytest.raises(LogUnprovenError, match="put it back"):
        home.open()
    other = Home()
    other.fill(3)
    for text, error in (
        (other.checkpoint.read_text(), LogForeignError),
        ("noise", LogDamagedError),
        (Checkpoint(home.key.name, 2, b"r" * 32).sign(home.key), LogDamagedError),
    ):
        home.checkpoint.write_text(text)
        with pytest.raises(error):
            home.open()
    home.checkpoint.write_bytes(b"\xff")
    with pytest.raises(LogDamagedError):
        home.open()
    home.checkpoint.write_text(good)
    home.open().close()


def test_what_is_remembered_elsewhere_must_be_in_the_log():
    home = Home()
    home.fill(3)
    files = (home.db, home.checkpoint)
    kept = [file.read_bytes() for file in files]
    with home.open() as log:
        log.append(decision(9))
    remembered = home.checkpoint.read_text()
    with home.open(outside=[remembered, kept[1].decode()]) as log:
        assert log.size == 7
        newest = log.checkpoint()
    for file, content in zip(files, kept, strict=True):
        file.write_bytes(content)  # database and checkpoint file of an older day: flawless in themselves
    with pytest.raises(LogTruncatedError, match="remembered elsewhere proves 6"):
        home.open(outside=[remembered])
    forked = Home()
    forked.key = home.key
    with forked.open(create=True) as log:
        for number in range(20, 30):
            log.append(decision(number))
    with pytest.raises(LogDamagedError, match="remembered elsewhere at 6"):
        forked.open(outside=[remembered])
    stranger = Home("test.example/01L")
    stranger.fill(2)
    with pytest.raises(LogForeignError, match="remembered elsewhere"):
        home.open(outside=[stranger.checkpoint.read_text()])
    with pytest.raises(LogDamagedError, match="remembered elsewhere"):
        home.open(outside=["noise"])
    with home.open(outside=[]) as log:
        assert log.size == 5
    assert Checkpoint.open(newest, home.key.verifier).size == 7


def test_growth_is_proven_from_any_size_a_witness_may_hold():
    home = Home()
    with home.open(create=True) as log:
        roots = {0: Edge().root()}
        for number in range(1, 12):
            log.append(decision(number))
            old = Checkpoint.open(log.checkpoint(), home.key.verifier)
            roots[old.size] = old.root
        note = log.note
        log.append(decision(12))
        assert log.note == note  # looking seals nothing
        for size, root in roots.items():
            proven, path = log.prove_consistency(size)
            new = Checkpoint.open(proven, home.key.verifier)
            assert new.size == 12
            if size:
                verify_consistency(old=size, new=12, old_root=root, new_root=new.root, proof=path)
            else:
                assert path == ()
        log.checkpoint()
        assert log.prove_consistency(5, note) == (note, log.prove_consistency(5, note)[1])
        assert len(log.prove_consistency(12, note)[1]) == 0
        for wrong in (-1, 13):
            with pytest.raises(ProofError):
                log.prove_consistency(wrong, note)
        with pytest.raises(SignatureError):
            log.prove_consistency(3, note.replace("test.example/01K", "test.example/01L"))


# -- the format before ------------------------------------------------------------------------------------------


def format_1(home):
    """A log as the first format had it: the same leaves, tiles and checkpoints in its own schema."""
    home.fill(9)
    database = sqlite3.connect(home.db)
    content = {table: database.execute(f"SELECT {columns} FROM {table}").fetchall() for table, columns in TABLES}
    database.close()
    home.db.unlink()
    database = sqlite3.connect(home.db, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    for sql in (*FORMATS[1], f"PRAGMA application_id = {APPLICATION_ID}", "PRAGMA user_version = 1"):
        database.execute(sql)
    for table, columns in TABLES:
        marks = ",".join("?" * len(columns.split(",")))
        database.executemany(f"INSERT INTO {table}({columns}) VALUES ({marks})", content[table])
    database.close()
    return content


TABLES = (
    ("meta", "name, value"),
    ("entries", "seq, leaf, leaf_hash"),
    ("tiles", "level, idx, hashes"),
    ("checkpoints", "size, note"),
)


def version(home):
    database = sqlite3.connect(home.db)
    try:
        return database.execute("PRAGMA user_version").fetchone()[0]
    finally:
        database.close()


def test_a_log_of_the_first_format_is_read_as_it_is_and_upgraded_by_its_writer():
    home = Home()
    content = format_1(home)
    assert verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()]).outcome is Outcome.OK
    assert len(list(select(home.db, Filter()))) == 10
    assert prove(home.db, 3, home.key.verifier)[1].index == 3
    with pytest.raises(PrivateError, match="format 1"):
        open_private(home.db, 3, MasterKey(bytes(32)))
    assert version(home) == 1  # whoever reads changes nothing
    with home.open() as log:
        assert (log.size, version(home)) == (11, 2)
        log.append(decision(20))
    database = sqlite3.connect(home.db)
    for table, columns in TABLES:
        now = database.execute(f"SELECT {columns} FROM {table}").fetchall()
        if table != "tiles":
            assert now[: len(content[table])] == content[table]
    assert database.execute("SELECT decision FROM decisions WHERE seq = 1").fetchone() == ("BLOCK",)
    database.close()
    assert verify_log(home.db, home.key.verifier).records == 12


def test_a_log_of_the_first_format_that_was_changed_is_not_upgraded():
    home = Home()
    format_1(home)
    raw(home, "DROP VIEW decisions", "CREATE VIEW decisions AS SELECT 1")
    with pytest.raises(LogDamagedError, match="decisions"):
        home.open()
    assert version(home) == 1


def test_beginning_a_log_never_replaces_one_that_comes_in_between():
    home = Home()
    other = Home()
    other.fill(2)
    os.link(other.db, home.db)
    with pytest.raises(LogExistsError, match="never replaces"):
        create_log(home.db, home.checkpoint, home.key)
    os.unlink(home.db)
    os.symlink("nowhere", home.db)
    with pytest.raises(LogExistsError, match="never replaces"):
        create_log(home.db, home.checkpoint, home.key)
    os.unlink(home.db)
    done = subprocess.run(
        [sys.executable, "-c", IN_BETWEEN, str(home.db), str(home.checkpoint), str(home.path / "keys"), str(other.db)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "LogExistsError\n"), done.stderr
    assert os.path.samefile(home.db, other.db)


IN_BETWEEN = """
import os, sys
from pathlib import Path
from audit import keys
from audit.disk import create_log
from audit.errors import LogExistsError
path, checkpoint, folder, other = map(Path, sys.argv[1:])
there = []
def watch(event, arguments):
    if event in {"os.link", "os.rename"} and os.fspath(arguments[1]) == os.fspath(path) and not there:
        there.append(1)
        os.link(other, path)  # another process was quicker
sys.addaudithook(watch)
try:
    create_log(path, checkpoint, keys.load(folder))
except LogExistsError as error:
    print(type(error).__name__)
"""


def test_an_unsealed_end_that_its_tiles_do_not_know_is_not_built_upon():
    home = Home()
    with home.open(create=True) as log:
        log.append(decision(1))
        log.checkpoint()
        log.append(decision(7))
        kept = [(home.path / name).read_bytes() for name in ("audit.db", "audit.db-wal", "checkpoint")]
    for name, content in zip(("audit.db", "audit.db-wal", "checkpoint"), kept, strict=True):
        (home.path / name).write_bytes(content)  # as a killed writer would have left it
    leaf = next(iter(select(home.db, Filter(start=2)))).leaf.replace(b"BLOCK", b"ALLOW")
    raw(home, ("UPDATE entries SET leaf = ?, leaf_hash = ? WHERE seq = 2", (leaf.decode(), leaf_hash(leaf))))
    with pytest.raises(LogDamagedError, match="record 2"):
        home.open()


def test_a_database_ahead_of_its_checkpoint_file_is_normal():
    home = Home()
    home.fill(3)
    old = home.checkpoint.read_text()
    with home.open() as log:
        log.append(decision(8))
    home.checkpoint.write_text(old)
    with home.open(begin=False) as log:
        assert log.size == 6
        assert home.checkpoint.read_text() != old


def test_another_key_or_another_file_is_not_this_log():
    home = Home()
    home.fill(2)
    stranger = Home()
    home.key = stranger.key
    with pytest.raises(LogForeignError, match="key"):
        home.open()
    home.db.write_bytes(b"not a database at all" * 100)
    with pytest.raises(LogForeignError, match="not a database"):
        home.open()
    home.db.write_bytes(b"")
    with pytest.raises(LogForeignError, match="not an audit log"):
        home.open()


def test_a_file_cut_in_the_middle_does_not_open():
    home = Home()
    home.fill(60)
    with open(home.db, "r+b") as file:
        file.truncate(os.path.getsize(home.db) // 8192 * 4096)
    with pytest.raises((LogDamagedError, LogForeignError, WriteFailedError)):
        home.open()
    assert verify_log(home.db, home.key.verifier).outcome is not Outcome.OK


def test_a_schema_that_is_not_even_text_is_damage():
    home = Home()
    home.fill(4)
    content = home.db.read_bytes()
    tried = 0
    for at in range(len(content)):
        if content.startswith(b"CREATE ", at):
            tried += 1
            home.db.write_bytes(content[: at + 7] + b"\xff" + content[at + 8 :])
            with pytest.raises((LogDamagedError, LogForeignError)):
                home.open()
            with pytest.raises((LogDamagedError, LogForeignError)):
                list(select(home.db, Filter()))
            assert verify_log(home.db, home.key.verifier).outcome is not Outcome.OK
    assert tried >= 10


def test_an_intruder_in_the_database_closes_the_latch_for_good():
    home = Home()
    log = home.open(create=True)
    log.append(decision(1))
    with sqlite3.connect(home.db) as database:
        database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (2, '{}', zeroblob(32))")
    database.close()
    for _ in range(2):
        with pytest.raises(LogDamagedError):
            log.append(decision(2))
    assert not log.healthy.ok
    with pytest.raises(WriteFailedError):
        log.close()


@pytest.mark.parametrize("name", ["audit.db", "audit.db-wal"])
def test_files_that_are_moved_away_are_not_written_on_in_secret(name):
    home = Home()
    log = home.open(create=True)
    log.append(decision(1))
    os.rename(home.path / name, home.path / "away")
    for _ in range(2):
        with pytest.raises(LogDamagedError, match="moved or replaced"):
            log.append(decision(2))
    os.rename(home.path / "away", home.path / name)
    with pytest.raises(WriteFailedError):
        log.close()
    with home.open() as log:
        assert [one.envelope.call_id for one in log.records(1, 2)] == ["call-1"]
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


# -- failing disks --------------------------------------------------------------------------------------------


def test_while_another_connection_holds_the_database_nothing_is_acknowledged():
    home = Home()
    log = home.open(create=True)
    log._store._database.execute("PRAGMA busy_timeout = 1")
    holder = sqlite3.connect(home.db, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(WriteFailedError, match="locked"):
        log.append(decision(1))
    assert not log.healthy.ok
    assert "locked" in log.healthy.reason
    holder.execute("ROLLBACK")
    holder.close()
    assert log.append(decision(1)).seq == 1
    assert log.healthy == (True, None)
    log.close()
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


def test_a_checkpoint_that_cannot_be_kept_outside_stops_the_log_until_it_can():
    home = Home()
    log = home.open(create=True, seal_every_ms=0)
    log.checkpoint()  # whatever is being published now is out of the way
    os.mkdir(f"{home.checkpoint}.new")
    log.append(decision(1))  # durable, and acknowledged before its checkpoint is published
    with pytest.raises(WriteFailedError, match="checkpoint"):
        log.append(decision(2))
    assert not log.healthy.ok
    os.rmdir(f"{home.checkpoint}.new")
    assert log.append(decision(2)).seq == 2
    assert log.healthy.ok
    log.close()
    assert Checkpoint.open(home.checkpoint.read_text(), home.key.verifier).size == 3


def test_a_latched_log_recovers_without_being_asked():
    home = Home()
    log = home.open(create=True, seal_every_ms=0)
    log.checkpoint()  # whatever is being published now is out of the way
    os.mkdir(f"{home.checkpoint}.new")
    log.append(decision(1))
    with pytest.raises(WriteFailedError):
        log.checkpoint()
    os.rmdir(f"{home.checkpoint}.new")
    pause = threading.Event()
    for _ in range(300):
        if log.healthy.ok:
            break
        pause.wait(0.1)
    assert log.healthy.ok
    log.close()


def stored_but_unanswered():
    """A store whose last commit reached the disk although it was reported as failed."""
    home = Home()
    store = Store(home.db, key=home.key, checkpoint_file=home.checkpoint, kinds=KINDS, create=True)
    before = store.state
    opening = {"kinds": KINDS.as_json(), "sealed": 0, "size": 0}
    draft = encode(Draft(kind="log.open", body={"log": opening}), log=home.key.name)
    (appended,) = store.commit([draft], Stamp(1, 1, "boot"), seal=False)
    after, store.state = store.state, before
    return home, store, after, appended


def test_a_commit_that_failed_but_reached_the_disk_is_built_upon():
    home, store, after, appended = stored_but_unanswered()
    store._inflight = [appended.leaf_hash]
    store.recover()
    assert (store.state.size, store.state.prev, store.state.sealed) == (1, after.prev, 1)
    store.close()
    assert verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()]).outcome is Outcome.OK


@pytest.mark.parametrize("inflight", [[], [b"x" * 32]])
def test_what_nobody_in_this_process_wrote_is_damage(inflight):
    home, store, *_ = stored_but_unanswered()
    store._inflight = inflight
    with pytest.raises(LogDamagedError, match="not what this process wrote"):
        store.recover()
    store.close()
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(1, 8))
@settings(max_examples=15, deadline=None)
def test_whatever_is_submitted_the_log_verifies_and_holds_each_call_once(calls, group):
    home = Home()
    with home.open(create=True) as log:
        answers = {}
        for at in range(0, len(calls), group):
            for call, one in [(call, log.submit(decision(call))) for call in calls[at : at + group]]:
                assert answers.setdefault(call, one.result(30).seq) == one.result().seq
        records = [decode(one.leaf) for one in log.records(1)]
        assert [one.call_id for one in records] == [f"call-{call}" for call in dict.fromkeys(calls)]
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK


def test_filters_select():
    home = Home()
    home.fill(20)
    seqs = lambda **where: [one.envelope.seq for one in select(home.db, Filter(**where))]  # noqa: E731 - a name for a call
    assert seqs() == list(range(21))
    assert seqs(kind="log.open") == [0]
    assert seqs(call_id="call-3") == [4]
    assert seqs(session="s1", start=5, stop=8) == [5, 6, 7]
    assert seqs(agent="nobody") == []
    assert seqs(session="s1", limit=2) == [1, 2]
    assert seqs(since=home.clock.now_ms + 1) == []
    assert seqs(until=home.clock.now_ms + 1, limit=1) == [0]


def test_readers_are_told_of_damage():
    home = Home()
    home.fill(4)
    raw(home, "UPDATE entries SET leaf = '{}' WHERE seq = 2")
    with pytest.raises(LogDamagedError, match="record 2"):
        list(select(home.db, Filter()))
    with pytest.raises(ReadError):
        list(select(home.path / "nothing.db", Filter()))


def test_every_error_of_the_package_is_in_the_tree():
    import audit.errors

    names = [name for name in vars(audit.errors) if name.endswith("Error")]
    assert all(issubclass(getattr(audit.errors, name), AuditError) for name in names)
    assert all(name in audit.errors.__doc__ for name in names)
