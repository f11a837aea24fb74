"""Running one child: nothing inherited but what is named, output bounded, no member of its group left behind.

Guarantee: when `run` returns or raises, the child has been reaped and every process still in its process group has been
sent SIGKILL. The child is killed before it is reaped, while its zombie still holds the group's number, so that the
signal cannot reach a stranger. A process that made a session of its own (setsid) has left the group and is not found.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from agentctl.errors import CancelledTurnError, ToolError
from agentctl.tools.output import MAX_CONTENT, Capture, Digest, Output
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import OutcomeStatus

__all__ = ["UMASK", "Child", "run"]

UMASK: Final = 0o022  # part of the environment that Shield digests
_CHUNK: Final = 1 << 16
_POLL_S: Final = 0.02  # only where the kernel cannot tell of a child's end by a descriptor
_DRAIN_S: Final = 0.5  # how long output of a dead group is still taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What to start. `argv[0]` is absolute; `cwd` is an open directory; `env` is the whole environment."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: int
    timeout_s: float
    stdin: bytes | None = None


def run(warrant: Warrant, child: Child, stop: Stop, *, clock: Callable[[], float] = time.monotonic) -> Output:
    """Start it, wait for its end, kill its group. The exit code is 128 + N where signal N ended it, as shells say.

    Raises ToolError where it cannot be started, CancelledTurnError where `stop` was set.
    """
    assert warrant.receipt.jti, "nothing runs without a receipt"
    stop.check()
    with ExitStack() as stack:
        process = _start(child)
        try:
            return _attend(process, child, stop, clock, stack)
        finally:
            _finish(process)


def _start(child: Child) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  # the argv of an action with a receipt
            list(child.argv),
            env=dict(child.env),
            cwd=_cwd(child.cwd),
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


def _cwd(descriptor: int) -> str:
    """A name of the open directory for chdir in the child: the very one, whatever its path leads to by then."""
    link = f"/proc/self/fd/{descriptor}"
    if os.path.isdir(link):
        return link
    import fcntl

    # macOS: F_GETPATH is where the open directory is now
    return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))  # type: ignore[attr-defined,unused-ignore]  # macOS only


def _attend(
    process: subprocess.Popen[bytes], child: Child, stop: Stop, clock: Callable[[], float], stack: ExitStack
) -> Output:
    digest = Digest()
    captures = {
        "stdout": Capture("stdout", MAX_CONTENT // 2, digest),
        "stderr": Capture("stderr", MAX_CONTENT // 2, digest),
    }
    selector = stack.enter_context(selectors.DefaultSelector())
    wake_read, wake_write = os.pipe()
    stack.callback(os.close, wake_read)
    stack.callback(os.close, wake_write)
    os.set_blocking(wake_write, False)
    stack.enter_context(stop.waking(lambda: _poke(wake_write)))
    selector.register(wake_read, selectors.EVENT_READ, "wake")
    ended = _end_notice(process.pid, stack)
    if ended is not None:
        selector.register(ended, selectors.EVENT_READ, "end")
    for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
        assert pipe is not None
        stack.callback(pipe.close)
        os.set_blocking(pipe.fileno(), False)
        selector.register(pipe, selectors.EVENT_READ, name)
    feed = memoryview(child.stdin or b"")
    if process.stdin is not None:
        stack.callback(_close_quietly, process.stdin)
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")

    deadline = clock() + child.timeout_s
    timed_out = False
    over = False
    while not over:
        left = deadline - clock()
        if left <= 0:
            timed_out = True
            break
        for key, _ in selector.select(min(left, _POLL_S) if ended is None else left):
            match key.data:
                case "wake":
                    raise CancelledTurnError
                case "end":
                    over = True
                case "stdin":
                    feed = _give(feed, key.fd)
                    if not feed and process.stdin is not None:
                        selector.unregister(process.stdin)
                        _close_quietly(process.stdin)
                case name if not _take(captures[name], key.fd):
                    selector.unregister(key.fileobj)
        over = over or (ended is None and _has_ended(process.pid))
    _finish(process)
    _drain(captures, selector, clock)
    return _output(process, captures, digest, timed_out, child.timeout_s)


def _output(
    process: subprocess.Popen[bytes], captures: Mapping[str, Capture], digest: Digest, timed_out: bool, limit: float
) -> Output:
    pieces = [captures["stdout"].part(), captures["stderr"].part()]
    code = process.returncode
    exit_code = 128 - code if code < 0 else code
    note = f"exit code {exit_code}"
    if timed_out:
        note = f"stopped after {limit:g} s, with everything it started"
    elif code < 0:
        note = f"ended by signal {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"signal {-code}"
    return Output(
        parts=tuple(part for part, _ in pieces if part.text),
        bytes=digest.bytes,
        sha256=digest.sha256,
        truncated=any(cut for _, cut in pieces),
        status=_status(timed_out=timed_out, exit_code=exit_code),
        exit_code=exit_code,
        note=note,
    )


def _status(*, timed_out: bool, exit_code: int | None) -> OutcomeStatus:
    if timed_out:
        return OutcomeStatus.TIMEOUT
    return OutcomeStatus.OK if exit_code == 0 else OutcomeStatus.ERROR


def _end_notice(pid: int, stack: ExitStack) -> int | None:
    """A descriptor that becomes readable when the child ends, without reaping it."""
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return None  # an old kernel, or one that hides this call: poll instead
        stack.callback(os.close, descriptor)
        return descriptor
    return None


def _has_ended(pid: int) -> bool:
    # INVARIANT: WNOWAIT leaves the zombie, so its number stays taken until _finish has killed the group
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _finish(process: subprocess.Popen[bytes]) -> None:
    """Kill the group, then reap the child. Does nothing the second time."""
    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # macOS answers EPERM for a group of zombies only
    process.wait()


def _drain(
    captures: Mapping[str, Capture],
    selector: selectors.BaseSelector,
    clock: Callable[[], float],
) -> None:
    """Take what is still in the pipes; one that left the group may hold them open, so not for long."""
    limit = clock() + _DRAIN_S
    waiting = {key.data for key in selector.get_map().values()} & captures.keys()
    while waiting and (left := limit - clock()) > 0:
        for key, _ in selector.select(left):
            if key.data in captures and not _take(captures[key.data], key.fd):
                selector.unregister(key.fileobj)
                waiting.discard(key.data)
            elif key.data not in captures:
                selector.unregister(key.fileobj)


def _take(capture: Capture, descriptor: int) -> bool:
    try:
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    capture.add(data)
    return bool(data)


def _give(feed: memoryview, descriptor: int) -> memoryview:
    try:
        return feed[os.write(descriptor, feed[:_CHUNK]) :]
    except BlockingIOError:
        return feed
    except OSError:
        return feed[:0]  # it closed its input


def _poke(descriptor: int) -> None:
    try:
        os.write(descriptor, b"\0")
    except BlockingIOError:
        pass  # woken already


def _close_quietly(pipe: object) -> None:
    try:
        pipe.close()  # type: ignore[attr-defined]  # a pipe of Popen
    except OSError:
        pass  # a broken pipe is the child's choice
