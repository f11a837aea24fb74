"""Members of archives: under which names one would put files and directories on the disk."""

from dataclasses import dataclass

__all__ = ["MAX_MEMBERS", "Member", "UnclearArchiveError", "member"]

MAX_MEMBERS = 10_000
_MAX_NAME = 1_024  # bytes
_MAX_PART = 200  # longer ones some programs cut off


@dataclass(frozen=True, slots=True)
class Member:
    """A plain file or a directory. `name` is relative, as it is written, without empty parts and `.` at its end."""

    name: str
    directory: bool = False

    def places(self, strip: int) -> frozenset[str]:
        """The names that may be left without its first `strip` parts, whether a `.` counts as one or not."""
        parts = self.name.split("/")
        counted = "/".join(parts[strip:])
        other = "/".join([part for part in parts if part != "."][strip:])
        return frozenset(_bare(name) for name in (counted, other)) - {""}


class UnclearArchiveError(Exception):
    """An archive that programs may read in more ways than one, or that holds more than files and directories."""


def member(name: bytes, *, directory: bool) -> Member:
    """The member that an archive calls `name`.

    Raises:
        UnclearArchiveError: the name leads out of the directory, or programs may change it.
    """
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        raise UnclearArchiveError from None
    parts = text.split("/")
    if not text or text.startswith("/") or ".." in parts or "\\" in text or not text.isprintable():
        raise UnclearArchiveError
    if len(name) > _MAX_NAME or any(len(part) > _MAX_PART for part in name.split(b"/")):
        raise UnclearArchiveError
    directory |= text.endswith("/")
    if parts[-1] == "." and not directory:
        raise UnclearArchiveError
    return Member("/".join(part for part in parts if part), directory)


def _bare(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in ("", "."))
