"""A real Shield in a process of its own on a real socket, a workspace, and what the log says afterwards."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from agentctl.execute import ShieldGate
from agentctl.sidecar import Sidecar, open_gate, start
from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolCall


class Ground:
    """Folders of one test: Shield's home, a user's home, a trusted workspace."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.shield_home = self.root / "shield"
        self.workspace = self.root / "home" / "project"
        self.shield_home.mkdir(mode=0o700)
        self.workspace.mkdir(parents=True, mode=0o700)
        (self.workspace / "README.md").write_text("# a project\n")
        self.configure()

    def configure(self, more: str = "[approvals]\ntimeout_s = 60\n") -> None:
        (self.shield_home / "shield.toml").write_text(f'{more}[workspaces]\nroots = ["{self.workspace}"]\n')

    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.root / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def start(self, approver_fd: int | None = None) -> Sidecar:
        return start(self.shield_home, workspace=self.workspace, environ=self.environ(), approver_fd=approver_fd)

    @asynccontextmanager
    async def gate(self, sidecar: Sidecar, **more):
        """A gate in a fresh session of this Shield."""
        async with open_gate(
            home=self.shield_home, workspace=self.workspace, environ=self.environ(), sidecar=sidecar, **more
        ) as gate:
            yield gate

    def verify(self) -> tuple[int, dict]:
        """Exit code and report of the offline verifier, in a process that has only the database and the public key."""
        command = [sys.executable, "-P", "-m", "audit", "verify", str(self.shield_home / "audit.db")]
        key = str(self.shield_home / "keys" / "audit.vkey")
        done = subprocess.run(
            [*command, "--key", key, "--json"], capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, json.loads(done.stdout)

    def records(self) -> list[dict]:
        """Every record of the log, as its stored bytes say."""
        with sqlite3.connect(f"file:{self.shield_home / 'audit.db'}?mode=ro", uri=True) as database:
            return [json.loads(leaf) for (leaf,) in database.execute("SELECT leaf FROM entries ORDER BY seq")]


@contextmanager
def ground():
    """A fresh Ground in a folder with a short name: socket paths end at 107 bytes."""
    # a Shield that is ending may still write its last lines
    with tempfile.TemporaryDirectory(prefix="sh", ignore_cleanup_errors=True) as folder:
        yield Ground(Path(folder))


def kill(sidecar: Sidecar) -> None:
    """SIGKILL, and wait until the process is gone."""
    assert sidecar.pid is not None
    os.kill(sidecar.pid, signal.SIGKILL)
    sidecar.close()


def proposal(kind: str, payload: dict, call_id: str = "call_1") -> Proposal:
    """A tool call of a model."""
    return Proposal(
        call=ToolCall(id=call_id, name=kind, arguments_text=json.dumps(payload)), type=kind, payload=payload
    )


class Between:
    """A Shield port that does something just before a request goes out; otherwise the real client."""

    def __init__(self, gate: ShieldGate, *, before_outcome) -> None:
        self._client, self._before_outcome = gate._client, before_outcome
        gate._client = self

    def __getattr__(self, name):
        return getattr(self._client, name)

    async def outcome(self, report):
        self._before_outcome()
        return await self._client.outcome(report)
