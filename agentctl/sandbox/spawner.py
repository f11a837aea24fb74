"""The process that starts every command of a session: small, single-threaded, without a secret.

agentctl has threads, so it cannot fork and work on; an interpreter started for each call would cost more than the call.
This process forks a supervisor per request and does nothing else. A request is one byte, the answer one byte with two
descriptors: the call's line to its supervisor and the feed of its child. agentctl asks for one ahead of its need. When
agentctl is gone, this process ends; its supervisors then end their calls.

INVARIANT: it holds no token, no environment and no descriptor but its control socket. Standard library only.
"""

import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from agentctl.sandbox import kernel, tree
from agentctl.sandbox.supervisor import supervise

__all__ = ["main"]

_LAST_S: Final = 7.0
_PAUSE_S: Final = 0.005
CONNECT_TCP: Final = 1 << 1  # LANDLOCK_ACCESS_NET_CONNECT_TCP


def main(arguments: Sequence[str]) -> None:
    """Serve requests from the control socket until it closes. `arguments`: its descriptor, then hidden TCP ports."""
    control_fd, *ports = (int(argument) for argument in arguments)
    if sys.platform == "linux":
        kernel.hide_memory()
        kernel.become_subreaper()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        # the terminal's signals are agentctl's business
        signal.signal(number, signal.SIG_IGN)
    if ports:
        _close_ports(frozenset(ports))
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.collect()
    gc.freeze()  # forks share what is there now
    supervisors: set[int] = set()
    with socket.socket(fileno=control_fd) as control:
        control.set_inheritable(False)
        control.sendall(b"R")
        poll = select.poll()
        poll.register(control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == woken:
                    with suppress(BlockingIOError):
                        os.read(woken, 4096)
                    _tidy(supervisors)
                elif not _serve(control, supervisors):
                    _end(supervisors)
                    return


def _close_ports(hidden: frozenset[int]) -> None:
    """Nothing started here connects to these TCP ports, at whatever address: every other one is granted.

    Entered once, since 65,535 rules are too many for each call.
    """
    ruleset = kernel.new_ruleset(fs=0, net=CONNECT_TCP, scoped=0)
    for port in range(1 << 16):
        if port not in hidden:
            kernel.add_port_rule(ruleset, CONNECT_TCP, port)
    kernel.no_new_privileges()
    kernel.restrict_self(ruleset)
    os.close(ruleset)


def _serve(control: socket.socket, supervisors: set[int]) -> bool:
    """Fork a supervisor and hand over the two ends that lead to it. False where there will be no more requests."""
    try:
        if not control.recv(1):
            return False
        line, line_end = socket.socketpair()
        feed, feed_end = socket.socketpair()
    except OSError:
        return False
    with line, line_end, feed, feed_end:
        spawner = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            pid = -1  # no more processes: both ends close, which says that nothing runs
        if pid == 0:
            for other in (control, line_end, feed_end):
                other.close()
            supervise(line, feed.detach(), parent=spawner)
        if pid > 0:
            supervisors.add(pid)
        try:
            socket.send_fds(control, [b"S"], [line_end.fileno(), feed_end.fileno()])
        except OSError:
            return False
    return True


def _end(supervisors: set[int]) -> None:
    """End every call that still runs, by its supervisor, and be the last to go."""
    for pid in supervisors:
        os.kill(pid, signal.SIGTERM)  # INVARIANT: a child of ours that was not reaped, so nobody else has its number
    deadline = time.monotonic() + _LAST_S
    while supervisors and time.monotonic() < deadline:
        _tidy(supervisors)
        time.sleep(_PAUSE_S)
    tree.end_all()


def _tidy(supervisors: set[int]) -> None:
    """Take in supervisors that ended. What one that was killed has left came to us, and ends now."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        known = pid in supervisors
        supervisors.discard(pid)
        if known and status != 0:
            tree.end_all(spared=supervisors, reaped=lambda ended, _: supervisors.discard(ended))
