"""Attacks on a finished log: what a verifier with the key sees, and what it needs a checkpoint from outside for."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

import audit
from audit.cli import main
from audit.cosignature import WitnessKey
from audit.entry import Draft, decode, encode
from audit.merkle import leaf_hash
from audit.note import SigningKey
from audit.schema import reading
from audit.verify import NOTES, Outcome, verify_log
from audit_attacks import execute, leaves_of, plain, rewrite, stored_notes
from audit_support import Home, decision

SIZE = 601  # three tiles of level 0 and one of level 1
SEALS = (100, 256, 400)


@pytest.fixture(scope="module")
def original():
    home = Home()
    home.fill(SIZE - 1, seal_at=SEALS)
    return home


@pytest.fixture
def copy(original, tmp_path):
    """A copy of the log to be attacked: (path, key, newest checkpoint from outside)."""
    path = tmp_path / "audit.db"
    shutil.copy(original.db, path)
    return path


def check(path, original, *, outside=False, remembered=None):
    notes = [original.checkpoint.read_text()] if outside else [remembered] if remembered else []
    return verify_log(path, original.key.verifier, outside=notes)


def test_the_original_verifies_and_its_copy_too(original, copy):
    report = check(copy, original, outside=True)
    assert report.outcome is Outcome.OK, report.reason
    assert (report.records, report.signed, report.confirmed, report.unsealed) == (SIZE, SIZE, SIZE, 0)


def test_unsigned_and_resigned_by_a_stranger(original, copy):
    rewrite(copy, leaves_of(copy), SigningKey(original.key.name, Ed25519PrivateKey.generate()))
    assert check(copy, original).outcome is Outcome.TAMPERED


def test_another_logs_database_is_not_this_log(original):
    other = Home("test.example/other")
    other.fill(3)
    report = verify_log(other.db, original.key.verifier)
    assert report.outcome is Outcome.CANNOT_TELL
    assert "test.example/other" in report.reason
    report = verify_log(original.db, original.key.verifier, outside=[other.checkpoint.read_text()])
    assert report.outcome is Outcome.CANNOT_TELL


def test_a_splice_from_another_log_of_the_same_key_name(original, copy):
    leaves = leaves_of(copy)
    leaves[5] = leaves[5].replace(b"test.example/01K", b"test.example/01X")
    rewrite(copy, leaves, original.key)
    report = check(copy, original)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 5)


def test_a_broken_chain_is_found_even_if_it_is_signed(original, copy):
    leaves = leaves_of(copy)
    leaves[9] = leaves[9].replace(decode(leaves[9]).prev.encode(), b"0" * 64)
    rewrite(copy, leaves, original.key, relink=False)
    report = check(copy, original)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 9)
    assert "link" in report.reason


def test_a_replayed_checkpoint_under_another_size(original, copy):
    execute(copy, "UPDATE checkpoints SET size = 500 WHERE size = 400")
    assert check(copy, original).outcome is Outcome.TAMPERED


DEEP = 330  # amid records that are looked at all at once
AMID = {
    "another number": (b'"seq":330', b'"seq":331'),
    "another record before": (b'"prev":"', b'"prev":"0'),
    "another log": (b"test.example/01K", b"test.example/01X"),
    "a kind that is not in the table": (b'"kind":"decision"', b'"kind":"invented"'),
    "a kind that must refer": (b'"kind":"decision"', b'"kind":"executing"'),
    "a kind that never refers": (b'"ref":null', b'"ref":5'),
    "a record to come": (b'"ref":null', b'"ref":330'),
    "an approval of a record to come": (b'"kind":"decision"', b'"kind":"approval"', b'"ref":null', b'"ref":340'),
    "white space": (b'"v":1', b'"v": 1'),
    "a fraction": (b'"number":329', b'"number":3.5'),
}


@pytest.mark.parametrize("name", AMID)
def test_a_wrong_record_amid_others_is_named_even_if_it_is_signed(original, copy, name):
    old, new, *more = AMID[name]
    leaves = leaves_of(copy)
    prev = b'"prev":"' + decode(leaves[DEEP]).prev.encode()
    old, new = (prev, b'"prev":"' + b"0" * 64) if name == "another record before" else (old, new)
    assert leaves[DEEP].count(old) == 1
    leaves[DEEP] = leaves[DEEP].replace(old, new).replace(*more or (b"", b""))
    rewrite(copy, leaves, original.key, unlinked=DEEP)
    report = check(copy, original)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, DEEP), report.reason
    assert verify_log(copy, original.key.verifier, jobs=2) == report


@pytest.mark.parametrize("seq", [DEEP, SEALS[2]], ids=["amid", "first after a checkpoint"])
def test_clocks_that_go_back_amid_others_are_noted(original, copy, seq):
    leaves = leaves_of(copy)
    leaves[seq] = leaves[seq].replace(b'"time":1795000000000', b'"time":1794999999999')
    leaves[seq + 99] = leaves[seq + 99].replace(b'"mono_ns":"1000000000"', b'"mono_ns":"999999999"')
    rewrite(copy, leaves, original.key)
    report = check(copy, original)
    assert report.outcome is Outcome.OK
    assert report.notes == (
        f"the clock went back 1 ms at record {seq}",
        f"the monotonic clock went back within one boot at record {seq + 99}",
    )
    assert verify_log(copy, original.key.verifier, jobs=2) == report


FORGERIES = {
    "view": ("DROP VIEW decisions", "CREATE VIEW decisions AS SELECT * FROM entries WHERE 0"),
    "view added": ("CREATE VIEW nicer AS SELECT 1 AS seq",),
    "index gone": ("DROP INDEX entries_ref",),
    "table added": ("CREATE TABLE more(x)",),
    "trigger gone": (
        "DROP TRIGGER IF EXISTS entries_update",
        "CREATE TRIGGER x AFTER INSERT ON meta BEGIN SELECT 1; END",
    ),
    "negative record": ("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (-1, '{}', x'00')",),
    "far record": ("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (9999, '{}', x'00')",),
    "early checkpoint": ("INSERT INTO checkpoints VALUES (-5, 'x')",),
    "late checkpoint": ("INSERT INTO checkpoints VALUES (99999, 'x')",),
    "no first checkpoint": ("DELETE FROM checkpoints WHERE size = 0",),
    "tile of a middle level": ("UPDATE tiles SET hashes = zeroblob(length(hashes)) WHERE level = 1",),
    "full tile": ("UPDATE tiles SET hashes = zeroblob(length(hashes)) WHERE level = 0 AND idx = 0",),
    "tile gone": ("DELETE FROM tiles WHERE level = 0 AND idx = 1",),
    "tile too many": ("INSERT INTO tiles VALUES (7, 0, zeroblob(32))",),
    "leaf is no utf-8": ("UPDATE entries SET leaf = CAST(x'22ff22' AS TEXT) WHERE seq = 9",),
    "meta": ("INSERT INTO meta VALUES ('more', 'x')",),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_in_the_database_is_found(original, copy, name):
    execute(copy, *FORGERIES[name])
    report = check(copy, original)
    assert report.outcome is Outcome.TAMPERED
    assert verify_log(copy, original.key.verifier, jobs=3) == report


# What an index holds, while the schema says what it should: (index, made as)
LIES = {
    "session: a record missing": ("entries_session", "entries(session, seq) WHERE session IS NOT NULL AND seq <> 300"),
    "session: a record too many": ("entries_session", "entries(coalesce(session, 's1'), seq)"),
    "session: another session": (
        "entries_session",
        "entries(CASE seq WHEN 300 THEN 's0' ELSE session END, seq) WHERE session IS NOT NULL",
    ),
    "session: two records' sessions exchanged": (
        "entries_session",
        "entries(CASE seq WHEN 300 THEN 's2' WHEN 601 THEN 's1' ELSE session END, seq) WHERE session IS NOT NULL",
    ),
    "session: sorted by other numbers": (
        "entries_session",
        "entries(session, CASE seq WHEN 600 THEN 900 ELSE seq END) WHERE session IS NOT NULL",
    ),
    "session: no text": ("entries_session", "entries(iif(seq = 300, 5, session), seq) WHERE session IS NOT NULL"),
    "session: bytes": ("entries_session", "entries(CAST(session AS BLOB), seq) WHERE session IS NOT NULL"),
    "call: bytes": ("entries_call", "entries(CAST(call_id AS BLOB), kind) WHERE call_id IS NOT NULL"),
    "ref: a kind's bytes": ("entries_ref", "entries(ref, CAST(kind AS BLOB)) WHERE ref IS NOT NULL"),
    "call: a record missing": ("entries_call", "entries(call_id, kind) WHERE call_id IS NOT NULL AND seq <> 300"),
    "call: another call": (
        "entries_call",
        "entries(iif(seq = 300, 'call-x', call_id), kind) WHERE call_id IS NOT NULL",
    ),
    "call: another kind": (
        "entries_call",
        "entries(call_id, iif(seq = 300, 'approval', kind)) WHERE call_id IS NOT NULL",
    ),
    "call: falling": ("entries_call", "entries(call_id DESC, kind) WHERE call_id IS NOT NULL"),
    "call: a separator inside": (
        "entries_call",
        "entries(call_id, iif(seq = 300, 'a' || char(10) || 'b', kind)) WHERE call_id IS NOT NULL",
    ),
    "ref: a record missing": ("entries_ref", "entries(ref, kind) WHERE ref IS NOT NULL AND seq <> 603"),
    "ref: a record too many": (
        "entries_ref",
        "entries(iif(seq = 300, 299, ref), kind) WHERE seq = 300 OR ref IS NOT NULL",
    ),
    "ref: another record": ("entries_ref", "entries(iif(seq = 602, 299, ref), kind) WHERE ref IS NOT NULL"),
    "ref: another kind": ("entries_ref", "entries(ref, iif(seq = 603, 'approval', kind)) WHERE ref IS NOT NULL"),
    "ref: falling": ("entries_ref", "entries(ref DESC, kind) WHERE ref IS NOT NULL"),
    "marks: a record missing": (
        "entries_marks",
        "entries(seq) WHERE kind IN ('key.rotate', 'log.open') AND seq <> 601",
    ),
    "marks: a record too many": ("entries_marks", "entries(seq) WHERE kind IN ('key.rotate', 'log.open') OR seq = 300"),
    "marks: sorted by other numbers": (
        "entries_marks",
        "entries(iif(seq = 601, 605, seq)) WHERE kind IN ('key.rotate', 'log.open')",
    ),
    "refused: a record missing": (
        "entries_refused",
        "entries(seq) WHERE json_extract(leaf, '$.body.decision') <> 'ALLOW' AND seq <> 421",
    ),
    "refused: a record too many": (
        "entries_refused",
        "entries(seq) WHERE json_extract(leaf, '$.body.decision') <> 'ALLOW' OR seq = 300",
    ),
}


@pytest.fixture(scope="module")
def paired():
    """A log with two openings, two sessions and records that refer to others."""
    home = Home()
    home.fill(SIZE - 1, seal_at=SEALS)
    with home.open() as log:
        executing = log.append(Draft(kind="executing", body={}, call_id="e", ref=300, session="s2")).seq
        log.append(Draft(kind="outcome", body={}, call_id="e", ref=executing, session="s2"))
    return home


@pytest.mark.parametrize("name", LIES)
def test_an_index_that_lies_is_found(paired, tmp_path, name):
    path = shutil.copy(paired.db, tmp_path / "audit.db")
    index, made_as = LIES[name]
    database = sqlite3.connect(path, isolation_level=None)
    honest = database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (index,)).fetchone()[0]
    database.execute(f"DROP INDEX {index}")
    database.execute(f"CREATE INDEX {index} ON {made_as}")
    database.execute("PRAGMA writable_schema = ON")
    database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (honest, index))
    database.close()
    report = verify_log(path, paired.key.verifier)
    assert report.outcome is Outcome.TAMPERED
    assert report.signed == SIZE + 3  # the records themselves stand
    assert index in report.reason
    assert verify_log(path, paired.key.verifier, jobs=2) == report


def test_the_log_with_honest_indexes_verifies(paired):
    report = verify_log(paired.db, paired.key.verifier)
    assert (report.outcome, report.records, report.notes) == (Outcome.OK, SIZE + 3, ())


def pages_of(path, table):
    """The page size, and the pages of a table or index, from its root down."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    root = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    size = database.execute("PRAGMA page_size").fetchone()[0]
    database.close()
    return size, root


@pytest.mark.parametrize("step", [-1, 1], ids=["too small", "too large"])
def test_an_inner_page_that_leads_elsewhere_is_found(original, copy, step):
    """A scan finds every record, and whoever looks one up by its number misses it."""
    size, root = pages_of(copy, "entries")
    blob = bytearray(copy.read_bytes())
    page = (root - 1) * size
    assert blob[page] == 5  # an inner page of a table: cells of a child's page and a number
    cell = page + int.from_bytes(blob[page + 12 + 20 : page + 12 + 22], "big")
    at, number = cell + 4, 0
    while blob[at] & 0x80:
        at += 1
    number = blob[at]
    blob[at] = (number & 0x80) | ((number + step) & 0x7F)
    copy.write_bytes(bytes(blob))
    report = check(copy, original)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, None)
    assert "out of order" in report.reason


def test_a_second_reference_from_far_away_is_named_whoever_looks(original, copy):
    leaves = leaves_of(copy)
    for seq in (SIZE, SIZE + 1):
        encoded = encode(Draft(kind="executing", body={}, call_id=f"far-{seq}", ref=5), log=original.key.name)
        last = decode(leaves[-1])
        leaves.append(
            encoded.leaf(
                log=last.log,
                seq=seq,
                prev=leaf_hash(leaves[-1]).hex(),
                time=last.time,
                mono_ns=last.mono_ns,
                boot_id=last.boot_id,
            )
        )
    rewrite(copy, leaves, original.key)
    reports = [verify_log(copy, original.key.verifier, jobs=jobs) for jobs in (1, 2, 3)]
    assert reports[0] == reports[1] == reports[2]
    assert (reports[0].outcome, reports[0].bad) == (Outcome.TAMPERED, SIZE + 1)
    assert "second" in reports[0].reason


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_one_flipped_bit_anywhere_breaks_verification(original, tmp_path_factory, rnd: random.Random):
    """In a leaf, a leaf hash, a tile or a note, wherever SQLite put its bytes in the file."""
    path = tmp_path_factory.mktemp("flip") / "audit.db"
    blob = bytearray(original.db.read_bytes())
    with reading(original.db) as database:
        table, column = rnd.choice(
            [("entries", "leaf"), ("entries", "leaf_hash"), ("tiles", "hashes"), ("checkpoints", "note")]
        )
        rows = database.execute(f"SELECT CAST({column} AS BLOB) FROM {table}").fetchall()
    content = rnd.choice(rows)[0]
    piece = content[:64]  # the beginning lies in one page; a long value goes on in others
    at = blob.index(piece)
    bit = rnd.randrange(len(piece) * 8)
    blob[at + bit // 8] ^= 1 << bit % 8
    path.write_bytes(bytes(blob))
    report = verify_log(path, original.key.verifier)
    assert report.outcome is Outcome.TAMPERED, (table, column, bit, report)


# -- pairing, notes, trust --------------------------------------------------------------------------------------


def pair(log, number, *, outcome):
    seq = log.append(decision(number)).seq
    running = log.append(Draft(kind="executing", body={}, call_id=f"call-{number}", ref=seq)).seq
    if outcome:
        log.append(Draft(kind="outcome", body={"status": "ok"}, call_id=f"call-{number}", ref=running))


def test_a_run_without_outcome_is_noted_not_called_tampering():
    home = Home()
    with home.open(create=True) as log:
        pair(log, 1, outcome=True)
        pair(log, 2, outcome=False)
        for number in range(10, 10 + NOTES):
            pair(log, number, outcome=False)
    report = verify_log(home.db, home.key.verifier)
    assert report.outcome is Outcome.OK
    assert report.notes[0] == "record 5 (`executing`) has no `outcome`"
    assert report.notes[-1] == "1 more records that wait for a counterpart"
    assert len(report.notes) == NOTES + 1


PAIRINGS = {
    "second executing": (lambda leaves: leaves[2].replace(b"call-1", b"call-x").replace(b'"seq":2', b'"seq":4'), "second"),
    "outcome of a decision": (lambda leaves: leaves[3].replace(b'"ref":2', b'"ref":1').replace(b"call-1", b"call-x").replace(b'"seq":3', b'"seq":4'), "refers"),
    "unknown kind": (lambda leaves: leaves[1].replace(b'"decision","log"', b'"invented","log"').replace(b'"seq":1', b'"seq":4'), "no kind"),
    "decision with ref": (lambda leaves: leaves[1].replace(b'"ref":null', b'"ref":0').replace(b"call-1", b"call-x").replace(b'"seq":1', b'"seq":4'), "must not refer"),
    "another table": (lambda leaves: leaves[0].replace(b'"size":0', b'"size":9').replace(b'"seq":0', b'"seq":4').replace(b'"prev":null', b'"prev":"' + b"0" * 64 + b'"'), "impossible"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRINGS)
def test_a_record_that_breaks_the_table_is_named_even_if_it_is_signed(name):
    home = Home()
    with home.open(create=True) as log:
        pair(log, 1, outcome=True)
    change, said = PAIRINGS[name]
    leaves = leaves_of(home.db)
    rewrite(home.db, [*leaves, change(leaves)], home.key)
    report = verify_log(home.db, home.key.verifier)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 4), report.reason
    assert said in report.reason


def test_a_log_that_does_not_begin_with_its_table_is_refused():
    home = Home()
    home.fill(2)
    leaves = leaves_of(home.db)
    first = leaves[1].replace(b'"seq":1', b'"seq":0')
    first = first.replace(f'"prev":"{decode(leaves[1]).prev}"'.encode(), b'"prev":null')
    rewrite(home.db, [first], home.key)
    report = verify_log(home.db, home.key.verifier)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 0)


def test_a_clock_that_goes_back_is_noted():
    home = Home()
    with home.open(create=True) as log:
        home.clock.now_ms -= 60_000
        log.append(decision(1))
        home.clock.now_ms += 60_000
        home.clock.now_ns -= 1
        log.append(decision(2))
    with home.open() as log:
        home.clock.boot_id, home.clock.now_ns = "boot-2", 5
        log.append(decision(3))
    report = verify_log(home.db, home.key.verifier)
    assert report.outcome is Outcome.OK
    assert report.notes == (
        "the clock went back 60000 ms at record 1",
        "the monotonic clock went back within one boot at record 2",
    )


def test_trust_reaches_to_the_newest_checkpoint():
    home = Home()
    with home.open(create=True) as log:
        log.checkpoint()
        log.append(decision(1))
        log.append(decision(2))
        report = verify_log(home.db, home.key.verifier)
        assert (report.outcome, report.records, report.signed, report.unsealed) == (Outcome.OK, 3, 1, 2)
        assert report.as_json()["outcome"] == "ok"


def test_an_unsealed_end_is_remembered_when_the_log_is_opened_again():
    home = Home()
    with home.open(create=True) as log:
        log.checkpoint()
        log.append(decision(1))
        files = {name: (home.path / name).read_bytes() for name in ("audit.db", "audit.db-wal")}
        outside = home.checkpoint.read_text()
    for name, content in files.items():  # as a killed writer would have left it
        (home.path / name).write_bytes(content)
    home.checkpoint.write_text(outside)
    home.open().close()
    report = verify_log(home.db, home.key.verifier)
    assert (report.outcome, report.records) == (Outcome.OK, 3)
    assert report.notes == ("records 1 to 1 were not sealed when the log was opened at 2",)


def test_verifying_beside_a_writer():
    home = Home()
    with home.open(create=True, seal_every_ms=0) as log:
        for round_ in range(6):
            waiting = [log.submit(decision(round_ * 100 + number)) for number in range(100)]
            report = verify_log(home.db, home.key.verifier)
            assert report.outcome is Outcome.OK, report.reason
            for one in waiting:
                one.result(30)


def test_flipped_bits_in_the_wal_lose_records_and_only_the_outside_checkpoint_tells():
    home = Home()
    log = home.open(create=True)
    for number in range(10):
        log.append(decision(number))
    note = log.checkpoint()
    db, wal = home.db.read_bytes(), bytearray((home.path / "audit.db-wal").read_bytes())
    log.close()
    wal[len(wal) // 2] ^= 1
    copy = home.path / "copy.db"
    copy.write_bytes(db)
    (home.path / "copy.db-wal").write_bytes(bytes(wal))
    report = verify_log(copy, home.key.verifier, outside=[note])
    assert report.outcome is Outcome.TAMPERED
    assert report.records < 11


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from audit.keys import read_verify_key
from audit.verify import verify_log
key = read_verify_key(Path(sys.argv[2]))
if os.geteuid() == 0:  # root may write anywhere, so it would show nothing
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    open(Path(sys.argv[1]).parent / "probe", "x")
except PermissionError:
    print(verify_log(Path(sys.argv[1]), key).outcome.name)
"""


def test_a_copy_in_a_folder_that_cannot_be_written_verifies(original):
    folder = Path(tempfile.mkdtemp(prefix="sh"))
    path = folder / "audit.db"
    shutil.copy(original.db, path)
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", UNPRIVILEGED, str(path), str(original.vkey)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(audit.__file__).resolve().parents[1])},
            timeout=60,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("OK\n", "")
        assert os.listdir(folder) == ["audit.db"]
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_noise_is_no_log(tmp_path, original):
    path = tmp_path / "noise.db"
    for content in (b"", b"noise", b"SQLite format 3\0" + b"\0" * 500):
        path.write_bytes(content)
        assert verify_log(path, original.key.verifier).outcome is not Outcome.OK
    assert verify_log(tmp_path, original.key.verifier).outcome is Outcome.CANNOT_TELL


# -- checkpoints from outside, on the command line --------------------------------------------------------------


def command(*words):
    done = CliRunner().invoke(main, ["verify", *map(str, words)])
    return done.exit_code, done.output


def test_the_command_says_what_is_new_and_how_far_trust_reaches(tmp_path):
    kept = plain()
    (tmp_path / "old").write_text(kept.remembered)
    code, said = command(kept.home.db, "--key", kept.home.vkey, "--since", tmp_path / "old")
    assert code == 0
    assert said.splitlines()[1:] == [
        "601 records, signed to 601, externally confirmed to 256, unsealed none",
        "new since the checkpoint you remember: records 256 to 600",
    ]
    assert command(kept.home.db, "--key", kept.home.vkey, "--quiet", "--jobs", "2") == (0, "")
    code, said = command(kept.home.db, "--key", kept.home.vkey, "--json", "--checkpoint", tmp_path / "old")
    assert (json.loads(said)["confirmed"], json.loads(said)["since"]) == (256, 256)


def test_a_file_of_many_checkpoints_is_read_to_its_end(tmp_path):
    kept = plain()
    sink = tmp_path / "sink"
    notes = [note for _, note in sorted(stored_notes(kept.home.db).items())]
    sink.write_text("".join(f"{note}\n" for note in notes))
    code, said = command(kept.home.db, "--key", kept.home.vkey, "--witness", sink)
    assert (code, "externally confirmed to 601" in said) == (0, True)
    sink.write_text("".join(f"{note}\n" for note in notes)[:-40])  # torn by a crash
    code, said = command(kept.home.db, "--key", kept.home.vkey, "--witness", sink)
    assert (code, "externally confirmed to 400" in said) == (0, True)
    for content in ("", "noise\n", notes[0].replace("601", "602")[:30]):
        sink.write_text(content)
        assert command(kept.home.db, "--key", kept.home.vkey, "--witness", sink)[0] == 2


def test_a_witness_must_have_signed(tmp_path):
    kept = plain()
    (tmp_path / "note").write_text(kept.witnessed)
    (tmp_path / "bare").write_text(kept.home.checkpoint.read_text())
    (tmp_path / "key").write_text(kept.witness.line())
    (tmp_path / "other").write_text(WitnessKey(kept.witness.name, kept.home.key.verifier.public).line())
    words = (kept.home.db, "--key", kept.home.vkey)
    assert command(*words, "--witness", tmp_path / "note", "--witness-key", tmp_path / "key")[0] == 0
    for note, keys in (("bare", ["key"]), ("note", ["other"]), ("note", ["key", "other"])):
        more = [word for name in keys for word in ("--witness-key", tmp_path / name)]
        code, said = command(*words, "--witness", tmp_path / note, *more)
        assert (code, "cosignature" in said) == (2, True), (note, keys)
    assert command(*words, "--witness-key", tmp_path / "key")[0] == 2
    both = ("--witness", tmp_path / "note", "--witness", tmp_path / "bare", "--witness-key", tmp_path / "key")
    assert command(*words, *both)[0] == 2
