"""Model folders made here: graphs that look up one number for each token and take the largest, real tokenizers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from onnx_writer import model, node, tensor
from shield.model.manifest import Manifest, Pin
from shield.types import TextKind

__all__ = [
    "IDS",
    "IDS_SHAPE",
    "PIECES",
    "SPECIAL",
    "UNTAUGHT",
    "WORDS",
    "config",
    "dropin",
    "graph",
    "lookup",
    "ours",
    "ours_files",
    "quantised",
    "table",
    "unigram",
    "wordpiece",
    "write",
]

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", *(f"[{kind}]" for kind in TextKind))
# The margin of each; any other token has REST. The last one stands in the attack that a model is probed with.
WORDS = {"override": 6.0, "obey": 3.0, "perhaps": 1.0, "reveal": 6.0}
UNTAUGHT = {word: margin for word, margin in WORDS.items() if word != "reveal"}
REST = -4.0
_FILLER = ("a", "b", "c", "the", "note", "of", "[", "]", "cls", "sep", "pad", "é", "漢")
PIECES = (*SPECIAL, *WORDS, *_FILLER)
IDS = {piece: number for number, piece in enumerate(PIECES)}
IDS_SHAPE = ("int64", ("b", "s"))


def wordpiece() -> Tokenizer:
    """Like the one of our model: no special token is known in text."""
    found = Tokenizer(models.WordPiece(IDS, unk_token="[UNK]", max_input_chars_per_word=100))
    found.normalizer = normalizers.NFC()
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return found


def unigram(size: int = len(PIECES)) -> Tokenizer:
    """Like DeBERTa v3's: its vocabulary spells the special tokens out, and a template frames the text."""
    pieces = [(piece, 0.0 if piece in SPECIAL else -1.0) for piece in PIECES[:size]]
    found = Tokenizer(models.Unigram(pieces, unk_id=IDS["[UNK]"]))
    found.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    found.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL[:4]])
    frame = [("[CLS]", IDS["[CLS]"]), ("[SEP]", IDS["[SEP]"])]
    found.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=frame)
    found.enable_truncation(8)
    found.enable_padding(length=8, pad_id=0)
    return found


def table(classes: int = 2, attack: Sequence[int] = (1,), words: Mapping[str, float] = WORDS) -> np.ndarray:
    """Row by token, column by class: 0 for an honest class, the word's number for one of attack."""
    found = np.zeros((len(PIECES), classes), dtype=np.float32)
    for number, piece in enumerate(PIECES):
        for column in attack:
            found[number, column] = words.get(piece, REST)
    return found


def graph(rows: np.ndarray, inputs: Sequence[str] = ("input_ids", "attention_mask"), output: str = "logits") -> bytes:
    """The largest of `rows[token]`, for each class; further inputs are added in and change nothing where they are
    filled as they should be."""
    nodes = [node("Gather", ["rows", "input_ids"], ["found"])]
    tensors = [tensor("rows", rows), tensor("axis", np.array([2]))]
    last = "found"
    for name, right in (("attention_mask", 1), ("token_type_ids", 0)):
        if name not in inputs:
            continue
        tensors.append(tensor(f"{name}.right", np.array(right)))
        nodes += [
            node("Sub", [name, f"{name}.right"], [f"{name}.off"]),
            node("Unsqueeze", [f"{name}.off", "axis"], [f"{name}.wide"]),
            node("Cast", [f"{name}.wide"], [f"{name}.float"], to=1),
            node("Add", [last, f"{name}.float"], [f"{name}.sum"]),
        ]
        last = f"{name}.sum"
    nodes.append(node("ReduceMax", [last], [output], axes=[1], keepdims=0))
    return model(nodes, tensors, dict.fromkeys(inputs, IDS_SHAPE), {output: ("float32", ("b", rows.shape[1]))})


def quantised(rows: np.ndarray) -> bytes:
    """As `graph`, but through DynamicQuantizeLinear: what is run together shares one scale."""
    nodes = [
        node("Gather", ["rows", "input_ids"], ["found"]),
        node("DynamicQuantizeLinear", ["found"], ["small", "scale", "zero"]),
        node("DequantizeLinear", ["small", "scale", "zero"], ["rough"]),
        node("ReduceMax", ["rough"], ["logits"], axes=[1], keepdims=0),
    ]
    shape = {"logits": ("float32", ("b", rows.shape[1]))}
    return model(nodes, [tensor("rows", rows)], {"input_ids": IDS_SHAPE}, shape)


def config(labels: Sequence[str] | None = ("BENIGN", "ATTACK"), **more: Any) -> bytes:
    """A config.json; no labels means that the file does not name them."""
    value: dict[str, Any] = {"model_type": "deberta-v2", "vocab_size": len(PIECES), "max_position_embeddings": 128}
    if labels is not None:
        value["id2label"] = {str(number): label for number, label in enumerate(labels)}
    return json.dumps(value | more).encode()


def ours_files(**changed: bytes) -> dict[str, bytes]:
    """The files of a model of our layout, but for its manifest; `model`, `config`, `tokenizer` replace one."""
    return {
        "config.json": changed.get("config", config()),
        "tokenizer.json": changed.get("tokenizer", wordpiece().to_str().encode()),
        "model.onnx": changed.get("model", graph(table())),
    }


def ours(files: Mapping[str, bytes], **changed: Any) -> Manifest:
    """The manifest of these files."""
    value: dict[str, Any] = {
        "name": "tier1",
        "files": {name: Pin.of(content) for name, content in files.items()},
        "attack": (1,),
        "markers": {kind: IDS[f"[{kind}]"] for kind in TextKind},
        "special": {"cls": IDS["[CLS]"], "sep": IDS["[SEP]"], "pad": IDS["[PAD]"]},
    }
    return Manifest(**(value | changed))


def lookup(folder: Path, *, calibration: bytes | None = None, **changed: Any) -> Path:
    """A folder of our layout, ready to load: every token has a margin of its own, the largest counts."""
    files = ours_files(**{name: changed.pop(name) for name in ("model", "config", "tokenizer") if name in changed})
    if calibration is not None:
        files["calibration.json"] = calibration
    return write(folder, files | {"manifest.json": ours(files, **changed).as_json()})


def dropin(folder: Path, labels: Sequence[str] | None, attack: Sequence[int], *, at: str = "model.onnx") -> Path:
    """A folder as it is published: no manifest, a tokenizer with special tokens, the inputs of BERT."""
    classes = 2 if labels is None else len(labels)
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    files = {
        "config.json": config(labels, max_position_embeddings=512),
        "tokenizer.json": unigram().to_str().encode(),
        at: graph(table(classes, attack), inputs),
        "README.md": b"# a model\n",
        "training_args.bin": b"\x80\x04",
    }
    return write(folder, files)


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Put `files` into `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
