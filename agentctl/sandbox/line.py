"""agentctl's end of one call: the order out, the report back, and a hold on what runs.

While it is open the call may run; when it is closed or shut, whatever the call started is ended by its supervisor.
"""

import json
import os
import select
import socket
import time
from contextlib import suppress
from typing import Any, Final

from agentctl.errors import ToolError, UnsetError
from agentctl.sandbox.order import FRAME, Network, Order, Report, encode_order
from agentctl.tools.child import Child, End

__all__ = ["Line"]

_ANSWER_S: Final = 15.0  # after the call is to end: to kill, reap and report
_SETUP_S: Final = 15.0
_REPORT_MAX: Final = 1 << 16


class Line:
    """A child behind a supervisor; a `Running`. Raises ToolError where it does not come about."""

    def __init__(
        self, ends: tuple[socket.socket, socket.socket], order: Order, child: Child, ruleset: int | None = None
    ) -> None:
        """`ends` are a supervisor's line and feed, taken over; `ruleset` goes with an order that says so."""
        self.stdin: int | None = None
        self.listener: socket.socket | None = None
        self._name = os.path.basename(order.argv[0])
        self._end: End | None = None
        self._data = b""
        self._socket, feed = ends
        if child.stdin is None:
            given = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        else:
            given, self.stdin = os.pipe()
        self.stdout, out = os.pipe()
        self.stderr, err = os.pipe()
        try:
            try:
                with feed:
                    for end in (self._socket, feed):
                        end.settimeout(_SETUP_S)
                    self._socket.sendall(FRAME.pack(order.deadline_s, bool(order.wrapper)))
                    socket.send_fds(feed, [b"O"], [given, out, err, child.cwd, *([] if ruleset is None else [ruleset])])
                    feed.sendall(encode_order(order))
            finally:
                for descriptor in (given, out, err):
                    os.close(descriptor)
            if order.network is Network.LISTENER:
                self.listener = self._take_listener()
        except (OSError, ToolError) as error:
            self._abandon()
            if isinstance(error, ToolError):
                raise
            raise ToolError(f"`{self._name}` cannot be started: {error.strerror or error}") from None
        self.notice: int | None = os.dup(self._socket.fileno())

    def has_ended(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0])

    def finish(self) -> End:
        if self._end is None:
            self._end = self._report()
        return self._end

    def _report(self) -> End:
        # INVARIANT: nothing more is ever said on the line, so its end tells the supervisor that the call is over
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _ANSWER_S
        try:
            while (left := deadline - time.monotonic()) > 0 and len(self._data) < _REPORT_MAX:
                self._socket.settimeout(left)
                chunk = self._socket.recv(4096)
                if not chunk:
                    break
                self._data += chunk
        except OSError:
            pass  # no answer in time: said below
        finally:
            self._socket.close()
            if self.listener is not None:
                self.listener.close()
        report = _decoded(self._data)
        if report is None:
            return End(signal=9, notes=("its supervisor was killed",))
        if report.failed is not None:
            kind = UnsetError if report.unset else ToolError
            raise kind(f"`{self._name}` cannot be started: {report.failed}")
        notes = []
        if report.left:
            notes.append(f"ended {report.left} processes that it left behind")
        if report.stuck:
            notes.append(f"{report.stuck} processes could not be ended")
        return End(exit_code=report.exit_code, signal=report.signal, notes=tuple(notes))

    def _take_listener(self) -> socket.socket:
        """The listener in the child's network, once it stands; the child goes on by itself."""
        message, descriptors, _, _ = socket.recv_fds(self._socket, 1, 1)
        if message == b"L" and len(descriptors) == 1:
            return socket.socket(fileno=descriptors[0])
        for descriptor in descriptors:
            os.close(descriptor)
        self._data = message
        self._report()  # raises what the child could not do
        raise ToolError(f"`{self._name}` cannot be started: it has no network of its own")

    def _abandon(self) -> None:
        self._socket.close()
        for descriptor in (self.stdin, self.stdout, self.stderr):
            if descriptor is not None:
                os.close(descriptor)


def _decoded(data: bytes) -> Report | None:
    try:
        value: dict[str, Any] = json.loads(data)
        return Report(**value)
    except (ValueError, TypeError):
        return None
