"""The strict reader and `shield-jcs-1`: the standard's vectors, the oracle, the laws, and what is refused."""

import json
import math
import random

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scale import scale, seed
from shared_data import shared
from shield.canonical import MAX_DEPTH, MAX_NODES, MAX_SAFE_INTEGER, canonicalise, decode, digest, encode, parse
from shield.errors import InputError, Reason

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6) | st.sampled_from(["$int", "$$int", "int"]), inner, max_size=4)
    ),
    max_leaves=20,
)


# --- CONTRACTS "Hash vectors" ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "canonical", "sha256"),
    [
        (
            {"type": "read_file", "payload": {"path": "notes/é.txt"}, "cwd": "/home/user/ws"},
            '{"cwd":"/home/user/ws","payload":{"path":"notes/é.txt"},"type":"read_file"}',
            "0436fbff2e7e6511421115fb663deaca1b3cde80e608d0478022442a46ee0954",
        ),
        (
            {
                "type": "http_request",
                "payload": {"json": {"id": 9007199254740993, "mine": {"$int": "7"}}, "url": "https://x.example/"},
                "cwd": "/home/user/ws",
            },
            (
                '{"cwd":"/home/user/ws","payload":{"json":{"id":{"$int":"9007199254740993"},"mine":{"$$int":"7"}},'
                '"url":"https://x.example/"},"type":"http_request"}'
            ),
            "a5be99a918e90764e5132e4c2255d261dc8fb0c1dd574f13c2d220d5c5b1510a",
        ),
    ],
)
def test_hash_vectors_of_the_contract(sent, canonical, sha256):
    assert encode(sent) == canonical.encode()
    assert digest(encode(sent)) == f"sha256:{sha256}"
    assert decode(encode(sent)) == sent


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_vectors_of_rfc_8785(name):
    given_bytes = shared(f"vectors/jcs/testdata/input/{name}.json").read_bytes()
    wanted = shared(f"vectors/jcs/testdata/output/{name}.json").read_bytes()
    canonical = encode(parse(given_bytes))
    assert canonical == wanted
    # the broken twin: one changed byte of the input is another form
    assert encode(parse(given_bytes.replace(b"1", b"2", 1).replace(b"a", b"b", 1))) != wanted or b"1" not in given_bytes


# --- the oracle ------------------------------------------------------------------------------------------------------


def _plain(value):
    """Whether RFC 8785 alone can represent the value: no integer past the safe range, no object that we escape."""
    if isinstance(value, bool) or value is None or isinstance(value, float | str):
        return True
    if isinstance(value, int):
        return abs(value) <= MAX_SAFE_INTEGER
    if isinstance(value, list):
        return all(map(_plain, value))
    return not (len(value) == 1 and next(iter(value)).strip("$") == "int" and "$" in next(iter(value))) and all(
        map(_plain, value.values())
    )


@given(VALUES)
@example({"\ue000": 1, "\U00010000": 2, "z": 3})
@example([1e21, 1e-7, 123456789012345680000.0, 5e-324, -0.0, 1e20, 0.000001])
def test_agrees_with_the_oracle(value):
    if _plain(value):
        assert encode(value) == rfc8785.dumps(value)


def test_floats_agree_with_the_oracle():
    rng = random.Random(seed())
    for _ in range(scale("canonical_differential")):
        number = rng.choice(
            [
                rng.uniform(-1e6, 1e6),
                rng.uniform(-1, 1) * 10 ** rng.randint(-320, 308),
                float(rng.getrandbits(64)),
                float.fromhex(f"0x1.{rng.getrandbits(52):013x}p{rng.randint(-1022, 1023)}"),
            ]
        )
        assert encode(number) == rfc8785.dumps(number), number.hex()


# --- laws ------------------------------------------------------------------------------------------------------------


@given(VALUES)
def test_canonicalising_is_idempotent_and_loses_nothing(value):
    canonical = encode(value)
    assert encode(decode(canonical)) == canonical
    assert decode(canonical) == value


@given(VALUES)
@example({"$int": 1})
@example({"a": [2**60, {"$$int": "$"}]})
def test_a_canonical_value_is_what_its_bytes_stand_for(value):
    canonical, read_back = canonicalise(value)
    assert canonical == encode(value)
    assert repr(read_back) == repr(decode(canonical))


def test_every_value_of_an_object_counts():
    for item in ("x", None, True, 7, [], 2**60):
        encode(dict.fromkeys(map(str, range(MAX_NODES - 1)), item))
        with pytest.raises(InputError) as caught:
            encode(dict.fromkeys(map(str, range(MAX_NODES)), item))
        assert caught.value.reason is Reason.INPUT_NODES


@given(VALUES)
def test_no_two_values_share_a_form(value):
    for other in ({"$int": str(value)} if isinstance(value, int) else None, [value], {"$int": value}, {"$$int": value}):
        assert other == value or encode(other) != encode(value)


@given(VALUES)
def test_reading_what_json_writes_gives_the_value(value):
    assert parse(json.dumps(value).encode()) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw):
    try:
        value = parse(raw)
    except InputError:
        return
    encode(value)


@given(st.binary(max_size=80))
def test_bytes_that_are_not_canonical_do_not_decode(raw):
    try:
        value = decode(raw)
    except InputError:
        return
    assert encode(value) == raw


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason", "offset"),
    [
        (b'{"a":1,"a":2}', Reason.INPUT_DUPLICATE_KEY, 7),
        (b'{"a":{"b":1},"c":[{"b":1,"x":2,"b":3}]}', Reason.INPUT_DUPLICATE_KEY, 31),
        (b'{"\xc3\xa9":1,"\\u00e9":2}', Reason.INPUT_DUPLICATE_KEY, 8),
        (b"[NaN]", Reason.INPUT_NUMBER, 1),
        (b"[-Infinity]", Reason.INPUT_NUMBER, 1),
        (b"[1, 1e400]", Reason.INPUT_NUMBER, 4),
        (b"1" * 5000, Reason.INPUT_NUMBER, 0),
        (b'{"a":"x\xff"}', Reason.INPUT_ENCODING, 7),
        (b'\xef\xbb\xbf{"a":1}', Reason.INPUT_JSON, 0),
        (b'{"a" 1}', Reason.INPUT_JSON, 5),
        (b'{"a":1,}', Reason.INPUT_JSON, 7),
        (b"{'a':1}", Reason.INPUT_JSON, 1),
        (b"", Reason.INPUT_JSON, 0),
        (b"{} {}", Reason.INPUT_JSON, 3),
        (b'["a\nb"]', Reason.INPUT_JSON, 3),
        (b"[01]", Reason.INPUT_JSON, 2),
    ],
)
def test_refused_with_the_offset(raw, reason, offset):
    with pytest.raises(InputError) as caught:
        parse(raw)
    assert (caught.value.reason, caught.value.offset) == (reason, offset)


@pytest.mark.parametrize(
    ("raw", "reason", "pointer"),
    [
        (b'{"a":["x","\\ud800"]}', Reason.INPUT_SURROGATE, "/a/1"),
        (b'{"a/b":{"\\udfff":1}}', Reason.INPUT_SURROGATE, "/a~1b"),
        (b"[" * 33 + b"]" * 33, Reason.INPUT_DEPTH, "/0" * 32),
        (b'{"a":' * 33 + b"1" + b"}" * 33, Reason.INPUT_DEPTH, "/a" * 32),
        (b"[" * 200_000, Reason.INPUT_NODES, None),
        (b"[" + b"0," * MAX_NODES + b"0]", Reason.INPUT_NODES, None),
    ],
)
def test_refused_with_the_pointer(raw, reason, pointer):
    with pytest.raises(InputError) as caught:
        parse(raw)
    assert (caught.value.reason, caught.value.pointer) == (reason, pointer)


def test_the_limits_themselves_are_accepted():
    assert parse(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None
    assert len(parse(b"[" + b"0," * (MAX_NODES - 2) + b"0]")) == MAX_NODES - 1
    assert parse(b'"' + b",[{" * MAX_NODES + b'"') == ",[{" * MAX_NODES
    with pytest.raises(InputError) as caught:
        parse(b'"123456789"', max_bytes=10)
    assert caught.value.reason is Reason.INPUT_SIZE


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, {1: 2}, {None: 1}, {1, 2}, b"x", object(), "\ud800", {"\udc00": 1}, {"\udc00": 1, "b": 1.5}],
)
def test_values_that_are_not_json_have_no_form(value):
    with pytest.raises(InputError):
        encode(value)


@pytest.mark.parametrize(
    "raw",
    [b'{"b":1,"a":2}', b'{ "a":1}', b"1.0", b'{"$int":"07"}', b'{"$int":"7"}', b'{"$int":7}', b"-0", b'"\\u0061"'],
)
def test_only_canonical_bytes_decode(raw):
    with pytest.raises(InputError):
        decode(raw)


@settings(max_examples=50)
@given(st.integers(min_value=MAX_SAFE_INTEGER - 2, max_value=MAX_SAFE_INTEGER + 3) | st.integers())
def test_every_integer_is_kept(number):
    assert decode(encode({"n": number, "m": -number})) == {"n": number, "m": -number}
