"""The files of a bundle: where its tiles are, and reading what whoever made the folder put there."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from audit.entry import MAX_LEAF
from audit.merkle import WIDTH
from audit.source import TamperedError

__all__ = ["is_tile", "lines_of", "open_file", "read_file", "tile_path"]

_TILE = re.compile(r"tile/([^/]+)/((?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/[0-9]{1,3})?")


def tile_path(level: int | str, index: int, width: int = WIDTH) -> str:
    """A tile's path below the bundle (c2sp.org/tlog-tiles): groups of three digits, all but the last with an `x`."""
    groups = [f"{index % 1000:03}"]
    while index >= 1000:
        index //= 1000
        groups.insert(0, f"x{index % 1000:03}")
    return f"tile/{level}/{'/'.join(groups)}" + ("" if width == WIDTH else f".p/{width}")


def open_file(path: Path) -> BinaryIO | None:
    """A regular file, open for reading; None if there is none: whatever else has its name counts as not there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    return None


def read_file(path: Path, limit: int) -> bytes | None:
    """A regular file's bytes; None if there is none, or it holds more than `limit`."""
    file = open_file(path)
    if file is None:
        return None
    with file:
        found = file.read(limit + 1)
    return found if len(found) <= limit else None


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of `records.jsonl` from where the file stands, without their newlines. Raises TamperedError."""
    while line := file.readline(MAX_LEAF + 2):
        if not line.endswith(b"\n"):
            raise TamperedError("`records.jsonl` of the bundle has a line that does not end, or is no record")
        yield line[:-1]


def is_tile(path: str, allowed: dict[str, int]) -> bool:
    """Whether it is the path of a tile in a tree with as many hashes at each level."""
    found = _TILE.fullmatch(path)
    hashes = allowed.get(found[1]) if found else None
    if found is None or hashes is None:
        return False
    index = int(found[2].replace("/", "").replace("x", ""))
    width = min(hashes - index * WIDTH, WIDTH)
    return width > 0 and path == tile_path(found[1], index, width)
