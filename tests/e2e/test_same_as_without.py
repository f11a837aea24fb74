"""Recorded work, done twice: through Shield and agentctl in their sandbox, and by the shell alone. It comes to the same.

Only what goes ahead unasked is compared; what is asked is done by the shell both times, so that what comes after it
finds the same. Programs that are not here fail both ways, which has to look the same as well.
"""

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from agentctl.config import load
from agentctl.sandbox.confinement import choose
from agentctl.tools.process import UMASK
from agentctl.turns.messages import ToolResult
from guarded import Ground, ground, proposal
from harmless import CORPORA, Act, sessions
from shield.types import Decision, Isolation

SESSIONS = ("c-library", "data-analysis", "documentation", "shell-scripts", "sql-migration", "web-research")
TIMEOUT_S = 60
_SAID = re.compile(r"^\[(?:stderr|no output|exit code -?\d+.*)\]$", re.MULTILINE)
# Times, process ids, names of commits and of files that mktemp made; by which of two names the shell is started.
_CHANCE = re.compile(r"(?:/usr)?/bin/bash|/tmp/[\w./-]*tmp\.\w+|\b[0-9a-f]{7,64}\b|\d+")


def lay_out(name: str, folder: Path) -> None:
    """The workspace of a session as it is before its first call."""
    data = yaml.safe_load((CORPORA / "work" / f"{name}.yaml").read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    runs = data["run"].split()
    for path, text in {**dict.fromkeys(runs, ""), **data["files"]}.items():
        if path.startswith(("~", "/")):
            continue
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path in runs and not text.startswith("#!"):
            text = "#!/bin/sh\nls # old\n"
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        place.chmod(0o755 if path in runs else 0o644)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=folder, check=True)
    kept = [path for path in data.get("committed", "").split() if (folder / path).exists()]
    if kept:
        subprocess.run([*git, "add", "-f", "--", *kept], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-qm", "x"], cwd=folder, check=True)
    (folder.parent / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@example.org\n")


def alone(command: str, folder: Path, env: dict[str, str]) -> tuple[int | None, str]:
    """By the shell, where only /tmp can be written and no other process be reached: code, and all it prints."""
    apart = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", "/tmp", "/tmp"]
    apart += [
        "--unshare-pid",
        "--unshare-net",
        "--die-with-parent",
        "/bin/bash",
        "--noprofile",
        "--norc",
        "-c",
        command,
    ]
    try:
        done = subprocess.run(
            apart,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            umask=UMASK,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")


async def guarded(here: Ground, calls: list[Act]) -> tuple[list[str | None], dict[str, str]]:
    """What a model is told of each call, None where it is asked about; and the environment of commands."""
    environ = here.environ()
    confinement = choose(load(environ, cwd=here.workspace), here.workspace, environ=environ)
    if confinement.offer.strongest is not Isolation.CONFINED:
        pytest.skip(f"no sandbox confines here: {'; '.join(confinement.offer.reasons)}")
    told: list[str | None] = []
    with here.start() as sidecar:
        async with here.gate(sidecar, confinement=confinement) as gate:
            for call in calls:
                wanted = proposal("execute_command", {**call.payload, "timeout_s": TIMEOUT_S})
                verdict = await gate.propose(wanted)
                if verdict.decision is not Decision.ALLOW:
                    alone(call.text, here.workspace, {**gate.session.env, "SHELL": gate.session.shell})
                    told.append(None)
                    continue
                result = await gate.run(wanted, verdict)
                assert isinstance(result, ToolResult)
                # tier 1 judges what comes back, which hangs on names of commits: that is no part of this
                told.append(None if result.content.startswith("[withheld by Shield") else result.content)
            return told, {**gate.session.env, "SHELL": gate.session.shell}


def words(text: str) -> list[str]:
    return sorted(_CHANCE.sub("N", _SAID.sub("", text)).split())


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap keeps the commands away from this machine")
@pytest.mark.parametrize("name", SESSIONS)
def test_what_goes_ahead_does_what_it_does_without_shield(name):
    [session] = [session for session in sessions() if session.name == name]
    calls = [call for call in session.calls if call.type == "execute_command"]
    left = {Path(path) for call in calls for path in re.findall(r"/tmp/[\w-][\w.-]*", call.text)}
    different = []
    with ground() as here:
        lay_out(name, here.workspace)
        told, env = asyncio.run(guarded(here, calls))
        clear(left)
        lay_out(name, here.workspace)
        for call, content in zip(calls, told, strict=True):
            code, text = alone(call.text, here.workspace, env)
            if content is None or code is None:
                continue
            ended = re.search(r"^\[.*exit code (-?\d+)", content, re.MULTILINE)
            same = (int(ended[1]) if ended else 0) == code
            if not same or words(content) != words(text):
                different.append(f"{call.at}: {call.text}\n--- alone: {code}\n{text}--- guarded\n{content}\n")
        clear(left)
    assert not different, "\n".join(different)
    assert sum(content is not None for content in told) >= 12


def clear(paths: set[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
