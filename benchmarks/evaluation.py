"""`shield eval`: cases a second with two processes, from the files' bytes to the report; policies are loaded once.

The cases are written here: half of them commands as developers run them, half calls of file and other tools, a third
with files in their world, in files of 500. The rate is of two processes that have a core each: twice the cases that one
process judges in a second of CPU time. On a shared machine the wall clock measures the neighbours.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from row import MeasureError, Row
from shield.cli.trial import load_subjects, run_trials

CASES = 2_000
ROUNDS = 5
GOAL = 2_000
_ACTIONS = (
    "{type: read_file, payload: {path: src/f%d.py}}",
    "{type: execute_command, payload: {command: git status}}",
    "{type: write_file, payload: {path: src/f%d.py, content: 'x = %d'}}",
    "{type: execute_command, payload: {command: 'ls -la src/d%d'}}",
    "{type: edit_file, payload: {path: a%d.txt, old: a, new: b}}",
    "{type: execute_command, payload: {command: 'grep -rn word%d src | head -5'}}",
    "{type: list_directory, payload: {path: d%d}}",
    "{type: execute_command, payload: {command: 'cat README.md f%d.txt'}}",
    "{type: http_request, payload: {url: 'https://h%d.example.org/x'}}",
    "{type: execute_command, payload: {command: 'python3 -m pytest -q tests/test_%d.py'}}",
)
_WORLD = "\n    files: {README.md: {content: hello}, src/main.py: {content: 'x = 1'}}"


def rows() -> Iterator[Row]:
    """The row `eval.cases_per_s`."""
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        files = list(_written(Path(name)))
        load_subjects(["default"])  # the first one imports what it needs
        started = time.process_time()
        load_subjects(["default"])
        load = time.process_time() - started
        rates = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            report = run_trials(["default"], files, jobs=1)
            spent = time.process_time() - begun - load
            if sum(len(trial.outcomes) for trial in report.trials) != CASES or not report.passed:
                raise MeasureError("the cases of eval.cases_per_s do not pass, so this measures something else")
            rates.append(2 * CASES / spent)
        yield Row(name="eval.cases_per_s", median=statistics.median(rates), unit="1/s", goal=GOAL)


def _written(folder: Path) -> Iterator[Path]:
    for part in range(0, CASES, 500):
        lines = ["version: 1", "cases:"]
        for number in range(part, part + 500):
            text = _ACTIONS[number % len(_ACTIONS)]
            action = text % ((number,) * text.count("%d"))
            world = _WORLD if number % 3 == 0 else ""
            lines.append(f"  - id: c{number}\n    action: {action}{world}")
            lines.append("    expect: {decision: [ALLOW, ESCALATE, BLOCK]}")
        path = folder / f"cases{part}.yaml"
        path.write_text("\n".join(lines) + "\n")
        yield path
