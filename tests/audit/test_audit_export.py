"""A bundle holds exactly what SPEC.md, section 5.2, says, and nothing is exported that would not verify."""

import json
import os
import sqlite3
import stat
import threading
from contextlib import closing

import pytest

from audit import keys
from audit.chain import ROTATE
from audit.checkpoint import Checkpoint
from audit.entry import Draft
from audit.errors import ExportError, LogDamagedError, ReadError, SignatureError
from audit.export import Bundle, export_bundle, new_file
from audit.folder import tile_path
from audit.log import Log
from audit.merkle import Edge, leaf_hash
from audit.query import Filter
from audit_bodies import KINDS, Told
from audit_support import Home, decision

MANY = 700


@pytest.fixture(scope="module")
def home():
    home = Home()
    home.fill(MANY - 1, seal_at=(100, 256, 300))
    return home


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(folder, vkey, size):
    """A reader of bundles for this test: section 5.2 alone."""
    found = files(folder)
    leaves = found["records.jsonl"].splitlines(keepends=True)
    assert all(leaf.endswith(b"\n") for leaf in leaves)
    checkpoint = Checkpoint.open(found["checkpoint"].decode(), vkey)
    assert checkpoint.size == size
    text, notes = found["checkpoints"], []
    while text:
        length, _, text = text.partition(b"\n")
        notes.append(text[: int(length)])
        text = text[int(length) :]
    assert notes[-1] == found["checkpoint"]
    sizes = [Checkpoint.open(note.decode(), vkey).size for note in notes]
    assert sizes == sorted(set(sizes))
    assert found["audit.vkey"].decode() == f"{vkey.line()}\n"
    expected = {"records.jsonl", "checkpoint", "checkpoints", "audit.vkey"}
    level, width = 0, size
    while width:
        for index in range(-(-width // 256)):
            here = min(256, width - 256 * index)
            name = f"tile/{level}/{index:03}" + ("" if here == 256 else f".p/{here}")
            assert len(found[name]) == here * 32
            expected.add(name)
        width //= 256
        level += 1
    hashes = b"".join(found[name] for name in sorted(expected) if name.startswith("tile/0/"))
    for leaf in leaves:
        seq = json.loads(leaf)["seq"]
        assert leaf_hash(leaf[:-1]) == hashes[32 * seq : 32 * seq + 32]
    edge = Edge()
    for at in range(size):
        edge.append(hashes[32 * at : 32 * at + 32])
    assert edge.root() == checkpoint.root
    if len(leaves) == size:
        for index in range(-(-size // 256)):
            here = min(256, size - 256 * index)
            name = f"tile/entries/{index:03}" + ("" if here == 256 else f".p/{here}")
            expected.add(name)
            assert found[name] == b"".join(
                (len(leaf) - 1).to_bytes(2, "big") + leaf[:-1] for leaf in leaves[256 * index : 256 * index + here]
            )
    assert found.keys() == expected
    return [json.loads(leaf)["seq"] for leaf in leaves]


@pytest.fixture
def loose():
    """A umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("loose")
def test_a_bundle_of_everything(home, tmp_path):
    found = export_bundle(home.db, tmp_path / "b", home.key.verifier)
    assert found == Bundle(MANY, MANY, complete=True)
    assert check(tmp_path / "b", home.key.verifier, MANY) == list(range(MANY))
    below = list((tmp_path / "b").rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in below if path.is_file()} == {0o600}
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o700
    assert sorted(tmp_path.iterdir()) == [tmp_path / "b"]


@pytest.mark.parametrize(
    ("where", "seqs"),
    [
        (Filter(start=250, stop=260), list(range(250, 260))),
        (Filter(decision="BLOCK"), list(range(7, MANY, 7))),
        (Filter(call_id="call-3"), [4]),
        (Filter(limit=3), [0, 1, 2]),
        (Filter(rule="none"), []),
        (Filter(stop=10**6), list(range(MANY))),
        (Filter(grep="s1", limit=2, reverse=True), [1, 2]),
    ],
)
def test_a_bundle_of_a_selection(home, tmp_path, where, seqs):
    found = export_bundle(home.db, tmp_path / "b", home.key.verifier, where)
    got = check(tmp_path / "b", home.key.verifier, MANY)
    assert found == Bundle(MANY, len(got), complete=len(got) == MANY)
    if where.call_id is None and where.decision is None:
        assert got == seqs
    elif where.call_id is not None:
        assert len(got) == 1
    else:
        assert len(got) == sum(number % 7 == 0 for number in range(MANY - 1))


def test_an_empty_log_makes_a_bundle(tmp_path):
    home = Home()
    with home.open(create=True, begin=False):
        pass
    found = export_bundle(home.db, tmp_path / "b", home.key.verifier)
    assert found == Bundle(0, 0, complete=True)
    assert check(tmp_path / "b", home.key.verifier, 0) == []


def test_a_selection_holds_every_change_of_the_key(tmp_path):
    told = Told()
    folder = told.home.path / "new"
    new = keys.create(folder, told.home.key.name)
    with Log.open(
        told.home.db, key=told.home.key, checkpoint_file=told.home.checkpoint, kinds=KINDS, clock=told.home.clock
    ) as log:
        log.append(Draft(kind="log.open", body={}))
        rotated = log.rotate(new, {}).seq
        log.append(Draft(kind="rejected", body={"reason": "late"}))
    for key in (told.home.key.verifier, new.verifier):
        target = tmp_path / key.id.hex()
        export_bundle(told.home.db, target, key, Filter(start=2, stop=4))
        kinds = [json.loads(line) for line in (target / "records.jsonl").read_text().splitlines()]
        assert [(one["seq"], one["kind"] == ROTATE) for one in kinds] == [(2, False), (3, False), (rotated, True)]
        assert (target / "audit.vkey").read_text() == f"{new.verifier.line()}\n"


def test_beside_a_running_writer_the_size_is_settled_first(tmp_path):
    home = Home()
    stop = threading.Event()
    with home.open(create=True, seal_every_ms=1) as log:
        for number in range(600):
            log.append(decision(number)) if number % 50 == 0 else log.submit(decision(number))
        log.checkpoint()

        def write():
            number = 600
            while not stop.is_set():
                log.append(decision(number))
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(3):
                found = export_bundle(home.db, tmp_path / f"b{number}", home.key.verifier)
                assert found.complete
                assert check(tmp_path / f"b{number}", home.key.verifier, found.size) == list(range(found.size))
        finally:
            stop.set()
            writer.join()
        assert log.size > 601


def cells(home, page, kind):
    """Where a page of the database file has its pointers to cells, 2 bytes each, in the order of their keys (SQLite's
    file format, section 1.6): of a table's interior page (5) or leaf (13)."""
    content = home.db.read_bytes()
    start = (page - 1) * 4096
    assert content[start] == kind
    first = start + (12 if kind == 5 else 8)
    return [first + 2 * cell for cell in range(int.from_bytes(content[start + 3 : start + 5], "big"))]


@pytest.mark.parametrize("damage", ["cells", "first page twice", "second page twice", "pages"])
def test_what_a_damaged_database_gives_out_of_order_is_not_exported(tmp_path, damage):
    home = Home()
    home.fill(300)
    with closing(sqlite3.connect(home.db)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'entries'").fetchone()
    content = bytearray(home.db.read_bytes())
    start = (root - 1) * 4096
    one, two = (start + int.from_bytes(content[at : at + 2], "big") for at in cells(home, root, 5)[:2])
    pages = bytes(content[one : one + 4]), bytes(content[two : two + 4])
    if damage == "cells":  # all are there, in another order
        at = cells(home, int.from_bytes(pages[0], "big"), 13)[2]
        content[at : at + 4] = content[at + 2 : at + 4] + content[at : at + 2]
    else:
        by = {"pages": (1, 0), "first page twice": (0, 0), "second page twice": (1, 1)}[damage]
        content[one : one + 4], content[two : two + 4] = (pages[at] for at in by)
    home.db.write_bytes(content)
    with pytest.raises(LogDamagedError):
        export_bundle(home.db, tmp_path / "bundle", home.key.verifier)
    assert not any(tmp_path.iterdir())


def test_what_a_database_lacks_is_not_left_out_of_a_whole_export(tmp_path):
    home = Home()
    home.fill(9)
    with closing(sqlite3.connect(home.db, isolation_level=None)) as database:
        database.execute("DROP TRIGGER entries_delete")
        database.execute("DELETE FROM entries WHERE seq = 4")
        database.execute(
            "CREATE TRIGGER entries_delete BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'entries are append-only'); END"
        )
    with pytest.raises(LogDamagedError, match="1 of 10 records are missing"):
        export_bundle(home.db, tmp_path / "bundle", home.key.verifier)
    # what was asked for is there
    assert export_bundle(home.db, tmp_path / "some", home.key.verifier, Filter(start=5)).records == 5


def test_what_is_unsealed_is_not_in_a_bundle(tmp_path):
    home = Home()
    with home.open(create=True) as log:
        log.append(decision(1))
        log.checkpoint()
        log.append(decision(2))
        assert export_bundle(home.db, tmp_path / "b", home.key.verifier) == Bundle(2, 2, complete=True)
        assert export_bundle(home.db, tmp_path / "c", home.key.verifier, Filter(start=2)).records == 0


def twin(home, path, *statements):
    database = sqlite3.connect(home.db)
    copy = sqlite3.connect(path)
    database.backup(copy)
    database.close()
    trigger = copy.execute("SELECT sql FROM sqlite_schema WHERE name = 'entries_update'").fetchone()[0]
    copy.execute("DROP TRIGGER entries_update")
    for statement in statements:
        copy.execute(statement)
    copy.execute(trigger)
    copy.commit()
    copy.close()
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET leaf = replace(leaf, 'ALLOW', 'BLOCK') WHERE seq = 5",
        "UPDATE entries SET leaf = replace(leaf, '{\"agent', '{' || char(10) || '\"agent') WHERE seq = 5",
        "UPDATE tiles SET hashes = zeroblob(8192) WHERE level = 0 AND idx = 0",
        "UPDATE tiles SET hashes = zeroblob(64) WHERE level = 1",
        "DELETE FROM tiles WHERE level = 0 AND idx = 1",
    ],
)
def test_nothing_is_exported_that_would_not_verify(home, tmp_path, statement):
    path = twin(home, tmp_path / "bad.db", statement)
    with pytest.raises(LogDamagedError):
        export_bundle(path, tmp_path / "b", home.key.verifier)
    assert not [one for one in tmp_path.iterdir() if not one.name.startswith(path.name)]


def test_a_leaf_of_two_lines_is_not_exported_even_if_its_tree_is_signed(tmp_path):
    """Whoever has the key can write it; as a line of its own the second half would be another record."""
    home = Home()
    home.fill(1)
    database = sqlite3.connect(home.db)
    leaves = [
        leaf.replace("{", "{\n", 1).encode() for (leaf,) in database.execute("SELECT leaf FROM entries ORDER BY seq")
    ]
    edge = Edge()
    for leaf in leaves:
        edge.append(leaf_hash(leaf))
    ((_, _, tile),) = edge.partial()
    note = Checkpoint(home.key.name, len(leaves), edge.root()).sign(home.key)
    trigger = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'entries_update'").fetchone()[0]
    database.execute("DROP TRIGGER entries_update")
    for seq, leaf in enumerate(leaves):
        database.execute(
            "UPDATE entries SET leaf = ?, leaf_hash = ? WHERE seq = ?", (leaf.decode(), leaf_hash(leaf), seq)
        )
    database.execute("UPDATE tiles SET hashes = ?", (tile,))
    database.execute("UPDATE checkpoints SET note = ? WHERE size = ?", (note, len(leaves)))
    database.execute(trigger)
    database.commit()
    database.close()
    with pytest.raises(LogDamagedError, match="record 0"):
        export_bundle(home.db, tmp_path / "b", home.key.verifier)


def test_a_forged_checkpoint_is_not_exported(home, tmp_path):
    path = twin(home, tmp_path / "bad.db", "UPDATE checkpoints SET note = replace(note, 'test', 'tast')")
    with pytest.raises(SignatureError):
        export_bundle(path, tmp_path / "b", home.key.verifier)
    with pytest.raises(SignatureError):
        export_bundle(home.db, tmp_path / "b", Home().key.verifier)
    with pytest.raises(ReadError):
        export_bundle(tmp_path / "none.db", tmp_path / "b", home.key.verifier)
    assert not [one for one in tmp_path.iterdir() if not one.name.startswith(path.name)]


def test_what_is_private_stays_in_the_database(tmp_path):
    home = Home()
    home.fill(3)
    database = sqlite3.connect(home.db)
    database.execute("INSERT INTO private VALUES (1, 's1', ?)", (b"sealed-marker" * 4,))
    database.execute("INSERT INTO private_keys VALUES ('s1', ?)", (b"wrapped-marker" * 4,))
    database.commit()
    database.close()
    export_bundle(home.db, tmp_path / "b", home.key.verifier)
    assert not any(b"marker" in content for content in files(tmp_path / "b").values())


def test_a_bundle_replaces_nothing(home, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    os.symlink(tmp_path / "empty", tmp_path / "link")
    for name in ("taken", "file", "link"):
        with pytest.raises(ExportError, match="exists already"):
            export_bundle(home.db, tmp_path / name, home.key.verifier)
    with pytest.raises(ExportError, match="cannot write"):
        export_bundle(home.db, tmp_path / "no" / "such", home.key.verifier)
    assert (tmp_path / "taken" / "file").read_text() == "mine"
    export_bundle(home.db, tmp_path / "empty", home.key.verifier)
    check(tmp_path / "empty", home.key.verifier, MANY)


def test_tile_paths_are_those_of_tlog_tiles():
    assert [tile_path(0, index, 256) for index in (0, 67, 1067, 1234067)] == [
        "tile/0/000", "tile/0/067", "tile/0/x001/067", "tile/0/x001/x234/067",
    ]  # fmt: skip
    assert tile_path("entries", 1234067, 8) == "tile/entries/x001/x234/067.p/8"


@pytest.mark.usefixtures("loose")
def test_a_file_is_private_and_replaced_only_on_request(tmp_path):
    path = tmp_path / "out"
    with new_file(path, force=False) as file:
        file.write(b"one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ExportError, match="--force"), new_file(path, force=False):
        pass
    with pytest.raises(ZeroDivisionError), new_file(path, force=True) as file:
        file.write(b"two" + bytes([1 // 0]))
    assert path.read_bytes() == b"one"
    with new_file(path, force=True) as file:
        file.write(b"three")
    assert path.read_bytes() == b"three"
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "half", force=False) as file:
        file.write(bytes([1 // 0]))
    assert sorted(tmp_path.iterdir()) == [path]
    os.symlink(path, tmp_path / "link")
    with pytest.raises(ExportError), new_file(tmp_path / "link", force=False):
        pass
