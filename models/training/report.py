"""What a scorer is worth, by source: area under the curve, recall at few false alarms, with intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Measured", "auc", "interval", "measure", "percent", "shown", "threshold_at"]


_ROUNDS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One source: the area under the curve and, for each share of false positives in `recalls`, the recall there, each
    with its 95 % interval: of other texts, attacks and harmless ones, of the same sort."""

    attacks: int
    harmless: int
    auc: tuple[float, float, float]
    recalls: Mapping[float, tuple[float, float, float]]


def measure(
    attacks: Sequence[float], harmless: Sequence[float], shares: Sequence[float] = (0.001, 0.01, 0.05)
) -> Measured:
    """From scores; higher is more of an attack."""
    recalls = {}
    for share in shares:
        limit = threshold_at(harmless, share)
        hits = sum(score > limit for score in attacks)
        recalls[share] = (hits / max(1, len(attacks)), *_recall_interval(attacks, harmless, share))
    area = auc(attacks, harmless)
    return Measured(
        attacks=len(attacks),
        harmless=len(harmless),
        auc=(area, *_auc_interval(area, len(attacks), len(harmless))),
        recalls=recalls,
    )


def _recall_interval(attacks: Sequence[float], harmless: Sequence[float], share: float) -> tuple[float, float]:
    """95 %, of other attacks held against a threshold that other harmless texts set: at few false alarms, where a
    handful of these sets it, most of the chance is there.

    Which of the harmless scores becomes the threshold when as many are drawn from them again has an exact distribution
    (an order statistic of uniform numbers, which is Beta); at each such threshold recall is drawn as Jeffreys' interval
    has it (Brown, Cai and DasGupta, Statistical Science 16, 2001).
    """
    if not attacks or not harmless:
        return 0.0, 1.0
    rng = np.random.default_rng(0)  # the same scores have the same interval
    ordered, count = np.sort(np.asarray(harmless, float))[::-1], len(harmless)
    place = min(int(share * count), count - 1)
    limits = ordered[(rng.beta(place + 1, count - place, _ROUNDS) * count).astype(int)]
    hits = len(attacks) - np.searchsorted(np.sort(np.asarray(attacks, float)), limits, side="right")
    drawn = rng.beta(hits + 0.5, len(attacks) - hits + 0.5)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return 0.0 if not hits.min() else float(low), 1.0 if hits.max() == len(attacks) else float(high)


def _auc_interval(area: float, attacks: int, harmless: int) -> tuple[float, float]:
    """95 %, after Hanley and McNeil, Radiology 143 (1982)."""
    one, two = area / (2 - area), 2 * area * area / (1 + area)
    variance = area * (1 - area) + (attacks - 1) * (one - area * area) + (harmless - 1) * (two - area * area)
    half = 1.959964 * math.sqrt(max(0.0, variance) / (attacks * harmless))
    return max(0.0, area - half), min(1.0, area + half)


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
