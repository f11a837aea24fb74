"""A whole training in a folder: tokenizer, an encoder that has guessed hidden pieces, the classifier that it becomes,
its wide part, rows to score.

What judges is trained several times from the same beginning, on other texts each time, and goes on as the mean of their
weights: what a single run makes of an attack of which it has read little is luck (Wortsman et al. 2022, "Model soups").

A shipped model may go on instead: with more texts at a lower rate it settles, half of the way, which teaches it what is
new in the banks in an hour of a CPU.

A stage of training is skipped where its result is there, so a run that was cut off is started again with the same
command."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import TextIO

import torch
from tokenizers import Tokenizer
from transformers import DebertaV2ForSequenceClassification

from models.training.banks import BANKS, Banks, digests, load_banks
from models.training.descriptions import descriptions
from models.training.documents import DOCUMENTS, documents
from models.training.encoder import Shape, pretrained_folder, warm
from models.training.feed import Feed, mixed
from models.training.fit import Guess, Judge, Plan, best_device, fit, keep, started
from models.training.forward import halved, margins
from models.training.held import calibration, held
from models.training.mistaken import MISTAKEN, mistaken
from models.training.ordinary import Part, ordinary
from models.training.public import TRAINED, public
from models.training.reopened import reopened, started_from
from models.training.row import Row, read_rows, write_rows
from models.training.vocabulary import Vocabulary, build_vocabulary
from models.training.web import web
from models.training.wide import WIDE_FILE, Wide, fit_wide, matched, save_wide

__all__ = ["STAGE_FILE", "TRAINED_FOLDER", "Course", "CourseError", "rows", "run"]

TRAINED_FOLDER = "settled"
STAGE_FILE = "made.json"  # in each stage's folder: of what, and on what, it was trained
_WEIGHTS = "model.safetensors"
_RATE = 5e-4
_LATE = 2e-4  # the rate at which it settles
_EMBEDDINGS = 0.1  # of the rate
_HIDDEN = 0.1  # of the pieces
# Of the way that it settles, how much it goes: what it learns last costs it some of what it knew of texts unlike these,
# and half way it has most of both (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
_WAY = 0.5

_VOCABULARY_ROWS = 60_000
_MATCHED_ROWS = 2_000
_ORDINARY = MappingProxyType({"prose": 6_000, "tool_result": 20_000, "code": 16_000, "url": 3_000})


class CourseError(ValueError):
    """A folder that another training has begun: what differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """`data` holds third-party rows and may be missing; so may `dojo`, AgentDojo's wheel, and `web`, a folder with
    archives of pages. Steps are batches of `batch` texts, which `workers` processes draw; `wide_rows` are texts.
    What judges is trained `times` times. `start` is the folder of a shipped model to go on from: its tokenizer stays,
    and all that it does is settle. Without one it settles for no step unless told to."""

    folder: Path
    data: Path
    dojo: Path | None
    web: Path | None
    seed: int
    layers: tuple[int, ...]
    guess_steps: int
    judge_steps: int
    settle_steps: int
    times: int
    batch: int
    wide_rows: int
    workers: int = 0
    start: Path | None = None
    log: TextIO = sys.stdout


def run(course: Course) -> Path:
    """The folder of the trained model, with `tokenizer.json`; beside it the rows that set its thresholds
    (`calibration.jsonl`), those that it is measured on (`held.jsonl`), and its settings (`course.json`).

    Raises CourseError where the folder's settings are others.
    """
    course.folder.mkdir(parents=True, exist_ok=True)
    _begin(course.folder / "course.json", _settings(course))
    banks = load_banks(BANKS)
    pool = _pool(course)
    vocabulary = _vocabulary(course, banks, pool)
    feed = Feed(banks=banks, pool=pool, vocabulary=vocabulary, size=course.batch, workers=course.workers)
    trained = _settled(course, feed)
    vocabulary.tokenizer.save(str(course.folder / TRAINED_FOLDER / "tokenizer.json"))
    if not (course.folder / TRAINED_FOLDER / WIDE_FILE).exists():
        save_wide(_wide(course, vocabulary, banks, pool, trained), course.folder / TRAINED_FOLDER)
    _measured_on(course, banks)
    return course.folder / TRAINED_FOLDER


def rows(course: Course) -> None:
    """Only the rows: those that would be trained on, that set thresholds, and that a model is measured on."""
    course.folder.mkdir(parents=True, exist_ok=True)
    _pool(course)
    _measured_on(course, load_banks(BANKS))


def _measured_on(course: Course, banks: Banks) -> None:
    write_rows(course.folder / "calibration.jsonl", calibration(course.data, course.web, banks, course.seed))
    write_rows(course.folder / "held.jsonl", held(course.data, course.dojo, course.web, banks, course.seed))


def _settings(course: Course) -> dict[str, object]:
    """What the manifest of the model says of how it was trained, whatever the machine: see `_kept`."""
    return {
        "seed": course.seed,
        "start": None if course.start is None else started_from(course.start),
        "layers": list(course.layers),
        "guess_steps": course.guess_steps,
        "judge_steps": course.judge_steps,
        "settle_steps": course.settle_steps,
        "times": course.times,
        "batch": course.batch,
        "rate": _RATE,
        "late": _LATE,
        "embeddings": _EMBEDDINGS,
        "hidden": _HIDDEN,
        "mistaken": MISTAKEN,
        "way": _WAY,
        "wide_rows": course.wide_rows,
    }


def _begin(path: Path, settings: Mapping[str, object]) -> None:
    if path.exists():
        known = json.loads(path.read_text())
        names = sorted(name for name in {*known, *settings} if known.get(name) != settings.get(name))
        if names:
            begun = ", ".join(f"{name} {known.get(name)}" for name in names)
            raise CourseError(f"{path.parent} was begun with {begun}; go on with that, or name another folder")
    path.write_text(json.dumps(settings))


def _pool(course: Course) -> list[Row]:
    """What is public or of this machine and trained on."""
    path = course.folder / "pool.jsonl"
    if not path.exists():
        own = ordinary(Random(course.seed), Part.TRAIN, _ORDINARY)
        read = web(course.web, Part.TRAIN, Random(course.seed))
        told = documents(course.web, Part.TRAIN, Random(course.seed))
        said = descriptions(course.web, Part.TRAIN, Random(course.seed))
        write_rows(path, [*public(course.data, TRAINED, Random(course.seed)), *own, *read, *told, *said])
    return list(read_rows(path))


def _vocabulary(course: Course, banks: Banks, pool: Sequence[Row]) -> Vocabulary:
    tokenizer, rows = course.folder / "tokenizer.json", course.folder / "rows.json"
    if course.start is not None:  # whose embeddings are not the pretrained ones any more
        return Vocabulary(tokenizer=Tokenizer.from_file(str(course.start / "tokenizer.json")), rows=())
    if not rows.exists():
        drawn = islice(mixed(banks, pool, Random(course.seed + 5)), _VOCABULARY_ROWS)
        told = (row for row in pool if row.source == DOCUMENTS)
        built = build_vocabulary(pretrained_folder(), (row.text for row in (*drawn, *told)))
        built.tokenizer.save(str(tokenizer))
        rows.write_text(json.dumps(built.rows))
    return Vocabulary(
        tokenizer=Tokenizer.from_file(str(tokenizer)), rows=tuple(map(tuple, json.loads(rows.read_text())))
    )


def _guessed(course: Course, feed: Feed) -> DebertaV2ForSequenceClassification:
    """The pretrained encoder after it has guessed hidden pieces of the texts."""
    folder = course.folder / "guessed"
    if (folder / _WEIGHTS).exists():
        return DebertaV2ForSequenceClassification.from_pretrained(folder)
    folder.mkdir(exist_ok=True)
    torch.manual_seed(course.seed)
    model = warm(pretrained_folder(), Shape(layers=course.layers), feed.vocabulary.rows)
    # what goes on does not read the same texts again
    batches = feed.batches(f"{course.seed} guess {started(folder)}")
    fit(Guess(model), batches, Plan(steps=course.guess_steps, rate=_RATE), folder, course.log)
    _kept(course, model, folder)
    return model


def _judged(course: Course, feed: Feed) -> DebertaV2ForSequenceClassification:
    """That encoder after it has learnt to tell attacks; or the one to start from."""
    if course.start is not None:
        return reopened(course.start)
    folder = course.folder / "judged"
    if (folder / _WEIGHTS).exists():
        return DebertaV2ForSequenceClassification.from_pretrained(folder)
    model = _guessed(course, feed)
    plan = Plan(steps=course.judge_steps, rate=_RATE, embeddings=_EMBEDDINGS)
    _judge(course, feed, model, folder, plan)
    _kept(course, model, folder)
    return model


def _settled(course: Course, feed: Feed) -> DebertaV2ForSequenceClassification:
    """The same on its way to what more texts, of the banks as they are by then, make of it at a lower rate."""
    folder = course.folder / TRAINED_FOLDER
    if (folder / _WEIGHTS).exists():
        return DebertaV2ForSequenceClassification.from_pretrained(folder).eval()
    model = _judged(course, feed)
    folder.mkdir(exist_ok=True)
    if not course.settle_steps:
        keep(model, folder)
        return model
    path = folder / "mistaken.jsonl"
    if not path.exists():
        write_rows(path, mistaken(feed.pool, feed.vocabulary, model.to(best_device())))
    feed = replace(feed, pool=[*feed.pool, *read_rows(path)])
    plan = Plan(steps=course.settle_steps, rate=_LATE, embeddings=_EMBEDDINGS)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    _judge(course, feed, model, folder, plan)
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            weight.copy_(before[name].to(weight.device).lerp(weight, _WAY))
    _kept(course, model, folder)
    return model


def _judge(course: Course, feed: Feed, model: DebertaV2ForSequenceClassification, folder: Path, plan: Plan) -> None:
    """Makes `model` the mean of what it becomes each time; those are kept in folders of `folder`."""
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    mean = {name: torch.zeros_like(weight) for name, weight in before.items()}
    for time in range(course.times):
        once = folder / str(time)
        if (once / _WEIGHTS).exists():
            model.load_state_dict(DebertaV2ForSequenceClassification.from_pretrained(once).state_dict())
        else:
            once.mkdir(parents=True, exist_ok=True)
            model.load_state_dict(before)
            torch.manual_seed(course.seed + time)
            batches = feed.batches(f"{course.seed} {folder.name} {time} {started(once)}")
            fit(Judge(model, hidden=_HIDDEN), batches, plan, once, course.log)
            keep(model, once)
        for name, weight in model.state_dict().items():
            mean[name] += weight.to(mean[name].device) / course.times
    model.load_state_dict(mean)


def _kept(course: Course, model: DebertaV2ForSequenceClassification, folder: Path) -> None:
    """Stages of one folder may be months and machines apart: each says which banks it read, where, and by how many
    processes they were drawn, of which other numbers draw other texts."""
    read = hashlib.sha256(json.dumps(digests(BANKS), sort_keys=True).encode()).hexdigest()
    device = best_device()  # also of one whose parts had been trained before it was cut off
    with halved(device, training=True):
        half = torch.is_autocast_enabled(device.type)
    made = {
        "banks": f"sha256:{read}",
        "torch": torch.__version__,
        "device": device.type,
        "half": half,
        "workers": course.workers,
    }
    (folder / STAGE_FILE).write_text(json.dumps(made))
    keep(model, folder)


def _wide(
    course: Course,
    vocabulary: Vocabulary,
    banks: Banks,
    pool: Sequence[Row],
    trained: DebertaV2ForSequenceClassification,
) -> Wide:
    draw = mixed(banks, pool, Random(f"{course.seed} wide"))
    wide = fit_wide(draw, vocabulary, course.wide_rows, course.log)
    ids = vocabulary.encoded(list(islice(draw, _MATCHED_ROWS)), 128)
    return matched(wide, ids, margins(trained, ids))
