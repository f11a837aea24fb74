"""Tables of all sorts, as tools return them: figures, names and dates in Markdown, CSV, fixed columns, HTML or JSON
lines. They hold nothing that could be an order."""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

from models.training.invented import code, date, figure, money, person, place, score, status, title

__all__ = ["table"]

# what a column holds, and what may stand above it
_COLUMNS: Mapping[Callable[[Random], str], Sequence[str]] = MappingProxyType(
    {
        person: ["Name", "Player", "Driver", "Director", "Artist", "Owner", "Candidate", "Teacher", "user", "author"],
        title: ["Title", "Film", "Song", "Chapter", "Album", "Book", "Event", "Programme", "subject"],
        place: ["City", "Venue", "Location", "County", "Station", "Country", "Club", "Team", "region", "warehouse"],
        date: ["Date", "Year", "Launched", "Founded", "Opened", "Born", "Due", "created_at", "updated"],
        figure: [
            "Rank",
            "Points",
            "Total",
            "Population",
            "Number",
            "Goals",
            "Visitors",
            "Played",
            "count",
            "#",
            "quantity",
        ],
        score: ["Score", "Result", "Record", "Final", "Half-time", "Sets"],
        money: ["Price", "Amount", "Salary", "Budget", "Gross", "Net", "Balance", "Fee", "total"],
        code: ["No.", "Code", "id", "Order", "Model", "Route", "Gate", "sku", "Platform", "ticket"],
        status: ["Status", "Type", "Notes", "Remark", "Round", "Language", "state", "Category", "priority"],
    }
)


def table(rng: Random, slot: str = "") -> str:
    """One table. Where `slot` is given, it stands in one of the cells of words, or on a line of its own below."""
    kinds = rng.sample(list(_COLUMNS), rng.randint(2, 8))
    rows = [[cell(rng) for cell in kinds] for _ in range(rng.randint(2, 14))]
    if slot and rng.random() < 0.6:
        rng.choice(rows)[rng.randrange(len(kinds))] = slot
        slot = ""
    head = [rng.choice(_COLUMNS[cell]) for cell in kinds]
    text = rng.choice((_markdown, _markdown, _padded, _padded, _separated, _html, _records))(head, rows, rng)
    above = rng.choice(
        ("", "", "", f"{title(rng)}\n\n", f"## {title(rng)}\n", f"Table {rng.randint(1, 9)}. {title(rng)}\n")
    )
    return f"{above}{text}\n{slot}" if slot else above + text


def _markdown(head: list[str], rows: list[list[str]], rng: Random) -> str:
    rule = [["---"] * len(head)] if rng.random() < 0.7 else []
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, *rule, *rows])


def _padded(head: list[str], rows: list[list[str]], rng: Random) -> str:
    widths = [min(max(len(row[at]) for row in [head, *rows]), 60) for at in range(len(head))]
    bar, ends = rng.choice(((" | ", True), ("  ", False), (" | ", True), (" │ ", False)))
    lines = [bar.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    if rng.random() < 0.4:
        lines.insert(1, rng.choice(("-", "=", "-+-")) * (sum(widths) // 3))
    return "\n".join(f"| {line} |" if ends else line.rstrip() for line in lines)


def _separated(head: list[str], rows: list[list[str]], rng: Random) -> str:
    mark = rng.choice((",", ";", "\t", "\t"))
    return "\n".join(mark.join(f'"{cell}"' if mark in cell else cell for cell in row) for row in [head, *rows])


def _html(head: list[str], rows: list[list[str]], rng: Random) -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    end = rng.choice(("", "\n"))
    return f"<table>{end}<tr>{top}</tr>{end}" + end.join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )


def _records(head: list[str], rows: list[list[str]], rng: Random) -> str:
    found = [dict(zip(head, row, strict=True)) for row in rows]
    if rng.random() < 0.5:
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in found)
    return json.dumps(found, ensure_ascii=False, indent=rng.choice((None, 1, 2)))
