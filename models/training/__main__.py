"""`python -m models.training --out FOLDER`: trains the classifier, goes on where a run was cut off, and scores it."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from models.training.course import Course, CourseError, rows, run
from models.training.feed import writers
from models.training.reopened import ReopenError

ROOT = Path(__file__).resolve().parents[2]
LOG = "train.log"
_SETTLED = 800  # batches of a model that goes on
_TIMES = 4


def main() -> None:
    """Reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m models.training", description=__doc__)
    reader.add_argument("--out", type=Path, required=True, help="the folder of the run; the same one goes on")
    reader.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "tier1", help="third-party rows")
    reader.add_argument("--dojo", type=Path, help="the wheel of agentdojo, to be scored on")
    reader.add_argument("--web", type=Path, help="the folder of `python -m models.training.fetch`")
    reader.add_argument("--seed", type=int, default=20261122)
    reader.add_argument("--layers", default="0,2,5", help="which of the encoder's six layers are kept")
    reader.add_argument("--start", type=Path, help="a shipped model's folder: nothing is guessed or judged, it settles")
    reader.add_argument("--guess-steps", type=int, default=2_400, help="batches whose hidden pieces it guesses first")
    reader.add_argument("--judge-steps", type=int, default=3_200, help="batches that it then learns to judge")
    reader.add_argument(
        "--times", type=_positive, help="how often, each from the same beginning: the mean is kept; 4, 1 with --start"
    )
    reader.add_argument(
        "--settle-steps", type=int, help="batches that it judges at a lower rate at last; 800 with --start"
    )
    reader.add_argument("--batch", type=int, default=512, help="texts in a batch")
    reader.add_argument("--workers", type=int, default=writers(), help="processes that write texts; 0: none but this")
    reader.add_argument("--wide-rows", type=int, default=1_000_000, help="texts that the wide part sees")
    reader.add_argument("--rows", action="store_true", help="write the rows only: nothing is trained")
    reader.add_argument("--detach", action="store_true", help=f"go on in the background, and report to OUT/{LOG}")
    given = reader.parse_args()
    if given.detach:
        print(detached(given.out, sys.orig_argv))
        return
    course = Course(
        folder=given.out,
        data=given.data,
        dojo=given.dojo,
        web=given.web,
        seed=given.seed,
        layers=tuple(int(layer) for layer in given.layers.split(",")),
        guess_steps=0 if given.start else given.guess_steps,
        judge_steps=0 if given.start else given.judge_steps,
        settle_steps=given.settle_steps if given.settle_steps is not None else _SETTLED if given.start else 0,
        times=given.times or (1 if given.start else _TIMES),
        batch=given.batch,
        workers=given.workers,
        start=given.start,
        wide_rows=given.wide_rows,
    )
    try:
        rows(course) if given.rows else run(course)
    except (CourseError, ReopenError) as error:
        reader.error(str(error))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def detached(out: Path, command: Sequence[str]) -> str:
    """Starts `command` once more, without `--detach`, in a session of its own; where to look for it."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOG).open("ab") as log:
        begun = subprocess.Popen(  # noqa: S603  # the very command that the user gave
            [sys.executable, *(word for word in command[1:] if word != "--detach")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return f"process {begun.pid} goes on; its progress is in {out / LOG}"


if __name__ == "__main__":
    main()
