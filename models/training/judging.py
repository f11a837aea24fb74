"""Many texts judged by several processes, each with rules and a model of its own: most of the time is Python's."""

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from models.training.row import Row
from shield.heuristics.load import load_heuristics
from shield.model.scorer import Scorer, load_scorer
from shield.tiers.judged import Text
from shield.tiers.texts import TextJudge
from shield.tiers.witnesses import NO_MODEL
from shield.types import Answer, TextKind

__all__ = ["Said", "judge_of", "judged"]

_CHUNK = 64  # texts that a process takes at once
_judges: list[TextJudge] = []  # of this process, and of no other


@dataclass(frozen=True, slots=True)
class Said:
    """What rules and model make of a text; `margin` is None where the model did not read it."""

    answer: Answer
    margin: float | None


@dataclass(frozen=True, slots=True)
class _Ready:
    scorer: Scorer
    state: str = "ready"


def judge_of(heuristics: Path, model: Path | None) -> TextJudge:
    """Raises PolicyError, ModelError."""
    return TextJudge(load_heuristics(heuristics), NO_MODEL if model is None else _Ready(load_scorer(model)))


def judged(rows: Sequence[Row], heuristics: Path, model: Path | None) -> list[Said]:
    """One for each row, in order. `model` None: the rules alone. Raises PolicyError, ModelError."""
    judge_of(heuristics, model)  # what is wrong with them is said here, not in every process
    # a session of onnxruntime does not outlive a fork
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context, initializer=_begin, initargs=(heuristics, model)) as pool:
        return list(pool.map(_said, [(row.text, row.kind) for row in rows], chunksize=_CHUNK))


def _begin(heuristics: Path, model: Path | None) -> None:
    _judges.append(judge_of(heuristics, model))


def _said(asked: tuple[str, str]) -> Said:
    text, kind = asked
    found = _judges[0].judge([Text(text=text, kind=TextKind(kind))])[0]
    return Said(answer=found.answer, margin=found.margin)
