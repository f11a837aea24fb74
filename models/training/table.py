"""Tables of all sorts, as tools return them: figures, names and dates in Markdown, CSV, fixed columns, HTML or JSON
lines. They hold nothing that could be an order."""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

__all__ = ["table"]

_SOUNDS = (
    "ka",
    "lo",
    "mi",
    "ra",
    "ten",
    "bor",
    "sel",
    "vi",
    "and",
    "er",
    "is",
    "ho",
    "ju",
    "mar",
    "el",
    "do",
    "nic",
    "ost",
)
_THINGS = (
    "spring", "river", "league", "station", "album", "tower", "bridge", "season", "engine", "harbour", "museum",
    "theatre", "village", "college", "express", "garden", "king", "light", "story", "school", "island", "cup", "night",
)  # fmt: skip


def _name(rng: Random) -> str:
    return "".join(rng.choices(_SOUNDS, k=rng.randint(2, 3))).capitalize()


def _person(rng: Random) -> str:
    nation = rng.choice(("", "", "", f" ({_name(rng)[:3].upper()})"))
    return f"{_name(rng)} {_name(rng)}{nation}"


def _title(rng: Random) -> str:
    words = " ".join(word.capitalize() for word in rng.choices(_THINGS, k=rng.randint(1, 4)))
    return rng.choice((words, words, f'"{words}"', f"The {words}", f"{words} (Part {rng.randint(1, 3)})"))


def _place(rng: Random) -> str:
    return rng.choice((_name(rng), f"{_name(rng)}, {_name(rng)}", f"{_name(rng)} {rng.choice(_THINGS).capitalize()}"))


def _date(rng: Random) -> str:
    year, month, day = rng.randint(1890, 2026), rng.randint(1, 12), rng.randint(1, 28)
    named = ("Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")[month - 1]
    return rng.choice((f"{day} {named} {year}", f"{year}-{month:02}-{day:02}", f"{day:02}/{month:02}/{year % 100:02}"))


def _figure(rng: Random) -> str:
    number = rng.choice((rng.randint(0, 40), rng.randint(40, 2_000), rng.randint(2_000, 9_000_000)))
    return rng.choice(
        (str(number), f"{number:,}", f"{number / 10}", f"{rng.randint(0, 99)}%", "\u2013", "", f"+{number}")
    )


def _score(rng: Random) -> str:
    low, high = rng.randint(0, 9), rng.randint(0, 21)
    return rng.choice((f"{low}\u2013{high}", f"{low}-{high}", f"{low}:{high}", f"W {low}-{high}", f"{low}/{high}"))


def _money(rng: Random) -> str:
    return f"{rng.choice(('$', '€', '£', ''))}{rng.randint(1, 9_999):,}.{rng.randint(0, 99):02}"


def _code(rng: Random) -> str:
    return f"{rng.choice('ABCDKXM')}{rng.choice(('', '-'))}{rng.randint(1, 9_999)}"


def _status(rng: Random) -> str:
    return rng.choice(("open", "closed", "yes", "no", "active", "running", "ok", "done", "DNF", "n/a", "won", "lost"))


# what a column holds, and what may stand above it
_COLUMNS: Mapping[Callable[[Random], str], Sequence[str]] = MappingProxyType(
    {
        _person: ["Name", "Player", "Driver", "Director", "Artist", "Owner", "Candidate", "Teacher", "user", "author"],
        _title: ["Title", "Film", "Song", "Chapter", "Album", "Book", "Event", "Programme", "subject"],
        _place: ["City", "Venue", "Location", "County", "Station", "Country", "Club", "Team", "region", "warehouse"],
        _date: ["Date", "Year", "Launched", "Founded", "Opened", "Born", "Due", "created_at", "updated"],
        _figure: [
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
        _score: ["Score", "Result", "Record", "Final", "Half-time", "Sets"],
        _money: ["Price", "Amount", "Salary", "Budget", "Gross", "Net", "Balance", "Fee", "total"],
        _code: ["No.", "Code", "id", "Order", "Model", "Route", "Gate", "sku", "Platform", "ticket"],
        _status: ["Status", "Type", "Notes", "Remark", "Round", "Language", "state", "Category", "priority"],
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
    title = rng.choice(
        ("", "", "", f"{_title(rng)}\n\n", f"## {_title(rng)}\n", f"Table {rng.randint(1, 9)}. {_title(rng)}\n")
    )
    return f"{title}{text}\n{slot}" if slot else title + text


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
