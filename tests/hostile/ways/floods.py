"""Too much of everything, within bounds of our own: every flood here stops by itself."""

import os
import resource
import signal
import sys
import time
from pathlib import Path

from attack import HERE, MARK, got

PROCESSES, MEMORY, DISK, DESCRIPTORS, OUTPUT = 300, 128 << 20, 100 << 20, 4096, 16 << 20


def test_processes():
    """300 processes at once; each would end by itself after 20 s, none outlives the call."""
    started = 0
    for _ in range(PROCESSES):
        try:
            child = os.fork()
        except OSError:
            break
        if child == 0:
            signal.alarm(20)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            time.sleep(20)
            os._exit(0)
        started += 1
    return got(f"{started} at once") if started == PROCESSES else None


def test_memory():
    """128 MB, in a child."""
    child = os.fork()
    if child == 0:
        held = []
        try:
            while len(held) < MEMORY >> 24:
                held.append(bytearray(b"x") * (1 << 24))
        except MemoryError:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return got("all of it") if os.waitstatus_to_exitcode(status) == 0 else None


def test_disk():
    """100 MB in the workspace, which is a tmpfs; removed again."""
    target, size = HERE / "big", 0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open(target, "wb", buffering=0) as file:
            block = b"x" * (1 << 20)
            while size < DISK:
                size += file.write(block)
    except OSError:
        pass
    finally:
        target.unlink()
    return got(f"{size} bytes") if size >= DISK else None


def test_descriptors():
    """4096 open files."""
    opened, soft = [], resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft[1], soft[1]))
        while len(opened) < DESCRIPTORS:
            opened.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for number in opened:
        os.close(number)
    return got(f"{len(opened)} at once") if len(opened) == DESCRIPTORS else None


def test_output():
    """16 MB of output: the model sees its head and tail."""
    line = f"{MARK} ".encode() * 64 + b"\n"
    for _ in range(OUTPUT // len(line)):
        sys.__stdout__.buffer.write(line)
    return got("written; the model sees its head and tail")


def test_core():
    """A core dump of a process full of what it read."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        os.chdir(HERE)
        os.abort()
    os.waitpid(child, 0)
    dumps = [path for path in Path(HERE).iterdir() if path.name.startswith("core")]
    return got(dumps) if dumps else None


def test_priority():
    """Above everything else."""
    os.nice(-5)
    return got("above everything else")
