"""What protection guards on this machine: our state, every file our code is imported from, who we are."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shield.config.home import Home
from shield.config.loopback import split_tcp
from shield.facts.place import Protected
from shield.service.installation import Installation, installation
from shield.types import Hidden

if TYPE_CHECKING:
    from shield.config.sections import Config

__all__ = ["hidden", "installed_code", "own_processes", "processes_of", "protected"]

_MAX_STATE = 1_000  # entries of the state that are known by device and inode


def protected(
    home: Home,
    config: "Config",
    *,
    pids: frozenset[int],
    installed: Installation | None = None,
    ports: frozenset[int] | None = None,
    elsewhere: Sequence[str] = (),
) -> Protected:
    """All of it, resolved. Hosts' hook settings stand in the facts' own table of fixed places.

    `ports` are those that are listened on (the configured one may be 0). `elsewhere` is state outside of the home:
    agentctl's configuration and sessions, external checkpoints.
    """
    guarded = installed_code(installed if installed is not None else installation())
    state = _names((*home.names, home.socket(config.service.socket), *elsewhere))
    if ports is None:
        ports = frozenset() if config.service.tcp is None else frozenset({split_tcp(config.service.tcp)[1]})
    return replace(
        guarded,
        state=state,
        identities=guarded.identities | frozenset(_identities(_beneath(state))),
        ports=ports - {0},
        pids=pids,
        identity=config.protection.identity,
        instructions=config.protection.instructions,
        memory=config.protection.memory,
    )


def installed_code(this: Installation) -> Protected:
    """What is guarded of an installation alone: its code, and what its processes are found by."""
    code = _names(this.code)
    return Protected(
        code=code,
        apart=_names(this.apart),
        own=_names(this.own),
        identities=frozenset(_identities(code)),
        processes=("shield", "agentctl", " ".join(this.command).encode("utf-8", "replace").decode()),
    )


def own_processes(*, embedded: bool) -> frozenset[int]:
    """This process and its group; with those of the agent beside which an embedded Shield runs."""
    return processes_of(os.getpid()) | (processes_of(os.getppid()) if embedded else frozenset())


def processes_of(pid: int | None) -> frozenset[int]:
    """The process and its group. None and the numbers that mean no single process (`kill 0`, init) are left out."""
    if pid is None or pid <= 1:
        return frozenset()
    try:
        return frozenset({pid, os.getpgid(pid)}) - {0, 1}
    except ProcessLookupError:
        return frozenset({pid})


def hidden(guarded: Protected) -> Hidden:
    """What an executor keeps away from what it runs: state, external checkpoints, both programs' own code, ports."""
    paths: list[str] = []
    for path in sorted({os.path.realpath(path) for path in (*guarded.state, *guarded.own)}):
        if not any(path.startswith(f"{above}/") for above in paths):
            paths.append(path)
    return Hidden(paths=tuple(paths), ports=tuple(sorted(guarded.ports)))


def _names(paths: Iterable[str]) -> tuple[str, ...]:
    """Each path as it is written, with the links before its last component followed, and with all of them followed:
    a link that starts us is guarded as much as what it leads to."""
    found: set[str] = set()
    for path in paths:
        folder, last = os.path.split(os.path.abspath(path))
        found |= {os.path.abspath(path), os.path.join(os.path.realpath(folder), last), os.path.realpath(path)}
    # INVARIANT: `/` is never in it, or nothing at all could be written
    return tuple(sorted(found - {"/"}))


def _beneath(roots: Iterable[str]) -> list[str]:
    """The roots with a bounded number of what lies beneath them, links not followed."""
    found = list(roots)
    for root in tuple(found):
        for folder, folders, files in os.walk(root):
            found += [os.path.join(folder, name) for name in (*folders, *files)]
            if len(found) > _MAX_STATE:
                return found
    return found


def _identities(paths: Iterable[str]) -> Iterable[tuple[int, int, str]]:
    for path in paths:
        try:
            entry = os.lstat(path)
        except OSError:
            continue
        yield entry.st_dev, entry.st_ino, path
