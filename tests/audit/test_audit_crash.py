"""Processes that are killed, disks that fail or fill up, and the order of the system calls: all of it real."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from audit.checkpoint import Checkpoint
from audit.query import Filter, select
from audit.verify import Outcome, verify_log
from audit_support import Home
from scale import scale

# the audit package that this process has, wheel or checkout, and what tests share
PACKAGES, TESTS = Path(audit.__file__).resolve().parents[1], Path(__file__).resolve().parents[1]
ROUNDS = scale("kill_rounds")
COMMON = """
import os, sys
from pathlib import Path
import audit
from audit import keys
from audit.clock import SystemClock
from audit.entry import Draft
from audit.errors import AuditError, WriteFailedError
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


def child(home, script, *arguments, wrap=()):
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [*wrap, sys.executable, "-P", "-c", COMMON + script, str(home.path), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def finish(process, timeout=60):
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode().splitlines()


WRITER = """
log = begin()
first = int(sys.argv[2])
number = first
while True:  # groups of 8; every acknowledged call is said only after its future resolved
    for call, one in [(call, log.submit(decision(call))) for call in range(number, number + 8)]:
        say(call, one.result().seq)
    number += 8
"""


def test_a_killed_writer_loses_nothing_it_acknowledged_and_a_retry_is_no_second_record():
    home = Home()
    home.open(create=True).close()
    rnd = random.Random(7)
    acknowledged = {}
    for round_ in range(ROUNDS):
        process = child(home, WRITER, round_ * 100_000)
        try:
            for _ in range(rnd.randrange(1, 200)):
                call, seq = process.stdout.readline().split()
                acknowledged[int(call)] = int(seq)
            process.send_signal(signal.SIGKILL)
            rest, _ = process.communicate(timeout=30)
        finally:
            process.kill()
        for line in rest.decode().split("\n")[:-1]:
            call, seq = line.split()
            acknowledged[int(call)] = int(seq)
        report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
        assert report.outcome is Outcome.OK, report.reason
        stored = {one.envelope.call_id: one.envelope.seq for one in select(home.db, Filter(kind="decision"))}
        assert {f"call-{call}": seq for call, seq in acknowledged.items()}.items() <= stored.items()
        retry = finish(child(home, f"log = begin()\nsay(log.append(decision({max(acknowledged)})).seq)\nlog.close()"))
        assert int(retry[0]) == acknowledged[max(acknowledged)]
    assert verify_log(home.db, home.key.verifier).unsealed == 0


def strace(*arguments):
    tool = shutil.which("strace")
    if tool is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run([tool, "-f", "-o", "/dev/null", "true"], capture_output=True, check=False, timeout=30)
    if probe.returncode != 0:
        pytest.skip(f"strace cannot trace here: {probe.stderr.decode()[:200]}")
    return [tool, "-f", *arguments]


ORDERLY = """
log = begin(seal_every_ms=0)
for number in range(5):
    say("ACK", log.append(decision(number)).seq)
log.close()
say("END")
"""


def test_the_wal_is_synced_before_every_acknowledgement():
    home = Home()
    home.open(create=True).close()
    trace = home.path / "trace"
    wrap = strace("-y", "-s", "16", "-e", "trace=pwrite64,fdatasync,fsync,rename,write", "-o", str(trace))
    finish(child(home, ORDERLY, wrap=wrap))
    calls = trace.read_text().splitlines()
    acks = [at for at, line in enumerate(calls) if re.search(r'write\(1<.*"ACK', line)]
    assert len(acks) == 5
    before = next(at for at, line in enumerate(calls) if "audit.db-wal" in line)
    for ack in acks:
        step = calls[before:ack]
        written = [at for at, line in enumerate(step) if "pwrite64" in line and "audit.db-wal" in line]
        synced = [at for at, line in enumerate(step) if re.search(r"f(data)?sync\(\d+<[^>]*audit\.db-wal", line)]
        assert written, "nothing was written between two acknowledgements"
        assert synced, "an acknowledgement without a sync of the WAL"
        assert max(synced) > max(at for at in written if at < max(synced))
        # INVARIANT: no frame of this group follows its sync; the next group's come after this acknowledgement.
        assert max(synced) > max(written)
        before = ack
    published = [at for at, line in enumerate(calls) if "rename(" in line and "checkpoint.new" in line]
    assert published
    for at in published:
        assert any("fsync" in line and "checkpoint.new" in line for line in calls[:at])


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_an_io_error_is_never_acknowledged_and_the_log_recovers(call):
    """The n-th call of its kind fails once, for a run of n: the fault meets frames, syncs and checkpoints alike."""
    home = Home()
    home.open(create=True).close()
    script = """
failed = 0
def insist(step):
    global failed
    for attempt in range(5):
        try:
            return step()
        except WriteFailedError:
            failed += 1
log = insist(lambda: unbegun(seal_every_ms=0))  # the fault may meet the opening: the next attempt opens
insist(lambda: log.append(OPEN))
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 12):
    say("ACK", number, insist(lambda: log.append(decision(number))).seq)
say("FAILED", failed)
log.close()
"""
    refused = 0
    for round_, nth in enumerate((8, 13)):
        wrap = strace("-e", f"trace={call}", "-e", f"inject={call}:error=EIO:when={nth}", "-o", "/dev/null")
        lines = [line.split() for line in finish(child(home, script, round_ * 100, wrap=wrap))]
        refused += int(lines[-1][1])
        stored = {one.envelope.call_id: one.envelope.seq for one in select(home.db, Filter(kind="decision"))}
        acknowledged = {f"call-{words[1]}": int(words[2]) for words in lines if words[0] == "ACK"}
        assert len(acknowledged) == 12
        assert acknowledged.items() <= stored.items()
        report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
        assert report.outcome is Outcome.OK, report.reason
    assert refused > 0


FULL = """
import ctypes
disk = home / "disk"
log = begin(path=disk / "audit.db", create=True)
filler = disk / "filler"
acknowledged = [log.append(decision(0)).seq]
descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(descriptor, b"x" * 4096)
except OSError:
    os.close(descriptor)
number, refused = 1, 0
while refused < 3:
    try:
        acknowledged.append(log.append(decision(number)).seq)
        number += 1
    except WriteFailedError as error:
        refused += 1
        said = str(error)
        if refused == 1:
            assert not log.healthy.ok, log.healthy
say("SAID", said)
filler.unlink()
for again in range(number, number + 5):
    acknowledged.append(log.append(decision(again)).seq)
assert log.healthy.ok
assert len(set(acknowledged)) == len(acknowledged)
log.close()
import shutil
shutil.copy(disk / "audit.db", home / "copy.db")
say("DONE", len(acknowledged))
"""


def test_a_full_disk_is_refused_and_left_behind_without_a_restart():
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a file system of its own needs root and unshare")
    home = Home()
    (home.path / "disk").mkdir()
    mount = f'mount -t tmpfs -o size=2m tmpfs {home.path / "disk"} && exec "$@"'
    probe = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, "sh", "true"], capture_output=True, check=False, timeout=30
    )
    if probe.returncode != 0:
        pytest.skip(f"no mount namespace here: {probe.stderr.decode()[:200]}")
    lines = finish(child(home, FULL, wrap=["unshare", "-m", "sh", "-c", mount, "sh"]))
    assert lines[0].startswith("SAID")
    assert re.search("full|disk", lines[0])
    report = verify_log(home.path / "copy.db", home.key.verifier, outside=[home.checkpoint.read_text()])
    assert (report.outcome, report.unsealed) == (Outcome.OK, 0), report.reason
    assert report.records >= int(lines[1].split()[1])


def test_a_second_process_is_refused_until_the_first_is_gone():
    home = Home()
    home.open(create=True).close()
    holder = child(home, "log = begin()\nsay('UP')\nsys.stdin.read()\n")
    try:
        assert holder.stdout.readline() == b"UP\n"
        second = finish(child(home, "try:\n    begin()\nexcept AuditError as error:\n    say(type(error).__name__)"))
        assert second == ["LogBusyError"]
        holder.send_signal(signal.SIGKILL)
        holder.communicate(timeout=30)
    finally:
        holder.kill()
    home.open().close()


def test_the_checkpoint_outside_never_runs_ahead_of_the_database():
    """Killed at every published checkpoint in turn, the log still opens: the file follows the commit."""
    home = Home()
    home.open(create=True).close()
    process = child(home, "log = begin(seal_every_ms=0)\nfor n in range(9999):\n    say(log.append(decision(n)).seq)\n")
    try:
        for _ in range(30):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    finally:
        process.kill()
    outside = Checkpoint.open(home.checkpoint.read_text(), home.key.verifier)
    with home.open() as log:
        assert log.size > outside.size > 20
