"""A training goes on in its own folder only."""

import json
import os
import shutil
import string
import warnings
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("transformers", reason="needs the extra `train`")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's, of its own parts
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    from models.training.__main__ import detached, main
    from models.training.course import STAGE_FILE, TRAINED_FOLDER, CourseError, run
    from models.training.encoder import Shape, fresh
    from models.training.forward import margins
    from models.training.mistaken import mistaken
    from models.training.row import Row, read_rows, write_rows
    from models.training.vocabulary import SPECIAL, Vocabulary, wordpiece
    from training_course import course_in

pytestmark = pytest.mark.filterwarnings("ignore")  # torch, of its own scripts
_WEIGHTS = "model.safetensors"


def test_a_folder_that_another_training_began_is_refused(tmp_path):
    course = course_in(tmp_path)
    (tmp_path / "course.json").write_text(json.dumps({"seed": 2, "layers": [0, 2, 5], "batch": 4}))
    with pytest.raises(CourseError, match=r"begun with .*guess_steps None.*seed 2"):
        run(course)
    assert json.loads((tmp_path / "course.json").read_text())["seed"] == 2


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A folder whose encoder has been judged already, with a vocabulary of letters."""
    for rows in ("calibration", "held"):
        monkeypatch.setattr(f"models.training.course.{rows}", lambda *_: iter(()))
    letters = string.ascii_lowercase + string.digits
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    tokenizer: Tokenizer = wordpiece({piece: place for place, piece in enumerate(pieces)})
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "rows.json").write_text(json.dumps([[place] for place in range(len(pieces))]))
    write_rows(tmp_path / "pool.jsonl", [Row(text=f"x{n}", label=0, kind="code", family="f") for n in range(10)])
    torch.manual_seed(1)
    shape = Shape(layers=(0,), length=128)
    fresh(len(pieces), layers=1, hidden=32, heads=4, shape=shape).save_pretrained(tmp_path / "judged")
    return tmp_path


def test_an_encoder_that_was_judged_settles_and_does_so_again_when_that_is_removed(begun):
    judged = (begun / "judged" / _WEIGHTS).read_bytes()
    course = course_in(begun)
    assert run(course) == begun / TRAINED_FOLDER
    settled = (begun / TRAINED_FOLDER / _WEIGHTS).read_bytes()
    assert settled != judged
    assert not (begun / "guessed").exists()
    made = json.loads((begun / TRAINED_FOLDER / STAGE_FILE).read_text())
    assert made["banks"].startswith("sha256:")
    assert made["device"] in ("cpu", "cuda")
    assert (begun / TRAINED_FOLDER / "wide.safetensors").is_file()
    assert [row.family for row in read_rows(begun / TRAINED_FOLDER / "mistaken.jsonl")] == ["mistaken-code"]
    shutil.rmtree(begun / TRAINED_FOLDER)
    run(course)
    assert (begun / TRAINED_FOLDER / _WEIGHTS).read_bytes() == settled
    assert (begun / "judged" / _WEIGHTS).read_bytes() == judged


def test_what_is_kept_is_the_mean_of_what_it_became_each_time(begun, monkeypatch):
    monkeypatch.setattr("models.training.course._WAY", 1.0)
    run(course_in(begun))
    kept, *each = (load_file(begun / TRAINED_FOLDER / part / _WEIGHTS) for part in (".", "0", "1"))
    assert any(not torch.equal(each[0][name], each[1][name]) for name in kept)
    for name, weight in kept.items():
        torch.testing.assert_close(weight, (each[0][name] + each[1][name]) / 2)


def test_what_it_became_once_is_not_trained_again(begun):
    run(course_in(begun))
    whole = (begun / TRAINED_FOLDER / _WEIGHTS).read_bytes()
    first = begun / TRAINED_FOLDER / "0" / _WEIGHTS
    before = first.stat().st_mtime_ns
    (begun / TRAINED_FOLDER / _WEIGHTS).unlink()
    shutil.rmtree(begun / TRAINED_FOLDER / "1")
    run(course_in(begun))
    assert first.stat().st_mtime_ns == before
    assert (begun / TRAINED_FOLDER / _WEIGHTS).read_bytes() == whole


def test_a_run_that_began_on_one_machine_goes_on_on_another(begun):
    first = course_in(begun)
    run(first)
    (begun / TRAINED_FOLDER / _WEIGHTS).unlink()
    run(replace(first, workers=2))
    assert json.loads((begun / TRAINED_FOLDER / STAGE_FILE).read_text())["workers"] == 2


def test_each_time_it_begins_where_the_others_did(begun):
    run(course_in(begun))
    second = (begun / TRAINED_FOLDER / "1" / _WEIGHTS).read_bytes()
    (begun / TRAINED_FOLDER / _WEIGHTS).unlink()
    shutil.rmtree(begun / TRAINED_FOLDER / "1")
    shutil.copyfile(begun / "judged" / _WEIGHTS, begun / TRAINED_FOLDER / "0" / _WEIGHTS)
    run(course_in(begun))
    assert (begun / TRAINED_FOLDER / "1" / _WEIGHTS).read_bytes() == second


def test_where_it_settles_for_no_step_it_stays_as_it_was_judged(begun):
    run(replace(course_in(begun), settle_steps=0))
    judged, settled = load_file(begun / "judged" / _WEIGHTS), load_file(begun / TRAINED_FOLDER / _WEIGHTS)
    assert all(torch.equal(settled[name], weight) for name, weight in judged.items())
    assert not (begun / TRAINED_FOLDER / "mistaken.jsonl").exists()
    assert not (begun / TRAINED_FOLDER / STAGE_FILE).exists()  # which says what was trained, and on what


@pytest.mark.parametrize("given", ["0", "-1", "x"])
def test_it_is_trained_at_least_once(tmp_path, monkeypatch, capsys, given):
    monkeypatch.setattr("sys.argv", ["training", "--out", str(tmp_path), "--times", given])
    with pytest.raises(SystemExit):
        main()
    assert f"argument --times: {given} is no number from 1 on" in capsys.readouterr().err


def test_it_goes_half_of_the_way_that_it_settles(begun, monkeypatch):
    course = course_in(begun)
    with monkeypatch.context() as patched:
        patched.setattr("models.training.course._WAY", 1.0)
        run(course)
    there = load_file(begun / TRAINED_FOLDER / _WEIGHTS)
    shutil.rmtree(begun / TRAINED_FOLDER)
    (begun / "course.json").unlink()
    run(course)
    judged, settled = load_file(begun / "judged" / _WEIGHTS), load_file(begun / TRAINED_FOLDER / _WEIGHTS)
    assert any(not torch.equal(judged[name], there[name]) for name in there)
    for name, weight in settled.items():
        torch.testing.assert_close(weight, (judged[name] + there[name]) / 2)


def test_the_harmless_texts_that_an_encoder_mistakes_most_are_found_by_kind(begun):
    torch.manual_seed(2)
    vocabulary = Vocabulary(tokenizer=Tokenizer.from_file(str(begun / "tokenizer.json")), rows=())
    model = fresh(
        vocabulary.tokenizer.get_vocab_size(), layers=1, hidden=32, heads=4, shape=Shape(layers=(0,), length=128)
    )
    pool = [
        Row(text=f"{place:x}" * 3, label=int(place % 4 == 0), kind=kind, family="f")
        for place in range(40, 80)
        for kind in ("code", "prose")
    ]
    found = mistaken(pool, vocabulary, model)
    assert [row.kind for row in found] == ["code"] * 3 + ["prose"] * 3
    for kind in ("code", "prose"):
        harmless = [row for row in pool if row.kind == kind and not row.label]
        said = margins(model, [vocabulary.encode(row.text, kind, 128) for row in harmless], roughly=True)
        worst = sorted(range(len(harmless)), key=said.__getitem__)[-3:]
        assert {row.text for row in found if row.family == f"mistaken-{kind}"} == {harmless[at].text for at in worst}


def test_a_stage_that_is_done_is_not_done_again(begun):
    course = course_in(begun)
    run(course)
    before = {path: path.stat().st_mtime_ns for path in (begun / TRAINED_FOLDER).iterdir() if path.name == _WEIGHTS}
    run(course)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_training_may_go_on_without_the_terminal(tmp_path):
    code = "import os, sys; print(sys.argv[1:], os.getsid(0) == os.getpid(), flush=True)"
    said = detached(tmp_path / "run", ["python", "-c", code, "--detach", "--seed", "3"])
    log = tmp_path / "run" / "train.log"
    assert str(log) in said
    os.waitpid(int(said.split()[1]), 0)
    assert log.read_text() == "['--seed', '3'] True\n"
