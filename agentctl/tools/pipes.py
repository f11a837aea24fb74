"""The pipes of a child while it runs: input given, output taken up to its bounds, a stop or the end noticed."""

import os
import selectors
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from agentctl.errors import CancelledTurnError, UnsetError
from agentctl.tools.child import Child, End, Running
from agentctl.tools.output import MAX_CONTENT, Capture, Digest, Output
from agentctl.tools.stop import Stop
from shield.types import OutcomeStatus

__all__ = ["attend"]

_CHUNK: Final = 1 << 16
_POLL_S: Final = 0.02  # only where the kernel cannot tell of a child's end by a descriptor
_SAID: Final = 300  # characters, of why a sandbox could not be set up
_DRAIN_S: Final = 0.5  # how long output of a dead group is still taken


def attend(running: Running, child: Child, stop: Stop, clock: Callable[[], float], stack: ExitStack) -> Output:
    """Serve its pipes until it has ended or its time is over; what came of it. `stack` closes what is open.

    Raises CancelledTurnError where `stop` was set, UnsetError with what was said of it.
    """
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
    try:
        end = running.finish()
    except UnsetError as error:
        _drain(captures, selector, clock)
        said = captures["stderr"].part()[0].text.strip()
        raise UnsetError(f"{error.detail}: {said[-_SAID:]}" if said else error.detail) from None
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
