"""A training goes on in its own folder only."""

import json
import warnings

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("transformers", reason="needs the extra `train`")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's, of its own parts
    from models.training.course import Course, CourseError, run


def test_a_folder_that_another_training_began_is_refused(tmp_path):
    course = Course(
        folder=tmp_path,
        data=tmp_path,
        dojo=None,
        seed=1,
        layers=(0, 2, 5),
        guess_steps=1,
        judge_steps=1,
        batch=4,
        wide_rows=4,
    )
    (tmp_path / "course.json").write_text(json.dumps({"seed": 2, "layers": [0, 2, 5], "batch": 4}))
    with pytest.raises(CourseError, match=r"begun with .*guess_steps None.*seed 2"):
        run(course)
    assert json.loads((tmp_path / "course.json").read_text())["seed"] == 2
