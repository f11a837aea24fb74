"""What a witness cosigned last, one file a log, and the lock that keeps a second witness out of the folder.

Guarantee: when `keep` returns, the note would outlast a power cut. Only then may its cosignature be shown to anyone.
"""

import fcntl
import os
from hashlib import sha256
from pathlib import Path

from audit.errors import SinkError
from audit.keyfiles import replace_file
from audit.note import MAX_NOTE


class Ledger:
    """The witness's memory in a folder that is there. It holds the lock until `close`."""

    def __init__(self, folder: Path) -> None:
        """Raises SinkError, also where another witness uses the folder."""
        self._folder = folder
        path = folder / "lock"
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SinkError(f"cannot use `{folder}`: {error.strerror or error}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise SinkError(f"another witness uses `{folder}`; each needs a folder of its own") from error

    def close(self) -> None:
        """Let the folder go."""
        os.close(self._lock)

    def path(self, origin: str) -> Path:
        """Where the note of a log is kept."""
        return self._folder / f"{sha256(origin.encode()).hexdigest()}.cosigned"

    def recall(self, origin: str) -> str | None:
        """The note cosigned last, None if there was none. Raises SinkError."""
        path = self.path(origin)
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                return file.read(4 * MAX_NOTE).decode()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise SinkError(f"cannot read `{path}`; restore it, or begin again with a new key") from error

    def keep(self, origin: str, note: str) -> None:
        """Remember a note in the place of the one before. Raises OSError; then it may be either."""
        replace_file(self.path(origin), note.encode())
