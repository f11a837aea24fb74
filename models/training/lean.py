"""The trained classifier again, as arithmetic that an ONNX runtime does quickly: same weights, same numbers.

It reads one text, without padding, as the runtime gives it. What differs from transformers'
DebertaV2ForSequenceClassification: each layer's keys of the relative positions are computed once; what is the same for
all keys of a query is left out, since no share of attention depends on it; and the last layer computes the first token
only, which is all that the head reads, so that its keys and values need not be computed for each token either: the
query is brought to the tokens instead, and what it sees of them to its value.
"""

import math

import torch
from torch import nn
from transformers import DebertaV2ForSequenceClassification
from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2Layer

from models.training.forward import distances, require_warm
from models.training.wide import Wide, WideText

__all__ = ["Lean"]


class Lean(nn.Module):
    """Computes the logits of `model` with the margin of `wide` added; raises ValueError for a model of another kind
    than `encoder.warm` makes.

    `forward(input_ids) -> {"logits"}`, `[1, length]` of integers to `[1, labels]`; length at most
    `config.max_position_embeddings`.
    """

    def __init__(self, model: DebertaV2ForSequenceClassification, wide: Wide) -> None:
        super().__init__()
        self.config = model.config
        require_warm(model)
        deberta = model.deberta
        self.embeddings = deberta.embeddings
        self.positions = deberta.embeddings.position_embeddings
        length, buckets = self.config.max_position_embeddings, self.config.position_buckets
        with torch.no_grad():
            near = deberta.encoder.get_rel_embedding()
            *layers, last = deberta.encoder.layer
            self.layers = nn.ModuleList([*(_EveryToken(layer, near) for layer in layers), _FirstToken(last, near)])
        place = torch.arange(length)
        # [1, query, key]: the row of `near` that stands for how far the key is behind the query
        rows = distances(buckets, length)[place[None, :] - place[:, None] + length - 1]
        self.rows = nn.Buffer(rows[None].to(torch.int32).contiguous())
        self.pooler, self.classifier = model.pooler, model.classifier
        self.wide = WideText(wide)

    def forward(self, input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """The logits, `[1, labels]`."""
        length = input_ids.shape[1]
        words = self.embeddings.word_embeddings(input_ids)
        hidden = self.embeddings.LayerNorm(words + self.positions.weight[:length])
        rows = self.rows[:, :length, :length]
        spread = rows.expand(self.config.num_attention_heads, -1, -1)
        for layer in self.layers[:-1]:
            hidden = layer(hidden, spread)
        hidden = self.layers[-1](hidden, rows[0, 0])
        half = self.wide(input_ids.view(-1)) / 2
        return {"logits": self.classifier(self.pooler(hidden)) + torch.stack([-half, half], dim=-1)}


class _Layer(nn.Module):
    """What all layers have. `near` are the embeddings of relative positions, `[rows, hidden]`."""

    def __init__(self, layer: DebertaV2Layer, near: torch.Tensor) -> None:
        super().__init__()
        attention = layer.attention.self
        self.heads, self.width = attention.num_attention_heads, attention.attention_head_size
        self.inner = self.heads * self.width
        scale = 1 / math.sqrt(self.width * 2)  # two terms: content, and content to position
        query, key = attention.query_proj, attention.key_proj
        self.query = _linear(query.weight * scale, query.bias * scale)
        # [heads, width, rows]
        self.near = nn.Buffer((near @ key.weight.T).view(-1, self.heads, self.width).permute(1, 2, 0).contiguous())
        self.after = layer.attention.output
        self.intermediate, self.output = layer.intermediate, layer.output

    def rest(self, hidden: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """The layer's output, where its heads have `seen`, `[heads, length, width]`."""
        attended = self.after(seen.transpose(0, 1).reshape(1, -1, self.inner), hidden)
        return self.output(self.intermediate(attended), attended)


class _EveryToken(_Layer):
    """`forward(hidden, spread)`, `[1, length, hidden]` and the rows of the positions `[heads, length, length]`."""

    def __init__(self, layer: DebertaV2Layer, near: torch.Tensor) -> None:
        super().__init__(layer, near)
        key, value = layer.attention.self.key_proj, layer.attention.self.value_proj
        self.key, self.value = _linear(key.weight), _linear(value.weight, value.bias)

    def forward(self, hidden: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            part(hidden).view(-1, self.heads, self.width).transpose(0, 1) for part in (self.query, self.key, self.value)
        )
        placed = _Picked.apply(torch.matmul(query, self.near), spread)
        share = torch.softmax(torch.matmul(query, key.transpose(1, 2)) + placed, dim=-1)
        return self.rest(hidden, torch.matmul(share, value))


class _FirstToken(_Layer):
    """`forward(hidden, rows)` gives `[1, 1, hidden]`; `rows` is `[length]`."""

    def __init__(self, layer: DebertaV2Layer, near: torch.Tensor) -> None:
        super().__init__(layer, near)
        key, value = layer.attention.self.key_proj, layer.attention.self.value_proj
        # [heads, width, hidden], [heads, hidden, width] and [heads, 1, width]
        self.key = nn.Buffer(key.weight.view(self.heads, self.width, -1).clone())
        self.value = nn.Buffer(value.weight.view(self.heads, self.width, -1).transpose(1, 2).contiguous())
        self.value_bias = nn.Buffer(value.bias.view(self.heads, 1, self.width).clone())

    def forward(self, hidden: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        first, tokens = hidden[:, :1], hidden.view(-1, self.inner)
        query = self.query(first).view(self.heads, 1, self.width)
        asked = torch.matmul(query, self.key).view(self.heads, -1)
        placed = torch.matmul(query, self.near).view(self.heads, -1).index_select(1, rows)
        share = torch.softmax(torch.matmul(asked, tokens.transpose(0, 1)) + placed, dim=-1)
        seen = torch.matmul(share, tokens).view(self.heads, 1, -1)
        return self.rest(first, torch.matmul(seen, self.value) + self.value_bias)


class _Picked(torch.autograd.Function):
    """torch.gather over the last axis. The exporter's own asks for indices of twice the size, and a window takes 1.3 %
    longer to read with them (150 windows of 128 tokens in turns, 2026-11-28)."""

    @staticmethod
    def forward(_context: object, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.gather(values, -1, rows.long())

    @staticmethod
    def symbolic(graph: "torch.Graph", values: "torch.Value", rows: "torch.Value") -> "torch.Value":
        return graph.op("GatherElements", values, rows, axis_i=2).setType(values.type())


def _linear(weight: torch.Tensor, bias: torch.Tensor | None = None) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    made.weight = nn.Parameter(weight.detach())
    if bias is not None:
        made.bias = nn.Parameter(bias.detach())
    return made
