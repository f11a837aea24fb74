"""The weights of a shipped graph are those that it was made of, and a training goes on from them."""

import json
import shutil
import string
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("optimum.onnxruntime", reason="needs the extra `train`")
onnx = pytest.importorskip("onnx", reason="needs the extra `train`")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's, of its own parts
    from safetensors.torch import load_file

    from models.training.course import TRAINED_FOLDER, CourseError, run
    from models.training.encoder import Shape, fresh
    from models.training.export import export
    from models.training.reopened import ReopenError, reopened, started_from
    from models.training.row import Row, write_rows
    from models.training.vocabulary import SPECIAL, wordpiece
    from models.training.wide import Wide, save_wide
    from training_course import course_in

pytestmark = pytest.mark.filterwarnings("ignore")  # the exporter's own

PIECES = [*SPECIAL, *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
UNSHOWN = 5  # a row of the relative embeddings that was never trained


def trained(layers):
    """Weights that are nowhere flat, and norms that do something."""
    torch.manual_seed(layers)
    model = fresh(len(PIECES), layers=layers, hidden=32, heads=4, shape=Shape(layers=(), length=128))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.2)
        model.deberta.encoder.rel_embeddings.weight.normal_()
        model.deberta.encoder.rel_embeddings.weight[UNSHOWN] = 0
    return model.eval()


@pytest.fixture(scope="module", params=[1, 2, 3])
def shipped(request, tmp_path_factory):
    """A model, and the folder that it is shipped as."""
    before, after = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    model = trained(request.param)
    model.save_pretrained(before)
    save_wide(Wide(997).eval(), before)
    export(before, after)
    shutil.copyfile(before / "config.json", after / "config.json")
    wordpiece({piece: number for number, piece in enumerate(PIECES)}).save(str(after / "tokenizer.json"))
    return model, after


def test_every_weight_comes_back_as_near_as_the_graph_holds_it(shipped):
    model, folder = shipped
    found = reopened(folder).state_dict()
    for name, known in model.state_dict().items():
        if "key_proj.bias" in name:
            assert not found[name].any(), name
        elif "rel_embeddings" not in name and "encoder.LayerNorm" not in name:
            strayed = (found[name] - known).norm() / known.norm()
            assert strayed < 0.02, name  # 7 bits of weight


def test_the_relative_positions_come_back_as_what_the_layers_read_of_them(shipped):
    model, folder = shipped
    found, known = (one.deberta.encoder.get_rel_embedding() for one in (reopened(folder), model))
    assert (found - known).norm() / known.norm() < 0.1
    assert (found[UNSHOWN] - known[UNSHOWN]).norm() < 0.1 * known.norm() / len(known) ** 0.5


def test_another_graph_is_refused(shipped, tmp_path):
    _, folder = shipped
    shutil.copytree(folder, tmp_path / "other")
    graph = onnx.load(folder / "model.onnx")
    for node in graph.graph.node:
        node.name = f"x{node.name}"
    onnx.save(graph, tmp_path / "other" / "model.onnx")
    with pytest.raises(ReopenError, match=r"not a model of `models\.training\.ship`: its graph has no"):
        reopened(tmp_path / "other")


def test_a_folder_without_a_model_and_a_model_of_another_kind_are_refused(shipped, tmp_path):
    _, folder = shipped
    with pytest.raises(ReopenError, match="not the folder of a shipped model"):
        reopened(tmp_path)
    with pytest.raises(ReopenError, match="not the folder of a shipped model"):
        run(course_in(tmp_path / "run", start=tmp_path))
    shutil.copyfile(folder / "model.onnx", tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ReopenError, match="its type is bert"):
        reopened(tmp_path)


def test_a_training_settles_from_there_with_the_same_pieces(shipped, tmp_path, monkeypatch):
    _, start = shipped
    for rows in ("calibration", "held"):
        monkeypatch.setattr(f"models.training.course.{rows}", lambda *_: iter(()))
    write_rows(tmp_path / "pool.jsonl", [Row(text=f"x{n}", label=0, kind="code", family="f") for n in range(10)])
    assert run(course_in(tmp_path, start=start)) == tmp_path / TRAINED_FOLDER
    settled, before = load_file(tmp_path / TRAINED_FOLDER / "model.safetensors"), reopened(start).state_dict()
    assert any(not torch.equal(settled[name], before[name]) for name in settled)
    for name, weight in settled.items():
        torch.testing.assert_close(weight, before[name], atol=1e-2, rtol=0)
    assert not (tmp_path / "guessed").exists()
    assert not (tmp_path / "judged").exists()
    pieces = json.loads((tmp_path / TRAINED_FOLDER / "tokenizer.json").read_text())
    assert pieces == json.loads((start / "tokenizer.json").read_text())
    assert json.loads((tmp_path / "course.json").read_text())["start"] == started_from(start)
    with pytest.raises(CourseError, match=r"begun with .*start sha256:"):
        run(course_in(tmp_path))
