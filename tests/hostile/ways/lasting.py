"""Staying: processes that outlive the call that started them."""

import ctypes
import os
import signal
import subprocess
import sys
import time

from attack import HERE, LIBC, MARK, left

SLEEP = "import signal, time\nfor n in range(1, 32):\n  try: signal.signal(n, signal.SIG_IGN)\n  except OSError: pass\ntime.sleep(120)"


def test_daemon():
    """Twice forked, a session of its own, every signal ignored, its streams closed."""
    return stay("daemon", lambda: (os.setsid(), os.fork() and os._exit(0)))


def test_background_job():
    """What `nohup … &` leaves."""
    return stay("job", lambda: (signal.signal(signal.SIGHUP, signal.SIG_IGN), os.setpgid(0, 0)))


def test_daemon_that_keeps_the_output_open():
    """The call must not wait for whoever still holds its pipes."""
    return stay("holder", os.setsid, keep=True)


def test_daemon_under_a_reaper_of_its_own():
    """PR_SET_CHILD_SUBREAPER: orphans come to us and not to whoever looks for them."""

    def settle():
        os.setsid()
        LIBC.prctl(36, 1, 0, 0, 0)
        if os.fork():
            time.sleep(0.2)
        else:
            os.setsid()

    return stay("reaper", settle)


def test_daemon_in_a_process_namespace():
    def settle():
        os.setsid()
        LIBC.unshare(0x10000000 | 0x20000000)
        if os.fork():
            os._exit(0)

    return stay("namespace", settle)


def test_daemon_by_vfork_and_clone():
    """clone(CLONE_PARENT): a child of our parent, not of ours."""
    child = LIBC.syscall(
        ctypes.c_long({"x86_64": 56, "aarch64": 220}[os.uname().machine]), 0x8000 | signal.SIGCHLD, 0, 0, 0, 0
    )
    if child == 0:
        os.setsid()
        run("clone", keep=False)
    return left(f"{MARK}-clone") if child > 0 else None


def test_comet():
    """Never long the same process: each forks the next and ends, so that whoever looks finds the last one gone."""
    code = (
        "import os, sys, time\n"
        "os.setsid()\n"
        "end = time.monotonic() + 30\n"
        "while time.monotonic() < end and not os.path.exists(sys.argv[1] + '.stop'):\n"
        "    open(sys.argv[1], 'w').close()\n"
        "    if os.fork(): os._exit(0)\n"
        "    time.sleep(0.001)\n"
    )
    subprocess.Popen([sys.executable, "-I", "-c", code, str(HERE / "comet")], stdout=subprocess.DEVNULL)
    return "beats", str(HERE / "comet")


def test_stopped_process():
    """A stopped process cannot be asked to end."""
    child = os.fork()
    if child == 0:
        os.setsid()
        run("stopped", keep=False)
    time.sleep(0.1)
    os.kill(child, signal.SIGSTOP)
    return left(f"{MARK}-stopped")


def test_thread_that_stays():
    """A process whose first thread has ended looks dead."""
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(120,)).start()\n"
        "ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[__import__('os').uname().machine], 0)\n"
    )
    subprocess.Popen(
        [sys.executable, "-I", "-c", code, f"{MARK}-thread"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    return left(f"{MARK}-thread")


def stay(name, settle, *, keep=False):
    if os.fork() == 0:
        try:
            settle()
            run(name, keep=keep)
        finally:
            os._exit(1)
    time.sleep(0.1)
    return left(f"{MARK}-{name}")


def run(name, *, keep):
    if not keep:
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
    os.execv(sys.executable, [sys.executable, "-I", "-c", SLEEP, f"{MARK}-{name}"])
