"""From the trained model to the graph that is shipped: exported, folded, quantised, and held against its origin."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantFormat, QuantizationMode, QuantType
from optimum.exporters.onnx import main_export
from optimum.exporters.onnx.model_configs import DebertaV2OnnxConfig
from optimum.exporters.onnx.model_patcher import ModelPatcher
from optimum.onnxruntime import ORTQuantizer
from optimum.onnxruntime.configuration import QuantizationConfig
from transformers import AutoConfig, DebertaV2ForSequenceClassification, PretrainedConfig

from models.training.lean import Lean
from models.training.wide import Wide, WithWide, load_wide

__all__ = ["Parity", "compared", "export"]

_TASK = "text-classification"
_OPSET = 17
_MATRIX = 2
# 7 bits of weight: a processor without VNNI adds two 8-bit products in 16 bits, which 8 bits of weight overflow
_SEVEN_BITS = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """How far a graph is from the model that it was made of, over `rows` texts.

    `margin` is the largest difference of margins, `share` that of the attack's probabilities; `flips` counts the
    texts that stand on the other side of one half.
    """

    rows: int
    margin: float
    share: float
    flips: int


def export(trained: Path, out: Path) -> tuple[Path, Path]:
    """The graph in single precision, folded, and the one in 8 bits: `out/single.onnx` and `out/model.onnx`.

    `trained` is a folder of transformers' with a model as `encoder.warm` makes it, and the wide part. The same weights
    give the same bytes.
    """
    out.mkdir(parents=True, exist_ok=True)
    single, small = out / "single.onnx", out / "model.onnx"
    config = AutoConfig.from_pretrained(trained)
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        raw = Path(scratch)
        main_export(
            str(trained),
            raw,
            task=_TASK,
            opset=_OPSET,
            local_files_only=True,
            custom_onnx_configs={"model": _LeanConfig(config, task=_TASK, wide=load_wide(trained))},
            batch_size=1,
            do_validation=False,  # it would try two texts at once; `compared` tells more
        )
        _fold(raw / "model.onnx", single)
        (raw / "model.onnx").unlink()
        os.link(single, raw / "model.onnx")
        quantizer = ORTQuantizer.from_pretrained(raw, file_name="model.onnx")
        made = quantizer.quantize(save_dir=raw, quantization_config=_dynamic(onnx.load(single)))
        _stripped(made / "model_quantized.onnx", small)
    return single, small


def compared(graph: Path, model: WithWide, ids: Sequence[Sequence[int]]) -> Parity:
    """`graph` against `model` on token ids, one text at a time and none padded, as they are read at run time."""
    torch.set_num_threads(1)  # threads that wait for each other are slower on a busy machine, and short texts need none
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    ours, theirs = [], []
    with torch.inference_mode():
        for row in ids:
            tokens = np.asarray([row], dtype=np.int64)
            (found,) = session.run(["logits"], {"input_ids": tokens})
            asked = torch.from_numpy(tokens)
            known = model(asked, torch.ones_like(asked))["logits"]
            ours.append(float(found[0, 1] - found[0, 0]))
            theirs.append(float(known[0, 1] - known[0, 0]))
    ours_, theirs_ = np.asarray(ours), np.asarray(theirs)
    return Parity(
        rows=len(ids),
        margin=float(np.abs(ours_ - theirs_).max(initial=0.0)),
        share=float(np.abs(_share(ours_) - _share(theirs_)).max(initial=0.0)),
        flips=int(((ours_ > 0) != (theirs_ > 0)).sum()),
    )


class _LeanPatcher(ModelPatcher):
    """Lets the exporter see `Lean` in the place of the model's own arithmetic."""

    def __init__(self, config: "_LeanConfig", model: DebertaV2ForSequenceClassification, **given: Any) -> None:
        super().__init__(config, model, **given)
        model.lean = Lean(model, config.wide).eval()

        def forward(input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
            return model.lean(input_ids)

        self.patched_forward = forward


class _LeanConfig(DebertaV2OnnxConfig):
    _MODEL_PATCHER = _LeanPatcher

    def __init__(self, config: PretrainedConfig, *, wide: Wide, **given: Any) -> None:
        super().__init__(config, **given)
        self.wide = wide

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        return {"input_ids": {1: "sequence_length"}}

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        return {"logits": {}}


def _dynamic(graph: onnx.ModelProto) -> QuantizationConfig:
    """Products of all tokens with weights, and the word embeddings; products of two activations, what the last layer
    makes of one token's heads, and the head of the classifier stay as they are."""
    weights = {tensor.name for tensor in graph.graph.initializer if len(tensor.dims) == _MATRIX}
    chosen = [
        node.name
        for node in graph.graph.node
        if (node.op_type == "MatMul" and node.input[1] in weights)
        or (node.op_type == "Gather" and "word_embeddings" in node.input[0])
    ]
    return QuantizationConfig(
        is_static=False,
        format=QuantFormat.QOperator,
        mode=QuantizationMode.IntegerOps,
        activations_dtype=QuantType.QUInt8,
        weights_dtype=QuantType.QInt8,
        weights_symmetric=True,
        per_channel=True,
        reduce_range=_SEVEN_BITS,
        operators_to_quantize=["MatMul", "Gather"],
        nodes_to_quantize=chosen,
    )


def _fold(source: Path, target: Path) -> None:
    """What is constant is computed here instead of at every load; nothing that depends on this processor. A product
    and its bias stay two steps, since as one they are not quantised."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(
        source, options, providers=["CPUExecutionProvider"], disabled_optimizers=["MatMulAddFusion"]
    )


def _stripped(source: Path, target: Path) -> None:
    """Without notes of who made it; one file."""
    graph = onnx.load(source)
    graph.doc_string = ""
    del graph.metadata_props[:]
    for node in graph.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    onnx.checker.check_model(graph)
    target.write_bytes(graph.SerializeToString(deterministic=True))


def _share(margins: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-margins))
