"""`verify`: is the log whole, and how far does trust reach?"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from audit.cli.terms import FILE, explained, key_option, printable

if TYPE_CHECKING:
    from audit.verify import Report

__all__ = ["command"]

_MOMENT_S: Final = 1.0
"""Before this much time no progress is shown: what is done sooner needs none."""


@click.command("verify")
@click.argument("path", type=click.Path(path_type=Path))
@key_option
@click.option("--since", "--checkpoint", type=FILE, multiple=True, help="A checkpoint you remember; tells what is new.")
@click.option("--witness", type=FILE, multiple=True, help="A file of checkpoints that a sink or a witness keeps.")
@click.option("--witness-key", "witness_keys", type=FILE, multiple=True, help="File with the vkey line of a witness.")
@click.option("--selection", is_flag=True, help="Be content with a bundle that presents only some records.")
@click.option("--jobs", type=click.IntRange(0, 256), default=1, help="Processes; 0: as many as processors.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Say it by the exit code only.")
def command(
    *,
    path: Path,
    key_file: Path,
    since: tuple[Path, ...],
    witness: tuple[Path, ...],
    witness_keys: tuple[Path, ...],
    selection: bool,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Verify a whole log, a database or an exported bundle: 0 ok, 1 tampered, 2 cannot tell.

    With --witness-key, each checkpoint in a --witness file must carry the cosignature of such a witness.

    \b
    Examples
      python -P -m audit verify audit.db --key audit.vkey
      python -P -m audit verify audit.db --key audit.vkey --checkpoint kept
    """
    from audit.keys import read_verify_key, read_witness_key
    from audit.verify import Outcome, Outside, verify_log

    with explained():
        key = read_verify_key(key_file)
        outside = Outside(
            since=tuple(_notes(since)),
            notes=tuple(_notes(witness)),
            witnesses=tuple(read_witness_key(file) for file in witness_keys),
        )
        with _progress(quiet=quiet or as_json) as progress:
            report = verify_log(path, key, outside=outside, selection=selection, jobs=jobs, progress=progress)
        if as_json:
            click.echo(json.dumps(report.as_json()))
        elif not quiet:
            _tell(report)
            if path.resolve() in key_file.resolve().parents:
                click.echo("note: the key came with the bundle: it shows nothing of who wrote it")
    if report.outcome is not Outcome.OK:
        sys.exit(report.outcome.value)


def _notes(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        yield from _notes_in(file)


def _notes_in(file: Path) -> Iterator[str]:
    from audit.errors import NoteError, ReadError
    from audit.note import split_note
    from audit.notebook import read_notes

    found = 0
    for note, ended in read_notes(file):
        try:
            split_note(note)
        except NoteError as error:
            if ended or not found:
                raise ReadError(f"`{file}` holds no checkpoint where one should be: {error}") from error
            continue  # the last one, torn by a crash
        found += 1
        yield note
    if not found:
        raise ReadError(f"`{file}` holds no checkpoint")


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on the terminal, once it takes longer than a moment."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    task, begun, shown = bar.add_task("verifying", total=None), time.monotonic(), 0.0

    def progress(done: int, size: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun > _MOMENT_S and now - shown > 0.1:
            if not shown:
                bar.start()
            shown = now
            bar.update(task, completed=done, total=size, refresh=True)

    try:
        yield progress
    finally:
        if shown:  # a bar that never began would end with an empty line
            bar.stop()


def _tell(report: "Report") -> None:
    click.echo(f"{report.outcome.name.replace('_', ' ')}  {report.log}")
    if report.reason is not None:
        where = "" if report.bad is None else f"first bad record {report.bad}: "
        click.echo(f"{where}{printable(report.reason)}")
    click.echo(f"{_reach(report)}")
    if report.presented < report.records:
        click.echo(f"a selection: {report.presented} of {report.records} records presented, the others not judged")
    if report.since is not None:
        click.echo(f"new since the checkpoint you remember: {_span(report.since, report.records)}")
    for note in report.notes:
        click.echo(f"note: {printable(note)}")


def _reach(report: "Report") -> str:
    """How far trust reaches, in one line."""
    confirmed = "not compared with any checkpoint from outside"
    if report.confirmed is not None:
        confirmed = f"externally confirmed to {report.confirmed}"
    unsealed = f"unsealed {_span(report.signed, report.records)}"
    return f"{report.records} records, signed to {report.signed}, {confirmed}, {unsealed}"


def _span(start: int, stop: int) -> str:
    if start >= stop:
        return "none"
    return f"record {start}" if stop - start == 1 else f"records {start} to {stop - 1}"
