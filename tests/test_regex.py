"""`shield.regex`: patterns that are compiled at their first use."""

import gc
import importlib
import pkgutil
import re

import pytest

import shield
from shield.regex import _Regex, regex


def test_it_answers_as_a_pattern_does() -> None:
    ours, theirs = regex(r"(?P<word>[a-z]+)=(\d)", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)=(\d)", re.IGNORECASE)
    text = "A=1, bc=2, =3"
    assert ours.findall(text) == theirs.findall(text)
    assert ours.sub(r"\2", text) == theirs.sub(r"\2", text)
    assert [found["word"] for found in ours.finditer(text)] == ["A", "bc"]
    assert (ours.fullmatch("x=1") is None, ours.fullmatch("x=1 ") is None) == (False, True)
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)
    assert regex(rb"a+").match(b"aab") is not None


def test_nothing_is_compiled_before_it_is_asked() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("")


def test_a_pattern_has_no_more_than_a_pattern() -> None:
    with pytest.raises(AttributeError):
        _ = regex("a").nothing  # type: ignore[attr-defined]


def test_every_pattern_of_the_package_is_one() -> None:
    for module in pkgutil.walk_packages(shield.__path__, "shield."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.unfreeze()  # a command of this process may have put aside what was there
    found = [one for one in gc.get_objects() if type(one) is _Regex]
    assert len(found) > 600
    for one in found:
        assert one.flags >= 0  # or re.error, with the pattern
