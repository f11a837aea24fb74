"""A whole training in a folder: tokenizer, teacher, student, scores. Each stage is skipped where its result is there,
so a run that was cut off is started again with the same command."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TextIO

import torch
from tokenizers import Tokenizer
from transformers import DebertaV2ForSequenceClassification

from models.training.banks import BANKS, Banks, load_banks
from models.training.compose import attacks, harmless
from models.training.dojo import dojo
from models.training.encoder import Shape, pretrained_folder, warm
from models.training.feed import feed, mixed
from models.training.fit import Plan, fit, margins
from models.training.public import HELD, TRAINED, machine, public
from models.training.row import Row, read_rows, write_rows
from models.training.vocabulary import Vocabulary, build_vocabulary

__all__ = ["Course", "run"]

_VOCABULARY_ROWS = 60_000
_MACHINE_ROWS = 6_000
_HELD_MACHINE_ROWS = 1_500
_HELD_GENERATED_ROWS = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """`data` holds third-party rows and may be missing; so may `dojo`, AgentDojo's wheel. Steps are batches of 32."""

    folder: Path
    data: Path
    dojo: Path | None
    seed: int
    layers: tuple[int, ...]
    teacher_steps: int
    student_steps: int
    log: TextIO = sys.stdout


def run(course: Course) -> Path:
    """The folder of the trained model, with `tokenizer.json` and `scores.jsonl` (rows of `held.jsonl`, margins)."""
    course.folder.mkdir(parents=True, exist_ok=True)
    banks = load_banks(BANKS)
    pool = _pool(course)
    vocabulary = _vocabulary(course, banks, pool)
    teach = None
    if course.teacher_steps:
        teacher = _model(course, "teacher", range(6), course.teacher_steps, vocabulary, banks, pool, None)
        teach = _teaching(teacher)
    student = _model(course, "student", course.layers, course.student_steps, vocabulary, banks, pool, teach)
    folder = course.folder / "student"
    vocabulary.tokenizer.save(str(folder / "tokenizer.json"))
    held = list(_held(course, banks))
    write_rows(course.folder / "held.jsonl", held)
    found = margins(student, [vocabulary.encode(row.text, row.kind, 128) for row in held])
    (course.folder / "scores.json").write_text(json.dumps(found))
    return folder


def _pool(course: Course) -> list[Row]:
    """What is public and trained on; of the machine's own text another part than is held out."""
    path = course.folder / "pool.jsonl"
    if not path.exists():
        own = list(machine(Random(course.seed), _MACHINE_ROWS + _HELD_MACHINE_ROWS))
        write_rows(course.folder / "machine-held.jsonl", own[:_HELD_MACHINE_ROWS])
        write_rows(path, [*public(course.data, TRAINED, Random(course.seed)), *own[_HELD_MACHINE_ROWS:]])
    return list(read_rows(path))


def _held(course: Course, banks: Banks) -> Iterator[Row]:
    """Sources that no training saw; and generated rows of another seed, which say only that it learnt its banks."""
    yield from public(course.data, HELD, Random(course.seed + 1))
    yield from read_rows(course.folder / "machine-held.jsonl")
    if course.dojo is not None:
        yield from dojo(course.dojo, Random(course.seed + 2))
    yield from islice(attacks(banks, Random(course.seed + 3)), _HELD_GENERATED_ROWS)
    yield from islice(harmless(banks, Random(course.seed + 4)), _HELD_GENERATED_ROWS)


def _vocabulary(course: Course, banks: Banks, pool: Sequence[Row]) -> Vocabulary:
    tokenizer, rows = course.folder / "tokenizer.json", course.folder / "rows.json"
    if not rows.exists():
        texts = (row.text for row in islice(mixed(banks, pool, Random(course.seed + 5)), _VOCABULARY_ROWS))
        built = build_vocabulary(pretrained_folder(), texts)
        built.tokenizer.save(str(tokenizer))
        rows.write_text(json.dumps(built.rows))
    return Vocabulary(tokenizer=Tokenizer.from_file(str(tokenizer)), rows=tuple(json.loads(rows.read_text())))


def _model(
    course: Course,
    name: str,
    layers: Sequence[int],
    steps: int,
    vocabulary: Vocabulary,
    banks: Banks,
    pool: Sequence[Row],
    teach: Callable[[Sequence[Sequence[int]]], Sequence[float]] | None,
) -> DebertaV2ForSequenceClassification:
    folder = course.folder / name
    if (folder / "model.safetensors").exists():
        return DebertaV2ForSequenceClassification.from_pretrained(folder).eval()
    folder.mkdir(exist_ok=True)
    torch.manual_seed(course.seed)
    model = warm(pretrained_folder(), Shape(layers=tuple(layers)), vocabulary.rows)
    draw = Random(f"{course.seed} {name}")
    batches = feed(mixed(banks, pool, draw), vocabulary, draw, teach=teach)
    plan = Plan(steps=steps, rate=2e-4, taught=0.5 if teach is not None else 0.0)
    model = fit(model, batches, plan, folder, course.log)
    model.save_pretrained(folder)
    return model


def _teaching(teacher: DebertaV2ForSequenceClassification) -> Callable[[Sequence[Sequence[int]]], Sequence[float]]:
    return lambda ids: margins(teacher, ids)
