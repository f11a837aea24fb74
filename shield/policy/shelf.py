"""Where policies are found by name: the owner's folder, then what ships with Shield. A name or a file, nothing else."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shield.errors import PolicyError
from shield.policy.reader import MAX_BYTES
from shield.policy.shape import suggest
from shield.regex import regex
from shield.resources import data_folder

__all__ = ["BASELINE", "Shelf", "read_bounded", "shipped_shelf"]

BASELINE = "baseline"
_NAME = regex(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """`shipped` holds Shield's own policies, `owner` folders are searched before it, in order."""

    shipped: Path
    owner: Sequence[Path] = ()

    def find(self, reference: str, *, beside: Path | None = None) -> Path:
        """The file of a policy name, or of a path (relative to `beside`, the folder of the file that names it).

        `baseline` is always the shipped one: no folder can put another in its place.

        Raises:
            PolicyError: no such policy; names the ones there are.
        """
        if not _NAME.match(reference):
            if not reference.endswith(_SUFFIXES) or "\0" in reference:
                raise PolicyError(f"`{reference[:200]}` is neither a policy's name nor a `.yaml` file")
            path = Path(reference)
            return path if beside is None or path.is_absolute() else beside / path
        folders = (self.shipped,) if reference == BASELINE else (*self.owner, self.shipped)
        for folder in folders:
            path = folder / f"{reference}.yaml"
            if path.is_file():
                return path
        known = self.names()
        near = suggest(reference, known) or f"; there are {', '.join(known)}"
        raise PolicyError(f"there is no policy named `{reference}`{near}")

    def names(self) -> tuple[str, ...]:
        """Every policy that can be named, sorted."""
        found = {path.stem for folder in (*self.owner, self.shipped) for path in folder.glob("*.yaml")}
        return tuple(sorted(found))


def shipped_shelf(*owner: Path) -> Shelf:
    """The policies of this installation, after those of the owner's folders."""
    return Shelf(shipped=data_folder("policies"), owner=owner)


def read_bounded(path: Path) -> bytes:
    """A regular file's bytes, at most one more than `MAX_BYTES`; a FIFO or device is never waited for.

    Raises:
        PolicyError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PolicyError("not a regular file", file=str(path))
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise PolicyError(f"cannot be read: {reason.lower()}", file=str(path)) from None
