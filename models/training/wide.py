"""A second opinion inside the same graph: which one, two and three pieces in a row a text holds, each with a weight.

It learns in minutes, knows phrases that the encoder has read too seldom to know, and errs on other texts than it; the
two margins are added, neither louder than the other. A piece that stands in a text ten times counts once.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from models.training.forward import padded
from models.training.row import Row
from models.training.vocabulary import Vocabulary

__all__ = ["WIDE_FILE", "Wide", "WideText", "WithWide", "fit_wide", "load_wide", "matched", "save_wide"]

WIDE_FILE = "wide.safetensors"
_BUCKETS = 1_048_573  # a prime
# of each piece, by its place among one, two or three; products with a piece's number stay far below 2 ** 63
_FACTORS = ((2_654_435,), (1_299_709, 15_485_863), (982_451, 32_452_843, 67_867_967))
_BATCH = 64
_RATE = 0.3
_SHOW_BATCHES = 500


class Wide(nn.Module):
    """`forward(input_ids, attention_mask)` gives each text's margin, `[batch]`; both as of `Lean`."""

    def __init__(self, buckets: int = _BUCKETS, length: int = 128) -> None:
        super().__init__()
        self.weights = nn.Embedding(buckets, 1, sparse=True)
        nn.init.zeros_(self.weights.weight)
        self.bias = nn.Parameter(torch.zeros(1))
        self.earlier = nn.Buffer(torch.ones(length, length).tril(-1), persistent=False)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        # without `[CLS]`, and without `[SEP]`, after which the mask ends
        pieces, there = input_ids[:, 1:-1], attention_mask[:, 2:].to(self.bias.dtype)
        found, counts = [], []
        for order, bucket in enumerate(_buckets(pieces, self.weights.num_embeddings)):
            counted = self._first(bucket) * there[:, order:]
            found.append((self.weights(bucket).squeeze(-1) * counted).sum(1))
            counts.append(counted.sum(1))
        return sum(found) / torch.clamp(sum(counts), min=1.0).sqrt() + self.bias

    def _first(self, bucket: torch.Tensor) -> torch.Tensor:
        """1 where a bucket stands for the first time in its text, else 0."""
        length = bucket.shape[1]
        same = (bucket[:, :, None] == bucket[:, None, :]).to(self.bias.dtype)
        return 1 - torch.clamp((same * self.earlier[:length, :length]).sum(2), max=1.0)


class WideText(nn.Module):
    """Computes a `Wide`'s margin of one text without padding, `[length]` of integers to `[1]`, in fewer steps."""

    def __init__(self, wide: Wide) -> None:
        super().__init__()
        self.weights, self.bias = nn.Buffer(wide.weights.weight.detach().view(-1)), nn.Buffer(wide.bias.detach())
        self.nothing = nn.Buffer(torch.tensor([-1]), persistent=False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        size = self.weights.shape[0]
        # a number for each bucket of each order; in order, so that those that are the same stand together
        numbers = torch.cat([at + order * size for order, at in enumerate(_buckets(input_ids[1:-1], size))])
        ordered = torch.topk(numbers, numbers.shape[0]).values
        last = (ordered != torch.cat([ordered[1:], self.nothing])).to(self.bias.dtype)
        found = (self.weights[ordered % size] * last).sum()
        return found / torch.clamp(last.sum(), min=1.0).sqrt() + self.bias


def _buckets(pieces: torch.Tensor, size: int) -> Iterator[torch.Tensor]:
    """The buckets of one, two and three `pieces` in a row; these are of the last axis."""
    length = pieces.shape[-1]
    for order, factors in enumerate(_FACTORS):
        told = [pieces[..., place : length - order + place] * factor for place, factor in enumerate(factors)]
        yield (sum(told) + order) % size


class WithWide(nn.Module):
    """`model`, whose output has `logits` for harmless and attack, with the margin of `wide` added to its own."""

    def __init__(self, model: nn.Module, wide: Wide) -> None:
        super().__init__()
        self.model, self.wide = model, wide

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask)["logits"]
        half = self.wide(input_ids, attention_mask)[:, None] / 2
        return {"logits": logits + torch.cat([-half, half], dim=1)}


def fit_wide(rows: Iterator[Row], vocabulary: Vocabulary, count: int, log: TextIO, *, length: int = 128) -> Wide:
    """Trained on the next `count` of `rows`, each once."""
    wide = Wide(length=length)
    optimizer = torch.optim.Adagrad(wide.parameters(), lr=_RATE)
    left, losses = count, []
    while left > 0:
        batch = list(islice(rows, min(_BATCH, left)))
        tokens = padded(vocabulary.encoded(batch, length))
        labels = torch.tensor([row.label for row in batch], dtype=torch.float32)
        loss = nn.functional.binary_cross_entropy_with_logits(wide(tokens, _mask(tokens)), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        left -= len(batch)
        if len(losses) % _SHOW_BATCHES == 0 or left <= 0:
            recent = losses[-_SHOW_BATCHES:]
            shown = {"wide": count - left, "of": count, "loss": round(sum(recent) / len(recent), 4)}
            log.write(json.dumps(shown) + "\n")
            log.flush()
    return wide.eval()


def matched(wide: Wide, ids: Sequence[Sequence[int]], margins: Sequence[float]) -> Wide:
    """`wide`, scaled so that its margins spread over `ids` as `margins` do, which are another model's of them."""
    with torch.no_grad():
        own = torch.cat([wide(tokens, _mask(tokens)) for tokens in (padded([row]) for row in ids)])
        ratio = torch.tensor(margins).std() / own.std()
        wide.weights.weight *= ratio
        wide.bias *= ratio
    return wide


def _mask(tokens: torch.Tensor) -> torch.Tensor:
    return (tokens != 0).long()


def save_wide(wide: Wide, folder: Path) -> None:
    """Beside the encoder's weights."""
    save_file(wide.state_dict(), folder / WIDE_FILE)


def load_wide(folder: Path) -> Wide:
    """Raises FileNotFoundError where `folder` has none."""
    state = load_file(folder / WIDE_FILE)
    wide = Wide(state["weights.weight"].shape[0])
    wide.load_state_dict(state)
    return wide.eval()
