"""Ways of training beside the one that is taken, each for about the same time, measured on texts by other writers:
`python -m models.training.tried --run RUN --out FOLDER [NAME...]`.

`RUN` is a folder of `models.training`: its tokenizer, pool and left-out rows are used. The other writers' families are
in `unseen/`, put into the documents and with the goals of the banks; nothing is trained on them. The table of
`RESULTS.md` is made of the lines that this prints.
"""

import argparse
import json
import math
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
from models.training.feed import feed, mixed
from models.training.fit import Batch, Plan, fit, margins, padded
from models.training.report import Measured, measure
from models.training.row import Row, read_rows
from models.training.vocabulary import Vocabulary
from shield.tiers.views import views

__all__ = ["WAYS", "Way"]

_BATCH = 32
_TEXTS = 3_000  # texts of either label
_HELD = 250  # texts of a left-out source
_STRIDE = 62
_LENGTH = 128
_MASKED = 0.15
_MASK = 3  # `[UNK]` stands for what is masked


_PLAN = Plan(steps=0, rate=2e-4)  # its steps are what `share` of the texts allows


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """`make` gives the model, which sees `share` of the texts that the taken one sees; of so many texts more, `masked`
    as a share, it guesses masked pieces first."""

    make: Callable[[Vocabulary], DebertaV2ForSequenceClassification]
    plan: Plan = _PLAN
    dropout: float = 0.0
    share: float = 1.0
    masked: float = 0.0
    mined: bool = False
    viewed: bool = False
    teacher: str | None = None


def _minilm(*layers: int) -> Callable[[Vocabulary], DebertaV2ForSequenceClassification]:
    return lambda vocabulary: warm(pretrained_folder(), Shape(layers=layers), vocabulary.rows)


def _nothing(layers: int, hidden: int) -> Callable[[Vocabulary], DebertaV2ForSequenceClassification]:
    shape = Shape(layers=tuple(range(layers)))
    heads = hidden // 32
    return lambda vocabulary: fresh(len(vocabulary.rows), layers=layers, hidden=hidden, heads=heads, shape=shape)


_FAST = replace(_PLAN, rate=4e-4)
WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "taken": Way(make=_minilm(0, 2, 5)),
        "dropout": Way(make=_minilm(0, 2, 5), dropout=0.1),
        "penalty": Way(make=_minilm(0, 2, 5), plan=replace(_PLAN, calm=0.05)),
        "views": Way(make=_minilm(0, 2, 5), viewed=True),
        "mined": Way(make=_minilm(0, 2, 5), mined=True),
        "masked first": Way(make=_minilm(0, 2, 5), share=0.6, masked=0.4),
        "six layers": Way(make=_minilm(0, 1, 2, 3, 4, 5), share=0.5),
        "taught": Way(make=_minilm(0, 2, 5), plan=replace(_PLAN, taught=0.5), teacher="six layers"),
        "tiny": Way(make=_nothing(4, 256), plan=_FAST, share=2.0),
        "tiny, masked first": Way(make=_nothing(4, 256), plan=_FAST, share=1.2, masked=0.6),
        "mini": Way(make=_nothing(6, 384), plan=_FAST, share=0.5),
    }
)


def main() -> None:
    """Reads the command line; one line of JSON for each way."""
    reader = argparse.ArgumentParser(prog="python -m models.training.tried", description=__doc__)
    reader.add_argument("--run", type=Path, required=True)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--texts", type=int, default=40_000, help="that the taken way is trained on")
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
    seed: int

    def trained(self, name: str) -> DebertaV2ForSequenceClassification:
        """The model of this way."""
        way, folder = WAYS[name], self.folder / name.replace(" ", "-").replace(",", "")
        if (folder / "model.safetensors").exists():
            return DebertaV2ForSequenceClassification.from_pretrained(folder).eval()
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(self.seed)
        model = way.make(self.vocabulary)
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.p = way.dropout
        draw = Random(f"{self.seed} tried")
        rows = mixed(self.banks, self.pool, draw)
        if way.viewed:
            rows = _viewed(rows, draw)
        if way.masked:
            _guess_masked(model, feed(rows, self.vocabulary, draw), int(self.texts * way.masked / _BATCH))
        teach = None
        if way.teacher is not None:
            teacher = self.trained(way.teacher)
            teach = lambda ids: margins(teacher, ids)  # noqa: E731
        batches = feed(rows, self.vocabulary, draw, teach=teach)
        if way.mined:
            batches = _hard(batches, model)
        steps = int(self.texts * way.share / _BATCH)
        with (folder / "log").open("w") as log:
            fit(model, batches, replace(way.plan, steps=steps), folder, log)
        model.save_pretrained(folder)
        return model


def _viewed(rows: Iterator[Row], rng: Random) -> Iterator[Row]:
    """Each as tier 1 might read it: as it stands, or without a disguise."""
    for row in rows:
        yield replace(row, text=rng.choice(views(row.text)[0]).text)


def _hard(batches: Iterator[Batch], model: DebertaV2ForSequenceClassification) -> Iterator[Batch]:
    """Of two batches in a row the half on which `model` errs most."""
    while True:
        one, two = next(batches), next(batches)
        ids, labels = [*one.ids, *two.ids], [*one.labels, *two.labels]
        said = margins(model, ids)
        model.train()
        wrong = sorted(range(len(ids)), key=lambda place: said[place] * (1 - 2 * labels[place]), reverse=True)
        kept = wrong[: len(ids) // 2]
        yield Batch(ids=[ids[place] for place in kept], labels=[labels[place] for place in kept])


def _guess_masked(model: DebertaV2ForSequenceClassification, batches: Iterator[Batch], steps: int) -> None:
    """Trains the encoder to guess pieces that are masked."""
    width = model.config.hidden_size
    head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
    words = model.deberta.embeddings.word_embeddings
    optimizer = torch.optim.AdamW([*model.deberta.parameters(), *head.parameters()], lr=4e-4, fused=True)
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 4e-4 * 0.5 * (1 + math.cos(math.pi * step / steps))
        tokens, mask = padded(next(batches).ids)
        chosen = (torch.rand(tokens.shape) < _MASKED) & (tokens > _MASK)
        hidden = model.deberta(torch.where(chosen, _MASK, tokens), attention_mask=mask).last_hidden_state[chosen]
        loss = nn.functional.cross_entropy(head(hidden) @ words.weight.T, tokens[chosen])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


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
    return [round(one.auc, 3), *(round(recall[0], 3) for recall in one.recalls.values())]


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
