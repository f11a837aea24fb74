"""Files that somebody made to get past a verifier, to stop it, or to make it say what it does not know."""

import os
import shutil
import sqlite3
import tracemalloc
from multiprocessing import active_children
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.chain import ROTATE
from audit.cli import main
from audit.entry import Draft, decode, encode
from audit.export import export_bundle
from audit.merkle import leaf_hash
from audit.note import SigningKey
from audit.parts import Crew, opened
from audit.place import Findings
from audit.schema import FORMATS
from audit.verify import Outcome, verify_log
from audit_attacks import ROTATED, leaves_of, plain, rewrite, rotated
from audit_children import child, finish
from audit_support import Home, decision


def following(leaves, key, draft):
    """A leaf that can stand behind `leaves`, whatever the writer would say of it."""
    last = decode(leaves[-1])
    stamp = {"time": last.time, "mono_ns": last.mono_ns, "boot_id": last.boot_id}
    prev = leaf_hash(leaves[-1]).hex()
    return encode(draft, log=key.name).leaf(log=key.name, seq=len(leaves), prev=prev, **stamp)


def forged(path):
    """The database, open for what SQLite would not do by itself."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = DELETE")
    database.execute("PRAGMA synchronous = OFF")  # a forgery need not outlive a crash: each row was four syncs
    database.execute("PRAGMA writable_schema = ON")
    return database


def root_of(database, name):
    return database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()[0]


def keep_root(database, name):
    """The root page of a table that is then forgotten, but stays in the file."""
    root = root_of(database, name)
    database.execute("DELETE FROM sqlite_schema WHERE name = ?", (name,))
    return root


def as_index(path, index, columns, rows):
    """Make an index hold these entries, in the order of `columns`."""
    database = forged(path)
    database.execute(f"CREATE TABLE fake(a, b, c, PRIMARY KEY({columns})) WITHOUT ROWID")
    database.executemany("INSERT INTO fake VALUES (?, ?, ?)", rows)
    database.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", (keep_root(database, "fake"), index))
    database.close()


# -- what only look-ups see ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twice():
    """A log signed with a second `outcome` for record 2: (path, key, entries of its index of references)."""
    home = Home()
    with home.open(create=True) as log:
        seq = log.append(decision(1)).seq
        log.append(Draft(kind="executing", body={}, ref=seq, call_id="run"))
        log.append(Draft(kind="outcome", body={}, ref=2, call_id="run"))
        for number in range(10, 40):
            log.append(decision(number))
    leaves = leaves_of(home.db)
    leaves.append(following(leaves, home.key, Draft(kind="outcome", body={"status": "better"}, ref=2, call_id="x")))
    rewrite(home.db, leaves, home.key)
    return home


@pytest.mark.parametrize(
    ("columns", "change"),
    [
        ("a, b, c", lambda row: row),
        ("a, b, c DESC", lambda row: row),
        ("a, b, c", lambda row: (float(row[0]), *row[1:]) if row[2] == 3 else row),
        ("a, b, c", lambda row: (row[0] + 0.5, *row[1:]) if row[2] == 3 else row),
    ],
    ids=["honest", "later before earlier", "one as another type of number", "one between two records"],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_second_outcome_is_found_whatever_the_index_says(twice, tmp_path, columns, change, jobs):
    path = shutil.copy(twice.db, tmp_path / "audit.db")
    database = sqlite3.connect(path)
    rows = database.execute("SELECT ref, kind, seq FROM entries WHERE ref IS NOT NULL").fetchall()
    database.close()
    as_index(path, "entries_ref", columns, [change(row) for row in rows])
    report = verify_log(path, twice.key.verifier, jobs=jobs)
    assert report.outcome is Outcome.TAMPERED
    assert report.bad == len(leaves_of(path)) - 1 or "entries_ref" in report.reason, report


def test_an_index_that_leads_round_and_round_ends(tmp_path):
    """One record with more referrers than a page of the index holds, listed from the last to the first."""
    home = Home()
    with home.open(create=True) as log:
        seq = log.append(decision(1)).seq
        for _ in range(2):
            waiting = [log.submit(Draft(kind="approval", body={}, ref=seq)) for _ in range(2500)]
            assert all(one.result(30) for one in waiting)
    assert verify_log(home.db, home.key.verifier).outcome is Outcome.OK
    path = shutil.copy(home.db, tmp_path / "audit.db")
    database = sqlite3.connect(path)
    rows = database.execute("SELECT ref, kind, seq FROM entries WHERE ref IS NOT NULL").fetchall()
    database.close()
    as_index(path, "entries_ref", "a, b, c DESC", rows)
    report = verify_log(path, home.key.verifier)
    assert report.outcome is Outcome.TAMPERED
    assert "entries_ref" in report.reason


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_leaves_larger_than_any_record_take_no_memory(tmp_path, size):
    """They are refused one by one, not fetched by the thousand."""
    home = Home()
    home.fill(3)
    path = shutil.copy(home.db, tmp_path / "audit.db")
    database = sqlite3.connect(path)
    leaf = f'{{"kind":"x","pad":"{"a" * size}"}}'
    for number in range(40):
        database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)", (4 + number, leaf, b"x" * 32))
    database.commit()
    database.close()
    tracemalloc.start()
    try:
        report = verify_log(path, home.key.verifier)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (report.outcome, report.bad) == (Outcome.TAMPERED, 4)
    assert peak < 20_000_000


def varint(number):
    out = [number & 0x7F]
    while number := number >> 7:
        out.append(0x80 | (number & 0x7F))
    return bytes(reversed(out))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_table_whose_look_ups_lead_to_other_rows_than_a_walk_is_found(tmp_path, jobs):
    """One inner page: its first child holds all records of a chunk, and look-ups for most go to the second."""
    home = Home()
    home.fill(2500)
    path, last = home.db, 74
    database = forged(path)
    parts = {
        "walked": "seq < 1024",
        "looked_up": f"seq > {last} AND seq < 550",
        "rest": "seq >= 1024",
    }
    for name, which in parts.items():
        database.execute(f"CREATE TABLE {name}(seq INTEGER PRIMARY KEY, leaf TEXT, leaf_hash BLOB)")
        database.execute(f"INSERT INTO {name} SELECT seq, leaf, leaf_hash FROM entries WHERE {which}")
    database.execute("INSERT INTO walked VALUES (2000, 'x', x'00')")  # beyond the chunk: its walk ends here
    database.execute("""UPDATE looked_up SET leaf = replace(leaf, '"decision":"BLOCK"', '"decision":"ALLOW"')""")
    size = database.execute("PRAGMA page_size").fetchone()[0]
    root = root_of(database, "entries")
    walked, looked_up, rest = (keep_root(database, name) for name in parts)
    database.close()
    cells = [walked.to_bytes(4, "big") + varint(last), looked_up.to_bytes(4, "big") + varint(1023)]
    page, at, places = bytearray(size), size, b""
    for cell in cells:
        at -= len(cell)
        page[at : at + len(cell)] = cell
        places += at.to_bytes(2, "big")
    header = b"\x05\0\0" + len(cells).to_bytes(2, "big") + at.to_bytes(2, "big") + b"\0" + rest.to_bytes(4, "big")
    page[: len(header + places)] = header + places
    with open(path, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(page)
    report = verify_log(path, home.key.verifier, jobs=jobs)
    assert report.outcome is Outcome.TAMPERED, report


# -- changes of the key that are none ------------------------------------------------------------------------------


def test_a_body_that_looks_like_a_change_of_the_key_changes_nothing(tmp_path):
    """Whoever has one body written and can write the file makes it a database of format 1, which is searched."""
    home = Home()
    evil = SigningKey(home.key.name, Ed25519PrivateKey.generate())
    body = {
        "log": {"from": home.key.verifier.line(), "to": evil.verifier.line()},
        "x": {"a": 1, "kind": ROTATE, "z": 1},
    }
    with home.open(create=True) as log:
        log.append(decision(1))
        seal = log.append(Draft(kind="decision", call_id="c1", body=body)).seq + 1
        log.checkpoint()
        log.append(decision(2))
    leaves = leaves_of(home.db)
    rewrite(home.db, leaves, home.key, seals=(seal,))
    old = forged(home.db)
    for what in (
        "VIEW decisions",
        "TABLE private",
        "TABLE private_keys",
        "INDEX entries_marks",
        "INDEX entries_refused",
    ):
        old.execute(f"DROP {what}")
    old.execute(FORMATS[1][-1])
    old.execute("PRAGMA user_version = 1")
    old.close()
    for key in (home.key, evil):
        assert verify_log(home.db, key.verifier).outcome is (Outcome.OK if key is home.key else Outcome.TAMPERED)
    kept = sqlite3.connect(home.db).execute("SELECT * FROM checkpoints WHERE size <= ?", (seal,)).fetchall()
    rewrite(home.db, [*leaves[:seal], *(leaf.replace(b"decision", b"approval") for leaf in leaves[seal:])], evil)
    database = sqlite3.connect(home.db, isolation_level=None)
    database.executemany("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", kept)
    database.close()
    for key in (home.key, evil):
        report = verify_log(home.db, key.verifier)
        assert (report.outcome, report.signed) == (Outcome.TAMPERED, seal if key is home.key else 0), report


MALFORMED = {
    "says nothing": lambda leaf: leaf.replace(b'"from":', b'"fron":'),
    "is no record": lambda leaf: leaf.replace(b'"v":1', b'"v": 1'),
    "changes a key that was never in force": None,
}


@pytest.mark.parametrize(
    ("name", "kind"),
    # a bundle holds no record that no checkpoint covers
    [(name, kind) for name in MALFORMED for kind in ("database", "bundle") if MALFORMED[name] or kind == "database"],
)
def test_a_change_of_the_key_that_cannot_be_is_named_whichever_key_is_trusted(tmp_path, name, kind):
    kept = rotated()
    assert kept.old is not None
    path, bad = Path(shutil.copy(kept.home.db, tmp_path / "audit.db")), ROTATED
    leaves = leaves_of(path)
    assert decode(leaves[ROTATED]).kind == ROTATE
    change = MALFORMED[name]
    if change is None:  # a second one, which begins at the first key again
        bad = len(leaves)
        other = SigningKey(kept.home.key.name, Ed25519PrivateKey.generate())
        body = {"log": {"from": kept.old.verifier.line(), "to": other.verifier.line()}}
        leaves.append(following(leaves, kept.home.key, Draft(kind=ROTATE, body=body)))
        unknown = [other.verifier]
    else:
        leaves[ROTATED] = change(leaves[ROTATED])
        unknown = []
    if kind == "bundle":
        target = tmp_path / "bundle"
        export_bundle(kept.home.db, target, kept.home.key.verifier)
        (target / "records.jsonl").write_bytes(b"".join(leaf + b"\n" for leaf in leaves))
    else:
        target = path
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("DROP TRIGGER entries_delete")
        database.execute("DELETE FROM entries WHERE seq = ?", (bad,))
        database.execute(
            "INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)",
            (bad, leaves[bad].decode(), leaf_hash(leaves[bad])),
        )
        database.execute(next(sql for sql in FORMATS[2] if "TRIGGER entries_delete" in sql))
        database.close()
    for key in (kept.old.verifier, kept.home.key.verifier, *unknown):
        for jobs in (1, 2):
            report = verify_log(target, key, jobs=jobs)
            assert (report.outcome, report.bad) == (Outcome.TAMPERED, bad), report


# -- what stops a verifier -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_name_that_is_no_text_is_one_too_many(tmp_path, jobs):
    key = plain().home.key.verifier
    export_bundle(plain().home.db, tmp_path / "bundle", key)
    Path(os.fsdecode(os.fsencode(tmp_path / "bundle/tile/") + b"/\xff")).touch()
    report = verify_log(tmp_path / "bundle", key, jobs=jobs)
    assert (report.outcome, report.signed) == (Outcome.TAMPERED, 601)
    report.reason.encode()  # can be printed


NO_ROOM = """
import resource
from audit.export import export_bundle
from audit.verify import verify_log
key = keys.load(home / "keys").verifier
export_bundle(home / "audit.db", home / "bundle", key)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for jobs in (1, 2):
    report = verify_log(home / "bundle", key, jobs=jobs)
    say(report.outcome.name, "TMPDIR" in report.reason)
"""


def test_no_room_for_notes_on_a_bundle_is_no_tampering():
    home = Home()
    home.fill(900)
    assert finish(child(home, NO_ROOM)) == ["CANNOT_TELL True"] * 2


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"noise\n", b"\0" * 100_000])
def test_a_witness_key_that_is_none_tells_nothing(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    words = [str(plain().home.db), "--key", str(plain().home.vkey), "--witness-key", str(tmp_path / "key")]
    done = CliRunner().invoke(main, ["verify", *words])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


@pytest.mark.parametrize("number", [2**53, 2**63 - 2, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_record_far_from_all_others_is_tampering(tmp_path, number, jobs):
    path = shutil.copy(plain().home.db, tmp_path / "audit.db")
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, '{}', x'00')", (number,))
    database.close()
    report = verify_log(path, plain().home.key.verifier, jobs=jobs)
    assert report.outcome is Outcome.TAMPERED
    assert str(number) in report.reason


# -- processes that are gone ---------------------------------------------------------------------------------------


def end(processes):
    for process in processes:
        process.kill()
        process.join()


@pytest.fixture(scope="module")
def long():
    home = Home()
    home.fill(6000)
    return home


@pytest.mark.parametrize("bundle", [False, True])
def test_a_killed_process_changes_nothing_of_the_report(long, tmp_path, bundle):
    key, path = long.key.verifier, long.db
    if bundle:
        path = tmp_path / "bundle"
        export_bundle(long.db, path, key)
    before, killed = set(active_children()), []

    def progress(_done, _size):
        mine = [process for process in active_children() if process not in before]
        if not killed:
            killed.extend(mine)
            end(mine[:1])

    report = verify_log(path, key, jobs=2, progress=progress)
    assert len(killed) == 2
    assert report == verify_log(path, key)
    assert report.outcome is Outcome.OK


def test_processes_that_are_gone_before_they_were_asked(long):
    before = set(active_children())
    with Crew(long.db, long.key.verifier, 2) as crew:
        end(process for process in active_children() if process not in before)
        with opened(crew.log) as source:
            done = []
            stretches = list(crew.stretch(source, Findings(), done.append))
            crew.check_structures(source)
    assert (stretches[-1].edge.size, done[-1]) == (6001, 6001)


# -- pipes in the place of files -----------------------------------------------------------------------------------

PIPE = """
from audit.query import Filter, select
from audit.verify import verify_log
path = home / "audit.db"
os.mkfifo(f"{path}{sys.argv[2]}")
say(verify_log(path, keys.load(home / "keys").verifier).outcome.name)
for attempt in (lambda: list(select(path, Filter())), unbegun):
    try:
        attempt()
    except AuditError as error:
        say(type(error).__name__, "no regular file" in str(error))
"""


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_pipe_beside_the_database_holds_nobody(suffix):
    home = Home()
    home.fill(5)
    said = finish(child(home, PIPE, suffix), timeout=30)
    assert said[:2] == ["CANNOT_TELL", "ReadError True"]
    assert len(said) == 3
    assert said[2].endswith("True")
