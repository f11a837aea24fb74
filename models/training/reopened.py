"""A shipped model as one that can be trained: its weights, read back out of the graph that `export` made of them.

What 8 bits rounded away stays away, and so do the biases of keys, on which no share of attention depends. The
embeddings of relative positions are in the graph as each layer's keys of them only, and are solved for. So the margins
are those of the graph, but for what 8 bits of activation do (`RESULTS.md`).
"""

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from transformers import AutoConfig, DebertaV2ForSequenceClassification

__all__ = ["ReopenError", "reopened", "started_from"]

_GRAPH = "model.onnx"

_ROUNDS = 50  # more change nothing
_SHOWN = 0.1  # of the spread of most


class ReopenError(ValueError):
    """A graph that `export` has not made: what it lacks."""


def reopened(folder: Path) -> DebertaV2ForSequenceClassification:
    """The encoder of the model in `folder`, without its wide part.

    Raises ReopenError for a model that was not made by `python -m models.training.ship`.
    """
    try:
        config = AutoConfig.from_pretrained(folder)
        graph = onnx.load(folder / _GRAPH).graph
    except (OSError, ValueError) as error:
        raise ReopenError(f"{folder} is not the folder of a shipped model: {error}") from None
    if config.model_type != "deberta-v2":
        raise ReopenError(f"{folder} is not a model of `models.training.ship`: its type is {config.model_type}")
    model = DebertaV2ForSequenceClassification(config)
    tensors = {tensor.name: torch.from_numpy(np.array(numpy_helper.to_array(tensor))) for tensor in graph.initializer}
    products = {node.name: node.input[1] for node in graph.node if node.op_type == "MatMulInteger"}
    try:
        _fill(model, tensors, products)
    except KeyError as error:
        raise ReopenError(f"{folder} is not a model of `models.training.ship`: its graph has no {error}") from None
    return model.eval()


def started_from(folder: Path) -> str:
    """The digest that tells which model's weights these are. Raises ReopenError where there is none."""
    try:
        return f"sha256:{hashlib.sha256((folder / _GRAPH).read_bytes()).hexdigest()}"
    except OSError as error:
        raise ReopenError(f"{folder} is not the folder of a shipped model: {error}") from None


@torch.no_grad()
def _fill(
    model: DebertaV2ForSequenceClassification, tensors: Mapping[str, torch.Tensor], products: Mapping[str, str]
) -> None:
    state = model.state_dict()

    def product(name: str) -> torch.Tensor:
        held = products[f"/lean/{name}/MatMul_quant"].removesuffix("_quantized")
        return (tensors[f"{held}_quantized"].float() * tensors[f"{held}_scale"]).T

    for name, weight in state.items():
        if name in tensors:
            weight.copy_(tensors[name])
    words = "deberta.embeddings.word_embeddings.weight"
    offset = tensors[f"{words}_zero_point"].float()
    state[words].copy_((tensors[f"{words}_quantized"].float() - offset) * tensors[f"{words}_scale"])
    for name in ("pooler.dense", "classifier"):
        state[f"{name}.weight"].copy_(tensors[f"{name}.weight_Transposed"].T)
    config = model.config
    grown = math.sqrt(2 * config.hidden_size // config.num_attention_heads)
    last = config.num_hidden_layers - 1
    for place in range(last + 1):
        here, there, ours = f"deberta.encoder.layer.{place}", f"layers.{place}", f"lean.layers.{place}"
        if place < last:
            key = product(f"{there}/key")
            value, value_bias = product(f"{there}/value"), tensors[f"{ours}.value.bias"]
        else:
            key = tensors[f"{ours}.key"].flatten(0, 1)
            value, value_bias = tensors[f"{ours}.value"].transpose(1, 2).flatten(0, 1), tensors[f"{ours}.value_bias"]
        made = {
            "query": (product(f"{there}/query") * grown, tensors[f"{ours}.query.bias"] * grown),
            "key": (key, torch.zeros(config.hidden_size)),
            "value": (value, value_bias.flatten()),
        }
        for name, (weight, bias) in made.items():
            state[f"{here}.attention.self.{name}_proj.weight"].copy_(weight)
            state[f"{here}.attention.self.{name}_proj.bias"].copy_(bias)
        state[f"{here}.attention.output.dense.weight"].copy_(product(f"{there}/output/dense"))
        state[f"{here}.intermediate.dense.weight"].copy_(product(f"{there}/intermediate/dense"))
        state[f"{here}.output.dense.weight"].copy_(product(f"{there}/output/dense_1"))
    _positions(model, [tensors[f"lean.layers.{place}.near"] for place in range(last + 1)])


def _positions(model: DebertaV2ForSequenceClassification, keys: list[torch.Tensor]) -> None:
    """Of what each layer makes of the embeddings of relative positions, the embeddings, and how they are normed."""
    encoder = model.deberta.encoder
    weights = torch.cat([layer.attention.self.key_proj.weight for layer in encoder.layer])
    made = torch.cat([told.permute(2, 0, 1).flatten(1) for told in keys], dim=1)
    wanted = torch.linalg.lstsq(weights.double(), made.T.double()).solution.T
    # a distance that no text has shown is still at nothing, which the norm leaves as it is
    shown = wanted.var(1) > _SHOWN * wanted.var(1).median()
    scale, shift = wanted[shown].std() * torch.ones_like(wanted[0]), torch.zeros_like(wanted[0])
    plain = torch.zeros_like(wanted)
    for _ in range(_ROUNDS):
        plain[shown] = nn.functional.layer_norm((wanted[shown] - shift) / scale, shift.shape)
        mean, there = plain[shown].mean(0), wanted[shown].mean(0)
        scale = ((plain[shown] - mean) * (wanted[shown] - there)).sum(0) / (plain[shown] - mean).square().sum(0)
        shift = there - scale * mean
    encoder.rel_embeddings.weight.copy_(plain)
    encoder.LayerNorm.weight.copy_(scale)
    encoder.LayerNorm.bias.copy_(shift)
