"""Two trainings compared by the figures in their manifests."""

import json
import sys

import pytest

from models.training.again import FiguresError, again, main


def model(folder, **figures):
    folder.mkdir()
    metrics = {"a (prose)": {"attacks": 100, "harmless": 1_000, "auc": 0.9, "recall_at_0.01": 0.5, **figures}}
    (folder / "manifest.json").write_text(json.dumps({"made": {"metrics": metrics}}))
    return folder


@pytest.mark.parametrize(
    ("figures", "outside"),
    [
        ({}, []),
        ({"recall_at_0.01": 0.41}, []),  # Wilson's interval of 50 of 100 is .404 to .596
        ({"recall_at_0.01": 0.39}, ["recall_at_0.01"]),
        ({"auc": 0.87}, []),  # Hanley and McNeil: .858 to .942
        ({"auc": 0.95, "recall_at_0.01": 0.61}, ["auc", "recall_at_0.01"]),
    ],
)
def test_what_lies_outside_the_interval_of_the_first_is_told(tmp_path, monkeypatch, capsys, figures, outside):
    one, two = model(tmp_path / "one"), model(tmp_path / "two", **figures)
    found = list(again(one, two))
    assert [figure.figure for figure in found if not figure.inside] == outside
    assert {figure.figure for figure in found} == {"auc", "recall_at_0.01"}
    monkeypatch.setattr(sys, "argv", ["again", str(one), str(two)])
    assert main() == bool(outside)
    assert f"{2 - len(outside)} of 2 figures" in capsys.readouterr().out


def test_a_training_is_the_same_as_itself(tmp_path):
    one = model(tmp_path / "one", auc=1.0, **{"recall_at_0.01": 1.0, "recall_at_0.001": 0.0})
    assert all(figure.inside for figure in again(one, one))


def test_what_cannot_be_compared_is_refused(tmp_path, monkeypatch, capsys):
    one, two = model(tmp_path / "one"), model(tmp_path / "two")
    (two / "manifest.json").write_text(json.dumps({"made": {"metrics": {}}}))
    with pytest.raises(FiguresError, match=r"a \(prose\)"):
        list(again(one, two))
    (two / "manifest.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["again", str(one), str(two)])
    assert main() == 2
    assert "no figures" in capsys.readouterr().err
