"""Starting the spawner, and starting it again when it is gone."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentctl.errors import ToolError

__all__ = ["Spawner"]

_ANSWER_S: Final = 15.0
_END_S: Final = 10.0
# Isolated (-I) and without site (-S): no variable, no `.pth` file and no `sitecustomize` takes part.
_BOOT: Final = """\
import sys
sys.path.insert(0, sys.argv[1])
from agentctl.sandbox.spawner import main
main(sys.argv[2:])
"""


class Spawner:
    """The process that starts commands, begun with the first one. `hidden_ports`: nobody beneath it connects to them.

    After a call it may be asked for the next one's supervisor, so that the next call need not wait for forks.
    """

    def __init__(self, hidden_ports: Sequence[int] = ()) -> None:
        self._ports = tuple(hidden_ports)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._asked = False
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Its process id, None before the first command."""
        return None if self._process is None else self._process.pid

    def supervisor(self) -> tuple[socket.socket, socket.socket]:
        """The line to a fresh supervisor and the feed of its child, both the caller's to close. Raises ToolError."""
        with self._lock:
            for again in (True, False):
                try:
                    return self._next()
                except OSError as error:
                    # it was killed: whatever ran beneath it has ended, and a new one can be started
                    self._drop(kill=True)
                    if not again:
                        raise ToolError(f"commands cannot be started: {error.strerror or error}") from None
        raise AssertionError("the loop above returns")  # pragma: no cover

    def ahead(self) -> None:
        """Have a supervisor ready for the next call; where that does not work, the next call says so."""
        with self._lock, suppress(OSError):
            if self._control is not None and not self._asked:
                self._ask(self._control)

    def _next(self) -> tuple[socket.socket, socket.socket]:
        if self._closed:
            raise ToolError("commands cannot be started: the session has ended")
        if self._process is not None and self._process.poll() is not None:
            self._drop()
        if self._control is None:
            self._control = self._start()
        if not self._asked:
            self._ask(self._control)
        self._asked = False
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, 2)
        if not message or len(descriptors) != 2:
            raise OSError(0, "the process that starts them has ended")
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        return socket.socket(fileno=descriptors[0]), socket.socket(fileno=descriptors[1])

    def _ask(self, control: socket.socket) -> None:
        control.sendall(b"C")
        self._asked = True

    def close(self) -> None:
        """End it; what it started ends with it. Does nothing the second time."""
        with self._lock:
            self._closed = True
            self._drop()

    def _drop(self, *, kill: bool = False) -> None:
        if kill and self._process is not None:
            self._process.kill()
        self._asked = False
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        root = str(Path(__file__).resolve().parent.parent.parent)
        command = [sys.executable, "-I", "-S", "-c", _BOOT, root, str(theirs.fileno()), *map(str, self._ports)]
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own program
                command,
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # out of the terminal's reach: Ctrl-C is agentctl's to handle
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise ToolError(f"commands cannot be started: {error.strerror}") from None
        finally:
            theirs.close()
        ours.settimeout(_ANSWER_S)
        try:
            ready = ours.recv(1)
        except OSError:
            ready = b""
        if ready != b"R":
            ours.close()
            self._process.kill()
            self._process.wait()
            self._process = None
            raise ToolError("commands cannot be started: the process that starts them does not come up")
        return ours
