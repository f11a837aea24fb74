"""`tail`: the newest records, and those that come."""

import select
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from audit.cli.terms import FILE, SHOWN, filtered, format_option, render_for, streaming, write

if TYPE_CHECKING:
    from audit.formats import Format
    from audit.query import Filter

__all__ = ["command"]

_PAUSE_MS: Final = 250


@click.command("tail")
@click.argument("db", type=FILE)
@click.option("-n", "--lines", "count", type=click.IntRange(min=0), metavar="N", default=10, help="So many first: 10.")
@click.option("--follow/--no-follow", default=True, help="Wait for more until Ctrl-C, or not. Default: wait.")
@filtered()
@format_option(SHOWN)
def command(db: Path, count: int, *, follow: bool, where: "Filter", form: "Format | None") -> None:
    """Show the newest records of DB and those that are added."""
    from audit.follow import follow as coming
    from audit.follow import last

    with streaming():
        found, size = last(db, where, count)
        more = coming(db, where, size, _pause) if follow else ()
        write(render_for(form)(chain(found, more)), at_once=True)


def _pause() -> None:
    """Wait for a moment. Raises BrokenPipeError as soon as nobody reads any more."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    if poll.poll(_PAUSE_MS):
        raise BrokenPipeError
