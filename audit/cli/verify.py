"""`verify`: is the log whole, and how far does trust reach?"""

import json
import sys
from pathlib import Path

import click

from audit.cli.terms import FILE, explained, key_option, printable
from audit.errors import ReadError

__all__ = ["command"]


@click.command("verify")
@click.argument("db", type=FILE)
@key_option
@click.option("--checkpoint", "checkpoints", type=FILE, multiple=True, help="A checkpoint kept outside the database.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(db: Path, key_file: Path, checkpoints: tuple[Path, ...], *, as_json: bool) -> None:
    """Verify the whole log DB: 0 ok, 1 tampered, 2 cannot tell."""
    from audit.keys import read_verify_key
    from audit.verify import Outcome, verify_log

    with explained():
        key = read_verify_key(key_file)
        try:
            outside = [file.read_text(encoding="utf-8") for file in checkpoints]
        except UnicodeDecodeError as error:
            raise ReadError("a checkpoint file is not UTF-8 text") from error
        report = verify_log(db, key, outside=outside)
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        click.echo(f"{report.outcome.name.replace('_', ' ')}  {report.log}")
        if report.reason is not None:
            where = "" if report.bad is None else f"first bad record {report.bad}: "
            click.echo(f"{where}{printable(report.reason)}")
        confirmed = "not compared" if report.confirmed is None else f"confirmed to {report.confirmed}"
        click.echo(
            f"{report.records} records, signed to {report.signed}, outside {confirmed}, unsealed {report.unsealed}"
        )
        for note in report.notes:
            click.echo(f"note: {printable(note)}")
    if report.outcome is not Outcome.OK:
        sys.exit(report.outcome.value)
