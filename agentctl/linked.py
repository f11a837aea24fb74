"""A workspace that `git worktree` has added to a repository elsewhere, and what git writes there for it.

A project can bring along a `.git` that points anywhere (CVE-2026-40068); that the other side points back it cannot.
"""

import os
import re
import stat
from dataclasses import dataclass
from typing import Final

__all__ = ["OF_TREE", "POINTER", "Linked", "linked", "text"]

_TEXT_MAX: Final = 1 << 20
POINTER: Final = re.compile(r"gitdir: ([^\n]+)\n?")
_OWN: Final = re.compile(r"(?P<common>/.*/\.git)/worktrees/[^/]+")
# What leads git there, of the directory that a repository keeps for a working tree.
OF_TREE: Final = ("config.worktree", "commondir", "gitdir")
# What a commit, a branch or a fetch writes besides: neither settings nor hooks, nor what other working trees stand at.
_WRITTEN: Final = ("objects", "refs", "logs", "reftable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """Absolute, resolved directories: `own` is what the repository `common` keeps for the one working tree."""

    own: str
    common: str

    @property
    def written(self) -> tuple[str, ...]:
        """What git writes when somebody works in that tree. Other than these, it may not: packed references, the
        settings and hooks that all trees share, and the other trees' own stay as they are."""
        shared = (os.path.join(self.common, name) for name in _WRITTEN)
        return (self.own, *(path for path in shared if os.path.isdir(path) and os.path.realpath(path) == path))


def linked(root: str) -> Linked | None:
    """Where the repository of the working tree at the resolved `root` is, if it names that tree. None for any other."""
    pointer = os.path.join(root, ".git")
    named = POINTER.fullmatch(text(pointer) or "")
    folder = os.path.normpath(os.path.join(root, named[1])) if named is not None else ""
    found = _OWN.fullmatch(folder)
    if found is None or os.path.realpath(folder) != folder:
        return None
    if text(os.path.join(folder, "commondir")) != "../..\n":
        return None
    back = (text(os.path.join(folder, "gitdir")) or "").strip()
    if os.path.normpath(os.path.join(folder, back)) != pointer:
        return None
    return Linked(own=folder, common=found["common"])


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
