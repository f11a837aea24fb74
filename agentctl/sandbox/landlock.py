"""A Landlock domain for a view: rights on what surrounds the places, since Landlock grants and never takes away.

A right on a directory holds for everything beneath it. So a directory with something hidden beneath gets none itself:
its other entries get theirs one by one, and it can be neither listed nor given a new entry. Where something is only not
to be written, the directory above gets what both have in common.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agentctl.sandbox import kernel
from agentctl.sandbox.mounts import Show, View
from agentctl.sandbox.places import is_within

__all__ = ["LEAST_ABI", "Domain", "domain", "make", "scopes"]

LEAST_ABI: Final = 6  # from there on signals and abstract sockets can be scoped
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ALL: Final = (1 << 16) - 1
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READING: Final = _EXECUTE | _READ_FILE | _READ_DIR
_STREAM: Final = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_CONNECT_TCP: Final = 1 << 1
_SCOPE_ABSTRACT_SOCKETS: Final = 1 << 0
_SCOPE_SIGNALS: Final = 1 << 1
_DEVICES: Final = ("full", "null", "random", "urandom", "zero")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What a ruleset handles is denied but for `paths` (path, rights). `listed`: directories it was read from."""

    fs: int = 0
    net: int = 0
    scoped: int = 0
    paths: tuple[tuple[str, int], ...] = ()
    listed: tuple[str, ...] = ()


def make(domain: Domain, files: Mapping[int, bool] | None = None) -> int:
    """The descriptor of a ruleset, to be entered by whoever is given it. `files`: open ones that can be read and run
    as well and, where it says so, written; not by their paths, where others may put something else. Raises OSError."""
    ruleset = kernel.new_ruleset(fs=domain.fs, net=domain.net, scoped=domain.scoped)
    try:
        for path, rights in domain.paths:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue  # it went away: nothing is granted
            try:
                kernel.add_path_rule(ruleset, rights, descriptor)
            finally:
                os.close(descriptor)
        for descriptor, written in (files or {}).items():
            rights = _EXECUTE | _READ_FILE | (_WRITE_FILE | _TRUNCATE if written else 0)
            kernel.add_path_rule(ruleset, rights, descriptor)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def domain(view: View, *, offline: bool) -> Domain:
    """All that a command may do with the file system; no other process can be signalled; with `offline`, no TCP.

    Of /proc only reading: what another process keeps to itself there is for those who may trace it, which nobody in a
    domain may do to anybody outside.
    """
    rights = {path: _rights(show) for path, show in view.places.items()}
    for path, own in view.sources.items():
        # nothing can stand for another directory: it is not there, and its stand-in is used by its own name
        rights[path] = 0
        rights[own] = _ALL
    # no terminals: by its path a command could write to the user's and read what is typed there
    rights |= {"/dev": 0, "/dev/shm": _ALL}  # noqa: S108
    rights |= {f"/dev/{name}": _STREAM for name in _DEVICES}
    rights |= {"/proc": _READ_FILE | _READ_DIR, "/sys": _READ_FILE | _READ_DIR}
    listed: list[str] = []
    paths = tuple(_spread("/", _rights(view.base), rights, listed))
    return Domain(
        fs=_ALL,
        net=_CONNECT_TCP if offline else 0,
        scoped=_SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS,
        paths=paths,
        listed=tuple(listed),
    )


def scopes() -> Domain:
    """Nothing but: no abstract socket of a process outside can be connected to."""
    return Domain(scoped=_SCOPE_ABSTRACT_SOCKETS)


def _rights(show: Show) -> int:
    return {Show.WRITABLE: _ALL, Show.PRIVATE: 0, Show.READONLY: _READING, Show.HIDDEN: 0}[show]


def _spread(path: str, rights: int, special: Mapping[str, int], listed: list[str]) -> Iterator[tuple[str, int]]:
    """Rules that give `rights` beneath `path`, but to each of `special` its own."""
    below = {place: own for place, own in special.items() if place != path and is_within(place, path)}
    common = rights
    for own in below.values():
        common &= own
    if common:
        yield path, _fitting(path, common)
    if common == rights:
        for place in _topmost(below):
            yield from _spread(place, below[place], below, listed)
        return
    listed.append(path)
    known = {os.path.join(path, place[len(path) :].strip("/").split("/")[0]) for place in below}
    for entry in sorted(known.union(_entries(path))):
        if entry in below:
            yield from _spread(entry, below[entry], below, listed)
        elif any(is_within(place, entry) for place in below):
            yield from _spread(entry, rights, below, listed)
        elif not os.path.islink(entry):
            yield entry, _fitting(entry, rights)


def _topmost(places: Mapping[str, int]) -> list[str]:
    return [place for place in places if not any(other != place and is_within(place, other) for other in places)]


def _fitting(path: str, rights: int) -> int:
    """A rule on a file may name only what can be done to a file."""
    return rights if os.path.isdir(path) else rights & _OF_FILES


def _entries(path: str) -> list[str]:
    try:
        return [os.path.join(path, name) for name in os.listdir(path)]
    except OSError:
        return []  # it may be passed, but not listed: what is not known by name stays out of reach
