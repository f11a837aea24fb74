"""Texts of this machine that thresholds and reports rest on: of all lengths, since a text is judged by its worst
window."""

import json
from dataclasses import replace
from random import Random

import pytest

from models.training.ordinary import Part, ordinary
from models.training.public import Source, public


@pytest.fixture(scope="module")
def rows():
    found = list(ordinary(Random(1), Part.CALIBRATE, {"tool_result": 150, "code": 150}, longest=4_000))
    if len(found) < 200:
        pytest.skip("this machine has too little documentation and code")
    return found


def test_half_of_them_are_longer_than_a_window_where_that_is_asked(rows):
    assert all(len(row.text) <= 4_000 for row in rows)
    assert all((len(row.text) > 520) == row.family.endswith("-long") for row in rows)
    assert 0.25 < sum(len(row.text) > 520 for row in rows) / len(rows) < 0.6
    assert sum(len(row.text) > 2_000 for row in rows) > 10


def test_windows_are_what_is_trained_on():
    assert all(len(row.text) <= 520 for row in ordinary(Random(1), Part.TRAIN, {"tool_result": 50, "code": 50}))


def test_long_public_texts_give_several_windows_and_short_ones_one(tmp_path):
    long, short = " ".join(map(str, range(1_000))), "short"
    rows = "".join(json.dumps({"text": text, "label": 0}) + "\n" for text in (long, short))
    (tmp_path / "a.jsonl").write_text(rows)
    source = Source(name="a", kinds=("prose",), windows=4)
    texts = [row.text for row in public(tmp_path, [source], Random(1)) if row.text != short]
    assert 1 < len(texts) <= 4
    assert len(set(texts)) == len(texts)
    assert all(len(text) == 520 and text in long for text in texts)
    assert len(list(public(tmp_path, [replace(source, windows=1)], Random(1)))) == 2
    assert {row.text for row in public(tmp_path, [replace(source, whole=True)], Random(1))} == {long, short}
