"""What a filter selects is what a look at every record selects, whatever index it goes by and whatever its order."""

import json
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from audit.entry import Draft
from audit.errors import LogDamagedError, LogTruncatedError
from audit.follow import follow, last
from audit.query import Filter, record_of, rows, select, select_from, size_of
from audit.schema import FORMATS, reading
from audit_bodies import HARM, Told
from audit_support import Home, decision

PARTS = {
    "start": st.integers(0, 60),
    "stop": st.integers(0, 60),
    "since": st.integers(0, 50).map(lambda step: 1_795_000_000_000 + step),
    "until": st.integers(0, 50).map(lambda step: 1_795_000_000_000 + step),
    "kind": st.sampled_from(["decision", "log.open", ("log.open", "executing"), ("log.open",), ("outcome", "nothing")]),
    "session": st.sampled_from(["s0", "s1", "s9"]),
    "agent": st.sampled_from(["a0", "a1"]),
    "call_id": st.sampled_from(["call-3", "call-20", "call-99"]),
    "ref": st.integers(0, 20),
    "decision": st.sampled_from(["ALLOW", "BLOCK", "ESCALATE", "allow"]),
    "type": st.sampled_from(["read", "écrire"]),
    "tier": st.integers(0, 2),
    "rule": st.sampled_from(["r0", "r1"]),
    "grep": st.sampled_from(['"tier":1', "block", "ÉCRIRE", 'say "', "a\\b", "nowhere", "%", "_"]),
    "limit": st.integers(1, 9),
    "reverse": st.booleans(),
}
FILTERS = st.dictionaries(st.sampled_from(sorted(PARTS)), st.none(), max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: PARTS[name] for name in names})
)


@pytest.fixture(scope="module")
def home():
    home = Home()
    with home.open(create=True) as log:
        for number in range(1, 50):
            home.clock.now_ms += number % 5 - 1  # now and then back
            body = {
                "decision": ["ALLOW", "ALLOW", "BLOCK", "ESCALATE"][number % 4],
                "type": ["read", "écrire"][number % 2],
                "tier": number % 3,
                "rule": f"r{number % 2}",
                "text": ['say "a"', "a\\b", "100%"][number % 3],
            }
            where = {"session": f"s{number % 2}", "agent": f"a{number % 3}", "call_id": f"call-{number}"}
            log.append(Draft(kind="decision", body=body, **where))
            if number % 6 == 0:
                log.append(Draft(kind="executing", body={}, ref=number % 20 or 1, session="s1"))
    return home


@pytest.fixture(scope="module")
def log(home):
    return home.db


def holds(value, where):
    """A second reading of `Filter`, over the parsed leaf."""
    body = value["body"]
    kinds = (where.kind,) if isinstance(where.kind, str) else where.kind
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).lower()
    wanted = where.grep and {where.grep.lower(), json.dumps(where.grep, ensure_ascii=False)[1:-1].lower()}
    return (
        where.start <= value["seq"] < (where.stop if where.stop is not None else 10**9)
        and (where.since is None or value["time"] >= where.since)
        and (where.until is None or value["time"] < where.until)
        and (not kinds or value["kind"] in kinds)
        and all(getattr(where, name) in {None, value[name]} for name in ("session", "agent", "call_id", "ref"))
        and all(getattr(where, name) in {None, body.get(name)} for name in ("decision", "type", "tier", "rule"))
        and (not wanted or any(one in text for one in wanted))
    )


def expected(path, where):
    database = sqlite3.connect(path)
    found = [json.loads(leaf) for (leaf,) in database.execute("SELECT leaf FROM entries ORDER BY seq")]
    database.close()
    seqs = [value["seq"] for value in found if holds(value, where)]
    return (seqs[::-1] if where.reverse else seqs)[: where.limit]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(parts={"kind": "decision", "reverse": True}, chunk=2, window=10)
@example(parts={"kind": "decision", "reverse": False}, chunk=2, window=10)
@example(parts={"session": "s1", "reverse": True, "limit": 5}, chunk=2, window=3)
@example(parts={"grep": "block", "reverse": True, "start": 7, "stop": 41}, chunk=1, window=5)
@given(parts=FILTERS, chunk=st.integers(1, 7), window=st.integers(1, 40))
def test_a_filter_selects_what_a_look_at_every_record_selects(log, parts, chunk, window):
    where = Filter(**parts)
    with reading(log) as database:
        assert [seq for seq, _, _ in rows(database, where, chunk=chunk, window=window)] == expected(log, where)


def test_select_gives_the_exact_bytes(log):
    for record in select(log, Filter(stop=5)):
        assert json.loads(record.leaf)["seq"] == record.envelope.seq


def test_what_is_rare_is_found_by_its_index(log):
    """No statement of these looks at the whole table."""
    for where, index in (
        (Filter(session="s0", decision="BLOCK"), "entries_session"),
        (Filter(decision="BLOCK"), "entries_refused"),
        (Filter(kind="log.open"), "entries_marks"),
        (Filter(ref=6, session="s1"), "entries_ref"),
        (Filter(call_id="call-4", kind="decision"), "entries_call"),
    ):
        with reading(log) as database:
            ran = []
            database.set_trace_callback(ran.append)
            assert list(rows(database, where))
            plans = [database.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall() for sql in ran if "leaf_hash" in sql]
        assert index.encode() in plans[0][0][3], (where, plans)
        assert plans[0][0][3].startswith(b"SEARCH"), plans


def test_a_log_of_the_first_format_is_read_without_the_indexes_it_lacks(tmp_path):
    home = Home()
    home.fill(8)
    path = tmp_path / "old.db"
    old = sqlite3.connect(path, isolation_level=None)
    old.execute("PRAGMA application_id = 0x61756474")
    old.execute("PRAGMA user_version = 1")
    for sql in FORMATS[1]:
        old.execute(sql)
    old.execute("ATTACH ? AS new", (str(home.db),))
    for table, columns in (("meta", "*"), ("entries", "seq, leaf, leaf_hash"), ("tiles", "*"), ("checkpoints", "*")):
        target = "entries(seq, leaf, leaf_hash)" if table == "entries" else table
        old.execute(f"INSERT INTO main.{target} SELECT {columns} FROM new.{table}")
    old.close()
    for where in (Filter(decision="BLOCK"), Filter(kind="log.open"), Filter()):
        assert [one.leaf for one in select(path, where)] == [one.leaf for one in select(home.db, where)]


def test_no_statement_is_made_of_what_was_given(log):
    for field in ("session", "agent", "call_id", "decision", "type", "rule", "grep", "kind"):
        where = Filter(**{field: "x' OR 1=1 --"})
        assert list(select(log, where)) == []


def told(records):
    """Records one after the other, and how that ends."""
    found = []
    try:
        found.extend(records)  # what came before an error stays
    except LogDamagedError as error:
        return found, str(error)
    return found, None


@pytest.fixture(scope="module")
def content(home, tmp_path_factory):
    """The database's bytes, all in one file, and a place for others."""
    path = tmp_path_factory.mktemp("whole") / "audit.db"
    database = sqlite3.connect(home.db)
    database.execute("VACUUM INTO ?", (str(path),))
    database.close()
    return path.read_bytes(), path.with_name("other.db")


@settings(max_examples=150, deadline=None)
@example(seq=9, at=0, piece=b"[", chunk=7)
@example(seq=50, at=200, piece=b"\xff", chunk=60)
@given(
    seq=st.integers(0, 56),
    at=st.integers(0, 420),
    piece=st.sampled_from(
        [b'"', b"\\", b"\x01", b"\n", b"\xff", b"0", b"-", b"7", b",", b"}", b"A", b"a", b"null", b" "]
    ),
    chunk=st.integers(1, 60),
)
def test_records_read_by_their_shapes_are_those_read_one_by_one(content, seq, at, piece, chunk):
    """One leaf was changed anywhere in it: the same records come out, and the same error after them."""
    whole, path = content
    path.write_bytes(whole)
    with reading(path) as database:
        leaf = bytes(next(iter(rows(database, Filter(start=seq))))[1])
    assert whole.count(leaf) == 1
    at = min(at, len(leaf) - len(piece))
    path.write_bytes(whole.replace(leaf, leaf[:at] + piece + leaf[at + len(piece) :]))
    with reading(path) as database:
        plain = told(record_of(*row) for row in rows(database, Filter()))
        assert told(select_from(database, Filter(), chunk=chunk, many=1)) == plain
        assert told(select_from(database, Filter(), chunk=chunk, many=10)) == plain


def test_a_record_that_is_no_record_is_named():
    for before, after, where, said in (
        (b'"seq":2,', b'"seq":7,', Filter(), "record 2 says it is record 7"),
        (b'"number":1}', b'"number":1 ', Filter(), "record 2 is malformed"),
        (b'"number":1}', b'"number":1 ', Filter(rule="x"), "a record is no JSON"),
    ):
        home = Home()
        home.fill(3)
        database = sqlite3.connect(home.db)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        content = home.db.read_bytes()
        assert content.count(before) == 1
        home.db.write_bytes(content.replace(before, after))
        with pytest.raises(LogDamagedError, match=said):
            list(select(home.db, where))


@pytest.mark.parametrize("reverse", [False, True])
def test_numbers_that_no_record_has_do_not_make_it_search_forever(reverse):
    for seq, said in ((2**52, f"record {2**52} says it is record 1"), (2**63 - 2, "none can have that number")):
        home = Home()
        home.fill(3)
        database = sqlite3.connect(home.db)
        database.execute(
            "INSERT INTO entries(seq, leaf, leaf_hash)"
            " SELECT ?, replace(leaf, 'call-0', 'call-9'), leaf_hash FROM entries WHERE seq = 1",
            (seq,),
        )
        database.commit()
        database.close()
        with pytest.raises(LogDamagedError, match=said):
            list(select(home.db, Filter(grep="call-", reverse=reverse)))


def test_a_scan_holds_no_transaction_between_its_steps(log):
    with reading(log) as database:
        found = rows(database, Filter(grep="block"), chunk=2, window=8)
        for _ in range(3):
            next(found)
            assert not database.in_transaction


def test_what_is_added_while_one_reads_is_left_for_the_next_time():
    home = Home()
    with home.open(create=True) as log:
        for number in range(1, 4):
            log.append(decision(number))
        found = select(home.db, Filter())
        assert next(found).envelope.seq == 0
        log.append(decision(4))
        assert [one.envelope.seq for one in found] == [1, 2, 3]


def test_last_and_follow_show_each_record_once():
    home = Home()
    with home.open(create=True) as log:
        for number in range(1, 8):
            log.append(decision(number))
        found, size = last(home.db, Filter(decision="ALLOW"), 3)
        assert [one.envelope.seq for one in found] == [4, 5, 6]
        assert size == 8
        numbers = iter(range(8, 40))

        def pause():
            for _ in range(3):
                log.append(decision(next(numbers)))

        coming = follow(home.db, Filter(decision="ALLOW", stop=20), size, pause)
        assert [one.envelope.seq for one in coming] == [seq for seq in range(8, 20) if seq % 7]


def test_follow_notices_a_log_that_shrank(tmp_path):
    told = Told()
    shorter = Home()
    shorter.fill(2)
    place = tmp_path / "audit.db"
    place.write_bytes(told.home.db.read_bytes())
    _, size = last(place, Filter(), 1)

    def pause():
        place.write_bytes(shorter.db.read_bytes())

    with pytest.raises(LogTruncatedError, match="held 14 records and now holds 3"):
        list(follow(place, Filter(), size, pause))


def test_tail_of_everything_or_nothing():
    told = Told()
    assert [one.envelope.seq for one in last(told.home.db, Filter(), 99)[0]] == list(range(14))
    assert last(told.home.db, Filter(), 0)[0] == []
    assert [one.envelope.seq for one in last(told.home.db, Filter(stop=5), 2)[0]] == [3, 4]


def test_text_is_found_as_it_was_meant_and_as_json_writes_it():
    told = Told()
    for text in (HARM, HARM.upper(), "a=b\\", '"status":"ok"', "ONLY ONCE"):
        assert list(select(told.home.db, Filter(grep=text))), text
    with reading(told.home.db) as database:
        assert size_of(database) == 14
    assert list(select(told.home.db, replace(Filter(), grep="a=b/"))) == []
