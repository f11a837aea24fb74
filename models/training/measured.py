"""`python -m models.training.measured RUN MODEL`: what the shipped model and rules do on the rows that were left out,
against the peers, in one run; and what twenty-two changes of a text cost."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from random import Random

from models.training.banks import BANKS, load_banks
from models.training.compare import by_source, shipped_table, sources_table
from models.training.feed import mixed
from models.training.peers import governance, grams
from models.training.report import interval
from models.training.robust import CHANGES, changed
from models.training.row import Row, read_rows
from shield.heuristics.load import load_heuristics
from shield.model.holder import ModelHolder
from shield.tiers.texts import Judged, Text, TextJudge
from shield.tiers.witnesses import NO_MODEL
from shield.types import Answer, TextKind

__all__ = ["main", "measured", "robustness"]

ROOT = Path(__file__).resolve().parents[2]
_FITTED = 40_000  # rows that the peer is fitted to, drawn as the classifier's own
_CHANGED = 200  # attacks that are changed in every way
_LEVELS = {Answer.BLOCK: 2.0, Answer.ESCALATE: 1.0}


def measured(rows: Sequence[Row], judge: TextJudge, rules: TextJudge, fitted: Iterator[Row]) -> tuple[str, str, object]:
    """Two tables in Markdown and all numbers. `rules` is the judge without a model."""
    both = [judge.judge([_text(row)])[0] for row in rows]
    alone = [rules.judge([_text(row)])[0] for row in rows]
    margins = [one.margin if one.margin is not None else _LOWEST for one in both]
    scores = {
        "classifier": margins,
        "heuristics": [_LEVELS.get(one.answer, 0.0) for one in alone],
        "both": [margin + _RULES * _LEVELS.get(one.answer, 0.0) for margin, one in zip(margins, alone, strict=True)],
        "character n-grams": grams(fitted)(rows),
    }
    detector = governance()
    if detector is not None:
        scores["agent-governance-toolkit-core"] = detector(rows)
    compared = by_source(rows, scores)
    answers = {"both": [one.answer for one in both], "heuristics alone": [one.answer for one in alone]}
    return sources_table(compared), shipped_table(rows, answers), [asdict(one) for one in compared]


_LOWEST = -30.0
_RULES = 10.0  # a rule's word weighs more than any margin


def robustness(rows: Sequence[Row], judge: TextJudge, rng: Random) -> str:
    """Markdown: of attacks that stand in tool results, how many are still blocked or sent up after each change."""
    attacks = [row for row in rows if row.label and row.kind == "tool_result" and len(row.text) < _SHORT]
    clean = [row.text for row in rows if not row.label and row.kind == "tool_result" and 200 < len(row.text) < _SHORT]
    chosen = rng.sample(attacks, min(_CHANGED, len(attacks)))
    before = _caught(judge, [[row.text] for row in chosen])
    lines = ["| change | blocked or sent up | lost |", "|---|---|---|", f"| none | {_share(before, len(chosen))} | |"]
    for name in CHANGES:
        after = _caught(judge, [changed(name, row.text, rng.choice(clean), rng) for row in chosen])
        lost = 100 * (before - after) / max(1, len(chosen))
        lines.append(f"| {name} | {_share(after, len(chosen))} | {lost:.1f} points |")
    return "\n".join(lines) + "\n"


_SHORT = 1_200


def _caught(judge: TextJudge, payloads: Sequence[Sequence[str]]) -> int:
    found = 0
    for texts in payloads:
        judged: Sequence[Judged] = judge.judge([Text(text=text, kind=TextKind.TOOL_RESULT) for text in texts])
        found += any(one.answer in _LEVELS for one in judged)
    return found


def _share(hits: int, of: int) -> str:
    low, high = interval(hits, of)
    return f"{100 * hits / max(1, of):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _text(row: Row) -> Text:
    return Text(text=row.text, kind=TextKind(row.kind))


def main(show: Callable[[str], None] = print) -> None:
    """Reads the command line; writes `measured.md` and `measured.json` into the run's folder."""
    reader = argparse.ArgumentParser(prog="python -m models.training.measured", description=__doc__)
    reader.add_argument("run", type=Path, help="the folder of the training run")
    reader.add_argument("model", type=Path, help="the folder of the shipped model")
    reader.add_argument("--seed", type=int, default=20261122)
    given = reader.parse_args()
    heuristics = load_heuristics(ROOT / "policies" / "heuristics")
    holder = ModelHolder(given.model)
    holder.load()
    judge = TextJudge(heuristics, holder)
    rows = list(read_rows(given.run / "held.jsonl"))
    pool = list(read_rows(given.run / "pool.jsonl"))
    fitted = islice(mixed(load_banks(BANKS), pool, Random(given.seed)), _FITTED)
    sources, shipped, numbers = measured(rows, judge, TextJudge(heuristics, NO_MODEL), fitted)
    changes = robustness(rows, judge, Random(given.seed))
    text = f"## By left-out source\n\n{sources}\n## At the shipped thresholds\n\n{shipped}\n## Changed\n\n{changes}"
    (given.run / "measured.md").write_text(text, encoding="utf-8")
    (given.run / "measured.json").write_text(json.dumps(numbers), encoding="utf-8")
    show(text)


if __name__ == "__main__":
    main()
