"""A whole verification in a process of its own, beside a plain hash chain; and what it takes to export a record."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audit.formats import Format, renderer
from audit.query import Filter, select
from audit_log import Made, build
from row import MeasureError, Row

MILLION = 1_000_000


def verify_rows(folder: Path) -> Iterator[Row]:
    """`audit.verify.*` and `audit.export.*`."""
    made = build(folder, MILLION)
    found = verify_apart(made)
    chained = _chain(made)
    per_cpu = MILLION / found.cpu
    yield Row(
        name="audit.verify.rps_cpu",
        median=per_cpu,
        unit="1/s",
        goal=150_000,
        peer="a hash chain in JSONL",
        ratio=round(chained / per_cpu, 4),
    )
    yield Row(name="audit.verify.rss.1m", median=found.rss_mb, unit="MB", goal=64)
    for form in (Format.JSONL, Format.CSV):
        yield Row(name=f"audit.export.{form.value}", median=_exported_us(made, form), unit="us")


@dataclass(frozen=True, slots=True)
class Verified:
    """What a whole verification took, in a process of its own: CPU seconds, `loading` of them for Python itself."""

    loading: float
    cpu: float
    rss_mb: float


# Not `ru_maxrss` seen from here: the kernel counts into it what this process held when it started the other.
_APART = """
import re, resource, sys, time
import audit.cli.verify
from audit.__main__ import main
loading = time.process_time()
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    try:
        peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
    except OSError:
        peak = used.ru_maxrss // 1024
    print(loading, used.ru_utime + used.ru_stime, peak / 1024, file=sys.stderr)
"""


def verify_apart(made: Made) -> Verified:
    """`python -m audit verify` of the log and of the checkpoint beside it; all of its CPU and memory."""
    command = [sys.executable, "-P", "-c", _APART, "verify", str(made.path), "--key", str(made.vkey_file)]
    command += ["--checkpoint", str(made.checkpoint_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        raise MeasureError(f"verify ended with {done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}")
    return Verified(*(float(figure) for figure in done.stderr.split()[-3:]))


def _exported_us(made: Made, form: Format, count: int = 100_000) -> float:
    """CPU microseconds to read and render one of the first records."""
    begun = time.process_time()
    for _ in renderer(form)(select(made.path, Filter(limit=count))):
        pass
    return (time.process_time() - begun) / count * 1e6


def _chain(made: Made, count: int = 100_000) -> float:
    """Records per CPU second of what a plain hash chain asks for: parse each line, hash it, compare with the next."""
    lines = made.path.with_name("chain.jsonl")
    with open(lines, "wb") as file:
        file.writelines(one.leaf + b"\n" for one in select(made.path, Filter(limit=count)))
    begun, prev = time.process_time(), None
    with open(lines, "rb") as file:
        for line in file:
            if json.loads(line)["prev"] != prev:
                raise MeasureError("the chain does not hold")
            prev = hashlib.sha256(b"\0" + line[:-1]).hexdigest()
    return count / (time.process_time() - begun)
