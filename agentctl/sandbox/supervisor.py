"""One call's guardian: it starts the command, waits for its end, ends what is left, and says how it went.

A process of its own per call, beneath the spawner, begun before there is a call. It ends the call's whole tree when
the command ends, when its line closes (agentctl is gone, the call was cancelled or took too long), when the spawner is
gone, or at the deadline, and reports only then. Standard library only.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import asdict
from typing import Final, NoReturn

from agentctl.sandbox import kernel, tree
from agentctl.sandbox.child import TROUBLE_MAX, Ends, become
from agentctl.sandbox.order import FRAME, Report

__all__ = ["supervise"]

_TELL_S: Final = 30.0
_STATUS_MAX: Final = 1 << 16
_LONGEST_S: Final = 3600.0  # one poll


def supervise(line: socket.socket, feed: int, *, parent: int) -> NoReturn:
    """Look after one child, whose order comes through `feed`; `line` is ours to agentctl. Does not return."""
    try:
        os.setsid()
        woken = _heed_signals()
        if sys.platform == "linux":
            kernel.become_subreaper()
            kernel.die_with_parent(signal.SIGTERM)
        if os.getppid() == parent:
            report = _run(line, feed, woken)
            line.settimeout(_TELL_S)
            line.sendall(json.dumps(asdict(report)).encode("ascii"))
    except Exception as error:  # noqa: BLE001  # whatever it is, nothing may be left running
        tree.end_all()
        _complain(line, error)
    finally:
        os._exit(0)


def _run(line: socket.socket, feed: int, woken: int) -> Report:
    trouble_read, trouble = os.pipe()
    status_read, status = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(trouble_read)
        os.close(status_read)
        become(Ends(feed=feed, line=line.fileno(), trouble=trouble, status=status))
    for descriptor in (feed, trouble, status):
        os.close(descriptor)
    ended: dict[int, int] = {}
    wrapped = _wait(child, ended, line, woken)
    whole = child in ended
    if whole and _reap(ended):
        left = stuck = 0
    else:
        # bubblewrap's processes end with it; anything else that is alive now was left behind
        left = 0 if wrapped else len(tree.descendants()) - (0 if whole else 1)
        stuck = tree.end_all(reaped=ended.__setitem__)
    failed = _read(trouble_read, TROUBLE_MAX).decode("utf-8", "replace")
    if failed:
        return Report(failed=failed, stuck=stuck)
    code = os.waitstatus_to_exitcode(ended[child]) if child in ended else -signal.SIGKILL
    # INVARIANT: a bubblewrap that was killed says nothing either, and its command may have run
    if whole and wrapped and code >= 0 and b'"exit-code"' not in _read(status_read, _STATUS_MAX):
        return Report(failed="bubblewrap could not set the sandbox up", unset=True, stuck=stuck)
    if code < 0:
        return Report(signal=-code, left=left, stuck=stuck)
    return Report(exit_code=code, left=left, stuck=stuck)


def _wait(child: int, ended: dict[int, int], line: socket.socket, woken: int) -> bool:
    """Until the child has ended or the call is to end; whether the command has a wrapper."""
    deadline: float | None = None
    wrapped = False
    poll = select.poll()
    poll.register(line, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while child not in ended:
        left = _LONGEST_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            break
        for descriptor, _ in poll.poll(min(left, _LONGEST_S) * 1000):
            if descriptor == woken:
                if signal.SIGTERM in os.read(woken, 4096):
                    return wrapped
                continue
            frame = line.recv(FRAME.size, socket.MSG_WAITALL) if deadline is None else b""
            if len(frame) < FRAME.size:
                return wrapped  # after the frame nothing more is ever sent: it is closed
            limit_s, wrapped = FRAME.unpack(frame)
            deadline = time.monotonic() + limit_s
        _reap(ended)
    return wrapped


def _reap(ended: dict[int, int]) -> bool:
    """Take in whoever ended: the child, and orphans that came to us. Whether there is nobody left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False
        ended[pid] = status


def _heed_signals() -> int:
    """A descriptor that the numbers of arriving signals can be read from."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return read


def _read(descriptor: int, limit: int) -> bytes:
    """What is in a pipe whose writers are gone, or have had their say."""
    os.set_blocking(descriptor, False)
    data = bytearray()
    while len(data) < limit:
        try:
            chunk = os.read(descriptor, limit - len(data))
        except BlockingIOError:
            break
        if not chunk:
            break
        data += chunk
    return bytes(data)


def _complain(line: socket.socket, error: Exception) -> None:
    try:
        line.sendall(json.dumps(asdict(Report(failed=str(error) or type(error).__name__))).encode("ascii"))
    except OSError:
        pass  # agentctl is gone
