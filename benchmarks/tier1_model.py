"""The text model as a service runs it: one window a run, beside a graph of DeBERTa v3 base's shape.

CPU time, medians; every text is new, so that nothing comes from the cache but where the cache is measured. Loading and
memory are those of a fresh process, imports included, memory after a text of 16 windows was read.
"""

import json
import math
import random
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from onnx_writer import model, node, tensor
from row import Row, cpu_us
from shield.model.scorer import Scorer, load_scorer
from shield.model.session import Session
from shield.resources import data_folder
from shield.types import TextKind

ROUNDS = 41
BODY = 125  # tokens of a text in a window of 128
STRIDE = 64
LAYERS, HIDDEN, HEADS, INNER, BUCKETS = 12, 768, 12, 3_072, 512  # DeBERTa v3 base; 512 is 2 x 256 position buckets
PEER = "v3-base int8"

FRESH = """
import sys, time
from pathlib import Path
from shield.model.scorer import load_scorer
from shield.types import TextKind
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))
before, begun = resident(), time.process_time()
scorer = load_scorer(Path(sys.argv[1]))
loaded = time.process_time() - begun
scorer.read([(sys.argv[2], TextKind.PROSE)])
print(loaded, (resident() - before) / 1024)
"""


def rows(folder: Path | None = None) -> Iterator[Row]:
    """The rows `tier1.window128.cpu tier1.batch16.cpu tier1.cache_hit tier1.load tier1.rss`, `tier1.batch16.wall`, how
    long a caller waits for the 16, and the peer's."""
    folder = folder or data_folder("models/tier1")
    scorer = load_scorer(folder)
    texts = random.Random(1)  # the same texts in every run
    peer = Session(v3_base(), classes=2, attack=(1,))
    ids = [texts.randrange(1_000) for _ in range(BODY + 3)]
    ours, theirs = [], []
    for _ in range(ROUNDS):  # in turns, so that both meet the same neighbours
        ours.append(_new_text_ms(scorer, texts, BODY))
        theirs.append(_ms(lambda: peer.margin(ids)))
    window, base = statistics.median(ours), statistics.median(theirs)
    yield Row(name="tier1.window128.cpu", median=window, unit="ms", goal=10.0, peer=PEER, ratio=base / window)
    yield Row(name="tier1.peer.window128.cpu", median=base, unit="ms")
    many = [_new_text_ms(scorer, texts, BODY + 15 * STRIDE) for _ in range(ROUNDS // 3)]
    yield Row(name="tier1.batch16.cpu", median=statistics.median(many), unit="ms", goal=100.0)
    waited = [_new_text_ms(scorer, texts, BODY + 15 * STRIDE, clock=time.perf_counter) for _ in range(ROUNDS // 3)]
    yield Row(name="tier1.batch16.wall", median=statistics.median(waited), unit="ms")
    known = [(_text(texts, 1_000), TextKind.PROSE)]
    yield Row(name="tier1.cache_hit", median=cpu_us(lambda: scorer.read(known)), unit="us", goal=50.0)
    fresh = [_fresh(folder, _text(texts, BODY + 15 * STRIDE)) for _ in range(5)]
    yield Row(name="tier1.load", median=statistics.median(load for load, _ in fresh), unit="s", goal=1.0)
    yield Row(name="tier1.rss", median=statistics.median(size for _, size in fresh), unit="MB", goal=150.0)


def v3_base(length: int = BODY + 3) -> bytes:
    """Random int8 weights in the shape of DeBERTa v3 base, for one window of `length` tokens.

    Kinder to the peer than its own export: the projections of the positions are folded, and 1,000 of its 128,100
    embeddings do for the look-ups.
    """
    made = np.random.default_rng(1)
    steps = np.arange(length)
    index = (steps[:, None] - steps[None, :] + BUCKETS // 2).reshape(1, 1, length, length)
    tensors = [
        tensor("embeddings", made.standard_normal((1_000, HIDDEN), np.float32)),
        tensor("one", np.ones(HIDDEN, np.float32)),
        tensor("nought", np.zeros(HIDDEN, np.float32)),
        tensor("scale", np.float32([0.001])),
        tensor("index", np.broadcast_to(index, (1, HEADS, length, length)).astype(np.int64)),
        tensor("split", np.array([0, 0, HEADS, HIDDEN // HEADS])),
        tensor("joined", np.array([0, 0, HIDDEN])),
        tensor("root", np.float32(1 / math.sqrt(3 * HIDDEN / HEADS))),
        tensor("first", np.array(0)),
        tensor("head", made.standard_normal((HIDDEN, 2), np.float32)),
    ]
    nodes = [
        node("Gather", ["embeddings", "input_ids"], ["embedded"]),
        node("LayerNormalization", ["embedded", "one", "nought"], ["x0"]),
    ]
    for layer in range(LAYERS):
        found = _layer(f"l{layer}.", f"x{layer}", f"x{layer + 1}", made)
        nodes += found[0]
        tensors += found[1]
    nodes += [
        node("Gather", [f"x{LAYERS}", "first"], ["cls"], axis=1),
        node("MatMul", ["cls", "head"], ["logits"]),
    ]
    return model(nodes, tensors, {"input_ids": ("int64", ("b", length))}, {"logits": ("float32", ("b", 2))})


def _layer(at: str, x: str, out: str, made: np.random.Generator) -> tuple[list[bytes], list[bytes]]:
    """One layer: attention of content to content, content to position and position to content, and the two dense."""
    nodes: list[bytes] = []
    tensors: list[bytes] = []

    def dense(source: str, target: str, rows: int, columns: int) -> None:
        weights = made.integers(-127, 128, (rows, columns), np.int8)
        tensors.append(tensor(f"{at}{target}.w", weights))
        inputs = [source, f"{at}{target}.w", "scale"]
        nodes.append(node("DynamicQuantizeMatMul", inputs, [f"{at}{target}"], domain="com.microsoft"))

    def then(operator: str, inputs: list[str], target: str, **more: int | list[int]) -> None:
        nodes.append(node(operator, inputs, [target], **more))

    for name in ("q", "k", "v"):
        dense(x, name, HIDDEN, HIDDEN)
        then("Reshape", [f"{at}{name}", "split"], f"{at}{name}.split")
        then("Transpose", [f"{at}{name}.split"], f"{at}{name}h", perm=[0, 2, 1, 3])
    then("Transpose", [f"{at}kh"], f"{at}kt", perm=[0, 1, 3, 2])
    then("MatMul", [f"{at}qh", f"{at}kt"], f"{at}cc")
    for name in ("q", "k"):
        positions = made.standard_normal((1, HEADS, HIDDEN // HEADS, BUCKETS), np.float32)
        tensors.append(tensor(f"{at}{name}.positions", positions))
        then("MatMul", [f"{at}{name}h", f"{at}{name}.positions"], f"{at}{name}.all")
        then("GatherElements", [f"{at}{name}.all", "index"], f"{at}{name}.near", axis=3)
    then("Transpose", [f"{at}k.near"], f"{at}pc", perm=[0, 1, 3, 2])
    then("Add", [f"{at}cc", f"{at}q.near"], f"{at}two")
    then("Add", [f"{at}two", f"{at}pc"], f"{at}three")
    then("Mul", [f"{at}three", "root"], f"{at}scores")
    then("Softmax", [f"{at}scores"], f"{at}weights", axis=-1)
    then("MatMul", [f"{at}weights", f"{at}vh"], f"{at}mixed")
    then("Transpose", [f"{at}mixed"], f"{at}turned", perm=[0, 2, 1, 3])
    then("Reshape", [f"{at}turned", "joined"], f"{at}context")
    dense(f"{at}context", "o", HIDDEN, HIDDEN)
    then("Add", [f"{at}o", x], f"{at}a")
    then("LayerNormalization", [f"{at}a", "one", "nought"], f"{at}an")
    dense(f"{at}an", "up", HIDDEN, INNER)
    nodes.append(node("Gelu", [f"{at}up"], [f"{at}g"], domain="com.microsoft"))
    dense(f"{at}g", "down", INNER, HIDDEN)
    then("Add", [f"{at}down", f"{at}an"], f"{at}b")
    then("LayerNormalization", [f"{at}b", "one", "nought"], out)
    return nodes, tensors


def _text(texts: random.Random, words: int) -> str:
    """Single letters, each a token of its own."""
    return " ".join(texts.choices(string.ascii_lowercase, k=words))


def _new_text_ms(
    scorer: Scorer, texts: random.Random, words: int, *, clock: Callable[[], float] = time.process_time
) -> float:
    text = _text(texts, words)
    return _ms(lambda: scorer.read([(text, TextKind.PROSE)]), clock)


def _ms(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    begun = clock()
    work()
    return (clock() - begun) * 1e3


def _fresh(folder: Path, text: str) -> tuple[float, float]:
    """CPU seconds to load, MB of memory more than before."""
    command = [sys.executable, "-c", FRESH, str(folder), text]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    load, size = map(float, done.stdout.split())
    return load, size


if __name__ == "__main__":
    for row in rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        print(json.dumps(row.shape()), flush=True)
