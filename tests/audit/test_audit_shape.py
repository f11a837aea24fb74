"""A shape accepts nothing that the strict way refuses, and reads the same from what both accept."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from audit.entry import MAX_LEAF, Draft, decode, encode
from audit.errors import EntryError
from audit.shape import MAX_MEMBERS, MAX_SHAPES, Shapes, fields_of

LOG = "test.example/01K"
PREV = b"ab" * 32
MARKS = frozenset({"log.open", "key.rotate"})

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.integers(-20, 20),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    st.sampled_from(["ALLOW", "BLOCK", 'a"b\\c\n', "{}[]", "\x1f\x7f", "grün"]),
)
names = st.sampled_from(["a", "b", "decision", "kind", "seq", 'q"', "e\\", "log"])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)
bodies = st.dictionaries(names, values, max_size=4)
# what an attacker would try to slip in between
PIECES = [b'"', b"\\", b"\x00", b"\n", b"\x1f", b"\xff", b"\xc3\xa4", b"0", b"-", b"-0", b"1e5", b"9" * 16, b",", b":"]
PIECES += [b"{}", b"[]", b"null", b"true", b" ", b"\\u0041", b"\\u001f", b"\\u000A", b'","x":"', b'"x":1,', b"}", b"]"]


def leaf_of(body, *, seq=7, kind="decision", ref=None, session="s1", call_id="c-1", log=LOG):
    draft = Draft(kind=kind, body=body, session=session, agent="me", call_id=call_id, ref=ref)
    more = {"prev": PREV.decode(), "time": 1_795_000_000_000 + seq, "mono_ns": str(seq), "boot_id": "boot-1"}
    return encode(draft, log=log).leaf(log=log, seq=seq, **more)


def learned(*leaves):
    """Shapes that know the structures of these leaves."""
    shapes = Shapes(LOG, marks=MARKS)
    for leaf in leaves:
        shapes.read([leaf] * 4)
    return shapes


def strictly(leaf):
    record = decode(leaf)
    if record.log != LOG:
        raise EntryError("another log")
    return tuple(fields_of(record))


def whole(read):
    try:
        return read()
    except EntryError:
        return None


def agree(shapes, leaf):
    envelope = whole(lambda: decode(leaf))
    # of another log it takes none
    assert whole(lambda: shapes.envelopes([leaf])) == ([envelope] if envelope and envelope.log == LOG else None)
    try:
        found = tuple(shapes.read([leaf])[0])
    except EntryError:
        with pytest.raises(EntryError):
            strictly(leaf)
        return
    try:
        expected = strictly(leaf)
    except EntryError:
        # The verifier compares these two itself: `prev` with the hash before, `ref` with `seq`.
        prev, ref, seq = found[4], found[5], found[6]
        assert prev != PREV or seq == b"0" or (ref is not None and int(ref) >= int(seq)), leaf
    else:
        assert found == expected


@given(bodies, st.data())
@settings(max_examples=250, deadline=None)
def test_what_a_shape_takes_the_strict_way_takes_too(body, data):
    leaf = leaf_of(body, ref=data.draw(st.sampled_from([None, 3])), session=data.draw(st.sampled_from([None, "s1"])))
    shapes = learned(leaf)
    assert tuple(shapes.read([leaf])[0]) == strictly(leaf)
    for _ in range(4):
        at = data.draw(st.integers(0, len(leaf)))
        cut = data.draw(st.integers(0, 3))
        piece = data.draw(st.sampled_from([*PIECES, b"", leaf[at : at + 9]]))
        agree(shapes, leaf[:at] + piece + leaf[at + cut :])


@given(bodies, st.lists(scalars, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_other_scalars_in_the_same_structure(body, others):
    shapes = learned(leaf_of(body))
    at = iter(range(1000))

    def other(value):
        if isinstance(value, dict):
            return {name: other(item) for name, item in value.items()}
        if isinstance(value, list):
            return [other(item) for item in value]
        return others[next(at) % len(others)]

    agree(shapes, leaf_of(other(body)))


@given(st.lists(bodies, min_size=2, max_size=5))
@example([{"decision": "ALLOW"}, {"decision": {"a": 1}}, {"decision": ["x", {}]}, {"a": {"decision": "BLOCK"}}, {}])
@settings(max_examples=60, deadline=None)
def test_several_structures_at_once_keep_apart(several):
    leaves = [leaf_of(body, seq=seq + 1) for seq, body in enumerate(several)]
    shapes = learned(*leaves)
    assert [tuple(found) for found in shapes.read(leaves)] == [strictly(leaf) for leaf in leaves]


BROKEN = {
    "a control character": lambda leaf: leaf.replace(b"ALLOW", b"AL\x1fOW"),
    "a newline": lambda leaf: leaf.replace(b"ALLOW", b"AL\nOW"),
    "a second spelling": lambda leaf: leaf.replace(b"ALLOW", b"\\u0041LLOW"),
    "no utf-8": lambda leaf: leaf.replace(b"ALLOW", b"\xff"),
    "a surrogate": lambda leaf: leaf.replace(b"ALLOW", b"\xed\xa0\x80"),
    "half a character": lambda leaf: leaf.replace(b"ALLOW", b"\xc3"),
    "a leading zero": lambda leaf: leaf.replace(b'"n":12', b'"n":012'),
    "minus zero": lambda leaf: leaf.replace(b'"n":12', b'"n":-0'),
    "a fraction": lambda leaf: leaf.replace(b'"n":12', b'"n":1.5'),
    "too large a number": lambda leaf: leaf.replace(b'"n":12', b'"n":9007199254740993'),
    "another log": lambda leaf: leaf.replace(LOG.encode(), b"test.example/01L"),
    "a member twice": lambda leaf: leaf.replace(b'"n":12', b'"n":12,"n":12'),
    "members in another order": lambda leaf: leaf.replace(b'"decision":"ALLOW","n":12', b'"n":12,"decision":"ALLOW"'),
    "white space": lambda leaf: leaf.replace(b'"n":12', b'"n": 12'),
    "another version": lambda leaf: leaf.replace(b'"v":1', b'"v":2'),
    "a name too long": lambda leaf: leaf.replace(b'"session":"s1"', b'"session":"' + b"s" * 65 + b'"'),
    "a name with other characters": lambda leaf: leaf.replace(b'"session":"s1"', b'"session":"s 1"'),
    "more behind": lambda leaf: leaf + b" ",
    "too long": lambda leaf: leaf.replace(b"ALLOW", b"A" * MAX_LEAF),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_twin_of_a_known_leaf_is_refused(name):
    leaf = leaf_of({"decision": "ALLOW", "n": 12})
    shapes = learned(leaf)
    twin = BROKEN[name](leaf)
    assert twin != leaf
    with pytest.raises(EntryError):
        strictly(twin)
    for some in ([twin], [leaf, twin], [twin, leaf]):
        with pytest.raises(EntryError):
            shapes.read(some)


def test_utf8_that_is_torn_between_two_leaves_is_refused():
    leaf = leaf_of({"decision": "ALLOW"})
    shapes = learned(leaf)
    with pytest.raises(EntryError):
        shapes.read([leaf[:-1] + b"\xc3", b"\xa4" + leaf])


def test_most_leaves_of_a_known_structure_need_no_decoding():
    """Counted, not timed."""
    shapes = Shapes(LOG, marks=MARKS)
    texts = ["plain", 'with \\ and "', "line\nbreak", "grün", "{[", "", None, 5]
    leaves = [
        leaf_of({"decision": "ALLOW", "l": [1] * (seq % 3), "text": texts[seq % 8]}, seq=seq) for seq in range(1, 200)
    ]
    assert [tuple(found) for found in shapes.read(leaves)] == [strictly(leaf) for leaf in leaves]
    assert shapes.decoded == 3  # those to learn from
    shapes.read([leaf_of({"decision": "ALLOW"}, kind="log.open", call_id=f"c{n}") for n in range(9)])
    assert shapes.decoded == 12  # what has a meaning of its own is never learned from


def test_there_are_no_more_shapes_than_may_be_and_none_too_large():
    shapes = Shapes(LOG, marks=MARKS)
    large = leaf_of({f"m{number:04}": number for number in range(MAX_MEMBERS + 1)})
    for number in range(MAX_SHAPES + 5):
        leaf = leaf_of({f"name{number}": 1})
        assert [tuple(found) for found in shapes.read([leaf] * 5)] == [strictly(leaf)] * 5
    assert [tuple(found) for found in shapes.read([large] * 9)] == [strictly(large)] * 9


def test_the_order_of_names_is_that_of_the_sample():
    shapes = learned(leaf_of({"a": 1, "b": 2}))
    leaf = leaf_of({"a": 1, "b": 2})
    swapped = leaf.replace(b'{"a":1,"b":2}', b'{"b":1,"a":2}')
    assert json.loads(swapped)
    with pytest.raises(EntryError):
        shapes.read([swapped])
