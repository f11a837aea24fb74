"""`export`: records for other programs, or a bundle that verifies alone."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.terms import FILE, filtered, format_option, on_terminal, render_for, streaming, write

if TYPE_CHECKING:
    from audit.formats import Format
    from audit.query import Filter

__all__ = ["command"]


@click.command("export")
@click.argument("db", type=FILE)
@filtered(cut=True)
@format_option("jsonl")
@click.option("--output", type=FILE, help="Write to this file (mode 0600) instead of standard output.")
@click.option("--force", is_flag=True, help="Replace the file.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="Write a bundle that verifies alone.")
@click.option("--key", "key_file", type=FILE, help="File with the log's vkey line, for --bundle.")
def command(
    db: Path,
    where: "Filter",
    form: "Format | None",
    output: Path | None,
    bundle: Path | None,
    key_file: Path | None,
    *,
    force: bool,
) -> None:
    """Export records of DB, as jsonl unless told otherwise, or with --bundle together with what proves them."""
    if bundle is not None:
        if form is not None or output is not None or force or where.reverse:
            raise click.UsageError("--bundle has its own form and order: no --format, --output, --force, --reverse")
        if key_file is None:
            raise click.UsageError("--bundle needs --key: only what the log's key signed is worth keeping")
        _bundle(db, bundle, key_file, where)
        return
    if force and output is None:
        raise click.UsageError("--force says nothing without --output")
    from audit.export import new_file
    from audit.formats import Format, renderer
    from audit.query import select

    form = form or Format.JSONL
    with streaming():
        records = select(db, where)
        if output is None:
            write(render_for(form)(records))
            return
        with new_file(output, force=force) as file:
            for piece in renderer(form, width=120)(records):
                file.write(piece.encode())


def _bundle(db: Path, folder: Path, key_file: Path, where: "Filter") -> None:
    from audit.export import export_bundle
    from audit.keys import read_verify_key

    with streaming():
        found = export_bundle(db, folder, read_verify_key(key_file), where)
        what = f"all {found.records}" if found.complete else f"{found.records} of {found.size}"
        if on_terminal(sys.stdout):
            write([f"{what} records; `verify {folder} --key FILE` needs nothing else\n"])
        else:
            write([f"{what} records\n"])
