import json
import math
from dataclasses import asdict, replace
from enum import IntEnum, StrEnum

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.entry import MAX_INT, MAX_LEAF, Draft, canonical, decode, encode
from audit.errors import BodyTooLargeError, EntryError

LOG = "test.example/01K"
ascii_keys = st.text(st.characters(max_codepoint=127), max_size=12)
scalars = (
    st.none() | st.booleans() | st.integers(-MAX_INT, MAX_INT) | st.text(st.characters(exclude_categories=("Cs",)))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ascii_keys, inner, max_size=4), max_leaves=20
)
bodies = st.dictionaries(ascii_keys, values, max_size=5)


def leaf_of(draft: Draft, *, seq: int = 1, prev: str | None = "a" * 64) -> bytes:
    return encode(draft, log=LOG).leaf(
        log=LOG, seq=seq, prev=prev, time=1_795_000_000_000, mono_ns="812345678", boot_id="b"
    )


GOOD = leaf_of(
    Draft(kind="decision", body={"a": [1, -2, {"k": "é\n\x1f\x7f"}], "b": None}, session="s", call_id="c", ref=0)
)


@given(bodies)
@settings(max_examples=200, deadline=None)
def test_canonical_text_is_rfc8785(body):
    assert canonical(body).encode() == rfc8785.dumps(body)


@given(bodies)
@settings(max_examples=100, deadline=None)
def test_a_record_reads_back_as_it_was_and_is_its_own_canonical_form(body):
    leaf = leaf_of(Draft(kind="decision", body=body, agent="me", ref=0))
    envelope = decode(leaf)
    assert envelope.body == body
    assert rfc8785.dumps(asdict(envelope)) == leaf


def test_the_envelope_has_exactly_the_contract_keys():
    assert sorted(json.loads(GOOD)) == [
        *("agent", "body", "boot_id", "call_id", "kind", "log", "mono_ns"),
        *("prev", "ref", "seq", "session", "time", "v"),
    ]


class Word(StrEnum):
    A = "a"


class Number(IntEnum):
    ONE = 1


def test_enums_and_tuples_are_their_plain_values():
    assert canonical({"w": Word.A, "n": Number.ONE, "t": (1, 2)}) == '{"n":1,"t":[1,2],"w":"a"}'


@pytest.mark.parametrize(
    "body",
    [
        {"x": 1.0},
        {"x": math.nan},
        {"x": MAX_INT + 1},
        {"x": -MAX_INT - 1},
        {"é": 1},
        {1: 1},
        {"x": "\ud800"},
        {"\x00ok": "\udfff"},
        {"x": b"bytes"},
        {"x": {1, 2}},
        {"x": object()},
    ],
)
def test_what_is_not_plain_json_is_refused(body):
    with pytest.raises(EntryError):
        encode(Draft(kind="decision", body=body), log=LOG)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "Decision"},
        {"kind": ""},
        {"kind": 'a","x":"'},
        {"session": ""},
        {"session": 's","v":2'},
        {"agent": "x" * 65},
        {"call_id": "ünïcode"},
        {"call_id": 7},
        {"ref": -1},
        {"ref": True},
        {"ref": "1"},
        {"body": []},
        {"body": None},
    ],
)
def test_a_field_outside_its_alphabet_is_refused(wrong):
    with pytest.raises(EntryError):
        encode(replace(Draft(kind="decision", body={}), **wrong), log=LOG)


def nested(depth):
    value = {}
    for _ in range(depth - 1):
        value = {"d": value}
    return value


def test_depth_counts_the_envelope():
    assert decode(leaf_of(Draft(kind="decision", body=nested(31)))).body == nested(31)
    with pytest.raises(EntryError, match="nested deeper"):
        encode(Draft(kind="decision", body=nested(32)), log=LOG)


def test_depth_of_a_leaf_is_bounded_however_it_is_written():
    deep = GOOD.replace(b'"b":null', b'"b":' + b"[" * 5000 + b"]" * 5000)
    with pytest.raises(EntryError, match="nested deeper"):
        decode(deep)
    wide = leaf_of(Draft(kind="decision", body={"l": [[] for _ in range(200)], "s": "[" * 200}))
    assert len(decode(wide).body["l"]) == 200


def test_a_body_may_be_as_long_as_the_error_says_and_no_longer():
    with pytest.raises(BodyTooLargeError) as caught:
        encode(Draft(kind="decision", body={"x": "y" * MAX_LEAF}, session="s"), log=LOG)
    limit = caught.value.limit
    assert caught.value.size == MAX_LEAF + len('{"x":""}')
    fits = Draft(kind="decision", body={"x": "y" * (limit - len('{"x":""}'))}, session="s")
    widest = encode(fits, log=LOG).leaf(
        log=LOG, seq=MAX_INT, prev="0" * 64, time=MAX_INT, mono_ns=str(2**64), boot_id="0" * 64
    )
    assert len(widest) == MAX_LEAF
    with pytest.raises(BodyTooLargeError):
        encode(replace(fits, body={"x": "y" * (limit - len('{"x":""}') + 1)}), log=LOG)


def test_a_body_that_is_short_enough_not_to_be_measured_fits_in_the_longest_envelope():
    name = "n" * 64
    draft = Draft(kind="k" * 32, body={}, session=name, agent=name, call_id=name, ref=MAX_INT)
    widest = {"log": "l" * 128, "seq": MAX_INT, "prev": "0" * 64, "time": MAX_INT, "mono_ns": "9" * 20, "boot_id": name}
    refused = 0
    for characters in range((MAX_LEAF - 1200) // 4, MAX_LEAF // 4):
        try:
            encoded = encode(replace(draft, body={"x": "\N{GRINNING FACE}" * characters}), log="l" * 128)
        except BodyTooLargeError:
            refused += 1
        else:
            assert len(encoded.leaf(**widest)) <= MAX_LEAF
    assert refused


def test_the_bytes_are_frozen_when_they_are_encoded():
    body = {"decision": "BLOCK"}
    encoded = encode(Draft(kind="decision", body=body), log=LOG)
    body["decision"] = "ALLOW"
    assert encoded.body == '{"decision":"BLOCK"}'


BROKEN = {
    "space": (b'"v":1', b'"v": 1'),
    "newline at the end": (b'"v":1}', b'"v":1}\n'),
    "float": (b'"a":[1', b'"a":[1.0'),
    "exponent": (b'"a":[1', b'"a":[1e0'),
    "minus zero": (b'"a":[1', b'"a":[-0'),
    "leading zero": (b'"a":[1', b'"a":[01'),
    "big integer": (b'"a":[1', b'"a":[9007199254740992'),
    "huge integer": (b'"a":[1', b'"a":[' + b"9" * 5000),
    "NaN": (b'"b":null', b'"b":NaN'),
    "duplicate key": (b'"b":null', b'"a":null'),
    "unsorted body": (b'"body":{"a"', b'"body":{"z"'),
    "escaped slash": (b'"k":"', b'"k":"\\/'),
    "escaped letter": (b'"k":"', b'"k":"\\u0041'),
    "long escape": (b"\\n", b"\\u000a"),
    "capital escape": (b"\\u001f", b"\\u001F"),
    "raw control": (b"\\u001f", b"\x1f"),
    "escaped surrogate": (b'"k":"', b'"k":"\\ud800'),
    "not utf-8": (b'"k":"', b'"k":"\xff'),
    "non-ascii key": (b'{"k"', '{"ké"'.encode()),
    "unknown key": (b'"v":1', b'"v":1,"w":1'),
    "missing key": (b'"agent":null,', b""),
    "version true": (b'"v":1', b'"v":true'),
    "version 2": (b'"v":1', b'"v":2'),
    "ref of itself": (b'"ref":0', b'"ref":1'),
    "ref null string": (b'"ref":0', b'"ref":"0"'),
    "ref false": (b'"ref":0', b'"ref":false'),
    "negative time": (b'"time":1', b'"time":-1'),
    "prev null": (b'"prev":"' + b"a" * 64 + b'"', b'"prev":null'),
    "prev capital": (b'"prev":"' + b"a" * 64, b'"prev":"' + b"A" * 64),
    "kind": (b'"kind":"decision"', b'"kind":"De"'),
    "empty session": (b'"session":"s"', b'"session":""'),
    "mono number": (b'"mono_ns":"812345678"', b'"mono_ns":812345678'),
    "mono zero": (b'"mono_ns":"8', b'"mono_ns":"08'),
    "log": (b'"log":"test', b'"log":" test'),
    "body array": (b'"body":{', b'"body":[{'),
    "cut": (b"}", b""),
    "trailing": (b'"v":1}', b'"v":1}{}'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_twin_is_refused(name):
    old, new = BROKEN[name]
    assert old in GOOD
    decode(GOOD)
    with pytest.raises(EntryError):
        decode(GOOD.replace(old, new, 1))


def test_first_record_has_no_prev_and_no_other_lacks_it():
    first = leaf_of(Draft(kind="decision", body={}), seq=0, prev=None)
    assert decode(first).prev is None
    with pytest.raises(EntryError):
        decode(first.replace(b'"prev":null', b'"prev":"' + b"a" * 64 + b'"'))


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_what_a_mutated_leaf_yields_is_an_error_or_its_own_canonical_form(data):
    leaf = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(leaf) - 1))
        leaf[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.binary(max_size=2) | st.sampled_from([b'"', b",", b"1", b"{"])
        )
    try:
        envelope = decode(bytes(leaf))
    except EntryError:
        return
    assert rfc8785.dumps(asdict(envelope)) == bytes(leaf)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_only_entry_errors_escape_the_reader(noise):
    with pytest.raises(EntryError):
        decode(noise)


def test_the_reader_is_linear_on_hostile_strings():
    # With a backtracking pattern this would not end.
    with pytest.raises(EntryError):
        decode(b'{"a":"' + b"\\u0000" * 2000 + b"\\q")
