"""Ending everything that descends from this process. Linux; standard library only.

The caller is a subreaper: a descendant whose parent ends becomes its child, so none can leave. Guarantee of `end_all`:
when it returns 0, this process has no descendant.

A tree that forks while it is being killed could stay ahead of the killer, so it is stopped first: whatever is found is
sent SIGSTOP, and again, until a pass finds nothing new. A stopped process forks no more and does not end by itself, so
its number stays its own until it is killed.
"""

import os
import signal
import time
from collections.abc import Callable, Container
from typing import Final

__all__ = ["descendants", "end_all"]

_PASSES: Final = 200
_GIVE_UP_S: Final = 5.0  # a process of another user (set-id), or one that the kernel holds
_PAUSE_S: Final = 0.002


def end_all(
    *,
    spared: Container[int] = (),
    reaped: Callable[[int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Kill and reap every descendant but the children in `spared` and theirs. How many are left, 0 if all went well.

    `reaped` is told each child's wait status.
    """
    deadline = clock() + _GIVE_UP_S
    while True:
        _reap(reaped)
        alive = _kill_once(spared)
        if not alive:
            _reap(reaped)
            if not descendants(spared=spared, zombies=True):
                return 0
        if clock() > deadline:
            return len(descendants(spared=spared))
        time.sleep(_PAUSE_S)


def descendants(*, spared: Container[int] = (), zombies: bool = False) -> list[int]:
    """The processes beneath this one, parents before children."""
    children = _children if os.path.exists("/proc/thread-self/children") else None
    table = {} if children else _parents()
    found: list[int] = []
    queue = [os.getpid()]
    for pid in queue:
        below = children(pid) if children else table.get(pid, [])
        below = [child for child in below if child not in spared]
        queue += below
        found += below
    return found if zombies else [pid for pid in found if not _is_zombie(pid)]


def _kill_once(spared: Container[int]) -> int:
    """Stop until nothing new appears, then kill. How many were alive."""
    stopped: set[int] = set()
    for _ in range(_PASSES):
        found = set(descendants(spared=spared))
        for stranger in stopped - found:
            # its number was taken by another process between the look and the signal
            _send(stranger, signal.SIGCONT)
        fresh = found - stopped
        stopped &= found
        if not fresh:
            break
        for pid in fresh:
            _send(pid, signal.SIGSTOP)
        stopped |= fresh
    for pid in stopped:
        _send(pid, signal.SIGKILL)
    return len(stopped)


def _reap(reaped: Callable[[int, int], None] | None) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if reaped is not None:
            reaped(pid, status)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # gone, or of another user: counted at the end


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        pass  # it ended while we looked: its children are ours by now
    return found


def _parents() -> dict[int, list[int]]:
    """Children by parent, from every process: a kernel without CONFIG_PROC_CHILDREN."""
    table: dict[int, list[int]] = {}
    if not os.path.isdir("/proc/self"):
        return table  # not Linux: who leaves its group is not found there
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))):
            table.setdefault(int(fields[1]), []).append(int(name))
    return table


def _is_zombie(pid: int) -> bool:
    """Whether nothing of it runs. One whose first thread has ended looks like a zombie while others go on."""
    fields = _stat(pid)
    if fields and fields[0] not in (b"Z", b"X"):
        return False
    try:
        return len(os.listdir(f"/proc/{pid}/task")) <= 1
    except OSError:
        return True


def _stat(pid: int) -> list[bytes]:
    """State, parent and what follows in /proc/PID/stat; empty where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []
