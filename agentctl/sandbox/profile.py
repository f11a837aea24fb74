"""The profile of `sandbox-exec` for a view (macOS): rules in its own language, of which the last that matches holds.

Generated from the same table as the mounts and rulesets of Linux. Nothing can stand for another directory there, so a
private one is hidden and its stand-in is used by its own name, as with Landlock.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from agentctl.sandbox.mounts import Show, View
from agentctl.sandbox.places import is_within

__all__ = ["PROGRAM", "profile"]

PROGRAM: Final = "/usr/bin/sandbox-exec"
# What does a command's work for it outside of any sandbox: events to other programs, jobs of launchd, opening files.
_NEVER: Final = (
    "(deny appleevent-send)",
    "(deny job-creation)",
    "(deny lsopen)",
    "(deny process-info* (target others))",
    "(deny signal (target others))",
    "(deny mach-priv* (with no-report))",
    "(deny system-socket)",
)
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/fd")


def profile(view: View, *, ports: Sequence[int]) -> str:
    """The text for `sandbox-exec -p`. `ports` are loopback TCP ports that are never connected to."""
    confined = view.base is Show.READONLY
    rules = ["(version 1)", "(allow default)", *_NEVER]
    if confined:
        rules += ["(deny file-write*)", "(deny network*)", "(deny mach-register)"]
        rules += [f"(allow file-write* (literal {_quoted(device)}))" for device in _DEVICES]
    # INVARIANT: deeper places come later; a place is never opened again by a rule for a directory above it
    table = {**view.places, **dict.fromkeys(view.sources.values(), Show.WRITABLE)}
    for path in sorted(table, key=lambda place: (place.count("/"), place)):
        rules += _rules(path, table[path], connects=not confined)
    if not confined:
        rules += [f'(deny network-outbound (remote ip "localhost:{port}"))' for port in ports]
    rules += _kept_in_place(table)
    return "\n".join(rules) + "\n"


def _rules(path: str, show: Show, *, connects: bool) -> list[str]:
    beneath = f"(subpath {_quoted(path)})"
    match show:
        case Show.WRITABLE:
            found = [f"(allow file-read* file-write* {beneath})"]
            return [*found, f"(allow network* (remote unix-socket {beneath}))"] if connects else found
        case Show.READONLY:
            return [f"(allow file-read* {beneath})", f"(deny file-write* {beneath})"]
        case Show.PRIVATE | Show.HIDDEN:
            denied = f"(deny file-read* file-write* file-map-executable process-exec {beneath})"
            return [denied, f"(deny network* (remote unix-socket {beneath}))"]


def _kept_in_place(table: dict[str, Show]) -> Iterable[str]:
    """No directory above a hidden or kept place is renamed or removed: what is put there instead is not covered."""
    above: set[str] = set()
    for path, show in table.items():
        if show < Show.READONLY:
            continue
        parent = path.rpartition("/")[0]
        while parent:
            above.add(parent)
            parent = parent.rpartition("/")[0]
    hidden = [path for path, show in table.items() if show is Show.HIDDEN]
    outside = (path for path in sorted(above) if not any(is_within(path, place) for place in hidden))
    return [f"(deny file-write-unlink (literal {_quoted(path)}))" for path in outside]


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
