"""`python -m models.training.again MODEL OTHER`: whether two trainings gave the same, from the figures in their
manifests.

What MODEL says of each left-out source, with its 95 % interval, and what OTHER says of the same source. Exit status 1
where a figure of OTHER lies outside, 2 where a manifest has no figures or not those of the other one.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.training.report import interval

__all__ = ["Again", "FiguresError", "again", "main"]

_RECALL = "recall_at_"
_ROUNDED = 5e-5  # a manifest has four digits


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
    for source, figures in ours.items():
        for figure, value in figures.items():
            if figure == "auc":
                low, high = _auc_interval(value, figures["attacks"], figures["harmless"])
            elif figure.startswith(_RECALL):
                low, high = interval(round(value * figures["attacks"]), int(figures["attacks"]))
            else:
                continue
            yield Again(source=source, figure=figure, value=value, low=low, high=high, other=theirs[source][figure])


def _metrics(folder: Path) -> Mapping[str, Mapping[str, float]]:
    path = folder / "manifest.json"
    try:
        metrics: Mapping[str, Mapping[str, float]] = json.loads(path.read_text(encoding="utf-8"))["made"]["metrics"]
    except (OSError, ValueError, KeyError, TypeError):
        raise FiguresError(f"{path}: no figures; it is written by `python -m models.training.ship`") from None
    return metrics


def _auc_interval(area: float, attacks: float, harmless: float) -> tuple[float, float]:
    """95 %, after Hanley and McNeil, Radiology 143 (1982)."""
    one, two = area / (2 - area), 2 * area * area / (1 + area)
    variance = area * (1 - area) + (attacks - 1) * (one - area * area) + (harmless - 1) * (two - area * area)
    half = 1.959964 * math.sqrt(max(0.0, variance) / (attacks * harmless))
    return max(0.0, area - half), min(1.0, area + half)


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
    outside = sum(not one.inside for one in found)
    print(f"\n{len(found) - outside} of {len(found)} figures lie in the interval of the first.")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
