"""Parts of a receipt, as Shield would name them for the disk as it is."""

import os
from collections.abc import Sequence

from shield.types import FileIdentity, FileRole


def named_files(
    *, read: Sequence[str] = (), write: Sequence[str] = (), delete: Sequence[str] = ()
) -> list[FileIdentity]:
    """As a receipt names files that a command reads, writes and deletes, for how they are now."""
    found = []
    for path in (*read, *delete):
        entry = os.lstat(path) if os.path.lexists(path) else None
        of = {} if entry is None else {"dev": entry.st_dev, "ino": entry.st_ino, "kind": "file"}
        found.append(FileIdentity(role=FileRole.READ, path=path, absent=entry is None, **of))
    for path, deleted in ((path, paths is delete) for paths in (write, delete) for path in paths):
        folder = os.path.dirname(path)
        entry = os.lstat(folder) if os.path.isdir(folder) else None
        of = {} if entry is None else {"dev": entry.st_dev, "ino": entry.st_ino}
        found.append(
            FileIdentity(role=FileRole.TARGET, path=path, absent=not os.path.lexists(path), deleted=deleted, **of)
        )
    return found
