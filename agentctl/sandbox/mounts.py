"""What a command sees at each level, as a table of paths: pure but for looking at what exists.

Both means read this table: bubblewrap makes a mount of each entry, Landlock grants rights around them. A place that
does not exist is left out: nothing is ever made on the user's disk to hide it.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from agentctl.sandbox.aliases import aliases, mounted
from agentctl.sandbox.guarded import present
from agentctl.sandbox.hidden import RUN, hidden_places, hidden_sockets
from agentctl.sandbox.places import Places, is_within
from shield.types import Isolation

__all__ = ["Show", "View", "moment", "view"]

# Root's commands could replace what every program is loaded from, Shield at its next start included.
_SYSTEM: Final = (
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/sbin",
    "/usr",
    "/var/spool/cron",
)
# Of /run: name resolution, and where NixOS keeps its programs.
_RUN_KEPT: Final = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers")
_RESOLV: Final = "/etc/resolv.conf"


class Show(IntEnum):
    """How a place looks from inside. Of two rules for the same path the greater holds."""

    WRITABLE = 1
    PRIVATE = 2  # another directory stands there
    READONLY = 3
    HIDDEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The whole file system as `base` shows it, but for `places`; `sources` says what stands at a PRIVATE one.

    `watched`: directories whose change may change the view.
    """

    base: Show
    places: Mapping[str, Show]
    sources: Mapping[str, str]
    watched: tuple[str, ...]


def view(places: Places, level: Isolation, *, private: Mapping[str, str]) -> View:
    """What a command at `level` (not `none`) sees. `private` maps places to the directories that stand for them."""
    confined = level is Isolation.CONFINED
    table: dict[str, Show] = {}
    watched: set[str] = set()

    def put(path: str, show: Show) -> None:
        watched.add(os.path.dirname(path))
        if os.path.lexists(path):
            real = os.path.realpath(path)
            table[real] = max(show, table.get(real, show))

    for path in (*_RUN_KEPT, _RESOLV):
        if is_within(os.path.realpath(path), RUN):
            put(path, Show.READONLY)
    for path in ("/sys", *places.readonly, *(_SYSTEM if places.root else ())):
        put(path, Show.READONLY)
    for path in hidden_places(places, confined=confined):
        put(path, Show.HIDDEN)
    for path in aliases([path for path, show in table.items() if show is Show.HIDDEN], mounted()):
        put(path, Show.HIDDEN)
    if confined:
        opened = {Show.PRIVATE: private, Show.WRITABLE: places.caches, Show.READONLY: _programs(places, private)}
        for path, show in [(path, show) for show, paths in opened.items() for path in paths]:
            put(path, show)
        unseen = [path for path, show in table.items() if show is Show.HIDDEN]
        for repository in places.linked:
            if not any(is_within(repository.common, place) for place in unseen):
                put(repository.common, Show.READONLY)  # it may lie where the command has a directory of its own
                for path in repository.written:
                    put(path, Show.WRITABLE)
    for root in places.workspace_roots:
        put(root, Show.WRITABLE)
    return View(
        base=Show.READONLY if confined else Show.WRITABLE,
        places=table,
        sources={os.path.realpath(path): source for path, source in private.items()},
        watched=tuple(sorted({_existing(path) for path in watched})),
    )


def _programs(places: Places, private: Iterable[str]) -> list[str]:
    """Those that a confined command could write. A program there goes by its name for the user's own: none that runs
    in the sandbox may take its place."""
    open_to_all = (*private, *places.caches)
    return [
        path
        for path in places.programs
        if any(is_within(path, place) for place in open_to_all)
        and not any(is_within(path, root) for root in places.workspace_roots)
    ]


def moment(shown: View, places: Places, level: Isolation) -> View:
    """The view with what changes from call to call: guarded names of the workspaces, and sockets that listen."""
    confined = level is Isolation.CONFINED
    table = dict(shown.places)
    for path in hidden_sockets(places, confined=confined):
        table.setdefault(os.path.realpath(path), Show.HIDDEN)
    if confined:
        for root in places.workspace_roots:
            for path in present(root):
                real = os.path.realpath(path)
                table[real] = max(Show.READONLY, table.get(real, Show.READONLY))
    return replace(shown, places=table)


def _existing(path: str) -> str:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path
