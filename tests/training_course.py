"""A training of a few steps: for tests that have torch."""

import io
from pathlib import Path

from models.training.course import Course

__all__ = ["course_in"]


def course_in(folder: Path, *, start: Path | None = None) -> Course:
    """From nothing, or two steps of settling from the model in `start`."""
    begun = 0 if start else 1
    return Course(
        folder=folder,
        data=folder,
        dojo=None,
        web=None,
        seed=1,
        layers=(0, 2, 5),
        guess_steps=begun,
        judge_steps=begun,
        settle_steps=2,
        times=2,
        batch=4,
        wide_rows=64,
        start=start,
        log=io.StringIO(),
    )
