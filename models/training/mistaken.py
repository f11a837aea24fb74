"""The ordinary texts that a classifier takes most for attacks, to be read more often than their like: a page has many
windows, and one that looks like an attack is enough to hold it up."""

from collections.abc import Sequence
from dataclasses import replace

from transformers import DebertaV2ForSequenceClassification

from models.training.forward import margins
from models.training.row import Row
from models.training.vocabulary import Vocabulary

__all__ = ["MISTAKEN", "mistaken"]

MISTAKEN = 0.1  # of the harmless texts of a kind


def mistaken(rows: Sequence[Row], vocabulary: Vocabulary, model: DebertaV2ForSequenceClassification) -> list[Row]:
    """Of each kind the share `MISTAKEN` of the harmless `rows` with the highest margins, as families of their own."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        if not row.label:
            kinds.setdefault(row.kind, []).append(row)
    found = []
    for kind, harmless in kinds.items():
        said = margins(model, vocabulary.encoded(harmless, 128), roughly=True)
        worst = sorted(range(len(harmless)), key=lambda place: -said[place])[: int(MISTAKEN * len(harmless))]
        found += [replace(harmless[place], family=f"mistaken-{kind}") for place in worst]
    return found
