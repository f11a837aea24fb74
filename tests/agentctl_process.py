"""`agentctl` as a process, in a home of its own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import agentctl
from fake_shield import FakeShield
from model_server import ScriptedModel

ROOT = Path(agentctl.__file__).parent.parent


def environ(home: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(ROOT)}


def agentctl_run(*arguments, env=None, stdin=""):
    with tempfile.TemporaryDirectory(prefix="ho") as home:
        return subprocess.run(
            [sys.executable, "-P", "-m", "agentctl.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd="/",
            timeout=60,
            check=False,
            env=environ(home) | (env or {}),
        )


def talk(fake: FakeShield, command: str, *arguments, stdin="", **env):
    with tempfile.TemporaryDirectory(prefix="da") as data:
        return agentctl_run(
            command,
            "-w",
            fake.workspace,
            *arguments,
            stdin=stdin,
            env={"SHIELD_HOME": str(fake.folder), "XDG_DATA_HOME": data, **env},
        )


def model_env(model: ScriptedModel) -> dict[str, str]:
    return {"AGENTCTL_MODEL": "m", "AGENTCTL_BASE_URL": model.openai_url}
