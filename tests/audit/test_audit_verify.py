"""Attacks on a finished log: what a verifier with the key sees, and what it needs a checkpoint from outside for."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

import audit
from audit.checkpoint import Checkpoint
from audit.entry import Draft, decode
from audit.merkle import Edge, leaf_hash
from audit.note import SigningKey
from audit.schema import reading
from audit.verify import NOTES, Outcome, verify_log
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


def leaves_of(path):
    with reading(path) as database:
        return [row[0] for row in database.execute("SELECT CAST(leaf AS BLOB) FROM entries ORDER BY seq")]


def rewrite(path, leaves, key, *, seals=SEALS, forget_notes=False, relink=True):
    """Rebuild chain, tree and tiles as whoever can write the file can; with `key`, also sign anew."""
    database = sqlite3.connect(path, isolation_level=None)
    triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    database.execute("BEGIN")
    database.execute("DELETE FROM entries")
    database.execute("DELETE FROM tiles")
    if key is not None or forget_notes:
        database.execute("DELETE FROM checkpoints")
    edge, prev, tiles, notes = Edge(), None, [], {}
    for seq, leaf in enumerate(leaves):
        old = decode(leaf).prev
        if seq and relink:
            leaf = leaf.replace(f'"prev":"{old}"'.encode(), f'"prev":"{prev.hex()}"'.encode())
        prev = leaf_hash(leaf)
        database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)", (seq, leaf.decode(), prev))
        if key is not None and seq in seals:
            notes[seq] = Checkpoint(key.name, edge.size, edge.root()).sign(key)
        tiles += edge.append(prev)
    if key is not None:
        notes[0] = Checkpoint(key.name, 0, Edge().root()).sign(key)
        notes[edge.size] = Checkpoint(key.name, edge.size, edge.root()).sign(key)
        database.executemany("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", notes.items())
    database.executemany("INSERT INTO tiles VALUES (?, ?, ?)", [*tiles, *edge.partial()])
    database.execute("COMMIT")
    for _, sql in triggers:
        database.execute(sql)
    database.close()


def execute(path, *statements):
    database = sqlite3.connect(path, isolation_level=None)
    triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    for sql in (*statements, *(sql for _, sql in triggers)):
        database.execute(sql)
    database.close()


def edited(leaves, seq):
    assert b'"BLOCK"' in leaves[seq]
    return [leaf.replace(b'"BLOCK"', b'"ALLOW"') if at == seq else leaf for at, leaf in enumerate(leaves)]


def check(path, original, *, outside=False, remembered=None):
    notes = [original.checkpoint.read_text()] if outside else [remembered] if remembered else []
    return verify_log(path, original.key.verifier, outside=notes)


BLOCKED = 7 * 60 + 1  # call-420 is a BLOCK and stands at 421, above the checkpoint of 400


def test_the_original_verifies_and_its_copy_too(original, copy):
    report = check(copy, original, outside=True)
    assert report.outcome is Outcome.OK, report.reason
    assert (report.records, report.signed, report.confirmed, report.unsealed) == (SIZE, SIZE, SIZE, 0)


def test_attack_1_edit_one_record(original, copy):
    execute(copy, f"UPDATE entries SET leaf = replace(leaf, 'BLOCK', 'ALLOW') WHERE seq = {BLOCKED}")
    report = check(copy, original)
    assert (report.outcome, report.bad, report.signed) == (Outcome.TAMPERED, BLOCKED, 400)
    assert str(BLOCKED) in report.reason


def test_attack_2_edit_and_rebuild_the_chain_without_the_key(original, copy):
    rewrite(copy, edited(leaves_of(copy), BLOCKED), None)
    report = check(copy, original)
    assert (report.outcome, report.bad, report.signed) == (Outcome.TAMPERED, 400, 400)
    assert f"400 to {SIZE - 1}" in report.reason


def test_attack_3_edit_rebuild_and_sign_with_the_key(original, copy):
    rewrite(copy, edited(leaves_of(copy), BLOCKED), original.key)
    assert check(copy, original).outcome is Outcome.OK  # nothing inside the database can show it
    report = check(copy, original, outside=True)
    assert (report.outcome, report.confirmed) == (Outcome.TAMPERED, None)


def test_attack_4_the_same_below_a_remembered_checkpoint(original, copy):
    with reading(original.db) as database:
        remembered = database.execute("SELECT note FROM checkpoints WHERE size = 256").fetchone()[0].decode()
    assert check(copy, original, remembered=remembered).confirmed == 256
    rewrite(copy, edited(leaves_of(copy), 71), original.key)
    assert check(copy, original, remembered=remembered).outcome is Outcome.TAMPERED


def test_attack_5_drop_the_end_and_keep_the_checkpoint(original, copy):
    execute(copy, f"DELETE FROM entries WHERE seq >= {SIZE - 50}")
    report = check(copy, original)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, SIZE - 50)


@pytest.mark.parametrize("left", [SIZE - 50, 100], ids=["attack 6: the last 50", "attack 7: the last 501"])
def test_attacks_6_and_7_drop_the_end_and_put_back_an_older_checkpoint(original, copy, left):
    rewrite(copy, leaves_of(copy)[:left], original.key)
    assert check(copy, original).outcome is Outcome.OK  # an older state of the log, in itself flawless
    report = check(copy, original, outside=True)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, left)


def test_attack_8_delete_everything(original, copy):
    rewrite(copy, [], None, forget_notes=True)
    report = check(copy, original)
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 0)
    rewrite(copy, [], original.key)
    assert check(copy, original).records == 0
    assert check(copy, original, outside=True).outcome is Outcome.TAMPERED
    copy.unlink()
    assert check(copy, original).outcome is Outcome.CANNOT_TELL


def test_attack_9_fork(original, copy):
    leaves = leaves_of(copy)
    forked = [*leaves[:450], *(leaf.replace(b'"BLOCK"', b'"ALLOW"') for leaf in leaves[450:])]
    rewrite(copy, forked, original.key)
    assert check(copy, original).outcome is Outcome.OK
    assert check(copy, original, outside=True).outcome is Outcome.TAMPERED


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
    assert check(copy, original).outcome is not Outcome.OK


def test_an_index_that_lies_is_found(original, copy):
    """Rows that queries by session do not see: the index is emptied behind SQLite's back."""
    database = sqlite3.connect(copy, isolation_level=None)
    page, size = database.execute("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'entries_session'").fetchone()  # fmt: skip
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(copy, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x0a\x00\x00\x00\x00\x00\x00\x00" + b"\x00" * 8)  # an empty leaf page of an index
    report = check(copy, original)
    assert report.outcome is Outcome.TAMPERED
    assert report.signed == SIZE  # the records themselves stand


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
