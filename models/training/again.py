"""`python -m models.training.again MODEL OTHER`: whether two trainings gave the same, from the figures in their
manifests.

What MODEL says of each left-out source, with its 95 % interval, and what OTHER says of the same source. Exit status 1
where more figures of OTHER lie outside than chance leaves there, 2 where a manifest has no figures or not those of the
other one.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shield.types import Json

__all__ = ["Again", "FiguresError", "again", "by_chance", "main"]

_ROUNDED = 5e-5  # a manifest has four digits
_RARE = 0.025


class FiguresError(ValueError):
    """Manifests that cannot be compared: says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """One figure of one source: in one model, with its interval, and in the other."""

    source: str
    figure: str
    value: float
    low: float
    high: float
    other: float

    @property
    def inside(self) -> bool:
        """The other one lies in the interval."""
        return self.low - _ROUNDED <= self.other <= self.high + _ROUNDED


def again(model: Path, other: Path) -> Iterator[Again]:
    """Raises FiguresError where the two do not report on the same sources."""
    ours, theirs = _metrics(model), _metrics(other)
    if set(ours) != set(theirs):
        raise FiguresError(
            f"{other}: other sources than those of {model}: {', '.join(sorted(set(ours) ^ set(theirs)))}"
        )
    for folder, metrics in ((model, ours), (other, theirs)):
        if not all(isinstance(figures.get("auc"), list) for figures in metrics.values()):
            raise FiguresError(f"{folder / 'manifest.json'}: figures without intervals; ship it anew with `--graph`")
    for source, figures in ours.items():
        for figure, said in figures.items():
            if isinstance(said, list):  # with its interval; how many texts there were has none
                value, low, high = said
                yield Again(
                    source=source, figure=figure, value=value, low=low, high=high, other=theirs[source][figure][0]
                )


def by_chance(count: int) -> int:
    """How many of `count` figures lie outside their 95 % intervals in all but one of forty repetitions, were they
    independent; those of one source are not, so that it happens more often."""
    left = 1.0
    for outside in range(count):
        left -= math.comb(count, outside) * 0.05**outside * 0.95 ** (count - outside)
        if left <= _RARE:
            return outside
    return count


def _metrics(folder: Path) -> Mapping[str, Mapping[str, Json]]:
    path = folder / "manifest.json"
    try:
        metrics: Mapping[str, Mapping[str, Json]] = json.loads(path.read_text(encoding="utf-8"))["made"]["metrics"]
    except (OSError, ValueError, KeyError, TypeError):
        raise FiguresError(f"{path}: no figures; it is written by `python -m models.training.ship`") from None
    return metrics


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m models.training.again", description=__doc__)
    reader.add_argument("model", type=Path, help="the folder of the model that is shipped")
    reader.add_argument("other", type=Path, help="the folder of one that was trained again")
    given = reader.parse_args(arguments)
    try:
        found = list(again(given.model, given.other))
    except FiguresError as error:
        print(error, file=sys.stderr)
        return 2
    print("| source | figure | shipped | again | |\n|---|---|---|---|---|")
    for one in found:
        mark = "" if one.inside else "**outside**"
        shown = f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})"
        print(f"| {one.source} | {one.figure} | {shown} | {one.other:.3f} | {mark} |")
    outside, chance = sum(not one.inside for one in found), by_chance(len(found))
    print(f"\n{len(found) - outside} of {len(found)} figures lie in the interval of the first; ", end="")
    print(f"of so many intervals of 95 % chance leaves up to {chance} outside.")
    return 1 if outside > chance else 0


if __name__ == "__main__":
    sys.exit(main())
