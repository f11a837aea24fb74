"""`shield model scan`: what tier 1 says of texts, heuristics and classifier together.

Exit codes: 2 a text could not be read or anything failed, else 1 a BLOCK, else 3 an ESCALATE, else 0.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from shield.cli.render import default_form, shown
from shield.errors import ConfigError, ShieldError
from shield.types import Decision, TextKind

if TYPE_CHECKING:
    from shield.cli.model_reading import Reader
    from shield.cli.model_report import Scanned
    from shield.cli.model_rows import Row, Unread, UnreadFile

__all__ = ["scan"]

_EXITS = {Decision.BLOCK: 1, Decision.ESCALATE: 3, Decision.ALLOW: 0}
_PRECEDENCE = (2, 1, 3, 0)
_SOURCE = (
    ".bash .c .cc .cfg .conf .cpp .cs .css .go .h .hpp .ini .java .js .json .jsx .kt .lua .mjs .php .pl .ps1 .py .rb"
    " .rs .scala .sh .sql .swift .tf .toml .ts .tsx .vue .xml .yaml .yml .zsh"
)
_CODE = frozenset(_SOURCE.split())


@click.command("scan", short_help="Say what tier 1 finds in texts.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in TextKind]),
    help="What the texts are read as. Default: `code` for files of source and settings, else `tool_result`.",
)
@click.option("--jsonl", is_flag=True, help='Each line of FILE is a text: {"id": …, "text": …, "kind": …}.')
@click.option("--model", metavar="NAME|DIR", help="The classifier. Default: what shield.toml names.")
@click.option("--no-model", is_flag=True, help="The heuristics alone.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    help="Default: github where GITHUB_ACTIONS is true, else text on a terminal, JSON off one.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: one line for each text.")
def scan(
    files: tuple[str, ...],
    kind: str | None,
    jsonl: bool,
    model: str | None,
    no_model: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Read texts as Shield reads what tools bring back, and show what decided. FILE may be `-`, standard input.

    With --jsonl each line is answered as it comes. Offsets count code points. Nothing is recorded.

    \b
    Exit codes
      0  nothing speaks against any text
      1  at least one is BLOCK
      2  a text or the model cannot be read, or anything failed
      3  at least one is ESCALATE, none BLOCK
    """
    from shield.cli.model_reading import reader  # heavy

    form = form or default_form(os.environ, as_json=as_json)
    if model is not None and no_model:
        raise click.UsageError("`--model` and `--no-model` are both given; keep one")
    if jsonl and form in ("sarif", "github"):
        raise click.UsageError("lines have no place in a file; leave `--jsonl` out, or use `--format json`")
    wanted = TextKind(kind) if kind is not None else None
    try:
        read = reader(os.environ, model=model, without=no_model)
        if read.lacking is not None:
            click.echo(f"shield model scan: {shown(read.lacking)}", err=True)
        texts = _lines(files, wanted) if jsonl else _whole(files, wanted)
        codes = _print(texts, read, form)
    except (ShieldError, OSError) as error:
        click.echo(f"shield model scan: {shown(str(error))}", err=True)
        sys.exit(2)
    if not codes:
        click.echo("shield model scan: there was no line to read", err=True)
        sys.exit(2)
    sys.exit(next(code for code in _PRECEDENCE if code in codes))


def _print(texts: "Iterable[Sequence[Row | Unread] | UnreadFile]", read: "Reader", form: str) -> set[int]:
    """Answer each text in turn; the exit codes that came up."""
    from shield.cli.model_report import as_notices, titles, unread_notice  # heavy
    from shield.cli.model_rows import UnreadFile  # heavy
    from shield.cli.notices import Notice, as_github, as_sarif  # heavy

    codes: set[int] = set()
    kept: list[Scanned] = []
    notices: list[Notice] = []
    for batch in texts:
        if isinstance(batch, UnreadFile):
            click.echo(f"shield model scan: {shown(batch.why)}", err=True)
            codes.add(2)
            notices.append(unread_notice(batch))
            continue
        for line, code, scanned in _answered(batch, read, form):
            codes.add(code)
            if scanned is not None and form in ("sarif", "github"):
                kept.append(scanned)
                notices += as_notices(scanned, read.reasons)
            if line:
                click.echo(line)
    if form == "sarif":
        click.echo(as_sarif(notices, titles(kept, read.reasons)))
    elif form == "github" and notices:
        click.echo(as_github(notices))
    return codes


def _answered(
    batch: "Sequence[Row | Unread]", read: "Reader", form: str
) -> "Iterator[tuple[str, int, Scanned | None]]":
    """For each text of the batch, in order: what is printed now, its exit code, and what was found."""
    from shield.cli.model_report import as_json, as_text, unread_json, unread_text  # heavy
    from shield.cli.model_rows import Row  # heavy

    found = iter(read.scan([row for row in batch if isinstance(row, Row)]))
    columns = shutil.get_terminal_size().columns
    for row in batch:
        if not isinstance(row, Row):
            yield (unread_json(row) if form == "json" else unread_text(row)), 2, None
            continue
        scanned = next(found)
        if form == "json":
            line = as_json(scanned)
        else:
            line = "" if form == "sarif" else "\n".join(as_text(scanned, read.reasons, columns))
        yield line, 2 if scanned.failed else _EXITS[scanned.decision], scanned


def _lines(files: Sequence[str], kind: TextKind | None) -> "Iterator[Sequence[Row | Unread] | UnreadFile]":
    from shield.cli.model_rows import STDIN, UnreadFile, batches, opened, read_row  # heavy

    for file in files:
        named = None if file == STDIN else file
        try:
            with opened(file) as source:
                for batch in batches(source):
                    yield [read_row(number, line, kind, file=named) for number, line in batch]
        except ConfigError as error:
            yield UnreadFile(file=file, why=error.detail)


def _whole(files: Sequence[str], kind: TextKind | None) -> "Iterator[Sequence[Row] | UnreadFile]":
    from shield.cli.model_rows import UnreadFile, file_row  # heavy

    for file in files:
        read_as = kind or (TextKind.CODE if PurePath(file).suffix.lower() in _CODE else TextKind.TOOL_RESULT)
        try:
            yield [file_row(file, read_as)]
        except ConfigError as error:
            yield UnreadFile(file=file, why=error.detail)
