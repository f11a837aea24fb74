"""Views and rulesets of a session, made anew only when a directory that they were made from has changed."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from agentctl.errors import ToolError
from agentctl.sandbox import landlock
from agentctl.sandbox.mounts import View, view
from agentctl.sandbox.places import Places
from shield.types import Isolation

__all__ = ["Shown"]

_Signature = tuple[tuple[int, int, int, int], ...]
# A directory that changed so lately may change again without showing a later time: file systems count in ticks.
_TICK_NS: Final = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    view: View
    domain: landlock.Domain
    ruleset: int
    watched: tuple[str, ...]
    signature: _Signature


class Shown:
    """What each level shows, for both means. A ruleset's descriptor stays ours: it is copied for each call."""

    def __init__(self, places: Places, *, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._places = places
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._kept: dict[tuple[Isolation, bool | None, tuple[tuple[str, str], ...]], _Kept] = {}
        self._scopes = -1

    def close(self) -> None:
        with self._lock:
            for kept in self._kept.values():
                _close(kept.ruleset)
            self._kept.clear()
            _close(self._scopes)
            self._scopes = -1

    def view(self, level: Isolation, private: Mapping[str, str]) -> View:
        """What a command at `level` sees, for bubblewrap."""
        with self._lock:
            return self._current(level, private, None).view

    def ruleset(self, level: Isolation, private: Mapping[str, str], lent: Mapping[int, bool], *, offline: bool) -> int:
        """A descriptor of the Landlock ruleset for a level, the caller's to close. `lent`: open files that it may read
        as well, and whether it may write them. Raises ToolError."""
        with self._lock:
            kept = self._current(level, private, offline)
            return _made(kept.domain, lent) if lent else os.dup(kept.ruleset)

    def scopes(self) -> int:
        """A descriptor of the ruleset that keeps abstract sockets away, the caller's to close. Raises ToolError."""
        with self._lock:
            if self._scopes < 0:
                self._scopes = _made(landlock.scopes())
            return os.dup(self._scopes)

    def _current(self, level: Isolation, private: Mapping[str, str], offline: bool | None) -> _Kept:
        key = (level, offline, tuple(sorted(private.items())))
        kept = self._kept.get(key)
        if kept is not None and _signature(kept.watched, private) == kept.signature:
            return kept
        fresh = self._made(level, private, offline)
        if kept is not None:
            _close(kept.ruleset)
        self._kept[key] = fresh
        return fresh

    def _made(self, level: Isolation, private: Mapping[str, str], offline: bool | None) -> _Kept:
        seen = view(self._places, level, private=private)
        if offline is None:
            domain, ruleset, watched = landlock.Domain(), -1, seen.watched
            before = _signature(watched, private)
            seen = view(self._places, level, private=private)
        else:
            domain = landlock.domain(seen, offline=offline)
            watched = tuple(sorted({*seen.watched, *domain.listed}))
            # INVARIANT: looked at before the last reading, so that a change in between makes the next call read again
            before = _signature(watched, private)
            domain = landlock.domain(view(self._places, level, private=private), offline=offline)
            ruleset = _made(domain)
        newest = max((times for entry in before for times in entry[2:]), default=0)
        settled = newest < self._clock_ns() - _TICK_NS
        return _Kept(view=seen, domain=domain, ruleset=ruleset, watched=watched, signature=before if settled else ())


def _made(domain: landlock.Domain, files: Mapping[int, bool] | None = None) -> int:
    try:
        return landlock.make(domain, files)
    except OSError as error:
        raise ToolError(f"the sandbox cannot be made: {error.strerror}") from None


def _signature(watched: Iterable[str], private: Mapping[str, str]) -> _Signature:
    """Which directories these are and when they last changed; of stand-ins, whose content does not matter, which."""
    found = []
    for path in watched:
        try:
            entry = os.stat(path)
        except OSError:
            found.append((0, 0, 0, 0))
            continue
        found.append((entry.st_dev, entry.st_ino, entry.st_mtime_ns, entry.st_ctime_ns))
    for path in private.values():
        entry = os.stat(path)
        found.append((entry.st_dev, entry.st_ino, 0, 0))
    return tuple(found)


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)
