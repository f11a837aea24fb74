"""Ways that end the call they are tried in."""

import os
import signal
import sys
import time

from attack import HERE, MARK, left


def test_kill_what_watches_us():
    """A daemon kills every process above this call, as far as it can see, and stays."""
    above, pid = [], os.getpid()
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        above.append(pid)
    # never pid 1 and never the one below it: that is the test itself
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        for pid in above:
            if pid > 1 and spares(pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue
        os.execv(sys.executable, [sys.executable, "-I", "-c", "import time; time.sleep(60)", f"{MARK}-killer"])
    time.sleep(0.4)
    return left(f"{MARK}-killer")


def spares(pid):
    """Not the test's own process, which stands for agentctl."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"hostile_driver" not in file.read()
    except OSError:
        return False


def test_never_end():
    """Busy for ever, every signal ignored that can be."""
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            continue
    (HERE / "spinning").touch()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        pass
    return left("nothing")
