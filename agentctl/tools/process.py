"""Running one child: nothing inherited but what is named, output bounded, nothing of it left running behind.

How it is started and ended is a `Starter`'s business: in a session the sandbox's, which finds every descendant. The
plain one here knows the process group only. Guarantee of both: when `run` returns or raises, the child has been reaped
and what the starter knows of has been sent SIGKILL.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Protocol

from agentctl.errors import CancelledTurnError, ToolError
from agentctl.tools.output import MAX_CONTENT, Capture, Digest, Output
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import OutcomeStatus

__all__ = ["UMASK", "Child", "End", "Runner", "Running", "Starter", "follow", "named", "run"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How it ended: by itself with `exit_code`, or by `signal`. `notes` are our own words about it."""

    exit_code: int | None = None
    signal: int | None = None
    notes: tuple[str, ...] = ()


class Running(Protocol):
    """A child that was started. The descriptors belong to whoever runs it and are closed there.

    `notice` becomes readable when it has ended; where it is None, `has_ended` is asked from time to time.
    """

    stdin: int | None
    stdout: int
    stderr: int
    notice: int | None

    def has_ended(self) -> bool: ...

    def finish(self) -> End:
        """End whatever still runs and wait for it; the second time only the answer. Raises ToolError."""
        ...


Starter = Callable[[Child], Running]


class Runner(Protocol):
    """What a tool starts a child with."""

    def __call__(self, warrant: Warrant, child: Child, stop: Stop) -> Output: ...


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
            return _attend(running, child, stop, clock, stack)
        finally:
            running.finish()


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


def _attend(running: Running, child: Child, stop: Stop, clock: Callable[[], float], stack: ExitStack) -> Output:
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
    for name, descriptor in (("stdout", running.stdout), ("stderr", running.stderr)):
        stack.callback(os.close, descriptor)
        os.set_blocking(descriptor, False)
        selector.register(descriptor, selectors.EVENT_READ, name)
    if running.notice is not None:
        stack.callback(os.close, running.notice)
        selector.register(running.notice, selectors.EVENT_READ, "end")
    feed = memoryview(child.stdin or b"")
    given = ExitStack()
    if running.stdin is not None:
        stack.callback(given.close)
        given.callback(os.close, running.stdin)
        os.set_blocking(running.stdin, False)
        selector.register(running.stdin, selectors.EVENT_WRITE, "stdin")
    stack.enter_context(stop.waking(lambda: _poke(wake_write)))
    selector.register(wake_read, selectors.EVENT_READ, "wake")

    deadline = clock() + child.timeout_s
    timed_out = False
    over = False
    while not over:
        left = deadline - clock()
        if left <= 0:
            timed_out = True
            break
        for key, _ in selector.select(min(left, _POLL_S) if running.notice is None else left):
            match key.data:
                case "wake":
                    raise CancelledTurnError
                case "end":
                    over = True
                case "stdin":
                    feed = _give(feed, key.fd)
                    if not feed:
                        selector.unregister(key.fd)
                        given.close()
                case name if not _take(captures[name], key.fd):
                    selector.unregister(key.fileobj)
        over = over or (running.notice is None and running.has_ended())
    end = running.finish()
    _drain(captures, selector, clock)
    return _output(end, captures, digest, timed_out, child.timeout_s)


def _output(end: End, captures: Mapping[str, Capture], digest: Digest, timed_out: bool, limit: float) -> Output:
    pieces = [captures["stdout"].part(), captures["stderr"].part()]
    exit_code = 128 + end.signal if end.signal is not None else end.exit_code
    note = f"exit code {exit_code}"
    if timed_out:
        note = f"stopped after {limit:g} s, with everything it started"
    elif end.signal is not None:
        note = f"ended by signal {_signal_name(end.signal)}"
    elif end.exit_code is not None and end.exit_code > 128 and (name := _signal_name(end.exit_code - 128)).isalnum():
        note += f", as of one that signal {name} ended"
    return Output(
        parts=tuple(part for part, _ in pieces if part.text),
        bytes=digest.bytes,
        sha256=digest.sha256,
        truncated=any(cut for _, cut in pieces),
        status=_status(timed_out=timed_out, exit_code=exit_code),
        exit_code=exit_code,
        note="; ".join((note, *end.notes)),
    )


def _signal_name(number: int) -> str:
    known = {member.value: member.name for member in signal.Signals}
    return known.get(number, f"no. {number}")


def _status(*, timed_out: bool, exit_code: int | None) -> OutcomeStatus:
    if timed_out:
        return OutcomeStatus.TIMEOUT
    return OutcomeStatus.OK if exit_code == 0 else OutcomeStatus.ERROR


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
