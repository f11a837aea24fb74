"""The options of bubblewrap for a view: a mount for each place, namespaces for the rest."""

import os
import stat
from typing import Final

from agentctl.sandbox.mounts import Show, View
from agentctl.sandbox.places import is_within, nearest

__all__ = ["options"]

# User namespaces inside are refused by the system-call filter, which needs nothing of the machine.
_NAMESPACES: Final = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)
_KERNEL_SETTINGS: Final = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
_NULL: Final = "/dev/null"


def options(view: View, *, program: str, cwd: str, offline: bool, userns: bool = True) -> tuple[str, ...]:
    """The program and its options, without the command. `userns` False: as root, where no user namespace can be made.

    INVARIANT: deeper places come later, so that a mount is never covered by that of a directory above it; a directory
    above a place that must stay as it is, is a mount point of its own wherever it could be renamed: what stands in its
    place afterwards would not be covered.
    """
    base = "--bind" if view.base is Show.WRITABLE else "--ro-bind"
    made = [program, *_NAMESPACES, *(["--unshare-user"] if userns else []), *(["--unshare-net"] if offline else [])]
    made += [base, "/", "/", "--proc", "/proc", "--dev", "/dev"]
    # bubblewrap's own cover is left out where the directory's mode says that it cannot be written; root's files can
    for path in _KERNEL_SETTINGS:
        made += ["--ro-bind-try", path, path]
    table = dict.fromkeys(_pins(view), Show.WRITABLE)
    for path, show in view.places.items():
        table[path] = max(show, table.get(path, show))
    kept: dict[str, Show] = {}
    for path in sorted(table, key=lambda place: (place.count("/"), place)):
        above = nearest(path, kept)
        covered = above is not None and kept[above] is Show.HIDDEN
        if not covered or (table[path] is not Show.HIDDEN and path in view.places):
            kept[path] = table[path]
    sealed: list[str] = []
    for path, show in kept.items():
        if show is Show.HIDDEN and _is_directory(path):
            passed = any(other != path and is_within(other, path) for other in kept)
            made += ["--perms", "0755" if passed else "0000", "--tmpfs", path]
            sealed += ["--remount-ro", path]
        else:
            made += _bind(path, show, view)
    return (*made, *sealed, "--chdir", cwd)


def _bind(path: str, show: Show, view: View) -> list[str]:
    match show:
        case Show.WRITABLE:
            return ["--bind", path, path]
        case Show.READONLY:
            return ["--ro-bind", path, path]
        case Show.PRIVATE:
            return ["--bind", view.sources[path], path]
        case Show.HIDDEN:
            # a file without device rights: it cannot even be opened
            return ["--ro-bind", _NULL, path]


def _pins(view: View) -> set[str]:
    """Directories between a writable place and what is hidden or kept beneath it."""
    pinned: set[str] = set()
    for path, show in view.places.items():
        above = os.path.dirname(path)
        while show >= Show.READONLY and above != "/" and _writable(above, view):
            pinned.add(above)
            above = os.path.dirname(above)
    return pinned


def _writable(path: str, view: View) -> bool:
    above = nearest(path, view.places)
    return (view.base if above is None else view.places[above]) is Show.WRITABLE


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
