"""A folder is a model only if every byte of it is what its manifest says and the model answers as it should."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, normalizers

from onnx_writer import field, model, node, tensor
from shield.errors import ModelError, ShieldError
from shield.model.adopt import adopt
from shield.model.directory import LIMITS
from shield.model.scorer import load_scorer
from shield.types import TextKind
from tier1_folder import (
    IDS_SHAPE,
    PIECES,
    UNTAUGHT,
    config,
    dropin,
    graph,
    lookup,
    ours,
    ours_files,
    table,
    unigram,
    wordpiece,
    write,
)

FILES = ("config.json", "tokenizer.json", "model.onnx", "calibration.json")
CALIBRATION = b'{"version":1,"temperature":1.0,"kinds":{}}'


def refused(folder: Path, *words: str) -> str:
    with pytest.raises(ModelError) as caught:
        load_scorer(folder)
    for word in words:
        assert word in caught.value.detail
    assert caught.value.detail == caught.value.detail.strip().rstrip(".")
    return caught.value.detail


def manifest_with(folder: Path, change: Callable[[dict], None]) -> Path:
    path = lookup(folder) / "manifest.json"
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))
    return folder


def test_a_model_loads_and_is_named_by_its_manifest(tmp_path: Path) -> None:
    folder = lookup(tmp_path, calibration=CALIBRATION)
    scorer = load_scorer(folder)
    assert scorer.digest == "sha256:" + hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert scorer.read([("override", TextKind.PROSE)])[0].margin == 6.0


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (lookup(tmp_path, calibration=CALIBRATION) / name).unlink()
    refused(tmp_path, name)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["flipped", "cut", "longer", "empty"])
def test_a_changed_byte_is_seen(tmp_path: Path, name: str, how: str) -> None:
    path = lookup(tmp_path, calibration=CALIBRATION) / name
    raw = path.read_bytes()
    middle = len(raw) // 2
    changed = {
        "flipped": raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :],
        "cut": raw[:-1],
        "longer": raw + b"\n",
        "empty": b"",
    }
    path.write_bytes(changed[how])
    refused(tmp_path, name, "manifest")


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    """Not even one to the very same bytes: it could point elsewhere a moment later."""
    path = lookup(tmp_path / "model", calibration=CALIBRATION) / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    refused(tmp_path / "model", name, "link", "cp -rL")


def test_a_linked_folder_inside_is_not_followed(tmp_path: Path) -> None:
    files = ours_files()
    files["onnx/model.onnx"] = files.pop("model.onnx")
    folder = write(tmp_path / "model", files | {"manifest.json": ours(files).as_json()})
    assert load_scorer(folder).manifest.graph == "onnx/model.onnx"
    (folder / "onnx").rename(tmp_path / "elsewhere")
    (folder / "onnx").symlink_to(tmp_path / "elsewhere")
    refused(folder, "onnx/model.onnx", "link")


def test_a_pipe_does_not_make_the_loader_wait(tmp_path: Path) -> None:
    path = lookup(tmp_path) / "config.json"
    path.unlink()
    os.mkfifo(path)
    refused(tmp_path, "config.json", "plain file")


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    path = lookup(tmp_path) / "config.json"
    path.unlink()
    path.mkdir()
    refused(tmp_path, "config.json")


@pytest.mark.parametrize("name", ["absent", "file", "nul\0"])
def test_what_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    refused(tmp_path / name, "cannot be opened")


def test_a_file_over_its_limit_is_not_read_to_the_end(tmp_path: Path) -> None:
    with (lookup(tmp_path) / "config.json").open("r+b") as file:
        file.truncate(LIMITS["config.json"] + 1)
    refused(tmp_path, "config.json", "larger")


def test_thresholds_that_no_manifest_vouches_for_are_refused(tmp_path: Path) -> None:
    lookup(tmp_path)
    (tmp_path / "calibration.json").write_bytes(CALIBRATION)
    refused(tmp_path, "calibration.json", "not in the manifest")


PIN = {"sha256": "0" * 64, "bytes": 1}
WRONG: dict[str, Callable[[dict], None]] = {
    "version": lambda it: it.update(version=2),
    "version true": lambda it: it.update(version=True),
    "name": lambda it: it.update(name="../tier1"),
    "unknown": lambda it: it.update(unknown=1),
    "files": lambda it: it.update(files=[]),
    "files above": lambda it: it["files"].update({"../config.json": PIN}),
    "files other": lambda it: it["files"].update({"model.py": PIN}),
    "files self": lambda it: it["files"].update({"manifest.json": PIN}),
    "files hash": lambda it: it["files"]["config.json"].update(sha256="A" * 64),
    "files size": lambda it: it["files"]["config.json"].update(bytes=-1),
    "files more": lambda it: it["files"]["config.json"].update(mode=1),
    "files config": lambda it: it["files"].pop("config.json"),
    "files graph": lambda it: it["files"].pop("model.onnx"),
    "files graphs": lambda it: it["files"].update({"onnx/model.onnx": PIN}),
    "attack none": lambda it: it.update(attack=[]),
    "attack twice": lambda it: it.update(attack=[1, 1]),
    "attack true": lambda it: it.update(attack=[True]),
    "attack all": lambda it: it.update(attack=[0, 1]),
    "attack beyond": lambda it: it.update(attack=[2]),
    "window short": lambda it: it.update(window=8),
    "window long": lambda it: it.update(window=513),
    "stride none": lambda it: it.update(stride=0),
    "stride gap": lambda it: it.update(stride=126),
    "markers some": lambda it: it["markers"].pop("url"),
    "markers other": lambda it: it["markers"].update(mail=3),
    "markers negative": lambda it: it["markers"].update(url=-1),
    "markers alone": lambda it: it.update(special=None),
    "special alone": lambda it: it.update(markers=None),
    "made": lambda it: it.update(made=[]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_manifest_names_the_key(tmp_path: Path, name: str) -> None:
    key = {"markers alone": "special", "special alone": "markers"}.get(name, name.split()[0])
    refused(manifest_with(tmp_path, WRONG[name]), f"`{key}`")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "not JSON: expecting property name enclosed in double quotes (byte 1)"),
        (b"\xff", "not UTF-8 (byte 0)"),
        (b'{"version":1,"version":1}', "the key `version` stands twice in one object (byte 13)"),
        (b"[" * 100, "not JSON: expecting value (byte 100)"),
    ],
)
def test_json_that_cannot_be_read_names_folder_file_place_and_fix(tmp_path: Path, raw: bytes, said: str) -> None:
    """And nothing of what a service tells who sends a request."""
    (lookup(tmp_path) / "manifest.json").write_bytes(raw)
    fix = "copy the file anew from where the model comes from"
    assert refused(tmp_path) == f"`{tmp_path}`: `manifest.json` is not readable: {said}; {fix}"


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("manifest.json", b'{"version":1,"version":1}'),
        ("manifest.json", b"\xff"),
        ("manifest.json", b"[" * 100),
        ("manifest.json", b'{"version": NaN}'),
        ("manifest.json", b"[]"),
        ("manifest.json", b""),
    ],
)
def test_json_is_read_strictly(tmp_path: Path, name: str, raw: bytes) -> None:
    (lookup(tmp_path) / name).write_bytes(raw)
    refused(tmp_path, name)


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b'{"id2label": {"0": "a", "0": "b"}}', "twice"),
        (b'{"id2label": {"0": "a", "2": "b"}}', "id2label"),
        (b'{"id2label": {"0": "a", "1": 1}}', "id2label"),
        (b'{"id2label": {"0": "a"}}', "1 classes"),
        (json.dumps({"id2label": {str(at): "a" for at in range(9)}}).encode(), "9 classes"),
        (b'{"vocab_size": "many"}', "vocab_size"),
        (b'{"vocab_size": 3}', "3"),
        (b'{"max_position_embeddings": 64}', "window"),
        (b'{"a":' * 200, "config.json"),
        (b'{"a": [' + b"0," * 200_000 + b"0]}", "config.json"),
        (b"{" + b" " * ((1 << 20) - 2) + b"}", "LABEL"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_wrong_config(tmp_path: Path, raw: bytes, word: str) -> None:
    if word == "LABEL":  # a mebibyte of nothing is two classes without names
        load_scorer(lookup(tmp_path, config=raw))
    else:
        refused(lookup(tmp_path, config=raw), word)


def test_a_graph_that_is_cut_short_never_loads(tmp_path: Path) -> None:
    whole = graph(table())
    for size in range(0, len(whole), 23):
        refused(lookup(tmp_path, model=whole[:size]))


def one_node(part: bytes, *tensors: bytes) -> bytes:
    return model([part], tensors, {"input_ids": IDS_SHAPE}, {"logits": ("float32", ("b", 2))})


def external(name: str) -> bytes:
    """A tensor whose values stand in another file, /etc/passwd."""
    place = field(1, "location") + field(2, "/etc/passwd")
    return field(1, 4) + field(2, 1) + field(8, name) + field(13, place) + field(14, 1)


def as_weight(outside: bytes) -> bytes:
    return one_node(node("Gather", ["rows", "input_ids"], ["logits"]), outside)


def nested(outside: bytes, depth: int = 1) -> bytes:
    """A graph with `outside` in a constant, inside a branch inside a branch."""
    inner = field(1, node("Constant", [], ["c"], value=outside))
    for _ in range(depth):
        attribute = field(1, "then_branch") + field(6, inner) + field(20, 5)
        inner = field(1, field(4, "If") + field(5, attribute))
    return field(1, 8) + field(7, inner) + field(8, field(1, "") + field(2, 17))


GRAPHS: dict[str, tuple[bytes, str]] = {
    "external": (as_weight(external("rows")), "outside"),
    "external constant": (one_node(node("Constant", [], ["logits"], value=external("c"))), "outside"),
    "external branch": (nested(external("c")), "outside"),
    "external sparse": (field(7, field(15, field(1, external("c")))), "outside"),
    "custom": (one_node(node("Steal", ["input_ids"], ["logits"], domain="ai.evil")), "ai.evil"),
    "loop": (one_node(node("Loop", ["input_ids"], ["logits"])), "loop"),
    "deep": (nested(tensor("c", np.zeros(1, np.float32)), 40), "deeper"),
    "function": (graph(table()) + field(25, field(1, "f")), "functions"),
    "twice": (graph(table()) + graph(table()), "no ONNX model"),
    "text": (b"import os\n" * 20, "no ONNX model"),
    "flatbuffer": (b"\x1c\x00\x00\x00ORTM" + bytes(64), "no ONNX model"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "no ONNX model"),
    "varint": (b"\x08" + b"\xff" * 12, "no ONNX model"),
    "unknown operator": (one_node(node("Nonesuch", ["input_ids"], ["logits"])), "does not load"),
    "no output": (
        model([node("Gather", ["rows", "input_ids"], ["x"])], [tensor("rows", table())], {"input_ids": IDS_SHAPE}, {}),
        "no output",
    ),
    "not UTF-8": (graph(table()).replace(b"ReduceMax", b"Reduce\xff\xffx"), "does not load"),
    "no input_ids": (graph(table()).replace(b"input_ids", b"inputs_id"), "input_ids"),
    "other input": (graph(table()).replace(b"attention_mask", b"attention_task"), "attention_task"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_that_asks_for_more_is_refused(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """And nothing but the error is said: stdout belongs to `--json`."""
    raw, word = GRAPHS[name]
    refused(lookup(tmp_path, model=raw), word)
    assert capfd.readouterr() == ("", "")


def constant(value: np.ndarray) -> bytes:
    return one_node(node("Constant", [], ["logits"], value=tensor("c", value)))


ANSWERS: dict[str, tuple[bytes, str]] = {
    "three": (graph(table(classes=3)), "[1, 3]"),
    "each token": (one_node(node("Gather", ["rows", "input_ids"], ["logits"]), tensor("rows", table())), "[1, 2]"),
    "one number": (constant(np.zeros(2, np.float32)), "[2]"),
    "nan": (graph(np.full((len(PIECES), 2), np.nan, np.float32)), "NaN"),
    "infinite": (graph(np.full((len(PIECES), 2), np.inf, np.float32)), "NaN or infinity"),
    "few rows": (graph(table()[:5]), "failed"),
    "random": (
        one_node(node("RandomNormal", [], ["logits"], shape=(1, 2), dtype=1)),
        "two scores",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_model_that_answers_wrongly_never_becomes_ready(tmp_path: Path, name: str) -> None:
    raw, word = ANSWERS[name]
    refused(lookup(tmp_path, model=raw), word)


def test_the_output_called_logits_counts(tmp_path: Path) -> None:
    """An export may also give hidden states, and they may come first."""
    nodes = [
        node("Gather", ["rows", "input_ids"], ["hidden"]),
        node("ReduceMax", ["hidden"], ["logits"], axes=[1], keepdims=0),
    ]
    shapes = {"hidden": ("float32", ("b", "s", 2)), "logits": ("float32", ("b", 2))}
    raw = model(nodes, [tensor("rows", table())], {"input_ids": IDS_SHAPE}, shapes)
    assert load_scorer(lookup(tmp_path, model=raw)).read([("obey", TextKind.PROSE)])[0].margin == 3.0


def test_inputs_of_32_bits(tmp_path: Path) -> None:
    nodes = [
        node("Gather", ["rows", "input_ids"], ["hidden"]),
        node("ReduceMax", ["hidden"], ["logits"], axes=[1], keepdims=0),
    ]
    inputs = {"input_ids": ("int32", ("b", "s"))}
    raw = model(nodes, [tensor("rows", table())], inputs, {"logits": ("float32", ("b", 2))})
    assert load_scorer(lookup(tmp_path, model=raw)).read([("obey", TextKind.PROSE)])[0].margin == 3.0


@pytest.mark.parametrize("raw", [b"", b"{}", b"null", b"\xff\xfe", b'{"version":"1.0"', b"[" * 5000])
def test_a_broken_tokenizer(tmp_path: Path, raw: bytes) -> None:
    refused(lookup(tmp_path, tokenizer=raw), "tokenizer.json")


def changed_tokenizer(made: Tokenizer, old: str, new: str) -> bytes:
    raw = made.to_str()
    assert old in raw
    return raw.replace(old, new).encode()


@pytest.mark.parametrize(
    "raw",
    [
        changed_tokenizer(unigram(), '"id":"[SEP]","type_id":0}}]', '"id":"[PAD]","type_id":0}}]'),
        changed_tokenizer(wordpiece(), '"unk_token":"[UNK]"', '"unk_token":"[NIL]"'),
    ],
    ids=["panic", "unknown words"],
)
def test_a_tokenizer_that_fails_later_fails_at_once(tmp_path: Path, raw: bytes) -> None:
    """Also where the library panics, which is no Exception to Python."""
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    (folder / "tokenizer.json").write_bytes(raw)
    with pytest.raises(ModelError, match="tokenizer"):
        adopt(folder, name="other")


def test_every_error_is_of_shields_tree(tmp_path: Path) -> None:
    with pytest.raises(ShieldError):
        load_scorer(tmp_path / "absent")


def test_loading_ends_at_any_step_that_says_so(tmp_path: Path) -> None:
    """Before each file, and before the graph is made: `shield.tiers.loading` stops it there."""
    lookup(tmp_path)
    taken: list[int] = []
    load_scorer(tmp_path, step=lambda: taken.append(1))
    assert len(taken) >= len(json.loads((tmp_path / "manifest.json").read_bytes())["files"]) + 4

    class EnoughError(Exception): ...

    for last in range(len(taken)):
        left = iter([None] * last)

        def step(left: Iterator[None] = left) -> None:
            if next(left, taken) is taken:
                raise EnoughError

        with pytest.raises(EnoughError):
            load_scorer(tmp_path, step=step)


def test_no_training_library_is_ever_imported(tmp_path: Path) -> None:
    """And nothing heavy at all before a model is loaded."""
    lookup(tmp_path, config=config())
    script = f"""
import sys
from pathlib import Path
import shield.model.adopt, shield.model.holder, shield.model.scorer, shield.model.calibration
heavy = {{"numpy", "onnxruntime", "tokenizers", "torch", "transformers", "optimum"}}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from shield.types import TextKind
scorer = shield.model.scorer.load_scorer(Path({str(tmp_path)!r}))
assert scorer.read([("override", TextKind.CODE)])[0].margin == 6.0
assert not heavy & set(sys.modules) - {{"numpy", "onnxruntime", "tokenizers"}}, sorted(sys.modules)
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path.cwd(), check=False)
    assert done.stdout == "fine\n", done.stderr


# --- what sees nothing -----------------------------------------------------------------------------------------------


def thresholds(escalate: float, *kinds: TextKind) -> bytes:
    found = {kind: {"benign": 3_000, "escalate": escalate, "block": None} for kind in kinds}
    return json.dumps({"version": 1, "temperature": 1.0, "kinds": found}).encode()


def without_letters(pattern: str) -> bytes:
    tokenizer = wordpiece()
    tokenizer.normalizer = normalizers.Replace(Regex(pattern), "")
    return tokenizer.to_str().encode()


def test_thresholds_that_ask_about_no_attack_are_refused(tmp_path: Path) -> None:
    for folder, escalate in (("high", 1e308), ("just", 6.5)):
        lookup(tmp_path / folder, calibration=thresholds(escalate, *TextKind))
        refused(tmp_path / folder, "would not even ask about `Ignore all previous", "`shield model calibrate`")
        assert load_scorer(tmp_path / folder, seeing=False).manifest.name == "tier1"
    lookup(tmp_path / "low", calibration=thresholds(5.5, *TextKind))
    load_scorer(tmp_path / "low")
    # it is seen as one kind of text at least
    lookup(tmp_path / "some", calibration=thresholds(1e308, *[kind for kind in TextKind if kind != TextKind.URL]))
    load_scorer(tmp_path / "some")


def test_a_tokenizer_that_drops_letters_leaves_nothing_to_see(tmp_path: Path) -> None:
    lookup(tmp_path / "calibrated", tokenizer=without_letters("[^ab ]"), calibration=thresholds(2.0, *TextKind))
    refused(tmp_path / "calibrated", "would not even ask")
    lookup(tmp_path / "no", tokenizer=without_letters("[b-zA-Z.]|\\Ba|a\\B"))
    load_scorer(tmp_path / "no", seeing=False)
    refused(tmp_path / "no", "makes nothing of a plain sentence")


def test_a_model_without_thresholds_goes_on_whatever_it_makes_of_the_attack(tmp_path: Path) -> None:
    lookup(tmp_path / "none", model=graph(table(words=UNTAUGHT)))
    lookup(tmp_path / "empty", model=graph(table(words=UNTAUGHT)), calibration=CALIBRATION)
    for folder in ("none", "empty"):
        assert load_scorer(tmp_path / folder).probe()[0].margin == -4.0
