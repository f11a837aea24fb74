"""`matches()`: whatever shortcut is taken, the answer is RE2's."""

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.policy.cel import DYN, STRING, CelError, CelLoadError, Schema, compile_condition
from shield.policy.cel.regex import pattern

PIECES = ["a", "b", "ab", "x", ".", "\\.", "*", "+", "?", "*?", "{2}", "{0,}", "{,3}", "{", "}", "(", ")", "(?i)", "(?:", "|", "[ab]", "[^a]",
          "[]a]", "[[:alpha:]]", "\\d", "\\w", "\\b", "\\Q", "\\E", "\\x61", "\\pL", "^", "$", ".*", "\n", "é", "(?s).", "\\\\"]  # fmt: skip
PATTERNS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
TEXTS = st.text(alphabet="abAx.1{},3\n\\]é[:lph", max_size=12)


@settings(max_examples=2500, deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=3, max_size=8))
def test_shortcuts_agree_with_re2(written: str, texts: list[str]) -> None:
    options = re2.Options()
    options.log_errors = False
    try:
        reference = re2.compile(written, options)
    except re2.error:
        reference = None
    quoted = "r'''" + written + "'''"
    for schema in (Schema(roots={"s": STRING}), Schema(roots={"s": DYN})):
        try:
            condition = compile_condition(f"s.matches({quoted})", schema)
        except CelLoadError:
            assert reference is None, written
            continue
        assert reference is not None, written
        for text in texts:
            want = reference.search(text) is not None
            assert condition.test((text,)) is want, (written, text)
            assert condition.expression.answer((text,)) is want


def test_plain_patterns_need_no_engine() -> None:
    shapes = {
        "abc": "in",
        "^abc": "startswith",
        "abc$": "endswith",
        "^abc$": "==",
        ".*": "in",
        "^abc.*": "startswith",
        "": "in",
    }
    for written, test in shapes.items():
        assert pattern(written).test == test, written
        assert pattern(written).search is None


def test_required_text_is_found() -> None:
    wanted = {
        "rm +-rf": "rm ", "^https?://[^/]*evil": "http", r"secret\.key\d+": "secret.key", "a|b": "", "(?i)abc": "", "abc*": "ab",
        "(abc)?defg": "defg", "abc{2}x": "ab", r"\Qabc\E": "", "xyz{": "", "colou?r": "colo",
    }  # fmt: skip
    for written, literal in wanted.items():
        assert pattern(written).literal == literal, written


def test_a_name_without_utf8_form_is_an_error() -> None:
    for written in ("(a|b)c", "abc.d"):
        condition = compile_condition(f"s.matches('{written}')", Schema(roots={"s": STRING}))
        with pytest.raises(CelError):
            condition.test(("abc\udcffd",))
    assert compile_condition("s.matches('^abc')", Schema(roots={"s": STRING})).test(("abc\udcffd",))
