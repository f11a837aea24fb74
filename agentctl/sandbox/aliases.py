"""Other names of a place: the same file system may be mounted a second time, as a whole or from some directory on.

`mount --bind`, a container's volumes, or a subvolume beside its parent: what hides one name must hide the others.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

from agentctl.sandbox.places import is_within

__all__ = ["aliases", "mounted"]

_ESCAPED: Final = re.compile(r"\\([0-7]{3})")  # proc(5): space, tab, newline and backslash, as octal
_Mount = tuple[str, str, str]  # device, its directory that is mounted, where


def mounted(table: str = "/proc/self/mountinfo") -> str:
    """The table of mounts, empty where there is none."""
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def aliases(places: Iterable[str], table: str) -> dict[str, str]:
    """Other paths by which `places` (resolved) or something beneath them can be reached, each with its place."""
    mounts = _mounts(table)
    found: dict[str, str] = {}
    for place in places:
        # of mounts at the same point the last one is what is seen
        over = max((mount for mount in mounts if is_within(place, mount[2])), key=lambda m: len(m[2]), default=None)
        if over is None:
            continue
        device, origin, point = over
        inner = _join(origin, os.path.relpath(place, point))
        for other_device, other_origin, other_point in mounts:
            if other_device != device or (other_origin, other_point) == (origin, point):
                continue
            if is_within(inner, other_origin):
                found[_join(other_point, os.path.relpath(inner, other_origin))] = place
            elif is_within(other_origin, inner) and not is_within(other_point, place):
                found[other_point] = place
    return {path: place for path, place in found.items() if path != place}


def _mounts(table: str) -> list[_Mount]:
    """Latest first, so that `max` prefers what covers an earlier mount at the same point."""
    found = []
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) > 4:
            found.append((fields[2], _plain(fields[3]), _plain(fields[4])))
    return found[::-1]


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def _join(folder: str, rest: str) -> str:
    return os.path.normpath(os.path.join(folder, rest))
