"""Processes that write a log, to be killed, traced, starved or given a failing disk."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import audit

# the audit package that this process has, wheel or checkout, and what tests share
PACKAGES, TESTS = Path(audit.__file__).resolve().parents[1], Path(__file__).resolve().parent
COMMON = """
import asyncio, os, sys, threading
from pathlib import Path
import audit
from audit import keys
from audit.aio import AsyncLog
from audit.clock import SystemClock
from audit.entry import Draft
from audit.errors import AuditError, LogError, WriteFailedError
from audit.log import Log
from audit_support import KINDS, decision
home = Path(sys.argv[1])
OPEN = Draft(kind="log.open", body={})
def unbegun(path=home / "audit.db", **more):
    return Log.open(path, key=keys.load(home / "keys"), checkpoint_file=home / "checkpoint", kinds=KINDS,
                    clock=SystemClock.read(), **more)
def begin(**more):
    log = unbegun(**more)
    log.append(OPEN)
    return log
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""


def child(home, script, *arguments, wrap=(), **more):
    """A process that runs `script` on the log of `home`, below the command `wrap`."""
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [*wrap, sys.executable, "-P", "-c", COMMON + script, str(home.path), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **more,
    )


def finish(process, timeout=60):
    """The lines it said; it ended well."""
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode().splitlines()


def strace(*arguments):
    """The command that traces another with all its threads, or a skip where none can be traced."""
    tool = shutil.which("strace")
    if tool is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run([tool, "-f", "-o", "/dev/null", "true"], capture_output=True, check=False, timeout=30)
    if probe.returncode != 0:
        pytest.skip(f"strace cannot trace here: {probe.stderr.decode()[:200]}")
    return [tool, "-f", *arguments]


def on_small_disk(script, folder):
    """The lines that a script said, run in mounts of its own where `folder`, its argument, is a disk of 64 KiB."""
    wrap = own_mounts(f"mount -t tmpfs -o size=64k,mode=0700 tmpfs {shlex.quote(str(folder))}")
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*wrap, sys.executable, "-P", "-c", script, str(folder)]
    return finish(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment))


def own_mounts(setup):
    """The command that runs another after the shell's `setup` in mounts of its own, or a skip."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a file system of its own needs root and unshare")
    wrap = ["unshare", "-m", "sh", "-c", f'{setup} && exec "$@"', "sh"]
    probe = subprocess.run([*wrap, "true"], capture_output=True, check=False, timeout=30)
    if probe.returncode != 0:
        pytest.skip(f"no such mount here: {probe.stderr.decode()[:200]}")
    return wrap
