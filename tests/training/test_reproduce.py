"""What the shipped model was made of is found again: its settings in its manifest, what it started from in git."""

import hashlib
import json
import subprocess
import warnings

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("optimum.onnxruntime", reason="needs the extra `train`")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's, of its own parts
    from models.training import reproduce
    from models.training.banks import BANKS, digests
    from models.training.course import _settings
    from models.training.reproduce import SHIPPED, ReproduceError, changed_banks, course_of, main, started_with

pytestmark = pytest.mark.filterwarnings("ignore")  # torch, of its own scripts


def git(root, *arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def model_that_started_with(folder, start):
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"made": {"course": {"start": start}}}))
    return folder


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def history(tmp_path):
    """A repository whose model was replaced twice."""
    root = tmp_path / "root"
    tier1 = root / "models" / "tier1"
    tier1.mkdir(parents=True)
    git(root, "init", "-q")
    for name in ("one", "two", "three"):
        (tier1 / "model.onnx").write_bytes(name.encode())
        (tier1 / "tokenizer.json").write_text(f"of {name}")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", name)
    return root


def test_what_it_started_from_comes_out_of_the_history_whole(history, tmp_path):
    model = model_that_started_with(tmp_path / "model", digest(b"two"))
    found = started_with(model, tmp_path / "out", root=history)
    assert (found / "model.onnx").read_bytes() == b"two"
    assert (found / "tokenizer.json").read_text() == "of two"


def test_banks_that_changed_since_are_counted(tmp_path):
    told = digests(BANKS)
    name = next(iter(told))
    for banks, changed in ((told, 0), ({**told, name: "sha256:0", "gone.yaml": "sha256:1"}, 2), ({}, len(told))):
        (tmp_path / "manifest.json").write_text(json.dumps({"made": {"banks": banks}}))
        assert changed_banks(tmp_path) == changed


def test_a_model_that_no_commit_has_is_said_to_be_missing(history, tmp_path):
    model = model_that_started_with(tmp_path / "model", digest(b"four"))
    with pytest.raises(ReproduceError, match="fetch the whole history"):
        started_with(model, tmp_path / "out", root=history)


def test_a_training_from_nothing_needs_none(tmp_path):
    assert started_with(model_that_started_with(tmp_path / "model", None), tmp_path / "out", root=tmp_path) is None


def test_the_settings_are_those_of_the_manifest(tmp_path):
    told = json.loads((SHIPPED / "manifest.json").read_text())["made"]["course"]
    told.pop("workers", None)  # of the machine; models up to run 16 tell it here
    start = tmp_path / "start"
    start.mkdir()
    (start / "model.onnx").write_bytes(b"x")
    course = course_of(SHIPPED, tmp_path, data=tmp_path, dojo=tmp_path, web=tmp_path, start=start, seed=told["seed"])
    assert _settings(course) == {**told, "start": digest(b"x")}


def test_without_the_rows_nothing_is_fetched(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "fetch", lambda _: pytest.fail("fetched"))
    monkeypatch.setattr("sys.argv", ["reproduce", str(tmp_path / "out"), "--data", str(tmp_path / "missing")])
    assert main() == 2
    assert "third-party rows are missing" in capsys.readouterr().err


def test_programs_are_sent_to_the_folder_that_was_named_from_here(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(reproduce, "fetch", lambda folder: asked.append(folder) or tmp_path / "wheel")
    monkeypatch.setattr(reproduce, "started_with", lambda *_: None)
    monkeypatch.setattr(reproduce, "run", lambda course: asked.append(course.folder))
    monkeypatch.setattr(reproduce, "ship", lambda run, out, **_: asked.append(out))
    monkeypatch.setattr(reproduce, "again", lambda given: asked.append(given) or 0)
    monkeypatch.setattr("sys.argv", ["reproduce", "made", "--data", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    assert main() == 0
    made = tmp_path / "made"
    assert asked == [made / "web", made / "run", made / "tier1", [str(SHIPPED), str(made / "tier1")]]
