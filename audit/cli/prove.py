"""`prove`: one record stands in the log."""

from pathlib import Path

import click

from audit.cli.checkpoint import tell
from audit.cli.terms import FILE, SEQ, explained, key_option

__all__ = ["command"]


@click.command("prove")
@click.argument("db", type=FILE)
@click.argument("seq", type=SEQ)
@key_option
def command(db: Path, seq: int, key_file: Path) -> None:
    """Print the proof of record SEQ (c2sp.org/tlog-proof), checked first."""
    from audit.keys import read_verify_key
    from audit.reader import prove as prove_record

    with explained():
        tell(prove_record(db, seq, read_verify_key(key_file))[1].text())
