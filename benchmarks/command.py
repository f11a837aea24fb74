"""What it costs to start a command: CPU of the whole process, children included."""

import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from row import Row

ROUNDS = 11
_CHECK = ("check", "--isolation", "confined", "--workspace")
_ACTION = ("execute_command", "command=ls")
_TEXT = ("send_email", "to=ana@example.org", "body=as promised, the report of this week")
_SETTLED = (0, 3)  # done, or an ESCALATE
# What a hook would start that asks a running service instead.
_PEER = "import httpx"


def rows() -> Iterator[Row]:
    """CPU milliseconds: `help.shield.cpu` and `help.agentctl.cpu` against an interpreter that does nothing; against one
    that imports an HTTP client `check.start`, one action that `default` settles, and `check.start.tier1`, one that has
    text to read, for which heuristics and classifier are loaded."""
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="sh") as workspace:
        commands = {
            "nothing": [sys.executable, "-c", "pass"],
            "client": [sys.executable, "-c", _PEER],
            "help.shield.cpu": [str(scripts / "shield"), "--help"],
            "help.agentctl.cpu": [str(scripts / "agentctl"), "--help"],
            "check.start": [str(scripts / "shield"), *_CHECK, workspace, *_ACTION],
            "check.start.tier1": [str(scripts / "shield"), *_CHECK, workspace, *_TEXT],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(_cpu_ms(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, goal, peer, said in (
        ("help.shield.cpu", 100, "nothing", "python -c pass"),
        ("help.agentctl.cpu", 100, "nothing", "python -c pass"),
        ("check.start", 400, "client", f"python -c '{_PEER}'"),
        ("check.start.tier1", None, "client", f"python -c '{_PEER}'"),
    ):
        yield Row(name=name, median=medians[name], unit="ms", goal=goal, peer=said, ratio=medians[peer] / medians[name])


def _cpu_ms(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=False, capture_output=True, timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in _SETTLED:
        raise RuntimeError(f"{command[:3]} ended with {done.returncode}: {done.stderr[-500:]!r}")
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000
