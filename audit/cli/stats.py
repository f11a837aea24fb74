"""`stats`: what is in a log, counted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.terms import FILE, filtered, printable, rfc3339, streaming, write

if TYPE_CHECKING:
    from audit.query import Filter
    from audit.stats import Stats

__all__ = ["command"]


@click.command("stats")
@click.argument("db", type=FILE)
@filtered()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(db: Path, where: "Filter", *, as_json: bool) -> None:
    """Count what DB holds: kinds, decisions, rules, sessions, days, latency, size."""
    from dataclasses import asdict

    from audit.stats import stats

    with streaming():
        found = stats(db, where)
        if as_json:
            write([json.dumps({**asdict(found), "unsealed": found.unsealed}) + "\n"])
        else:
            write(f"{line}\n" for line in _lines(found))


def _lines(found: "Stats") -> Iterator[str]:
    from audit.plain import size_text, span_text

    yield f"log        {printable(found.log)}"
    some = "" if found.matching == found.records else f", {found.matching} looked at"
    yield f"records    {found.records}{some}"
    if found.first is not None and found.last is not None:
        yield f"from       {rfc3339(found.first)} to {rfc3339(found.last)}"
    per = "" if found.bytes_per_record is None else f", {found.bytes_per_record} B a record"
    yield f"on disk    {size_text(found.disk)}{per}"
    yield f"sealed     {found.sealed} under {found.checkpoints} checkpoints, unsealed {found.unsealed}"
    if not found.matching:
        return
    yield f"sessions   {found.sessions}{'' if found.sessions_exact else ' and more'}"
    if found.latency_median_us is not None and found.latency_p95_us is not None:
        yield f"latency    median {span_text(found.latency_median_us)}, p95 {span_text(found.latency_p95_us)}"
    if found.refused is not None:
        yield f"refused    {found.refused:.1%} of {sum(found.decisions.values())} decisions"
    for title, counts in (
        ("kinds", found.kinds),
        ("decisions", found.decisions),
        ("tiers", found.tiers),
        ("types", found.types),
        ("rules", found.rules),
        ("agents", found.agents),
        ("days", found.days),
    ):
        if counts:
            yield ""
            yield title
            most, every = max(len(str(count)) for count in counts.values()), sum(counts.values())
            for name, count in counts.items():
                yield f"  {count:>{most}}  {count / every:>6.1%}  {printable(name)}"
