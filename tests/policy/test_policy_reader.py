"""The strict YAML reader: every construct that is refused, at its exact place, and its harmless twin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.errors import PolicyError
from shield.policy.reader import MAX_BYTES, List, Map, Mark, Scalar, plain, read

REFUSED = [  # text, line, column, part of the message
    ("a: &x 1", 1, 4, "anchor `&x`"),
    ("a:\n\tb: 1", 2, 1, "a tab where YAML wants spaces; indent with spaces"),
    ("a:\r\n  b: 1\r\n\tc: 2", 3, 1, "a tab where YAML wants spaces"),
    ("a: 1\nb: *a", 2, 4, "alias `*a`"),
    ("a: !!str 1", 1, 4, "tag"),
    ("a: ! b", 1, 4, "tag"),
    ("!foo [a]", 1, 1, "tag"),
    ("%YAML 1.1\n---\na: 1", 1, 1, "directives"),
    ("a: 1\n---\nb: 2", 2, 1, "second document"),
    ("a: 1\nb: 2\na: 3", 3, 1, "given twice, first in line 1"),
    ("a:\n  b: 1\n  'b': 2", 3, 3, "given twice"),
    ("{a: 1, 'a': 2}", 1, 8, "given twice"),
    ("? [a]\n: 1", 1, 3, "not a list or a mapping"),
    ("<<: {a: 1}", 1, 1, "merge key"),
    ("a: no", 1, 4, "`no` is ambiguous; write `false`"),
    ("a: [Yes]", 1, 5, "write `true`"),
    ("on: 1", 1, 1, "ambiguous"),
    ("a: off", 1, 4, "ambiguous"),
    ("a: True", 1, 4, "write `true`"),
    ("a: NULL", 1, 4, "write `null`"),
    ("a: ~", 1, 4, '"~"'),
    ("a: 0777", 1, 4, '"0777"'),
    ("a: 0x1f", 1, 4, "whole number"),
    ("a: 1_000", 1, 4, "whole number"),
    ("a: 1.5", 1, 4, "whole number"),
    ("a: 1e3", 1, 4, "whole number"),
    ("a: .inf", 1, 4, "whole number"),
    ("a: 99999999999999999999", 1, 4, "64 bits"),
    ("1: a", 1, 1, 'write `"1"`'),
    ("true: a", 1, 1, "a key must be a string"),
    ("a: \x01", 1, 4, "U+0001"),
    ("a: x\u202ey", 1, 5, "U+202E"),
    ("a: 1\nb: x\u200b", 2, 5, "U+200B"),
    ("\ufeffa: 1", 1, 1, "U+FEFF"),
    ("a: x\ry", 1, 5, "U+000D"),
    ("a: x\x85y", 1, 5, "U+0085"),
    ("a: [", 2, 1, "not readable as YAML"),
    ("a:\n\tb: 1", 2, 1, "not readable as YAML"),
    ('a: "\\ud800"', 1, 7, "not readable as YAML"),
    ("", 1, 1, "empty"),
    ("# only a comment", 1, 1, "empty"),
]


@pytest.mark.parametrize(("text", "line", "column", "part"), REFUSED, ids=[repr(row[0]) for row in REFUSED])
def test_refused_with_its_place(text, line, column, part):
    with pytest.raises(PolicyError) as caught:
        read(text.encode("utf-8", "surrogatepass"), "p.yaml")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("p.yaml", line, column)
    assert part in caught.value.detail


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 'no'", {"a": "no"}),
        ('a: "~"', {"a": "~"}),
        ("'<<': 1", {"<<": 1}),
        ("a: '0777'", {"a": "0777"}),
        ("a: 12:30:45", {"a": "12:30:45"}),
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("a: 1.2.3.4", {"a": "1.2.3.4"}),
        ("a: y", {"a": "y"}),
        ("a: [true, false, null, -7, +5, 0]", {"a": [True, False, None, -7, 5, 0]}),
        ("a:", {"a": None}),
        ('a: "\\u202e\\0"', {"a": "\u202e\0"}),
        ("a: x\r\nb: y\r\n", {"a": "x", "b": "y"}),
        ("a: caf\u00e9 ⚠️", {"a": "caf\u00e9 ⚠️"}),
        ("a: >-\n  one\n  two\n", {"a": "one two"}),
    ],
)
def test_harmless_twins(text, value):
    assert plain(read(text.encode(), "p.yaml")) == value


@pytest.mark.parametrize("text", ["[" * 200_000, "[" * 200_000 + "]" * 200_000, "{a: " * 100_000])
def test_deep_input_is_refused_as_it_comes(text):
    with pytest.raises(PolicyError, match="nested deeper than 32") as caught:
        read(text.encode(), "p.yaml")
    assert caught.value.line == 1


@pytest.mark.parametrize("text", ["[" * 33 + "]" * 33, "{a: " * 33 + "}" * 33, "[" * 32 + "{a: b}" + "]" * 32])
def test_depth_33_is_not(text):
    with pytest.raises(PolicyError, match="nested deeper than 32"):
        read(text.encode(), "p.yaml")


def test_depth_32_is_read():
    node = read(("[" * 32 + "]" * 32).encode(), "p.yaml")
    assert isinstance(node, List)


def test_alias_bomb_is_refused_at_its_first_anchor():
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    with pytest.raises(PolicyError, match="anchor `&a`"):
        read(bomb.encode(), "p.yaml")


def test_size_is_bounded():
    with pytest.raises(PolicyError, match="larger than"):
        read(b"a: " + b"x" * MAX_BYTES, "p.yaml")


def test_bytes_that_are_no_utf8_have_a_place():
    with pytest.raises(PolicyError, match="not UTF-8") as caught:
        read(b"a: 1\nb: \xff", "p.yaml")
    assert (caught.value.line, caught.value.column) == (2, 4)
    with pytest.raises(PolicyError):
        read("a: 1".encode("utf-16"), "p.yaml")


def test_every_key_and_value_has_its_place():
    node = read(b"a: 1\nb:\n  - x\n  - 'y'\nc: |\n  one\n  two\n", "p.yaml")
    assert isinstance(node, Map)
    a, b, c = node.entries
    assert (a.mark, a.value.mark) == (Mark(1, 1), Mark(1, 4))
    assert isinstance(b.value, List)
    assert [item.mark for item in b.value.items] == [Mark(3, 5), Mark(4, 5)]
    assert isinstance(c.value, Scalar)
    assert c.value.inner == Mark(6, 3)
    assert isinstance(b.value.items[1], Scalar)
    assert b.value.items[1].inner == Mark(4, 6)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_only_policy_errors_escape(raw):
    try:
        node = read(raw, "p.yaml")
    except PolicyError:
        return
    plain(node)


_PIECES = [
    *["a", "[", "]", "{", "}", "'", "?", "<<", "#", "%", ",", "|"],
    "b: ",
    "- ",
    "&x ",
    "*x ",
    "!!str ",
    ">\n",
    "\n",
    "  ",
    ": ",
    "---\n",
]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=30))
def test_only_policy_errors_escape_from_yaml_shaped_text(parts):
    try:
        read("".join(parts).encode(), "p.yaml")
    except PolicyError:
        return
