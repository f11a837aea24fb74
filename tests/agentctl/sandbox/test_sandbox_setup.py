"""A sandbox that cannot be made: tried again as long as nothing was started, never after."""

import os
import signal
import time
from pathlib import Path

GONE = "/usr/agentctl-gone.sock"  # where nothing can be made, wherever the checkout lies


def test_what_goes_away_before_it_is_covered_is_no_obstacle(mounted):
    mounted.ask({"do": "take_away", "path": GONE, "times": 3})
    answer = mounted("echo x >> ran; cat; cat ~/.ssh/id_rsa", stdin="given\n")
    assert answer.error is None, answer.error
    assert answer.stdout == "given\n"
    assert (mounted.world / "ws/ran").read_text() == "x\n", "it ran once"


def test_what_cannot_be_made_says_why_and_runs_nothing(mounted):
    mounted.ask({"do": "take_away", "path": GONE, "times": 1000})
    answer = mounted("echo x >> ran")
    assert f"bubblewrap could not set the sandbox up: bwrap: Can't create file at {GONE}" in answer.error
    assert not (mounted.world / "ws/ran").exists()
    assert mounted("echo x >> ran", "none").error is None


def test_a_command_whose_bubblewrap_is_killed_is_not_run_again(mounted):
    ran = mounted.world / "ws/ran"
    spawner = mounted.spawner
    mounted.begin("echo x >> ran; sleep 60")
    for _ in range(1000):
        if ran.exists() and ran.read_text():
            break
        time.sleep(0.01)
    wrapper = _wrapper(spawner)
    assert wrapper, "0 would be this process and its group"
    os.kill(wrapper, signal.SIGKILL)
    answer = mounted.end()
    assert answer.exit_code == 128 + signal.SIGKILL, answer
    assert ran.read_text() == "x\n"


def _wrapper(above: int) -> int:
    """The outermost bubblewrap beneath a process."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == above:
            number = int(head.split()[0])
            found = number if head.endswith("(bwrap") else _wrapper(number)
            if found:
                return found
    return 0
