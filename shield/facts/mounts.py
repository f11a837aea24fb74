"""The other names of a path where a part of a file system is mounted a second time, by Linux's table of mounts.

Read for suspicion only: what the table does not show adds nothing, and nothing in it ever takes a category away.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from shield.facts.filesystem import FileSystem, FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.snapshot import Snapshot
from shield.regex import regex

__all__ = ["OtherNames", "other_names"]

_TABLE = "/proc/self/mountinfo"
_MAX_BYTES = 1 << 20
_MAX_NAMES = 8
_ESCAPED = regex(r"\\([0-7]{3})")  # proc_pid_mountinfo(5): blanks and backslashes in octal


class _Mount(NamedTuple):
    """`root` is the directory of the file system `device` that stands at `point`."""

    device: str
    root: str
    point: str


class OtherNames(NamedTuple):
    """`seen`: names under which the same entry can be reached here. `within`: its path in the mounted file system,
    whose root may stand anywhere, or on another machine's disk."""

    seen: tuple[str, ...] = ()
    within: str | None = None


_NONE = OtherNames()


class _Table(NamedTuple):
    """The mounts by where they stand (of several at one point the last, which covers the others) and by what they
    show. Empty where every file system stands once and as a whole: then each path has one name."""

    points: Mapping[str, _Mount]
    devices: Mapping[str, tuple[_Mount, ...]]


def other_names(path: str, files: FileSystem) -> OtherNames:
    """The other names of the resolved `path`. Never raises; without a table there are none."""
    table = _table(files)
    if not table.points:
        return _NONE
    point = path
    while point not in table.points and point != "/":
        point = point.rpartition("/")[0] or "/"
    over = table.points.get(point)
    if over is None or (over.root == "/" and len(table.devices[over.device]) == 1):
        return _NONE
    place = _moved(path, over.point, over.root)
    seen: list[str] = []
    for mount in table.devices[over.device]:
        if mount.root == "/" or inside(place, (mount.root,)):
            name = _moved(place, mount.root, mount.point)
            if name != path and name not in seen and len(seen) < _MAX_NAMES:
                seen.append(name)
    return OtherNames(tuple(seen), place if over.root != "/" else None)


def _moved(path: str, old: str, new: str) -> str:
    """`path`, which stands at or beneath `old`, as it is called beneath `new`."""
    rest = path if old == "/" else path[len(old) :]
    return (new.rstrip("/") + rest).rstrip("/") or "/"


def _table(files: FileSystem) -> _Table:
    """The table of this moment, read once for all paths of an action."""
    if not isinstance(files, Snapshot):
        return _read(files)
    key = (_TABLE, _Table)
    known = files.looked.get(key)
    if isinstance(known, _Table):
        return known
    found = _read(files)
    files.looked[key] = found
    return found


def _read(files: FileSystem) -> _Table:
    try:
        content = files.read(_TABLE, _MAX_BYTES)
    except FileSystemUnknownError:
        content = None
    return _parsed(content or b"")


@lru_cache(maxsize=4)
def _parsed(content: bytes) -> _Table:
    points: dict[str, _Mount] = {}
    devices: dict[str, tuple[_Mount, ...]] = {}
    for line in content.decode("utf-8", "surrogateescape").splitlines():
        fields = line.split(" ")
        if len(fields) < 5 or not fields[3].startswith("/") or not fields[4].startswith("/"):
            continue
        mount = _Mount(fields[2], _plain(fields[3]), _plain(fields[4]))
        points[mount.point] = mount
        devices[mount.device] = (*devices.get(mount.device, ()), mount)
    if all(len(mounts) == 1 and mounts[0].root == "/" for mounts in devices.values()):
        return _Table({}, {})
    return _Table(points, devices)


def _plain(field: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), field)
