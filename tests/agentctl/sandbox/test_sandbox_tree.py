"""Nothing that a call started outlives it: daemons, orphans, floods; whoever of agentctl, spawner, supervisor dies."""

import os
import signal
import time
from pathlib import Path

import pytest

LEVELS = ("none", "confined")  # between them lies what hides, not what starts and ends
DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for n in range(3): os.close(n)

open('alive', 'a').close()
while True:
    os.utime('alive')
    time.sleep(0.01)
"""
# Each forks a child and ends, again and again: whoever is looked at has already gone. Ends by itself after 20 s.
RELAY = """
import os, time
end = time.monotonic() + 20
open('relay', 'w').close()
while time.monotonic() < end:
    if os.fork(): os._exit(0)
    os.utime('relay')
"""
# Forks until there are 200, which stay for 20 s at most.
FLOOD = """
import os, time
end = time.monotonic() + 20
for n in range(200):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            os.utime('flood')
            time.sleep(0.02)
        os._exit(0)
"""


def still(path: Path) -> bool:
    """Whether nobody touches the file any more."""
    before = path.stat().st_mtime_ns
    time.sleep(0.2)
    return path.stat().st_mtime_ns == before


def script(driver, name: str, text: str) -> str:
    path = driver.world / "ws" / name
    path.write_text(text)
    os.chmod(path, 0o644)
    return f"python3 {path}"


@pytest.mark.parametrize("level", LEVELS)
def test_a_daemon_ends_with_its_call(either, level):
    run = script(either, "daemon.py", DAEMON)
    alive = either.world / "ws/alive"
    alive.unlink(missing_ok=True)
    answer = either(f"{run}; while [ ! -e alive ]; do sleep 0.01; done; echo done", level)
    assert answer.stdout == "done\n", answer
    assert still(alive)
    assert "could not be ended" not in answer.note
    if not (either.means == "bubblewrap" and level != "none"):
        assert "ended 1 process" in answer.note


@pytest.mark.parametrize("level", LEVELS)
def test_a_relay_of_processes_is_caught(either, level):
    run = script(either, "relay.py", RELAY)
    relay = either.world / "ws/relay"
    relay.unlink(missing_ok=True)
    answer = either(f"{run} & while [ ! -e relay ]; do sleep 0.01; done; echo done", level)
    assert answer.stdout == "done\n", answer
    assert still(relay)
    assert "could not be ended" not in answer.note


@pytest.mark.parametrize("level", LEVELS)
def test_a_flood_is_ended_at_the_timeout(either, level):
    run = script(either, "flood.py", FLOOD)
    flood = either.world / "ws/flood"
    flood.touch()
    os.chown(flood, either.user, either.user)
    answer = either(f"{run}; sleep 60", level, timeout_s=1)
    assert answer.status == "timeout"
    assert "stopped after 1 s" in answer.note
    assert still(flood)
    assert "could not be ended" not in answer.note


@pytest.mark.parametrize("level", LEVELS)
def test_when_agentctl_is_killed_its_calls_end(either, start_driver, level, gone):
    driver = start_driver(either.means, either.user)
    run = script(driver, "daemon.py", DAEMON)
    driver.begin(f"{run}; sleep 60", level)
    alive = wait_for(driver.world / "ws/alive")
    spawner = children(driver.pid)[0]
    driver.kill()
    assert gone(spawner)
    assert eventually_still(alive)


@pytest.mark.parametrize("victim", ["spawner", "supervisor"])
@pytest.mark.parametrize("level", LEVELS)
def test_when_what_watches_is_killed_the_call_ends(either, start_driver, level, victim):
    driver = start_driver(either.means, either.user)
    run = script(driver, "daemon.py", DAEMON)
    spawner = driver.spawner
    driver.begin(f"{run}; sleep 60", level)
    alive = wait_for(driver.world / "ws/alive")
    os.kill(spawner if victim == "spawner" else children(spawner)[0], signal.SIGKILL)
    answer = driver.end()
    assert answer.status == "error", answer
    assert eventually_still(alive)
    assert driver("echo again", level).stdout == "again\n", "the next call works"


def test_a_stopped_tree_ends_too(either):
    for level in LEVELS:
        answer = either("sleep 60 & kill -STOP $!; kill -STOP $$", level, timeout_s=1)
        assert answer.status == "timeout"


def test_nothing_is_left_of_many_calls(either):
    spawner = either.spawner
    for level in LEVELS:
        either("true", level)
    descriptors = len(os.listdir(f"/proc/{either.pid}/fd"))
    held = len(os.listdir(f"/proc/{spawner}/fd"))
    for _ in range(5):
        for level in LEVELS:
            either("sleep 9 & true", level)
            either("x" * 10, level)
            either("true", level, argv=["/no/such"])
    # the spawner may be about to hand the next call's supervisor over: one call's worth, not those of 30
    assert len(os.listdir(f"/proc/{either.pid}/fd")) <= descriptors + 2
    assert len(os.listdir(f"/proc/{spawner}/fd")) <= held + 4
    for _ in range(100):
        if len(left := children(spawner)) <= 1:
            break
        time.sleep(0.02)
    assert len(left) <= 1, "the one that waits for the next call"


def children(pid: int) -> list[int]:
    for _ in range(100):
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not found:
            return []
        if all(state_of(int(child)) not in "ZX" for child in found):
            return [int(child) for child in found]
        time.sleep(0.01)
    return [int(child) for child in found]


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def wait_for(path: Path) -> Path:
    for _ in range(1000):
        if path.exists():
            return path
        time.sleep(0.01)
    raise AssertionError(f"{path} does not appear")


def eventually_still(path: Path) -> bool:
    return any(still(path) for _ in range(30))
