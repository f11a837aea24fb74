"""Batches without end: generated attacks and harmless texts, and public ones, tokenised and put with their like."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from models.training.banks import Banks
from models.training.compose import attacks, harmless
from models.training.disguise import disguised
from models.training.fit import Batch
from models.training.forward import padded
from models.training.row import Row
from models.training.vocabulary import Vocabulary
from shield.tiers.markup import PAGE, source, unmarked

__all__ = ["Feed", "batched", "mixed", "writers"]

_AHEAD = 16  # batches that a worker may be ahead: twice what it makes at once of 512 texts
_DOCUMENTS = ("tool_result", "code")  # kinds of text that somebody else's words can stand in
_SHOWN = 0.3  # of the harmless pages, how many are read as a browser shows them
_SHARES = (0.40, 0.31, 0.29)  # generated attacks, generated harmless, public


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What is read, in batches of `size` texts; `workers` processes draw it, or none but this one. The same seed gives
    the same batches where the workers are as many."""

    banks: Banks
    pool: Sequence[Row]
    vocabulary: Vocabulary
    size: int
    workers: int = 0
    together: int = 4_096  # texts that are sorted together

    def batches(self, seed: str) -> Iterator[Batch]:
        """Without end."""
        several = {"multiprocessing_context": "fork", "prefetch_factor": _AHEAD} if self.workers else {}
        loader = DataLoader(_Draws(self, seed), batch_size=None, num_workers=self.workers, **several)
        for tokens, labels in loader:
            yield Batch(tokens=tokens, labels=labels)


class _Draws(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    def __init__(self, feed: Feed, seed: str) -> None:
        self.feed, self.seed = feed, seed

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        worker = get_worker_info()
        draw = Random(f"{self.seed} {worker.id if worker else 0}")
        feed = self.feed
        for batch in batched(
            mixed(feed.banks, feed.pool, draw), feed.vocabulary, draw, size=feed.size, together=feed.together
        ):
            yield batch.tokens, batch.labels


def writers() -> int:
    """How many processes write texts: a GPU reads faster than one writes; a CPU has enough to do."""
    return max(1, min(15, len(os.sched_getaffinity(0)) - 1)) if torch.cuda.is_available() else 0


def mixed(banks: Banks, pool: Sequence[Row], rng: Random) -> Iterator[Row]:
    """Rows without end. A public row is drawn from `pool`, each family as often as the root of its size says."""
    documents = [row for row in pool if not row.label and row.kind in _DOCUMENTS]
    bad, good = attacks(banks, rng, documents), harmless(banks, rng, documents)
    families: dict[str, list[Row]] = {}
    for row in pool:
        families.setdefault(row.family, []).append(row)
    names = list(families)
    weights = [len(families[name]) ** 0.5 for name in names]
    while True:
        draw = rng.random()
        if draw < _SHARES[0]:
            row = next(bad)
        elif draw < _SHARES[0] + _SHARES[1] or not names:
            row = next(good)
        else:
            row = rng.choice(families[rng.choices(names, weights)[0]])
            if rng.random() < 0.1:
                row = replace(row, text=disguised(row.text, rng))
        yield _as_read(row, rng)


def _as_read(row: Row, rng: Random) -> Row:
    """A page as the classifier gets it. An attack may stand in what a browser does not show."""
    page = source(row.text)
    if page.tags < PAGE:
        return row
    return replace(row, text=unmarked(row.text)[0] if not row.label and rng.random() < _SHOWN else page.text)


def batched(
    rows: Iterator[Row], vocabulary: Vocabulary, rng: Random, *, size: int, together: int = 4_096, length: int = 128
) -> Iterator[Batch]:
    """`rows` in batches of about the same length each."""
    while chunk := list(islice(rows, max(1, together // size) * size)):
        ids = vocabulary.encoded(chunk, length)
        order = sorted(range(len(chunk)), key=lambda place: len(ids[place]))
        starts = list(range(0, len(order), size))
        rng.shuffle(starts)
        for start in starts:
            places = order[start : start + size]
            yield Batch(
                tokens=padded([ids[place] for place in places]),
                labels=torch.tensor([float(chunk[place].label) for place in places]),
            )
