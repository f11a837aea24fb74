"""Cases say under which sandbox they are judged; where they say nothing, it is the strongest."""

import pytest

from shield.errors import PolicyError
from shield.policy.cases import read_cases
from shield.types import Isolation

CASE = "version: 1\ncases:\n  - {id: a, %saction: {type: read_file, payload: {path: a}}, expect: {decision: ALLOW}}\n"


@pytest.mark.parametrize("level", list(Isolation))
def test_a_case_is_judged_at_its_level(level):
    (case,) = read_cases((CASE % f"isolation: {level.value}, ").encode(), "x.yaml")
    assert case.place.isolation is level


def test_a_case_without_one_is_confined():
    (case,) = read_cases((CASE % "").encode(), "x.yaml")
    assert case.place.isolation is Isolation.CONFINED


@pytest.mark.parametrize("wrong", ["strong", "[none]", "null", "3"])
def test_a_level_that_does_not_exist_is_refused(wrong):
    with pytest.raises(PolicyError, match="isolation"):
        read_cases((CASE % f"isolation: {wrong}, ").encode(), "x.yaml")
