"""`list`: records by filter."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.terms import FILE, SHOWN, filtered, format_option, printable, render_for, streaming, write

if TYPE_CHECKING:
    from audit.formats import Format
    from audit.query import Filter, Record

__all__ = ["command"]


@click.command("list")
@click.argument("db", type=FILE)
@filtered(cut=True)
@format_option(SHOWN)
def command(db: Path, where: "Filter", form: "Format | None") -> None:
    """List records of DB as it holds them; only `verify` shows that they are what was signed."""
    from audit.query import select

    found = False

    def seen() -> "Iterator[Record]":
        nonlocal found
        for record in select(db, where):
            found = True
            yield record

    with streaming():
        write(render_for(form)(seen()))
        if not found:
            click.echo(f"no record matches{_unknown(db, where.kinds)}", err=True)


def _unknown(db: Path, kinds: tuple[str, ...]) -> str:
    """What is added where a kind was asked for that the log does not have: a slip of the pen finds nothing, too."""
    from audit.errors import AuditError
    from audit.reader import kinds_in_force

    try:
        known = [kind.name for kind in kinds_in_force(db).kinds]
    except AuditError:
        return ""
    strange = [name for name in kinds if name not in known]
    return f"; `{printable(strange[0])}` is no kind of this log, these are: {', '.join(known)}" if strange else ""
