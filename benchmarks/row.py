"""One line of build/bench.json."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["MeasureError", "Row", "cpu_us"]


class MeasureError(Exception):
    """What a row would measure is not there, or does something else than its name says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`median` in `unit`; `goal` is an upper bound, a lower one for rates; `ratio` is peer / ours from the same run."""

    name: str
    median: float
    unit: str
    goal: float | None = None
    peer: str | None = None
    ratio: float | None = None

    def shape(self) -> dict[str, Any]:
        """The object that build/bench.json holds."""
        return asdict(self)

    def reached(self) -> str:
        """`yes`, `no`, or nothing where there is no goal."""
        if self.goal is None:
            return ""
        higher_is_better = self.unit == "1/s"
        return "yes" if (self.median >= self.goal) == higher_is_better or self.median == self.goal else "no"


def cpu_us(work: Callable[[], object], *, rounds: int = 9, seconds: float = 0.15) -> float:
    """The median CPU microseconds of one call: on a shared machine the wall clock measures the neighbours."""
    work()
    started = time.process_time()
    calls = 0
    while time.process_time() - started < seconds:
        work()
        calls += 1
    results = []
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(calls):
            work()
        results.append((time.process_time() - begun) / calls * 1e6)
    return statistics.median(results)
