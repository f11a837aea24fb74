"""`list`: records by filter."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from audit.cli.terms import FILE, explained, moment, span

__all__ = ["command"]


@click.command("list")
@click.argument("db", type=FILE)
@click.option("--since", type=moment, metavar="TIME", help="Not before this time.")
@click.option("--until", type=moment, metavar="TIME", help="Before this time.")
@click.option("--kind")
@click.option("--session")
@click.option("--agent")
@click.option("--call-id")
@click.option("--ref", type=click.IntRange(min=0), help="Refers to this record.")
@click.option("--seq", "span", type=span, metavar="A..B", default="0..", help="Records A to B.")
@click.option("--limit", type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="One record a line.")
def command(
    db: Path,
    *,
    since: int | None,
    until: int | None,
    kind: str | None,
    session: str | None,
    agent: str | None,
    call_id: str | None,
    ref: int | None,
    span: tuple[int, int | None],
    limit: int | None,
    as_json: bool,
) -> None:
    """List records of DB as it holds them; only `verify` shows that they are what was signed."""
    from dataclasses import asdict

    from audit.query import Filter, select

    where = Filter(
        start=span[0],
        stop=None if span[1] is None else span[1] + 1,
        since=since,
        until=until,
        kind=kind,
        session=session,
        agent=agent,
        call_id=call_id,
        ref=ref,
        limit=limit,
    )
    with explained():
        for record in select(db, where):
            one = record.envelope
            if as_json:
                click.echo(json.dumps({**asdict(one), "leaf_hash": record.leaf_hash.hex()}))
                continue
            moment = datetime.fromtimestamp(min(one.time, 253402300799999) / 1000, UTC)
            ref_text = "" if one.ref is None else f" -> {one.ref}"
            click.echo(
                f"{one.seq:>8}  {moment.isoformat(timespec='milliseconds')}  {one.kind + ref_text:<20}  "
                f"{one.session or '-'}  {one.agent or '-'}  {one.call_id or '-'}"
            )
