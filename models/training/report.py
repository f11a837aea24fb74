"""What a scorer is worth, by source: area under the curve, recall at few false alarms, with intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Measured", "auc", "interval", "measure", "percent", "shown", "threshold_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One source: `recalls` maps a share of false positives to the recall there, with its 95 % interval."""

    attacks: int
    harmless: int
    auc: float
    recalls: Mapping[float, tuple[float, float, float]]


def measure(
    attacks: Sequence[float], harmless: Sequence[float], shares: Sequence[float] = (0.001, 0.01, 0.05)
) -> Measured:
    """From scores; higher is more of an attack."""
    recalls = {}
    for share in shares:
        limit = threshold_at(harmless, share)
        hits = sum(score > limit for score in attacks)
        recalls[share] = (hits / max(1, len(attacks)), *interval(hits, len(attacks)))
    return Measured(attacks=len(attacks), harmless=len(harmless), auc=auc(attacks, harmless), recalls=recalls)


def threshold_at(harmless: Sequence[float], share: float) -> float:
    """The least score that at most `share` of the harmless ones exceed."""
    ordered = sorted(harmless, reverse=True)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def auc(attacks: Sequence[float], harmless: Sequence[float]) -> float:
    """The chance that an attack scores higher than a harmless text, ties half (Mann and Whitney)."""
    scores = np.concatenate([np.asarray(attacks, float), np.asarray(harmless, float)])
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n, m = len(attacks), len(harmless)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if of == 0:
        return 0.0, 1.0
    z, share = 1.959964, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def percent(hits: int, of: int) -> str:
    """A share and its interval, as reports show them."""
    return shown(hits / max(1, of), *interval(hits, of))


def shown(share: float, low: float, high: float) -> str:
    """The same of a share whose interval is known."""
    return f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
