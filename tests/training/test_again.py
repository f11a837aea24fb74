"""Two trainings compared by the figures in their manifests."""

import json
import sys

import pytest

from models.training.again import FiguresError, again, by_chance, main


def model(folder, **figures):
    folder.mkdir()
    said = {"auc": [0.9, 0.858, 0.942], "recall_at_0.01": [0.5, 0.404, 0.596]}
    metrics = {"a (prose)": {"attacks": 100, "harmless": 1_000, **said, **figures}}
    (folder / "manifest.json").write_text(json.dumps({"made": {"metrics": metrics}}))
    return folder


@pytest.mark.parametrize(
    ("figures", "outside"),
    [
        ({}, []),
        ({"recall_at_0.01": [0.41, 0.0, 1.0]}, []),
        ({"recall_at_0.01": [0.39, 0.0, 1.0]}, ["recall_at_0.01"]),
        ({"auc": [0.87, 0.0, 1.0]}, []),
        ({"auc": [0.95, 0.0, 1.0], "recall_at_0.01": [0.61, 0.0, 1.0]}, ["auc", "recall_at_0.01"]),
    ],
)
def test_what_lies_outside_the_interval_of_the_first_is_told(tmp_path, monkeypatch, capsys, figures, outside):
    one, two = model(tmp_path / "one"), model(tmp_path / "two", **figures)
    found = list(again(one, two))
    assert [figure.figure for figure in found if not figure.inside] == outside
    assert {figure.figure for figure in found} == {"auc", "recall_at_0.01"}
    monkeypatch.setattr(sys, "argv", ["again", str(one), str(two)])
    assert main() == (len(outside) > 1)
    assert f"{2 - len(outside)} of 2 figures" in capsys.readouterr().out


@pytest.mark.parametrize(("count", "outside"), [(0, 0), (1, 1), (2, 1), (20, 3), (88, 9)])
def test_as_many_lie_outside_as_chance_leaves_there(count, outside):
    """Tables of the binomial distribution: of 88 at .05 more than 9 in 1.3 %, more than 8 in 3.2 %."""
    assert by_chance(count) == outside


def test_a_training_is_the_same_as_itself(tmp_path):
    one = model(tmp_path / "one", auc=[1.0, 1.0, 1.0], **{"recall_at_0.001": [0.0, 0.0, 0.2]})
    assert all(figure.inside for figure in again(one, one))


def test_what_cannot_be_compared_is_refused(tmp_path, monkeypatch, capsys):
    one, two = model(tmp_path / "one"), model(tmp_path / "two")
    (two / "manifest.json").write_text(json.dumps({"made": {"metrics": {}}}))
    with pytest.raises(FiguresError, match=r"a \(prose\)"):
        list(again(one, two))
    old = {"a (prose)": {"attacks": 100, "harmless": 1_000, "auc": 0.9}}
    (two / "manifest.json").write_text(json.dumps({"made": {"metrics": old}}))
    with pytest.raises(FiguresError, match="without intervals"):
        list(again(one, two))
    (two / "manifest.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["again", str(one), str(two)])
    assert main() == 2
    assert "no figures" in capsys.readouterr().err
