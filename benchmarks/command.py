"""What it costs to ask a command for help: CPU of the whole process, children included."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from row import Row

ROUNDS = 9


def rows() -> Iterator[Row]:
    """`help.shield.cpu` and `help.agentctl.cpu`, CPU milliseconds; the ratio is to an interpreter that does nothing."""
    scripts = Path(sys.executable).parent
    times: dict[str, list[float]] = {"nothing": [], "shield": [], "agentctl": []}
    commands = {"nothing": [sys.executable, "-c", "pass"]}
    commands |= {name: [str(scripts / name), "--help"] for name in ("shield", "agentctl")}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(_cpu_ms(command))
    nothing = statistics.median(times["nothing"])
    for name in ("shield", "agentctl"):
        median = statistics.median(times[name])
        yield Row(
            name=f"help.{name}.cpu", median=median, unit="ms", goal=100, peer="python -c pass", ratio=nothing / median
        )


def _cpu_ms(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000
