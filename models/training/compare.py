"""The report: every scorer on every left-out source, with 95 % intervals, and what the shipped thresholds do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.training.report import measure, percent, shown
from models.training.row import WRITTEN, WRITTEN_PAYLOADS, Row
from shield.types import Answer

__all__ = ["Compared", "by_source", "shipped_table", "sources_table"]

SHARES = (0.001, 0.01, 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One attack source under one scorer, against all left-out harmless texts of its kind."""

    source: str
    kind: str
    scorer: str
    attacks: int
    harmless: int
    auc: tuple[float, float, float]
    recalls: Mapping[float, tuple[float, float, float]]


def by_source(rows: Sequence[Row], scores: Mapping[str, Sequence[float]]) -> list[Compared]:
    """`scores` maps each scorer's name to its score of every row; higher is more of an attack. Attacks of other writers
    are held against those writers' harmless texts, which are harder than what machines are full of; their calls and
    records, which are not, stay out of it."""
    found = []
    clean: dict[tuple[str, bool], list[int]] = {}
    bad: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        if row.label:
            bad.setdefault((_name(row), row.kind), []).append(place)
        elif row.source != "generated" and row.family != WRITTEN_PAYLOADS:
            clean.setdefault((row.kind, row.source == WRITTEN), []).append(place)
    for (source, kind), places in sorted(bad.items()):
        against = clean.get((kind, rows[places[0]].source == WRITTEN), [])
        if len(places) < _LEAST or not against:
            continue
        for scorer, values in scores.items():
            measured = measure([values[place] for place in places], [values[place] for place in against], SHARES)
            found.append(
                Compared(
                    source=source,
                    kind=kind,
                    scorer=scorer,
                    attacks=measured.attacks,
                    harmless=measured.harmless,
                    auc=measured.auc,
                    recalls=measured.recalls,
                )
            )
    return found


_LEAST = 8  # texts of a source and kind, below which nothing is said of it


def sources_table(compared: Iterable[Compared]) -> str:
    """Markdown: a row for each source and scorer, then the mean of each scorer over the sources that were left out."""
    lines = ["| source (kind, texts) | scorer | AUC | recall at 0.1 % | at 1 % | at 5 % |", "|---|---|---|---|---|---|"]
    sums: dict[str, list[float]] = {}
    for one in compared:
        recalled = " | ".join(shown(*one.recalls[share]) for share in SHARES)
        lines.append(f"| {one.source} ({one.kind}, {one.attacks}) | {one.scorer} | {_area(*one.auc)} | {recalled} |")
        if not one.source.startswith(("generated", WRITTEN)):
            values = [1.0, one.auc[0], *(one.recalls[share][0] for share in SHARES)]
            before = sums.setdefault(one.scorer, [0.0] * len(values))
            sums[one.scorer] = [old + new for old, new in zip(before, values, strict=True)]
    for scorer, (count, auc, *recalls) in sums.items():
        means = " | ".join(f"{100 * value / count:.1f} %" for value in recalls)
        lines.append(f"| **mean of {count:.0f} left-out sources** | {scorer} | {auc / count:.3f} | {means} |")
    return "\n".join(lines) + "\n"


def shipped_table(rows: Sequence[Row], answers: Mapping[str, Sequence[Answer]]) -> str:
    """Markdown: for each source, how many of its texts each judge blocks, and how many it blocks or sends up."""
    judges = list(answers)
    head = "".join(f" {judge}: BLOCK | {judge}: BLOCK or ESCALATE |" for judge in judges)
    lines = [f"| source (kind, texts) | label |{head}", "|---|---|" + "---|---|" * len(judges)]
    groups: dict[tuple[int, str, str], list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault((-row.label, _name(row), row.kind), []).append(place)
        if not row.label and row.source not in ("generated", WRITTEN):
            groups.setdefault((1, "all left-out harmless", row.kind), []).append(place)
    for (label, source, kind), places in sorted(groups.items()):
        cells = []
        for judge in judges:
            said = [answers[judge][place] for place in places]
            for wanted in ((Answer.BLOCK,), (Answer.BLOCK, Answer.ESCALATE)):
                hits = sum(answer in wanted for answer in said)
                cells.append(percent(hits, len(places)))
        what = "attack" if label == -1 else "harmless"
        lines.append(f"| {source} ({kind}, {len(places)}) | {what} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _area(value: float, low: float, high: float) -> str:
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def _name(row: Row) -> str:
    return "generated" if row.source == "generated" else row.family
