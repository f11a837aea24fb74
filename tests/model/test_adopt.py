"""Folders as others publish them: which classes are attacks, and that only checked bytes become a model."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from shield.errors import ModelError
from shield.model.adopt import Adopted, adopt, adopt_made, manifest_in
from shield.model.manifest import Pin, read_manifest
from shield.model.scorer import load_scorer
from shield.model.tokens import Tokens
from shield.types import Answer, TextKind
from tier1_folder import IDS, config, dropin, graph, lookup, table, unigram, wordpiece, write


@pytest.mark.parametrize(
    ("labels", "attack"),
    [
        (("SAFE", "INJECTION"), (1,)),  # ProtectAI
        (("BENIGN", "MALICIOUS"), (1,)),  # Prompt Guard 2
        (("BENIGN", "INJECTION", "JAILBREAK"), (1, 2)),  # Prompt Guard 1
        (("injection", "legit"), (0,)),
        (("BENIGN", "ATTACK"), (1,)),
        (("LABEL_0", "LABEL_1"), (1,)),
        (None, (1,)),  # two classes without names: Hugging Face leaves them out
    ],
)
@pytest.mark.parametrize("at", ["model.onnx", "onnx/model.onnx"])
def test_published_layouts(tmp_path: Path, labels: tuple[str, ...] | None, attack: tuple[int, ...], at: str) -> None:
    adopted = adopt(dropin(tmp_path / "from", labels, attack, at=at), name="other")
    assert adopted.manifest.attack == attack
    assert set(adopted.files) == {"config.json", "tokenizer.json", "README.md", at, "manifest.json"}
    assert read_manifest(adopted.files["manifest.json"]) == adopted.manifest
    scorer = load_scorer(write(tmp_path / "to", adopted.files))
    obey, plain = scorer.read([("obey", TextKind.PROSE), ("note", TextKind.PROSE)])
    assert obey.margin > 2.44 > plain.margin  # two attack classes of 3.0 stand log 2 above one
    assert scorer.calibration.answer(obey.margin, TextKind.PROSE) is Answer.ESCALATE
    assert scorer.calibration.answer(1e6, TextKind.PROSE) is Answer.ESCALATE


def test_the_margin_weighs_all_attack_classes_against_all_others(tmp_path: Path) -> None:
    rows = table(3)
    rows[:] = -9.0
    rows[IDS["obey"]] = (0.5, 1.0, 2.0)
    folder = dropin(tmp_path, ("BENIGN", "INJECTION", "JAILBREAK"), (1, 2))
    write(folder, {"model.onnx": graph(rows)})
    for attack, margin in (
        ((1, 2), math.log(math.exp(1.0) + math.exp(2.0)) - 0.5),
        ((2,), 2.0 - math.log(math.exp(0.5) + math.exp(1.0))),
    ):
        adopted = adopt(folder, name="other", attack=attack)
        scorer = load_scorer(write(tmp_path / str(attack), adopted.files))
        assert scorer.read([("obey", TextKind.PROSE)])[0].margin == pytest.approx(margin)


@pytest.mark.parametrize(
    "labels", [("LABEL_0", "LABEL_1", "LABEL_2"), ("SAFE", "TOXIC"), ("INJECTION", "JAILBREAK"), ("LABEL_1", "LABEL_0")]
)
def test_labels_that_do_not_tell_need_their_owner(tmp_path: Path, labels: tuple[str, ...]) -> None:
    folder = dropin(tmp_path, labels, (1,))
    with pytest.raises(ModelError, match="--attack"):
        adopt(folder, name="other")
    assert adopt(folder, name="other", attack=(1,)).manifest.attack == (1,)


@pytest.mark.parametrize("attack", [(), (0, 1), (2,), (-1,)])
def test_the_owner_cannot_name_classes_that_make_no_sense(tmp_path: Path, attack: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="attack"):
        adopt(dropin(tmp_path, ("SAFE", "INJECTION"), (1,)), name="other", attack=attack)


def test_what_comes_with_the_folder_is_not_taken_along(tmp_path: Path) -> None:
    """Its manifest and thresholds would be the word of whoever published it."""
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    write(folder, {"calibration.json": b"{}", "manifest.json": b"{}", "modeling.py": b"import os\n"})
    assert {"calibration.json", "modeling.py"}.isdisjoint(adopt(folder, name="other").files)


THRESHOLDS = b'{"version":1,"temperature":2,"kinds":{"prose":{"benign":3000,"escalate":1,"block":5}}}'


def test_thresholds_beside_a_manifest_of_ours_are_the_word_of_whoever_wrote_it(tmp_path: Path) -> None:
    """Its framing is kept, which is part of what the model is."""
    folder = lookup(tmp_path / "from", calibration=THRESHOLDS)
    theirs = manifest_in(folder)
    assert theirs is not None
    for shipped in (None, replace(theirs, attack=(0,)), replace(theirs, files={})):
        adopted = adopt_made(folder, name="other", shipped=shipped)
        assert adopted.dropped
        assert "calibration.json" not in {*adopted.files, *adopted.manifest.files}
        assert (adopted.manifest.name, adopted.manifest.markers) == ("other", theirs.markers)
        scorer = load_scorer(write(tmp_path / "to", adopted.files))
        assert scorer.calibration.answer(1e6, TextKind.PROSE) is Answer.ESCALATE


def test_thresholds_of_the_shipped_model_are_kept_under_any_name(tmp_path: Path) -> None:
    folder = lookup(tmp_path / "from", calibration=THRESHOLDS)
    shipped = manifest_in(folder)
    for number, name in enumerate(("other", "third")):  # a copy, and the copy of a copy
        adopted = adopt_made(folder, name=name, shipped=shipped)
        assert (adopted.dropped, adopted.manifest.name) == (False, name)
        folder = write(tmp_path / str(number), adopted.files)
        assert load_scorer(folder).calibration.answer(5.0, TextKind.PROSE) is Answer.BLOCK


def test_a_model_of_ours_without_thresholds_has_none_to_lose(tmp_path: Path) -> None:
    assert not adopt_made(lookup(tmp_path), name="other", shipped=None).dropped
    assert manifest_in(dropin(tmp_path / "theirs", None, (1,))) is None


def test_what_is_wrong_names_the_folder(tmp_path: Path) -> None:
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    write(folder, {"config.json": b"{"})
    with pytest.raises(ModelError) as caught:
        adopt(folder, name="other")
    assert caught.value.detail.startswith(f"`{folder}`: `config.json` is not readable: not JSON")


def test_the_files_are_the_checked_bytes(tmp_path: Path) -> None:
    folder = dropin(tmp_path / "from", ("SAFE", "INJECTION"), (1,))
    adopted = adopt(folder, name="other")
    (folder / "model.onnx").write_bytes(graph(table(attack=(0,))))
    scorer = load_scorer(write(tmp_path / "to", adopted.files))
    assert scorer.read([("obey", TextKind.PROSE)])[0].margin == 3.0


def test_a_swapped_graph_is_seen_at_the_next_load(tmp_path: Path) -> None:
    adopted = adopt(dropin(tmp_path / "from", ("SAFE", "INJECTION"), (1,)), name="other")
    folder = write(tmp_path / "to", adopted.files)
    write(folder, {"model.onnx": graph(table(attack=(0,)), ("input_ids",))})
    with pytest.raises(ModelError, match="manifest"):
        load_scorer(folder)


def test_a_calibration_is_added_with_its_pin(tmp_path: Path) -> None:
    adopted = adopt(dropin(tmp_path / "from", ("SAFE", "INJECTION"), (1,)), name="other")
    raw = b'{"version":1,"temperature":1,"kinds":{"prose":{"benign":3000,"escalate":0,"block":2}}}'
    manifest = replace(adopted.manifest, files={**adopted.manifest.files, "calibration.json": Pin.of(raw)})
    files = {**adopted.files, "calibration.json": raw, "manifest.json": manifest.as_json()}
    scorer = load_scorer(write(tmp_path / "to", files))
    assert scorer.calibration.answer(2.0, TextKind.PROSE) is Answer.BLOCK


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.onnx"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (dropin(tmp_path, ("SAFE", "INJECTION"), (1,)) / name).unlink()
    with pytest.raises(ModelError, match=name):
        adopt(tmp_path, name="other")


def test_two_graphs_are_one_too_many(tmp_path: Path) -> None:
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    write(folder, {"onnx/model.onnx": (folder / "model.onnx").read_bytes()})
    with pytest.raises(ModelError, match="both"):
        adopt(folder, name="other")


def test_a_linked_file_of_a_download_cache_says_how_to_copy(tmp_path: Path) -> None:
    folder = dropin(tmp_path / "snapshot", ("SAFE", "INJECTION"), (1,))
    (folder / "model.onnx").rename(tmp_path / "blob")
    (folder / "model.onnx").symlink_to("../blob")
    with pytest.raises(ModelError, match="cp -rL"):
        adopt(folder, name="other")


def test_tokenizer_and_graph_of_two_models(tmp_path: Path) -> None:
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    write(folder, {"config.json": config(("SAFE", "INJECTION"), vocab_size=5)})
    with pytest.raises(ModelError, match="one model"):
        adopt(folder, name="other")


def test_a_short_model_gets_short_windows(tmp_path: Path) -> None:
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    write(folder, {"config.json": config(("SAFE", "INJECTION"), max_position_embeddings=64)})
    assert adopt(folder, name="other").manifest.window == 64


def test_a_tokenizer_without_a_frame_is_read_without_one(tmp_path: Path) -> None:
    folder = dropin(tmp_path, ("SAFE", "INJECTION"), (1,))
    write(folder, {"tokenizer.json": wordpiece().to_str().encode()})
    assert ids("note", adopt(folder, name="other")) == (IDS["note"],)
    plain = unigram()
    plain.pre_tokenizer = None
    write(folder, {"tokenizer.json": plain.to_str().encode()})
    assert ids("note", adopt(folder, name="other")) == (IDS["[CLS]"], IDS["note"], IDS["[SEP]"])


def ids(text: str, adopted: Adopted) -> tuple[int, ...]:
    tokens = Tokens(adopted.files["tokenizer.json"], adopted.manifest, vocabulary=len(IDS), most=1)
    (window,) = tokens.cut(text, TextKind.PROSE).windows
    return tuple(window.ids)
