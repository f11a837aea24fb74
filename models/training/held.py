"""What the classifier is measured on: sources that neither training nor thresholds saw, attacks and harmless."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from types import MappingProxyType

from models.training.banks import THRESHOLDS, UNSEEN, Banks, Whole, load_banks
from models.training.compose import ANYWHERE, PAYLOADS, attacks, goal_of, harmless
from models.training.descriptions import descriptions
from models.training.documents import documents
from models.training.dojo import dojo
from models.training.ordinary import Part, ordinary
from models.training.public import CALIBRATED, HELD, public
from models.training.row import KINDS, WRITTEN, WRITTEN_HARD, WRITTEN_PAYLOADS, Row
from models.training.web import web

__all__ = ["calibration", "held"]

_ORDINARY = 3_000  # texts of a kind
_LONGEST = 6_000  # letters; longer ones are among the pages of the web
_CALIBRATED = 3_200  # of which some are left out, since training had their like
_GENERATED = 1_500
_SHORT = "short"
# Families of other writers' harmless texts, by the beginnings of their banks' names.
_FAMILIES = MappingProxyType(
    {ANYWHERE: WRITTEN_PAYLOADS, _SHORT: "written-short", "page": "written-pages", "hard": WRITTEN_HARD}
)
_ORDINARY_KINDS = tuple(kind for kind in KINDS if kind != "command")


def calibration(data: Path, archives: Path | None, banks: Banks, seed: int) -> Iterator[Row]:
    """Harmless texts that set the thresholds, by kind; hard ones of the banks are among them."""
    yield from public(data, CALIBRATED, Random(f"{seed} calibration public"))
    yield from ordinary(
        Random(f"{seed} calibration"), Part.CALIBRATE, dict.fromkeys(_ORDINARY_KINDS, _CALIBRATED), longest=_LONGEST
    )
    yield from web(archives, Part.CALIBRATE, Random(f"{seed} calibration web"))
    yield from documents(archives, Part.CALIBRATE, Random(f"{seed} calibration documents"))
    yield from descriptions(archives, Part.CALIBRATE, Random(f"{seed} calibration descriptions"))
    yield from _written(load_banks(THRESHOLDS), banks, Random(f"{seed} calibration written"))
    yield from islice(harmless(banks, Random(f"{seed} calibration banks")), _GENERATED)


def held(data: Path, wheel: Path | None, archives: Path | None, banks: Banks, seed: int) -> Iterator[Row]:
    """The rows of the report. Those of source `generated` only say that the banks were learnt; those of `WRITTEN`, by
    which recipes are chosen, what becomes of other writers' texts; of their harmless ones `WRITTEN_HARD` mislead."""
    sources = list(public(data, HELD, Random(f"{seed} held")))
    yield from sources
    yield from _injected(sources, Random(f"{seed} injected"))
    yield from _commands(data.parent / "eval" / "nl2bash.txt", Random(f"{seed} commands"))
    yield from ordinary(
        Random(f"{seed} ordinary"), Part.TEST, dict.fromkeys(_ORDINARY_KINDS, _ORDINARY), longest=_LONGEST
    )
    yield from web(archives, Part.TEST, Random(f"{seed} web"))
    yield from documents(archives, Part.TEST, Random(f"{seed} documents"))
    yield from descriptions(archives, Part.TEST, Random(f"{seed} descriptions"))
    if wheel is not None:
        yield from dojo(wheel, Random(f"{seed} dojo"))
    others = load_banks(UNSEEN)
    yield from _written(others, banks, Random(f"{seed} written harmless"))
    mixed = replace(banks, leads=others.leads, wholes=tuple(one for one in others.wholes if not _is_short(one)))
    for row in islice(attacks(mixed, Random(f"{seed} written attacks")), _GENERATED):
        yield replace(row, family="written-attacks", source=WRITTEN)
    yield from _short(others)
    yield from _documents(others)
    yield from islice(attacks(banks, Random(f"{seed} attacks")), _GENERATED)
    yield from islice(harmless(banks, Random(f"{seed} harmless")), _GENERATED)


def _written(others: Banks, banks: Banks, rng: Random) -> Iterator[Row]:
    """Each harmless text of `others` once, its slots filled from `banks`; calls, messages and records as each kind of
    text that they may come as."""
    for entry in others.harmless:
        text = banks.filled(entry.text, rng, goal_of(banks, rng))
        found = (family for start, family in _FAMILIES.items() if entry.family.startswith(start))
        family = next(found, "written-harmless")
        for kind in PAYLOADS if family == WRITTEN_PAYLOADS else (entry.kind,):
            yield Row(text=text, label=0, kind=kind, family=family, source=WRITTEN)


def _short(others: Banks) -> Iterator[Row]:
    """Short, plain attacks, each alone."""
    for whole in filter(_is_short, others.wholes):
        kind = "prose" if whole.direct else "tool_result"
        yield Row(text=whole.text, label=1, kind=kind, family=f"written-{_SHORT}", source=WRITTEN)


def _is_short(whole: Whole) -> bool:
    return whole.family.startswith(_SHORT)


def _documents(others: Banks) -> Iterator[Row]:
    """Whole documents, each as it was and with what somebody planted in it."""
    for pair in others.pairs:
        for label, text in ((0, pair.clean), (1, pair.poisoned)):
            yield Row(text=text, label=label, kind="tool_result", family="written-documents", source=WRITTEN)


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
