"""The trained classifier again, as arithmetic that an ONNX runtime does quickly: same weights, same numbers.

What differs from transformers' DebertaV2ForSequenceClassification: query, key and value are one product; each layer's
keys of the relative positions are computed once, one for each distance, and a shift takes the place of the gather;
the last layer computes the first token only, which is all that the head reads; padding is an added penalty.
"""

import math

import torch
from torch import nn
from transformers import DebertaV2ForSequenceClassification
from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2Layer, make_log_bucket_position

__all__ = ["PADDED", "Lean", "distances", "require_lean"]

PADDED = -1e9  # added to the score of a padded key: its share of attention is exactly 0


class Lean(nn.Module):
    """Computes `model`'s logits; raises ValueError for a model of another kind than `encoder.warm` makes.

    `forward(input_ids, attention_mask) -> {"logits"}`, both `[batch, length]` of integers; length at most
    `config.max_position_embeddings`. The mask has to be 1 for a text's tokens, then 0.
    """

    def __init__(self, model: DebertaV2ForSequenceClassification) -> None:
        super().__init__()
        self.config = model.config
        require_lean(model)
        deberta = model.deberta
        self.embeddings = deberta.embeddings
        self.positions = deberta.embeddings.position_embeddings
        length = self.config.max_position_embeddings
        with torch.no_grad():
            keys = deberta.encoder.get_rel_embedding()[distances(self.config.position_buckets, length)]
            layers = [_LeanLayer(layer, keys, length) for layer in deberta.encoder.layer]
        self.layers = nn.ModuleList(layers)
        self.pooler, self.classifier = model.pooler, model.classifier

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
        """The logits, `[batch, labels]`."""
        words = self.embeddings.word_embeddings(input_ids)
        hidden = self.embeddings.LayerNorm(words + self.positions.weight[: input_ids.shape[1]])
        penalty = (1.0 - attention_mask.to(hidden.dtype))[:, None, None, :] * PADDED
        for layer in self.layers[:-1]:
            hidden = layer(hidden, penalty)
        hidden = self.layers[-1].first(hidden, penalty)
        return {"logits": self.classifier(self.pooler(hidden))}


class _LeanLayer(nn.Module):
    def __init__(self, layer: DebertaV2Layer, keys: torch.Tensor, length: int) -> None:
        super().__init__()
        attention = layer.attention.self
        self.heads, self.width = attention.num_attention_heads, attention.attention_head_size
        self.length = length
        scale = 1 / math.sqrt(self.width * 2)  # two terms: content, and content to position
        query, key, value = attention.query_proj, attention.key_proj, attention.value_proj
        inner = self.heads * self.width
        self.query = _linear(query.weight * scale, query.bias * scale)
        self.key_value = _linear(torch.cat([key.weight, value.weight]), torch.cat([key.bias, value.bias]))
        self.all = _linear(
            torch.cat([self.query.weight, self.key_value.weight]), torch.cat([self.query.bias, self.key_value.bias])
        )
        self.inner = inner
        # [heads, width, 2 * length]: the column at `length - 1 + d` is for a key that stands `d` behind its query
        self.distances = nn.Buffer(key(keys).view(-1, self.heads, self.width).permute(1, 2, 0).contiguous())
        self.after = layer.attention.output
        self.intermediate, self.output = layer.intermediate, layer.output

    def forward(self, hidden: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
        length = hidden.shape[1]
        query, key, value = self._heads(self.all(hidden), 3)
        near = self.distances[:, :, self.length - length : self.length + length]
        # row i holds the distances 1 - length … length; cut and folded so that column j of row i is distance j - i
        shifted = torch.matmul(query, near).flatten(2)[:, :, length - 1 : length - 1 + length * (2 * length - 1)]
        placed = shifted.view(hidden.shape[0], self.heads, length, 2 * length - 1)[..., :length]
        return self._rest(hidden, torch.matmul(query, key.transpose(-1, -2)) + placed + penalty, value)

    def first(self, hidden: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
        """The first token only, `[batch, 1, hidden]`."""
        length, first = hidden.shape[1], hidden[:, :1]
        (query,) = self._heads(self.query(first), 1)
        key, value = self._heads(self.key_value(hidden), 2)
        ahead = self.distances[:, :, self.length - 1 : self.length + length - 1]
        score = torch.matmul(query, key.transpose(-1, -2)) + torch.matmul(query, ahead) + penalty
        return self._rest(first, score, value)

    def _heads(self, projected: torch.Tensor, parts: int) -> tuple[torch.Tensor, ...]:
        split = projected.view(projected.shape[0], projected.shape[1], parts * self.heads, self.width)
        return torch.split(split.transpose(1, 2), self.heads, dim=1)

    def _rest(self, hidden: torch.Tensor, score: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        seen = torch.matmul(torch.softmax(score, dim=-1), value).transpose(1, 2).flatten(2)
        attended = self.after(seen, hidden)
        return self.output(self.intermediate(attended), attended)


def _linear(weight: torch.Tensor, bias: torch.Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0])
    made.weight, made.bias = nn.Parameter(weight.detach()), nn.Parameter(bias.detach())
    return made


def distances(buckets: int, length: int) -> torch.Tensor:
    """The row of the relative embeddings for a key `d` behind its query, d from 1 - length to length."""
    ahead = -torch.arange(1 - length, length + 1)  # transformers counts the other way
    place = make_log_bucket_position(ahead, buckets, length).long()
    return (place + buckets).clamp(0, 2 * buckets - 1)


def require_lean(model: DebertaV2ForSequenceClassification) -> None:
    """Raises ValueError for a model of another kind than `encoder.warm` makes."""
    config = model.config
    expected = {
        "relative_attention": True,
        "share_att_key": True,
        "position_biased_input": True,
        "type_vocab_size": 0,
        "max_relative_positions": -1,
        "pos_att_type": ["c2p"],
    }
    for name, value in expected.items():
        if getattr(config, name) != value:
            raise ValueError(f"`{name}` has to be {value!r}, and is {getattr(config, name)!r}")
    if config.position_buckets < 1 or model.deberta.encoder.conv is not None:
        raise ValueError("`position_buckets` has to be set and `conv_kernel_size` not")
