"""Stopping a tool that is running, from another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentctl.errors import CancelledTurnError

__all__ = ["Stop"]


class Stop:
    """A switch for one run: once set it stays set, and wakes whoever waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._wake: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        with self._lock:
            self._set = True
            for wake in self._wake:
                wake()

    def check(self) -> None:
        """Raise CancelledTurnError if set."""
        if self._set:
            raise CancelledTurnError

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` when set, at once if it already is. It runs in the setter's thread and must not block."""
        with self._lock:
            self._wake.append(wake)
            if self._set:
                wake()
        try:
            yield
        finally:
            with self._lock:
                self._wake.remove(wake)
