"""Counts are exact as long as there is room, percentiles within their promise, and damage is said."""

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import LogDamagedError
from audit.query import Filter
from audit.stats import NAMES, OTHERS, Spread, Tally, stats
from audit_bodies import Told
from audit_support import Home


def test_what_is_counted():
    told = Told()
    found = stats(told.home.db, Filter())
    assert (found.records, found.matching, found.sealed, found.unsealed, found.checkpoints) == (14, 14, 14, 0, 3)
    assert list(found.kinds.items())[:2] == [("decision", 5), ("executing", 2)]
    assert found.decisions == {"ALLOW": 2, "BLOCK": 2, "ESCALATE": 1}
    assert found.tiers == {"0": 3, "2": 1, "3": 1}
    assert (found.sessions, found.agents) == (2, {"me": 10, "other": 1})
    assert found.refused == 0.6
    assert (found.first, found.last) == (1_794_996_592_042, 1_795_000_192_042)
    assert found.disk >= 14 * (found.bytes_per_record or 0) > 0


def test_nothing_matches():
    told = Told()
    found = stats(told.home.db, Filter(rule="none"))
    assert (found.records, found.matching, found.first, found.refused) == (14, 0, None, None)
    assert found.latency_median_us is None


def test_names_are_exact_until_there_are_too_many():
    tally = Tally()
    for _ in range(2):
        for number in range(NAMES + 5):
            tally.add(f"n{number}")
    tally.add("n1")
    assert len(tally.counts) == NAMES
    assert tally.top(2) == {"n1": 3, "n0": 2, OTHERS: 2 * (NAMES + 5) + 1 - 5}
    assert sum(tally.by_name().values()) == 2 * (NAMES + 5) + 1


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**53)), min_size=1, max_size=60))
def test_percentiles_are_near(values):
    spread = Spread()
    for value in values:
        spread.add(value)
    order = sorted(values)
    for share in (0.5, 0.95, 1.0):
        exact = order[max(0, -int(-share * len(order) // 1) - 1)]
        found = spread.at(share)
        assert found is not None
        assert exact * (1 - 1 / 64) <= found <= exact


def test_nothing_has_no_percentile_and_what_is_negative_is_nothing():
    spread = Spread()
    spread.add(-1)
    assert spread.at(0.5) is None


@pytest.mark.parametrize(
    "leaf",
    [
        "[]",
        '{"agent":null,"body":{},"kind":"a","session":null,"time":1e999}',
        "7",
        '{"a":' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_what_is_no_record_is_named(leaf):
    home = Home()
    home.fill(3)
    database = sqlite3.connect(home.db)
    database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (4, ?, zeroblob(32))", (leaf,))
    database.commit()
    database.close()
    with pytest.raises(LogDamagedError, match="record 4 is malformed"):
        stats(home.db, Filter())
