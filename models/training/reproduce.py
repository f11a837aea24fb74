"""`python -m models.training.reproduce OUT` (`make model`): the shipped model's training once more, from what its
manifest says of it, and whether what comes of it lies in the intervals of its figures.

Third-party rows have to be in `../shared/data/tier1`; pages of the web, documentation and AgentDojo are fetched
(`models/training/fetch.py`), and the model that a training started from comes out of this repository's history. A run
that was cut off goes on with the same command.
"""

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

from models.training.again import main as again
from models.training.banks import BANKS, digests
from models.training.course import Course, CourseError, run
from models.training.feed import writers
from models.training.fetch import FetchError, fetch
from models.training.reopened import ReopenError
from models.training.ship import ShipError, ship

__all__ = ["ReproduceError", "changed_banks", "course_of", "started_with"]

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "models" / "tier1"
_DATA = ROOT.parent / "shared" / "data" / "tier1"
_GRAPH = "models/tier1/model.onnx"


class ReproduceError(Exception):
    """What is missing, and where it is looked for."""


def course_of(model: Path, out: Path, *, data: Path, dojo: Path, web: Path, start: Path | None, seed: int) -> Course:
    """The training that the manifest of `model` tells of, in `out`, with another seed."""
    told = json.loads((model / "manifest.json").read_text(encoding="utf-8"))["made"]["course"]
    return Course(
        folder=out,
        data=data,
        dojo=dojo,
        web=web,
        start=start,
        seed=seed,
        layers=tuple(told["layers"]),
        guess_steps=told["guess_steps"],
        judge_steps=told["judge_steps"],
        settle_steps=told["settle_steps"],
        times=told.get("times", 1),  # models before run 16 say nothing of it
        batch=told["batch"],
        workers=writers(),
        wide_rows=told["wide_rows"],
    )


def started_with(model: Path, out: Path, *, root: Path = ROOT) -> Path | None:
    """The model that the training of `model` started from, as it stood in the repository at `root`, put into `out`;
    None for one that started from nothing.

    Raises:
        ReproduceError: no commit of this checkout has it.
    """
    wanted = json.loads((model / "manifest.json").read_text(encoding="utf-8"))["made"]["course"].get("start")
    if wanted is None:
        return None
    for commit in _git(root, "log", "--format=%H", "--", _GRAPH).decode().split():
        if f"sha256:{hashlib.sha256(_git(root, 'show', f'{commit}:{_GRAPH}')).hexdigest()}" == wanted:
            packed = _git(root, "archive", commit, str(Path(_GRAPH).parent))
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(out, filter="data")
            return out / Path(_GRAPH).parent
    raise ReproduceError(
        f"no commit here has the model {wanted} that this one was started from; "
        "fetch the whole history (`git fetch --unshallow`)"
    )


def changed_banks(model: Path) -> int:
    """How many files of the banks are not those that `model` was trained on."""
    told = json.loads((model / "manifest.json").read_text(encoding="utf-8"))["made"]["banks"]
    now = digests(BANKS)
    return sum(told.get(name) != now.get(name) for name in {*told, *now})


def _git(root: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise ReproduceError(f"`git {' '.join(arguments)}`: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def main() -> int:
    """Reads the command line. Exit status 0: no more figures lie outside the intervals than by chance, 1: more do, 2:
    something is missing."""
    reader = argparse.ArgumentParser(prog="python -m models.training.reproduce", description=__doc__)
    reader.add_argument("out", type=Path, help="the folder of the run; the same one goes on")
    reader.add_argument("--data", type=Path, default=_DATA, help="third-party rows")
    reader.add_argument("--seed", type=int, default=1, help="another one than that of the shipped model")
    given = reader.parse_args()
    try:
        out: Path = given.out.resolve()  # programs run in folders of it
        if not given.data.is_dir():
            raise ReproduceError(f"third-party rows are missing: {given.data}; name their folder with `--data`")
        other = changed_banks(SHIPPED)
        if other:
            print(f"{other} files of the banks are not those that the shipped model learnt from", file=sys.stderr)
        dojo = fetch(out / "web")
        start = started_with(SHIPPED, out / "start")
        course = course_of(
            SHIPPED, out / "run", data=given.data, dojo=dojo, web=dojo.parent, start=start, seed=given.seed
        )
        run(course)
        ship(course.folder, out / "tier1", today=datetime.now(UTC).date().isoformat())
    except (CourseError, FetchError, ReopenError, ReproduceError, ShipError) as error:
        print(error, file=sys.stderr)
        return 2
    return again([str(SHIPPED), str(out / "tier1")])


if __name__ == "__main__":
    sys.exit(main())
