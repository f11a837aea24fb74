"""`open`: what is kept beside a record, and whether it is what the record commits to."""

import sys
from pathlib import Path

import click

from audit.cli.terms import FILE, SEQ, explained, printable

__all__ = ["command"]


@click.command("open")
@click.argument("db", type=FILE)
@click.argument("seq", type=SEQ)
@click.option(
    "--private-key", "key_file", type=click.Path(path_type=Path), required=True, help="The master key's file."
)
@click.option("--content", "content_file", type=FILE, help="Compare this file with the commitment.")
@click.option("--raw", is_flag=True, help="Print the content's exact bytes and nothing else.")
def command(db: Path, seq: int, key_file: Path, content_file: Path | None, *, raw: bool) -> None:
    """Open what the log DB keeps beside record SEQ and compare it with what the record commits to.

    Exit code 1 if the record commits to something else. Only `verify` shows that the record is what was signed.
    """
    from audit.errors import LogDamagedError
    from audit.private import commitment, find, load_master, open_private
    from audit.query import Filter, select

    with explained():
        private = open_private(db, seq, load_master(key_file))
        content = private.content if content_file is None else content_file.read_bytes()
        record = next(select(db, Filter(start=seq, stop=seq + 1)), None)
        if record is None:
            raise LogDamagedError(f"record {seq} is missing and something is kept beside it; run `verify`")
        if content_file is None and not private.content:
            click.echo(f"only the salt is kept: {private.salt.hex()}; give the content with --content to compare it")
            return
        digest = commitment(private.salt, content)
        places = find(record.envelope.body, digest)
        if raw and places:
            sys.stdout.buffer.write(content)
            return
        if not places:
            click.echo(f"record {seq} commits to something else: `{digest}` stands nowhere in its body", err=True)
            sys.exit(1)
        click.echo(f"record {seq} commits to it: `{digest}` is its `{'`, `'.join(map(printable, places))}`")
        if content_file is None:
            click.echo(printable(content.decode("utf-8", "backslashreplace")))
