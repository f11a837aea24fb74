"""A workspace that `git worktree` has added to a repository elsewhere, and what git writes there for it.

A project can bring along a `.git` that points anywhere (CVE-2026-40068); that the other side points back it cannot.
"""

import os
import re
import stat
from typing import Final

__all__ = ["OF_TREE", "POINTER", "lent", "own", "text"]

_TEXT_MAX: Final = 1 << 20
POINTER: Final = re.compile(r"gitdir: ([^\n]+)\n?")
_OWN: Final = re.compile(r"(?P<common>/.*/\.git)/worktrees/[^/]+")
# What leads git there, of the directory that a repository keeps for a working tree.
OF_TREE: Final = ("config.worktree", "commondir", "gitdir")
# What a commit, a branch or a fetch writes besides: neither settings nor hooks, nor what other working trees stand at.
_WRITTEN: Final = ("objects", "refs", "logs", "reftable")


def own(root: str) -> str | None:
    """The directory that a repository keeps for the working tree at the resolved `root`; None for any other place."""
    pointer = os.path.join(root, ".git")
    found = POINTER.fullmatch(text(pointer) or "")
    folder = os.path.normpath(os.path.join(root, found[1])) if found is not None else ""
    if _OWN.fullmatch(folder) is None or os.path.realpath(folder) != folder:
        return None
    if text(os.path.join(folder, "commondir")) != "../..\n":
        return None
    back = (text(os.path.join(folder, "gitdir")) or "").strip()
    return folder if os.path.normpath(os.path.join(folder, back)) == pointer else None


def lent(root: str) -> tuple[str, ...]:
    """The directories outside of `root` that git writes when somebody works in that tree. Other than these, it may not:
    packed references, the settings and hooks that all trees share, and the other trees' own stay as they are."""
    folder = own(root)
    if folder is None:
        return ()
    shared = (os.path.normpath(os.path.join(folder, "../..", name)) for name in _WRITTEN)
    return (folder, *(path for path in shared if os.path.isdir(path) and os.path.realpath(path) == path))


def text(path: str) -> str | None:
    """What is in a small regular file, None where it is something else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        raw = _all(descriptor) if regular else None
        return None if raw is None else raw.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(descriptor)


def _all(descriptor: int) -> bytes | None:
    """What can be read of it; None where that is more than `_TEXT_MAX` bytes."""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        raw = file.read(_TEXT_MAX + 1)
    return raw if len(raw) <= _TEXT_MAX else None
