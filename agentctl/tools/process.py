"""Running one child: nothing inherited but what is named, output bounded, nothing of it left running behind.

How it is started and ended is a `Starter`'s business: in a session the sandbox's, which finds every descendant. The
plain one here knows the process group only. Guarantee of both: when `run` returns or raises, the child has been reaped
and what the starter knows of has been sent SIGKILL.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

from agentctl.errors import ToolError
from agentctl.tools.child import Child, End, Starter
from agentctl.tools.output import Output
from agentctl.tools.pipes import attend
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant

__all__ = ["UMASK", "follow", "named", "run"]

UMASK: Final = 0o022  # part of the environment that Shield digests


def run(
    warrant: Warrant,
    child: Child,
    stop: Stop,
    *,
    clock: Callable[[], float] = time.monotonic,
    start: Starter | None = None,
) -> Output:
    """Start it, wait for its end, end what is left. The exit code is 128 + N where signal N ended it, as shells say.

    Raises ToolError where it cannot be started, CancelledTurnError where `stop` was set.
    """
    assert warrant.receipt.jti, "nothing runs without a receipt"
    return follow(child, stop, clock=clock, start=start or _Group)


def follow(child: Child, stop: Stop, *, clock: Callable[[], float] = time.monotonic, start: Starter) -> Output:
    """`run` for a child that is no action: agentctl's own, whose command is fixed in its code."""
    stop.check()
    with ExitStack() as stack:
        running = start(child)
        try:
            return attend(running, child, stop, clock, stack)
        except BaseException:
            with suppress(ToolError):  # what was raised first says more
                running.finish()
            raise


class _Group:
    """A child of this process, the leader of a group: what leaves the group (setsid) is not found.

    The child is killed before it is reaped, while its zombie still holds the group's number, so that the signal cannot
    reach a stranger.
    """

    def __init__(self, child: Child) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the argv of an action with a receipt
                list(child.argv),
                env=dict(child.env),
                cwd=named(child.cwd),
                stdin=subprocess.DEVNULL if child.stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                close_fds=True,
                restore_signals=True,
                start_new_session=True,
                umask=UMASK,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ToolError(f"`{os.path.basename(child.argv[0])}` cannot be started: {why}") from None
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdin = None if process.stdin is None else os.dup(process.stdin.fileno())
        self.stdout, self.stderr = os.dup(process.stdout.fileno()), os.dup(process.stderr.fileno())
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        self.notice = _end_notice(process.pid)

    def has_ended(self) -> bool:
        # INVARIANT: WNOWAIT leaves the zombie, so its number stays taken until `finish` has killed the group
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def finish(self) -> End:
        process = self._process
        if process.returncode is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # macOS answers EPERM for a group of zombies only
            process.wait()
        code = process.returncode
        return End(signal=-code) if code < 0 else End(exit_code=code)


def named(descriptor: int) -> str:
    """A name of the open directory for chdir in the child: the very one, whatever its path leads to by then."""
    link = f"/proc/self/fd/{descriptor}"
    if os.path.isdir(link):
        return link
    import fcntl

    # macOS: F_GETPATH is where the open directory is now
    return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))  # type: ignore[attr-defined,unused-ignore]  # macOS only


def _end_notice(pid: int) -> int | None:
    """A descriptor that becomes readable when the child ends, without reaping it."""
    if hasattr(os, "pidfd_open"):
        try:
            return os.pidfd_open(pid)
        except OSError:
            return None  # an old kernel, or one that hides this call: poll instead
    return None
