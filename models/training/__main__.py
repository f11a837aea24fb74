"""`python -m models.training --out FOLDER`: trains the classifier, goes on where a run was cut off, and scores it."""

import argparse
from pathlib import Path

from models.training.course import Course, run

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m models.training", description=__doc__)
    reader.add_argument("--out", type=Path, required=True, help="the folder of the run; the same one goes on")
    reader.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "tier1", help="third-party rows")
    reader.add_argument("--dojo", type=Path, help="the wheel of agentdojo, to be scored on")
    reader.add_argument("--seed", type=int, default=20261122)
    reader.add_argument("--layers", default="0,2,5", help="which of the encoder's six layers are kept")
    reader.add_argument("--teacher-steps", type=int, default=0, help="batches of 32; by default there is no teacher")
    reader.add_argument("--student-steps", type=int, default=7_500, help="batches of 32")
    reader.add_argument("--wide-rows", type=int, default=250_000, help="texts that the wide part sees")
    given = reader.parse_args()
    run(
        Course(
            folder=given.out,
            data=given.data,
            dojo=given.dojo,
            seed=given.seed,
            layers=tuple(int(layer) for layer in given.layers.split(",")),
            teacher_steps=given.teacher_steps,
            student_steps=given.student_steps,
            wide_rows=given.wide_rows,
        )
    )


if __name__ == "__main__":
    main()
