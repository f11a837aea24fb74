"""The folder in which checkpoints are kept, and what the files in it are called."""

import os
import stat
from pathlib import Path

from audit.errors import SinkError


def prepare(folder: Path) -> None:
    """Make the folder, mode 0700, if it is missing. Raises SinkError, also if others could write there."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.stat(folder)
    except OSError as error:
        raise SinkError(f"cannot make the folder `{folder}`: {error.strerror or error}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise SinkError(f"`{folder}` must be your own folder in which nobody else can write; `chmod 700` it")


def file_name(log: str) -> str:
    """What a log's files begin with. Two logs could share it; whoever reads a file looks whose checkpoints it holds."""
    return log.replace("/", "--")
