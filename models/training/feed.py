"""Batches without end: generated attacks and harmless texts, and public ones, tokenised and put with their like."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

from models.training.banks import Banks
from models.training.compose import attacks, harmless
from models.training.disguise import disguised
from models.training.fit import Batch
from models.training.row import Row
from models.training.vocabulary import Vocabulary

__all__ = ["feed", "mixed"]

_CHUNK = 32  # batches that are sorted together
_DOCUMENTS = ("tool_result", "code")  # kinds of text that somebody else's words can stand in
_SHARES = (0.44, 0.36, 0.20)  # generated attacks, generated harmless, public


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
            yield next(bad)
        elif draw < _SHARES[0] + _SHARES[1] or not names:
            yield next(good)
        else:
            row = rng.choice(families[rng.choices(names, weights)[0]])
            if rng.random() < 0.1:
                row = Row(
                    text=disguised(row.text, rng), label=row.label, kind=row.kind, family=row.family, source=row.source
                )
            yield row


def feed(
    rows: Iterator[Row],
    vocabulary: Vocabulary,
    rng: Random,
    *,
    size: int = 32,
    length: int = 128,
    teach: Callable[[Sequence[Sequence[int]]], Sequence[float]] | None = None,
) -> Iterator[Batch]:
    """`teach` gives the teacher's margins for token ids."""
    while True:
        chunk = list(islice(rows, size * _CHUNK))
        ids = [vocabulary.encode(row.text, row.kind, length) for row in chunk]
        said = list(teach(ids)) if teach is not None else None
        order = sorted(range(len(chunk)), key=lambda place: len(ids[place]))
        starts = list(range(0, len(order), size))
        rng.shuffle(starts)
        for start in starts:
            places = order[start : start + size]
            yield Batch(
                ids=[ids[place] for place in places],
                labels=[chunk[place].label for place in places],
                margins=None if said is None else [said[place] for place in places],
            )
