"""Flushing a file to the disk itself."""

import fcntl
import os


def sync(descriptor: int) -> None:
    """Return when what was written to the file would outlast a power cut. Raises OSError."""
    # macOS: fsync leaves the data in the drive's cache.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)
