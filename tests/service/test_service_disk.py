"""The disk of the log is full: 503, /readyz says so, nothing is lost, and it goes on without a restart."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import shield

TESTS = str(Path(__file__).resolve().parents[1])
PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout

# Runs in a mount namespace of its own: a home on a tmpfs of 4 MiB, filled and freed under a running Shield.
SCRIPT = r"""
import json, os, signal, subprocess, sys
sys.path.insert(0, os.environ["HARNESS"])
from service_harness import call
home = os.environ["SHIELD_HOME"]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", home], check=True)
shield = subprocess.Popen([sys.executable, "-P", "-m", "shield", "serve", "--json"], stdout=subprocess.PIPE, text=True)
path = json.loads(shield.stdout.readline())["socket"]
token = open(f"{home}/tokens/agent.token").read().strip()
seen = []
def ask():
    body = json.dumps({"type": "read_file", "payload": {"path": "/etc/fstab"}}).encode()
    answer = call(path, "POST", "/v1/evaluate", token=token, body=body)
    return answer.status, answer.json().get("reason")
seen.append(ask()[0])
with open(f"{home}/fill", "wb", buffering=0) as fill:
    try:
        while True:
            fill.write(b"x" * 4096)
    except OSError:
        pass
for _ in range(4_000):
    full = ask()
    # a checkpoint between the two may fold pages back and make room for one more record
    ready = call(path, "GET", "/readyz").status
    if full[0] != 200 and ready != 200:
        break
seen.append(full)
seen.append(ready)
seen.append(call(path, "GET", "/healthz").status)
os.remove(f"{home}/fill")
again = [ask()[0] for _ in range(40)]
seen.append(200 in again)
seen.append(call(path, "GET", "/readyz").status)
shield.send_signal(signal.SIGTERM)
seen.append(shield.wait(30))
def refused():
    done = subprocess.run([sys.executable, "-P", "-m", "shield", "serve"], capture_output=True, text=True, timeout=40)
    return done.returncode, done.stderr.splitlines()[-1]
with open(f"{home}/fill", "wb", buffering=0) as fill:
    try:
        while True:
            fill.write(b"x" * 4096)
    except OSError:
        pass
seen.append(refused())
os.remove(f"{home}/fill")
subprocess.run(["mount", "-o", "remount,ro", home], check=True)
seen.append(refused())
subprocess.run(["mount", "-o", "remount,rw", home], check=True)
verify = subprocess.run([sys.executable, "-P", "-m", "shield", "audit", "verify"], capture_output=True, text=True)
seen.append(verify.returncode)
print(json.dumps(seen))
"""


def test_a_full_disk():
    if os.getuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a file system of its own needs root and unshare")
    home = tempfile.mkdtemp(prefix="sh")
    try:
        done = subprocess.run(
            ["unshare", "-m", sys.executable, "-P", "-c", SCRIPT],
            env={
                **os.environ,
                "SHIELD_HOME": home,
                "SHIELD_SERVICE__RATE": "100000",
                "PYTHONPATH": PACKAGES,
                "HARNESS": TESTS,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if "mount" in done.stderr and "permission denied" in done.stderr.lower():
            pytest.skip("mounting is not permitted here")
        assert done.returncode == 0, done.stderr
        first, full, not_ready, alive, again, ready, ended, *starts, verified = json.loads(done.stdout.splitlines()[-1])
        assert first == 200
        assert full == [503, "audit.unavailable"]
        assert (not_ready, alive) == (503, 200)
        assert again
        assert (ready, ended, verified) == (200, 0, 0)
        # a start on a full and on a read-only disk says so, and not to move away what is sound
        assert [code for code, _ in starts] == [2, 2]
        assert "No space left" in starts[0][1] or "disk is full" in starts[0][1]
        assert "Read-only" in starts[1][1]
        assert not any("move it away" in said for _, said in starts)
    finally:
        shutil.rmtree(home)
