"""The specification's own tests: nothing may come out wrong, and the published table is what comes out."""

from pathlib import Path

import pytest

from cel_vectors import MalformedError, Outcome, Reader, cases, judge, table, tally
from shared_data import ROOT, shared

CORE = [
    "basic", "comparisons", "conversions", "fields", "fp_math", "integer_math", "lists", "logic", "macros", "parse",
    "plumbing", "string", "string_ext", "timestamps", "type_deduction",
]  # fmt: skip


def test_no_answer_is_wrong() -> None:
    files, _, wrong = tally(shared("vectors/cel"))
    assert wrong == []
    for name in CORE:
        assert files[name][Outcome.PASS] > files[name][Outcome.WRONG], name
    assert sum(counts[Outcome.PASS] for counts in files.values()) >= 1000


def test_published_table_is_current() -> None:
    page = ROOT / "docs" / "reference" / "cel-conformance.md"
    assert page.read_text(encoding="utf-8") == table(shared("vectors/cel"))


def test_a_wrong_answer_would_be_seen(tmp_path: Path) -> None:
    broken = """
        name: "x"
        section { name: "s"
          test { name: "a" expr: "1 + 1 == 2" value { bool_value: false } }
          test { name: "b" expr: "1 + 1" value { double_value: 2.0 } }
          test { name: "c" expr: "1 + 1" eval_error { errors { message: "x" } } }
          test { name: "d" expr: "1 / 0" value { int64_value: 1 } }
          test { name: "e" expr: "[1, '\\u00e9']" value { list_value { values { int64_value: 1 } values { string_value: "\\303\\251" } } } }
          test { name: "f" expr: "1u == 1u" }
        }
    """
    (tmp_path / "x.textproto").write_text(broken, encoding="utf-8")
    outcomes = {case.name: judge(case)[0].value for case in cases(tmp_path)}
    assert outcomes == {"a": "wrong", "b": "wrong", "c": "wrong", "d": "wrong", "e": "pass", "f": "refused"}


@pytest.mark.parametrize("text", ["a", "a: ", "a {", "a: }", "a: 'x", "a: 1 }", "a: $", '"x": 1', "a: [1"])
def test_the_reader_is_strict(text: str) -> None:
    with pytest.raises((MalformedError, IndexError)):
        Reader(text).message("")
