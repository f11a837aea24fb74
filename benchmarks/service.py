"""The service under load, over its Unix socket, with the durable record: driven by a generator that is not Python."""

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from agentctl.sidecar import Sidecar, start
from row import MeasureError, Row
from shield.client import Client
from shield.types import Isolation

HERE = Path(__file__).resolve().parent
LOAD = HERE.parent / "build" / "load"
ROUNDS = 5


def rows() -> Iterator[Row]:
    """`memory.idle` (120, and the 150 that tier 1 may add), `http.evaluate.p50.1` (wall microseconds),
    `http.evaluate.rps.32` (wall, and per CPU second)."""
    _build()
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        root = Path(folder).resolve()
        home, workspace = root / "shield", root / "home" / "project"
        home.mkdir(mode=0o700)
        workspace.mkdir(parents=True)
        (workspace / "README.md").write_text("hello\n")
        (home / "shield.toml").write_text(f'[service]\nrate = 1000000\n[workspaces]\nroots = ["{workspace}"]\n')
        environ = {"HOME": str(root / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        with start(home, workspace=workspace, environ=environ) as sidecar:
            with Client(sidecar.endpoint, sidecar.token) as client:
                session = client.open_session([str(workspace)], isolation=Isolation.NONE, label=None).id
            yield Row(name="memory.idle", median=_rss_mb(sidecar.pid), unit="MB", goal=270)
            request = root / "request"
            request.write_bytes(_request(sidecar, session))
            ones, rates, per_cpu = [], [], []
            for _ in range(ROUNDS):
                ones.append(_load(sidecar, request, 1, 500)["p50_us"])
                before = _cpu_s(sidecar.pid)
                many = _load(sidecar, request, 32, 3000)
                rates.append(many["ok"] / many["seconds"])
                per_cpu.append(many["ok"] / (_cpu_s(sidecar.pid) - before))
            yield Row(name="http.evaluate.p50.1", median=statistics.median(ones), unit="us", goal=3000)
            yield Row(name="http.evaluate.rps.32", median=statistics.median(rates), unit="1/s", goal=1500)
            yield Row(name="http.evaluate.rps_cpu.32", median=statistics.median(per_cpu), unit="1/s")


def _build() -> None:
    LOAD.parent.mkdir(exist_ok=True)
    source = HERE / "load.c"
    if not LOAD.exists() or LOAD.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", str(LOAD), str(source)], check=True, timeout=120)


def _request(sidecar: Sidecar, session: str) -> bytes:
    body = json.dumps({"type": "read_file", "payload": {"path": "README.md"}, "session": session}).encode()
    head = (
        "POST /v1/evaluate HTTP/1.1\r\nhost: shield\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {sidecar.token}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _load(sidecar: Sidecar, request: Path, connections: int, requests: int) -> dict[str, float]:
    command = [str(LOAD), str(sidecar.endpoint.socket), str(request), str(connections), str(requests)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    if told["failed"]:
        raise MeasureError(f"{told['failed']:.0f} of {requests} requests were not answered with ALLOW")
    return told


def _rss_mb(pid: int | None) -> float:
    time.sleep(1)
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise MeasureError("no VmRSS")


def _cpu_s(pid: int | None) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
