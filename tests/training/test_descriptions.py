"""Descriptions of packages: each package on one side, and nothing where nothing was fetched."""

import json
import re
from random import Random

import pytest

from models.training.descriptions import DESCRIPTIONS, FILE, SOURCE, descriptions
from models.training.ordinary import Part

TEXT = "{} is a library. Install it, then call `run()` and read what it returns.\n" * 40


@pytest.fixture
def folder(tmp_path):
    lines = (json.dumps({"package": name, "text": TEXT.format(*[name] * 40)}) for name in DESCRIPTIONS[5:])
    (tmp_path / FILE).write_text("\n".join(lines))
    return tmp_path


def test_no_package_is_on_two_sides(folder):
    names = [name.lower() for name in DESCRIPTIONS]
    assert len(names) == len(set(names))
    read = {part: list(descriptions(folder, part, Random(1))) for part in Part}
    for part, rows in read.items():
        assert {(row.label, row.kind, row.source) for row in rows} == {(0, "tool_result", SOURCE)}
        assert {row.family for row in rows} == {f"{SOURCE}-agents", f"{SOURCE}-others"}, part
    assert len(read[Part.TRAIN]) > 3 * len(read[Part.TEST])
    known = {
        part: {name for row in rows for name in re.findall(r"^(\S+) is a", row.text, re.MULTILINE)}
        for part, rows in read.items()
    }
    assert known[Part.CALIBRATE].isdisjoint(known[Part.TEST])


def test_without_what_is_fetched_there_is_none(tmp_path):
    assert list(descriptions(tmp_path, Part.TRAIN, Random(1))) == []
    assert list(descriptions(None, Part.TRAIN, Random(1))) == []
