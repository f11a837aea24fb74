import json

import pytest

from audit.errors import KindError
from audit.kinds import Kind, KindTable, Ref
from audit_support import KINDS


def test_the_table_round_trips_through_json():
    assert KindTable.parse(json.loads(json.dumps(KINDS.as_json()))) == KINDS


@pytest.mark.parametrize(
    "kinds",
    [
        [],
        [Kind(name="decision")],
        [Kind(name="log.open", ref=Ref.MAY)],
        [Kind(name="log.open"), Kind(name="log.open")],
        [Kind(name="log.open"), Kind(name="Upper")],
        [Kind(name="log.open"), Kind(name="a", ref=Ref.MUST, to=frozenset({"b"}))],
        [Kind(name="log.open"), Kind(name="a", then=frozenset({"b"}))],
        [Kind(name="log.open"), Kind(name="a", to=frozenset({"log.open"}))],
        [Kind(name="log.open"), Kind(name="a", once=True)],
    ],
)
def test_a_table_that_contradicts_itself_is_refused(kinds):
    with pytest.raises(KindError):
        KindTable.of(kinds)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"log.open": None},
        {"log.open": {}},
        {"log.open": {"once": 0, "ref": "never", "then": [], "to": []}},
        {"log.open": {"once": False, "ref": "sometimes", "then": [], "to": []}},
        {"log.open": {"once": False, "ref": "never", "then": ["log.open", "log.open"], "to": []}},
        {"log.open": {"once": False, "ref": "never", "then": [1], "to": []}},
        {"log.open": {"once": False, "ref": [], "then": [], "to": []}},
        {"log.open": {"once": False, "ref": "never", "then": [], "to": [], "x": 1}},
    ],
)
def test_a_malformed_table_is_refused(value):
    with pytest.raises(KindError):
        KindTable.parse(value)


def test_ref_is_checked_against_the_table():
    KINDS.check("approval", None)
    KINDS.check("approval", 3)
    for name, ref in (("decision", 0), ("executing", None), ("unknown", None)):
        with pytest.raises(KindError):
            KINDS.check(name, ref)
