"""Ways of training beside the one that is taken, each for about the same time, measured on texts by other writers:
`python -m models.training.tried --run RUN --out FOLDER [NAME...]`.

`RUN` is a folder of `models.training`: its tokenizer, pool and left-out rows are used. The other writers' families are
in `unseen/`, put into the documents and with the goals of the banks; nothing is trained on them. The table of
`RESULTS.md` is made of the lines that this prints.
"""

import argparse
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from types import MappingProxyType

import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import DebertaV2ForSequenceClassification

from models.training.banks import BANKS, UNSEEN, Banks, load_banks
from models.training.compare import Compared, by_source
from models.training.compose import attacks, harmless
from models.training.encoder import Shape, fresh, pretrained_folder, warm
from models.training.feed import batched, mixed
from models.training.fit import Batch, Guess, Judge, Plan, fit, keep
from models.training.forward import logits, margins
from models.training.report import Measured, measure
from models.training.row import Row, read_rows
from models.training.vocabulary import Vocabulary
from shield.tiers.views import views

__all__ = ["WAYS", "Way"]

_TEXTS = 3_000  # texts of either label
_HELD = 250  # texts of a left-out source
_STRIDE = 62
_LENGTH = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """`make` gives the model, which sees `share` of the texts that the taken one sees, at `rate` times the rate; of so
    many texts, `guessed` as a share, it guesses hidden pieces first. `embeddings` as of `Plan`; `hidden`, `calm` and
    `taught` as of `Judge`."""

    make: Callable[[Vocabulary], DebertaV2ForSequenceClassification]
    rate: float = 1.0
    share: float = 0.5
    guessed: float = 0.5
    embeddings: float = 0.1
    hidden: float = 0.1
    dropout: float = 0.0
    calm: float = 0.0
    taught: float = 0.0
    mined: bool = False
    viewed: bool = False
    teacher: str | None = None


def _minilm(*layers: int) -> Callable[[Vocabulary], DebertaV2ForSequenceClassification]:
    return lambda vocabulary: warm(pretrained_folder(), Shape(layers=layers), vocabulary.rows)


def _nothing(layers: int, hidden: int) -> Callable[[Vocabulary], DebertaV2ForSequenceClassification]:
    shape = Shape(layers=tuple(range(layers)))
    heads = hidden // 32
    return lambda vocabulary: fresh(len(vocabulary.rows), layers=layers, hidden=hidden, heads=heads, shape=shape)


_TAKEN = Way(make=_minilm(0, 2, 5))
_FRESH = replace(_TAKEN, rate=2.0, embeddings=1.0)
WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "taken": _TAKEN,
        "nothing guessed": replace(_TAKEN, share=1.0, guessed=0.0),
        "embeddings at the full rate": replace(_TAKEN, embeddings=1.0),
        "nothing hidden": replace(_TAKEN, hidden=0.0),
        "plain": replace(_TAKEN, share=1.0, guessed=0.0, embeddings=1.0, hidden=0.0),
        "dropout": replace(_TAKEN, dropout=0.1),
        "penalty": replace(_TAKEN, calm=0.05),
        "views": replace(_TAKEN, viewed=True),
        "mined": replace(_TAKEN, mined=True),
        "six layers": replace(_TAKEN, make=_minilm(0, 1, 2, 3, 4, 5), share=0.25, guessed=0.25),
        "taught": replace(_TAKEN, taught=0.5, teacher="six layers"),
        "tiny": replace(_FRESH, make=_nothing(4, 256), share=1.0, guessed=1.0),
        "mini": replace(_FRESH, make=_nothing(6, 384), share=0.25, guessed=0.25),
    }
)


def main() -> None:
    """Reads the command line; one line of JSON for each way."""
    reader = argparse.ArgumentParser(prog="python -m models.training.tried", description=__doc__)
    reader.add_argument("--run", type=Path, required=True)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--texts", type=int, default=40_000, help="that the taken way is trained on")
    reader.add_argument("--batch", type=int, default=32, help="texts in a batch")
    reader.add_argument("--rate", type=float, default=2e-4)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("ways", nargs="*", default=list(WAYS), metavar="NAME", help=", ".join(WAYS))
    given = reader.parse_args()
    torch.set_num_threads(1)
    rows = tuple(json.loads((given.run / "rows.json").read_text()))
    vocabulary = Vocabulary(tokenizer=Tokenizer.from_file(str(given.run / "tokenizer.json")), rows=rows)
    bench = _Bench(
        vocabulary=vocabulary,
        banks=load_banks(BANKS),
        pool=list(read_rows(given.run / "pool.jsonl")),
        folder=given.out,
        texts=given.texts,
        batch=given.batch,
        rate=given.rate,
        seed=given.seed,
    )
    for name in given.ways:
        began = time.process_time()
        model = bench.trained(name)
        seconds = round(time.process_time() - began)
        print(json.dumps({"way": name, "cpu_s": seconds, **_worth(model, vocabulary, given.run)}), flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    vocabulary: Vocabulary
    banks: Banks
    pool: Sequence[Row]
    folder: Path
    texts: int
    batch: int
    rate: float
    seed: int

    def trained(self, name: str) -> DebertaV2ForSequenceClassification:
        """The model of this way."""
        way, folder = WAYS[name], self.folder / name.replace(" ", "-")
        if (folder / "model.safetensors").exists():
            return DebertaV2ForSequenceClassification.from_pretrained(folder).eval()
        shutil.rmtree(folder, ignore_errors=True)  # what was cut off is short, and begins anew
        (folder / "guess").mkdir(parents=True)
        torch.manual_seed(self.seed)
        model = way.make(self.vocabulary)
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.p = way.dropout
        draw = Random(f"{self.seed} tried")
        rows = mixed(self.banks, self.pool, draw)
        if way.viewed:
            rows = _viewed(rows, draw)
        batches = batched(rows, self.vocabulary, draw, size=self.batch)
        teacher = None if way.teacher is None else self.trained(way.teacher)
        judge = Judge(model, hidden=way.hidden, calm=way.calm, taught=way.taught, teacher=teacher)
        with (folder / "log").open("w") as log:
            plan = Plan(steps=self._steps(way.guessed), rate=way.rate * self.rate)
            fit(Guess(model), batches, plan, folder / "guess", log)
            plan = Plan(steps=self._steps(way.share), rate=way.rate * self.rate, embeddings=way.embeddings)
            fit(judge, _hard(batches, model) if way.mined else batches, plan, folder, log)
        keep(model, folder)
        return model

    def _steps(self, share: float) -> int:
        return int(self.texts * share / self.batch)


def _viewed(rows: Iterator[Row], rng: Random) -> Iterator[Row]:
    """Each as tier 1 might read it: as it stands, or without a disguise."""
    for row in rows:
        yield replace(row, text=rng.choice(views(row.text)[0]).text)


def _hard(batches: Iterator[Batch], model: DebertaV2ForSequenceClassification) -> Iterator[Batch]:
    """Of two batches in a row the half on which `model` errs most."""
    device = next(model.parameters()).device
    while True:
        pair = (next(batches), next(batches))
        longest = max(batch.tokens.shape[1] for batch in pair)
        tokens = torch.cat([nn.functional.pad(one.tokens, (0, longest - one.tokens.shape[1])) for one in pair])
        labels = torch.cat([batch.labels for batch in pair])
        model.eval()
        with torch.no_grad():
            said = logits(model, tokens.to(device)).cpu()
        model.train()
        wrong = (said[:, 1] - said[:, 0]) * (1 - 2 * labels)
        kept = wrong.topk(len(wrong) // 2).indices
        yield Batch(tokens=tokens[kept], labels=labels[kept])


def _worth(model: DebertaV2ForSequenceClassification, vocabulary: Vocabulary, run: Path) -> dict[str, object]:
    """On other writers' families, and the mean over the left-out sources."""
    banks, others = load_banks(BANKS), load_banks(UNSEEN)
    banks = replace(banks, leads=others.leads, wholes=others.wholes, harmless=others.harmless)
    draw = Random("unseen")
    rows = [*islice(attacks(banks, draw), _TEXTS), *islice(harmless(banks, draw), _TEXTS)]
    scores = _scores(model, vocabulary, rows)
    shown: dict[str, object] = {}
    for kind in ("tool_result", "prose"):
        good = [score for row, score in zip(rows, scores, strict=True) if row.kind == kind and not row.label]
        bad = [score for row, score in zip(rows, scores, strict=True) if row.kind == kind and row.label]
        shown[kind] = _numbers(measure(bad, good))
    families: dict[str, list[Row]] = {}
    for row in read_rows(run / "held.jsonl"):
        if row.source != "generated":
            families.setdefault(f"{row.family} {row.kind}", []).append(row)
    left = [
        row
        for name, rows in families.items()
        for row in (rows if rows[0].family.startswith("machine") else Random(name).sample(rows, min(len(rows), _HELD)))
    ]
    compared = by_source(left, {"model": _scores(model, vocabulary, left)})
    means = [sum(values) / len(compared) for values in zip(*(_numbers(one) for one in compared), strict=True)]
    shown["left-out sources"] = [round(value, 3) for value in means]
    return shown


def _numbers(one: Measured | Compared) -> list[float]:
    return [round(one.auc[0], 3), *(round(recall[0], 3) for recall in one.recalls.values())]


def _scores(model: DebertaV2ForSequenceClassification, vocabulary: Vocabulary, rows: Sequence[Row]) -> list[float]:
    """The greatest margin of each text's windows."""
    ids, owners = [], []
    for place, row in enumerate(rows):
        marks = vocabulary.encode("", row.kind, _LENGTH)
        pieces = vocabulary.encode(row.text, row.kind, 2_000)[2:-1]
        for start in range(0, max(1, len(pieces) - _STRIDE), _STRIDE):
            ids.append([*marks[:2], *pieces[start : start + _LENGTH - 3], *marks[2:]])
            owners.append(place)
    best = [-math.inf] * len(rows)
    for owner, margin in zip(owners, margins(model, ids), strict=True):
        best[owner] = max(best[owner], margin)
    return best


if __name__ == "__main__":
    main()
