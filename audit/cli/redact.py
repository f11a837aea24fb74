"""`redact`: destroy what is kept beside records."""

import os
import sys
from pathlib import Path

import click

from audit.cli.terms import FILE, explained, moment, span
from audit.cli.writing import Access, opened, writing

__all__ = ["command"]


@click.command("redact")
@click.argument("db", type=FILE)
@writing
@click.option("--seq", "seqs", type=span, metavar="A..B", help="Beside the records A to B.")
@click.option("--session", help="Beside all records of a session.")
@click.option("--until", type=moment, metavar="TIME", help="Beside all records from before this time.")
@click.option(
    "--private-key",
    type=click.Path(path_type=Path),
    help="The master key's file; needed where sessions keep more than that.  [default: in --keys, if it is there]",
)
@click.option("--reason", required=True, help="Recorded with what was done.")
@click.option("--kind", default="redaction", show_default=True, help="Kind of the record that says so.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    db: Path,
    *,
    access: Access,
    private_key: Path | None,
    seqs: tuple[int, int | None] | None,
    session: str | None,
    until: int | None,
    reason: str,
    kind: str,
    yes: bool,
) -> None:
    """Destroy what the log DB keeps, sealed, beside records: for good, and on record.

    Nobody may have the log open. The records themselves stay, with their redacted views, and so does every proof. Their
    sessions get new keys: the old ones go, and what they sealed opens no more wherever it lies. What copies and backups
    of the database hold is not reached.
    """
    from audit.private import FILE as MASTER
    from audit.private import load_master
    from audit.redaction import Redaction, count

    if sum(given is not None for given in (seqs, session, until)) != 1:
        raise click.UsageError("say beside which records: one of --seq, --session, --until")
    first, last = seqs or (None, None)
    where = Redaction(first=first, last=last, session=session, until=until)
    with explained():
        found = count(db, where)
        click.echo(
            f"This destroys what is kept beside {found.records} records, {found.first} to {found.last}. Nothing brings "
            "it back. Records, proofs and checkpoints stay, and so do copies and backups elsewhere.",
            err=True,
        )
        if not (yes or (sys.stdin.isatty() and click.confirm("Go on?", err=True))):
            click.echo("nothing was redacted; answer the question, or say --yes", err=True)
            sys.exit(2)
        if private_key is None and os.path.lexists(access.keys / MASTER):
            private_key = access.keys / MASTER
        master = None if private_key is None else load_master(private_key)
        with opened(db, access, "audit redact", master=master) as log:
            done = log.redact(where, {"reason": reason}, kind=kind)
        click.echo(f"record {done.seq}: what was kept beside {found.records} records is destroyed")
        if not log.purged:
            click.echo("a reader holds the WAL, where the old keys still stand; end it and open the log", err=True)
            sys.exit(2)
