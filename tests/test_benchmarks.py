"""What the benchmarks measure is still what their rows say: a line that is not read any more, a case that fails."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """One of the modules, which measures once and briefly."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(importlib.import_module("row"), "cpu_us", lambda work, **_: work() and 1.0)
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before | {"row"}:
        file = getattr(sys.modules.get(name), "__file__", None) or ""
        if file.startswith(str(BENCHMARKS)):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["facts", "evaluate"])
def test_its_subjects_are_understood(benchmark, name: str) -> None:
    assert [row.name for row in benchmark(name).rows()]


def test_its_cases_pass(benchmark, monkeypatch) -> None:
    module = benchmark("evaluation")
    monkeypatch.setattr(module, "CASES", 500)
    monkeypatch.setattr(module, "ROUNDS", 1)
    assert [row.name for row in module.rows()] == ["eval.cases_per_s"]


def test_what_cannot_be_measured_leaves_the_other_rows(benchmark, monkeypatch, capsys) -> None:
    row, run = benchmark("row"), benchmark("run")

    class Broken:
        @staticmethod
        def rows():
            raise row.MeasureError("the line is not understood")

    class Sound:
        @staticmethod
        def rows():
            return [row.Row(name="a.b", median=1.0, unit="us")]

    monkeypatch.setitem(sys.modules, "broken", Broken)
    monkeypatch.setitem(sys.modules, "sound", Sound)
    monkeypatch.setattr(run, "MODULES", ("broken", "sound"))
    monkeypatch.setattr(sys, "argv", ["run.py"])
    monkeypatch.setattr(run.Path, "write_text", lambda *_: None)
    assert run.main() == 1
    said = capsys.readouterr()
    assert "a.b" in said.out
    assert "not measured: benchmarks/broken.py" in said.err
