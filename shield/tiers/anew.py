"""What of a reading of a text the classifier has not read in another one.

The readings of a page are mostly the same: where one address is written in percent signs, all else of it stands in the
other reading, too. A line counts as known together with what stands behind it only, so that no window of the classifier
lies in what is called known without having been read.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from shield.regex import regex

__all__ = ["Anew", "Readings"]

# Code points behind a line that have to be known with it: more than a window of 128 tokens holds of nearly any text.
_REACH: Final = 700
_MOST: Final = 1 << 16  # code points; nothing is left out of a longer reading
_SHARE: Final = 0.7  # of a reading; of one that is new by more than that nothing is left out
_MARKERS: Final = regex(r"(?<![^\W_])[*_`~]+|[*_`~]+(?![^\W_])")  # around words; within one they are part of it
_SEAM: Final = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anew:
    """The stretches of a reading of `length` code points that are new, in `text`, one behind the other. `places`: where
    each of them begins there and in the reading."""

    text: str
    length: int
    places: tuple[tuple[int, int], ...] = ((0, 0),)

    @property
    def times(self) -> float:
        """How many times as long the reading is, at least 1."""
        return max(1.0, self.length / len(self.text)) if self.text else 1.0

    def place(self, at: int) -> int:
        """Where in the reading the code point `at` of `text` stands; of a seam, where the next stretch begins."""
        number = bisect_right(self.places, at, key=lambda place: place[0])
        here, there = self.places[max(number, 1) - 1]
        after = self.places[number][1] if number < len(self.places) else self.length
        return min(there + at - here, after)


@dataclass(slots=True)
class Readings:
    """The readings of one text that the classifier reads as a whole."""

    _known: set[int] = field(default_factory=set)

    def anew(self, text: str) -> Anew:
        """What of `text` is in none of them."""
        fresh: list[tuple[int, int]] = []
        for key, start, end in _stretches(text) if self._known and len(text) <= _MOST else ():
            if key in self._known:
                continue
            if fresh and start <= fresh[-1][1] + 1:
                fresh[-1] = fresh[-1][0], max(end, fresh[-1][1])
            else:
                fresh.append((start, end))
        if not self._known or len(text) > _MOST or sum(end - start for start, end in fresh) > _SHARE * len(text):
            return Anew(text=text, length=len(text))
        begins = accumulate((end - start + len(_SEAM) for start, end in fresh), initial=0)
        places = tuple(zip(begins, (start for start, _ in fresh), strict=False))
        return Anew(text=_SEAM.join(text[start:end] for start, end in fresh), length=len(text), places=places)

    def add(self, text: str) -> None:
        """All of `text` is read, or what of it is new."""
        if len(text) <= _MOST:
            self._known.update(key for key, _, _ in _stretches(text))


def _stretches(text: str) -> Iterator[tuple[int, int, int]]:
    """For each line that says something: a key of its words and those behind it, and where these stand in `text`."""
    said: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    for line in text.split("\n"):
        words = " ".join(_MARKERS.sub("", line).split())
        if words:
            said.append(words)
            places.append((at, at + len(line)))
        at += len(line) + 1
    begins = [*accumulate((len(words) + 1 for words in said), initial=0)]
    together = "\n".join(said)
    for number, (start, _) in enumerate(places):
        reach = begins[number + 1] + _REACH
        last = min(bisect_left(begins, reach), len(places)) - 1
        # what ends with the text is another stretch than one that goes on
        yield hash((together[begins[number] : reach], reach >= len(together))), start, places[last][1]
