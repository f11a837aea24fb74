"""What the classifier is measured on: sources that neither training nor thresholds saw, attacks and harmless."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from models.training.banks import Banks
from models.training.compose import attacks, harmless
from models.training.dojo import dojo
from models.training.ordinary import Part, ordinary
from models.training.public import CALIBRATED, HELD, public
from models.training.row import KINDS, Row

__all__ = ["calibration", "held"]

_ORDINARY = 3_000  # texts of a kind
_CALIBRATED = 3_200  # of which some are left out, since training had their like
_GENERATED = 1_500
_ORDINARY_KINDS = tuple(kind for kind in KINDS if kind != "command")


def calibration(data: Path, banks: Banks, seed: int) -> Iterator[Row]:
    """Harmless texts that set the thresholds, by kind; hard ones of the banks are among them."""
    yield from public(data, CALIBRATED, Random(f"{seed} calibration public"))
    yield from ordinary(Random(f"{seed} calibration"), Part.CALIBRATE, dict.fromkeys(_ORDINARY_KINDS, _CALIBRATED))
    yield from islice(harmless(banks, Random(f"{seed} calibration banks")), _GENERATED)


def held(data: Path, wheel: Path | None, banks: Banks, seed: int) -> Iterator[Row]:
    """The rows of the report. Those of source `generated` only say that the banks were learnt."""
    sources = list(public(data, HELD, Random(f"{seed} held")))
    yield from sources
    yield from _injected(sources, Random(f"{seed} injected"))
    yield from _commands(data.parent / "eval" / "nl2bash.txt", Random(f"{seed} commands"))
    yield from ordinary(Random(f"{seed} ordinary"), Part.TEST, dict.fromkeys(_ORDINARY_KINDS, _ORDINARY))
    if wheel is not None:
        yield from dojo(wheel, Random(f"{seed} dojo"))
    yield from islice(attacks(banks, Random(f"{seed} attacks")), _GENERATED)
    yield from islice(harmless(banks, Random(f"{seed} harmless")), _GENERATED)


def _injected(rows: list[Row], rng: Random) -> Iterator[Row]:
    """Each document of BIPIA with one of its attacks at its beginning, its end, or between two of its lines."""
    goals = [row.text for row in rows if row.family == "bipia-attack"]
    documents = [row.text for row in rows if row.family == "bipia-context"]
    for document in documents if goals else ():
        lines = document.split("\n")
        at = rng.choice((0, len(lines), rng.randint(0, len(lines))))
        text = "\n".join([*lines[:at], rng.choice(goals), *lines[at:]])
        yield Row(text=text, label=1, kind="tool_result", family="bipia-injected", source="bipia")


def _commands(path: Path, rng: Random) -> Iterator[Row]:
    if path.is_file():
        for line in rng.sample(path.read_text(encoding="utf-8").splitlines(), _ORDINARY):
            yield Row(text=line, label=0, kind="command", family="nl2bash", source="nl2bash")
