"""Rules that could not be evaluated, counted for `shield status`: which rule, how often; never a value of an action."""

import threading
from collections import Counter
from collections.abc import Mapping

__all__ = ["Troubles"]


class Troubles:
    """A counter that threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def count(self, rule: str) -> None:
        """One more evaluation of this rule that ended in an error."""
        with self._lock:
            self._counts[rule] += 1

    def snapshot(self) -> Mapping[str, int]:
        """The counts by rule id, sorted."""
        with self._lock:
            return dict(sorted(self._counts.items()))
