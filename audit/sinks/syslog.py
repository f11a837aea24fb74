"""Checkpoints in the machine's system log, which may well be forwarded to another machine.

One line a checkpoint, `audit checkpoint <log> <size> <root> <signature>…`: all that is in the note, in ASCII. Each
signature is the base64 of a signature line of the log's own name.
"""

import os
import socket
import sys
from pathlib import Path
from typing import Final

from audit.checkpoint import Checkpoint
from audit.errors import NoteError, SinkError
from audit.note import encode64, split_note
from audit.sinks import Growth

ADDRESS: Final = Path("/var/run/syslog" if sys.platform == "darwin" else "/dev/log")
"""Where the machine's system log listens."""
_PRIORITY: Final = 10 * 8 + 6
"""Facility authpriv, severity informational (RFC 5424, 6.2.1)."""


class SyslogSink:
    """Sends datagrams and never waits; the system log gives nothing back."""

    name = "syslog"
    warning: str | None = None

    def __init__(self, address: Path = ADDRESS) -> None:
        """`address`: a Unix datagram socket."""
        self._address = address

    def send(self, note: str, growth: Growth) -> int:  # noqa: ARG002 - a line proves nothing
        """As `Sink.send`; what the system log does with the line it does not say."""
        try:
            text, signatures = split_note(note)
            checkpoint = Checkpoint.parse(text)
        except NoteError as error:
            raise SinkError(f"not a checkpoint: {error}") from error
        own = [encode64(one.id + one.raw) for one in signatures if one.name == checkpoint.origin]
        words = (checkpoint.origin, str(checkpoint.size), encode64(checkpoint.root), *own)
        message = f"<{_PRIORITY}>audit[{os.getpid()}]: audit checkpoint {' '.join(words)}".encode("ascii")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.connect(os.fspath(self._address))
                sender.send(message)
        except OSError as error:
            raise SinkError(f"cannot reach the system log at `{self._address}`: {error.strerror or error}") from error
        return checkpoint.size

    def remembered(self) -> tuple[str, ...]:
        """Nothing: compare with what the system log holds by hand."""
        return ()
