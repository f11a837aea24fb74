"""The list of all logs that were ever begun, kept beside their checkpoints: a second log does not go unnoticed.

One line a log: RFC 3339 time, name, vkey line, and where the log lies, as a JSON string.
"""

import fcntl
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from audit.durable import sync
from audit.errors import NoteError, SinkError
from audit.keyfiles import sync_directory
from audit.note import VerifyKey
from audit.sinks.folder import prepare

FILE: Final = "logs"
_MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_MS: Final = 253402300799999  # the last moment that RFC 3339 can name


class Begun(NamedTuple):
    """A log that was begun at `time_ms` (Unix time) at the place `where`."""

    time_ms: int
    key: VerifyKey
    where: str


class Register:
    """The list in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE

    def begin(self, key: VerifyKey, *, where: str, time_ms: int) -> None:
        """Add a log, durably; one that is listed already is not listed again. Raises SinkError."""
        if any((one.key, one.where) == (key, where) for one in self.logs()):
            return
        line = f"{_rfc3339(time_ms)} {key.name} {key.line()} {json.dumps(where)}\n".encode()
        prepare(self._folder)
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(self._path, flags, 0o600), "rb") as holder:
                descriptor = holder.fileno()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                content = self._read()
                whole = content.rfind(b"\n") + 1
                if whole < len(content):  # torn by a crash: that log was not begun
                    os.ftruncate(descriptor, whole)
                if os.write(descriptor, line) != len(line):
                    os.ftruncate(descriptor, whole)
                    raise SinkError(f"cannot write `{self._path}`; make room for it")
                sync(descriptor)
            sync_directory(self._folder)
        except OSError as error:
            raise SinkError(f"cannot write `{self._path}`: {error.strerror or error}; make room for it") from error

    def logs(self) -> tuple[Begun, ...]:
        """All logs in the order in which they were begun; none where there is no list. Raises SinkError."""
        lines = self._read().split(b"\n")[:-1]  # what no newline ends was torn by a crash
        return tuple(self._parse(number, line) for number, line in enumerate(lines, 1))

    def _read(self) -> bytes:
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(self._path, flags), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
                    raise SinkError(f"`{self._path}` is no list of logs; move it away")
                return file.read(_MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except OSError as error:
            raise SinkError(f"cannot read `{self._path}`: {error.strerror or error}") from error

    def _parse(self, number: int, line: bytes) -> Begun:
        try:
            moment, name, vkey, where = line.decode("ascii").split(" ", 3)
            key, place = VerifyKey.parse(vkey), json.loads(where)
            time_ms = round(datetime.fromisoformat(moment).timestamp() * 1000)
            if key.name != name or type(place) is not str:
                raise ValueError("names another log than its key")
        except (ValueError, NoteError, RecursionError) as error:
            raise SinkError(f"line {number} of `{self._path}` names no log; restore the file") from error
        return Begun(time_ms, key, place)


def _rfc3339(time_ms: int) -> str:
    moment = datetime.fromtimestamp(max(0, min(time_ms, _MAX_MS)) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
