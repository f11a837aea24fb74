"""`list`: records by filter."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.terms import FILE, SHOWN, filtered, format_option, render_for, streaming, write

if TYPE_CHECKING:
    from audit.formats import Format
    from audit.query import Filter

__all__ = ["command"]


@click.command("list")
@click.argument("db", type=FILE)
@filtered(cut=True)
@format_option(SHOWN)
def command(db: Path, where: "Filter", form: "Format | None") -> None:
    """List records of DB as it holds them; only `verify` shows that they are what was signed."""
    from audit.query import select

    with streaming():
        write(render_for(form)(select(db, where)))
