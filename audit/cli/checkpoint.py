"""`checkpoint`: what the log commits to now."""

from pathlib import Path

import click

from audit.cli.terms import FILE, explained

__all__ = ["command"]


@click.command("checkpoint")
@click.argument("db", type=FILE)
def command(db: Path) -> None:
    """Print the newest checkpoint, to be kept where the operator cannot reach it."""
    from audit.reader import read_checkpoint

    with explained():
        click.echo(read_checkpoint(db), nl=False)
