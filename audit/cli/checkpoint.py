"""`checkpoint`: what the log commits to now."""

import sys
from pathlib import Path

import click

from audit.cli.terms import FILE, explained, on_terminal, printable

__all__ = ["command", "tell"]


def tell(text: str) -> None:
    """Print a note or a proof, byte for byte but where a person reads it: a signature's name may hold what moves."""
    if on_terminal(sys.stdout):
        text = "".join(f"{printable(line)}\n" for line in text.removesuffix("\n").split("\n"))
    click.echo(text, nl=False)


@click.command("checkpoint")
@click.argument("db", type=FILE)
def command(db: Path) -> None:
    """Print the newest checkpoint, to be kept where the operator cannot reach it."""
    from audit.reader import read_checkpoint

    with explained():
        tell(read_checkpoint(db))
