"""What transformers' DebertaV2 computes, in fewer steps and differentiable: a shift takes the place of the gather of
relative positions, and the last layer computes the first token only, which is all that the head reads.

Half precision on a GPU, and for training on a CPU that multiplies so; on any other it takes twice as long.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import torch
from torch import nn
from transformers import DebertaV2ForSequenceClassification
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

__all__ = ["distances", "halved", "logits", "margins", "padded", "require_warm", "states"]

_PADDED = -1e9  # added to the score of a padded key: its share of attention is exactly 0


def logits(model: DebertaV2ForSequenceClassification, tokens: torch.Tensor, *, roughly: bool = False) -> torch.Tensor:
    """What `model` says of each text, `[texts, labels]`; `tokens` as of `padded`. `roughly`: as exactly as for training
    is enough."""
    with halved(tokens.device, training=model.training or roughly):
        hidden = _encoded(model, tokens, first=True)
        return model.classifier(model.dropout(model.pooler(hidden))).float()


def states(model: DebertaV2ForSequenceClassification, tokens: torch.Tensor) -> torch.Tensor:
    """The last layer's state of each token, `[texts, pieces, width]`."""
    with halved(tokens.device, training=model.training):
        return _encoded(model, tokens, first=False)


def halved(device: torch.device, *, training: bool) -> torch.autocast:
    """Half precision where it is the faster one: on a GPU, and for training on some CPUs."""
    enabled = device.type == "cuda" or (training and _halving())
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled)


@cache
def _halving() -> bool:
    """Whether this CPU has instructions for it."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def margins(
    model: DebertaV2ForSequenceClassification, ids: Sequence[Sequence[int]], size: int = 64, *, roughly: bool = False
) -> list[float]:
    """The attack logit less the other one, for each text's token ids. `roughly`: to choose texts by, not to say what
    the model is worth."""
    device = next(model.parameters()).device
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    found = [0.0] * len(ids)
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(order), size):
            places = order[start : start + size]
            said = logits(model, padded([ids[place] for place in places]).to(device), roughly=roughly)
            for place, margin in zip(places, (said[:, 1] - said[:, 0]).tolist(), strict=True):
                found[place] = margin
    return found


def padded(ids: Sequence[Sequence[int]]) -> torch.Tensor:
    """Token ids, `[texts, pieces]`, padded with 0 to a multiple of 8."""
    length = -(-max(len(row) for row in ids) // 8) * 8
    return torch.tensor([[*row, *([0] * (length - len(row)))] for row in ids])


def _encoded(model: DebertaV2ForSequenceClassification, tokens: torch.Tensor, *, first: bool) -> torch.Tensor:
    require_warm(model)
    embeddings, encoder = model.deberta.embeddings, model.deberta.encoder
    length = tokens.shape[1]
    words = embeddings.word_embeddings(tokens) + embeddings.position_embeddings.weight[:length]
    hidden = embeddings.dropout(embeddings.LayerNorm(words))
    penalty = (tokens == 0)[:, None, None, :] * _PADDED
    longest = model.config.max_position_embeddings
    near = encoder.get_rel_embedding()[_near(model.config.position_buckets, longest, length, tokens.device)]
    for layer in encoder.layer[:-1]:
        hidden = _layer(layer, hidden, hidden, near, penalty)
    return _layer(encoder.layer[-1], hidden[:, :1] if first else hidden, hidden, near, penalty)


def _layer(
    layer: nn.Module, asking: torch.Tensor, hidden: torch.Tensor, near: torch.Tensor, penalty: torch.Tensor
) -> torch.Tensor:
    """`asking` holds the states of the tokens that are computed: all, or the first one."""
    attention = layer.attention.self
    heads, width = attention.num_attention_heads, attention.attention_head_size
    texts, length = hidden.shape[:2]
    query = attention.query_proj(asking).view(texts, -1, heads, width).transpose(1, 2) / math.sqrt(2 * width)
    key, value = (
        part(hidden).view(texts, length, heads, width).transpose(1, 2)
        for part in (attention.key_proj, attention.value_proj)
    )
    # the column at `length - 1 + d` is for a key that stands `d` behind its query
    ahead = attention.key_proj(attention.pos_dropout(near)).view(2 * length, heads, width).permute(1, 2, 0)
    if asking.shape[1] == 1:
        placed = query @ ahead[..., length - 1 : 2 * length - 1]
    else:
        # row i holds the distances 1 - length … length; cut and folded so that column j of row i is distance j - i
        told = (query @ ahead).flatten(2)[:, :, length - 1 : length - 1 + length * (2 * length - 1)]
        placed = told.view(texts, heads, length, 2 * length - 1)[..., :length]
    left_out = attention.dropout.p if layer.training else 0.0
    seen = nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=placed + penalty.to(placed.dtype), dropout_p=left_out, scale=1.0
    )
    attended = layer.attention.output(seen.transpose(1, 2).flatten(2), asking)
    return layer.output(layer.intermediate(attended), attended)


@lru_cache(maxsize=64)
def _near(buckets: int, longest: int, length: int, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(mode=False):  # what is kept is also trained with
        return distances(buckets, longest)[longest - length : longest + length].to(device)


def distances(buckets: int, length: int) -> torch.Tensor:
    """The row of the relative embeddings for a key `d` behind its query, d from 1 - length to length."""
    ahead = -torch.arange(1 - length, length + 1)  # transformers counts the other way
    place = make_log_bucket_position(ahead, buckets, length).long()
    return (place + buckets).clamp(0, 2 * buckets - 1)


def require_warm(model: DebertaV2ForSequenceClassification) -> None:
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
