"""One ONNX graph in onnxruntime: token ids in, the margin of attack over the rest out.

One window a run, without padding. A dynamically quantised graph takes the scale of its activations over all that is
run together, so neighbours and padding would change a score; and 16 windows of 128 tokens in one run took 17.9 ms
each against 17.4 alone, with 66 MB more memory (6 layers of 384, one core, 2026-11-22).
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from shield.errors import ModelError
from shield.model.graph import check_graph
from shield.model.runtime import onnxruntime

__all__ = ["Session"]

_TYPES: Final = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
# The fused kernel is not vectorised: .31 ms where the two it replaces take .08 (128 x 384, onnxruntime 1.31.1)
_DISABLED: Final = ("SkipLayerNormFusion",)
_FILLS: Final = {"input_ids": None, "attention_mask": 1, "token_type_ids": 0}  # what each input is filled with


class Session:
    """Runs one graph; `margin` may be called from several threads.

    Raises:
        ModelError: the graph is refused, does not load, or asks for other inputs than those of a text classifier.
    """

    def __init__(self, model: bytes, *, classes: int, attack: tuple[int, ...]) -> None:
        check_graph(model)
        try:
            self._session: Any = onnxruntime.InferenceSession(
                model,
                _options(),
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_DISABLED,
                enable_fallback=0,  # it would print to stdout, and try the same again
                read_config_from_model=0,  # the file may not choose how it is run
            )
        except Exception as error:  # noqa: BLE001  # its errors have no common base but Exception
            raise ModelError(f"the graph does not load: {_first_line(error)}; export the model again") from None
        self._inputs = {entry.name: entry.type for entry in self._session.get_inputs()}
        self._output: str = self._pick_output()
        self._classes = classes
        self._attack = attack
        self._others = tuple(number for number in range(classes) if number not in attack)
        if "input_ids" not in self._inputs:
            raise ModelError("the graph has no input `input_ids`; export it as a text classifier")
        for name, kind in self._inputs.items():
            if name not in _FILLS or kind not in _TYPES:
                known = ", ".join(_FILLS)
                raise ModelError(f"the graph wants `{name[:64]}` as {kind}; it may want {known}, as int64 or int32")

    def margin(self, ids: Sequence[int]) -> float:
        """How far the attack classes stand above the others for one window: a difference of logarithms, finite.

        Raises:
            ModelError: the graph failed, or answered with anything but one finite number a class.
        """
        feed = {}
        for name, kind in self._inputs.items():
            fill = _FILLS[name]
            feed[name] = np.array([ids if fill is None else [fill] * len(ids)], dtype=_TYPES[kind])
        try:
            logits = self._session.run([self._output], feed)[0]
        except Exception as error:  # noqa: BLE001  # its errors have no common base but Exception
            raise ModelError(f"the model failed on {len(ids)} tokens: {_first_line(error)}; adopt another") from None
        shape = getattr(logits, "shape", None)
        if shape != (1, self._classes):
            shown = list(shape) if shape is not None else type(logits).__name__
            raise ModelError(f"the graph answers with {shown} where [1, {self._classes}] is due; adopt a classifier")
        try:
            row = [float(value) for value in logits[0]]
        except (TypeError, ValueError):
            raise ModelError("the graph answers with something else than numbers; adopt a classifier") from None
        if not all(map(math.isfinite, row)):
            raise ModelError("the graph answers with NaN or infinity; the model is damaged, install or adopt it again")
        return _log_sum(row, self._attack) - _log_sum(row, self._others)

    def _pick_output(self) -> str:
        names = [str(entry.name) for entry in self._session.get_outputs()]
        if not names:
            raise ModelError("the graph has no output; export it as a text classifier")
        return "logits" if "logits" in names else names[0]


def _options() -> Any:
    options = onnxruntime.SessionOptions()
    # One thread a call: two were slower as soon as the cores had other work. Free cores read other windows (`Hands`).
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    # One window at a time, so the arena stays at one window's activations for each thread that calls.
    options.enable_cpu_mem_arena = True
    options.log_severity_level = 4  # what goes wrong comes as an exception
    return options


def _log_sum(row: list[float], classes: tuple[int, ...]) -> float:
    top = max(row[number] for number in classes)
    return top + math.log(math.fsum(math.exp(row[number] - top) for number in classes))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
