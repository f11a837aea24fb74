"""`python -P -m audit`: verify, prove, list and checkpoint with nothing but a database and a public key.

Exit codes: 0 all is well, 1 tampered, 2 cannot tell (also wrong usage).
"""

import os
import sys


def _refuse_current_directory() -> None:
    """Without `-P`, Python looks for modules in the current directory first: an evidence folder could hold code.

    Whatever there would be taken for a module stops the program; then the directory leaves the search path. Python
    itself imports a few modules before this line, so only `-P` is safe; this is for whoever forgot it.
    """
    if sys.flags.safe_path or not sys.path:
        return
    here = os.path.realpath(sys.path[0] or os.curdir)
    if here != os.path.realpath(os.curdir):
        return
    wanted = {*sys.stdlib_module_names, "audit", "click", "cryptography", "cffi", "_cffi_backend"}
    for entry in os.scandir(here):
        name, dot, suffix = entry.name.partition(".")
        code = suffix.endswith(("py", "pyc", "so")) if dot else os.path.exists(os.path.join(entry.path, "__init__.py"))
        if code and name in wanted:
            sys.stderr.write(f"`{entry.name}` in the current directory would be run as code; use python -P -m audit\n")
            sys.exit(2)
    del sys.path[0]


_refuse_current_directory()

import json  # noqa: E402 - only after the search path is clean
from collections.abc import Iterator  # noqa: E402 - as above
from contextlib import contextmanager  # noqa: E402 - as above
from datetime import UTC, datetime  # noqa: E402 - as above
from pathlib import Path  # noqa: E402 - as above
from typing import NoReturn  # noqa: E402 - as above

import click  # noqa: E402 - as above

from audit.errors import AuditError, LogDamagedError, ReadError, SignatureError  # noqa: E402 - as above

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def main() -> None:
    """Read and verify an audit log offline."""


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except AuditError as error:
        _fail(error)
    except OSError as error:
        click.echo(f"cannot read `{error.filename}`: {error.strerror}", err=True)
        sys.exit(2)


def _fail(error: AuditError) -> NoReturn:
    click.echo(str(error), err=True)
    sys.exit(1 if isinstance(error, LogDamagedError | SignatureError) else 2)


@main.command()
@click.argument("db", type=_FILE)
@click.option("--key", "key_file", type=_FILE, required=True, help="File with the log's vkey line.")
@click.option("--checkpoint", "checkpoints", type=_FILE, multiple=True, help="A checkpoint kept outside the database.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def verify(db: Path, key_file: Path, checkpoints: tuple[Path, ...], *, as_json: bool) -> None:
    """Verify the whole log DB: 0 ok, 1 tampered, 2 cannot tell."""
    from audit.keys import read_verify_key
    from audit.verify import Outcome, verify_log

    with _explained():
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
            click.echo(f"{where}{_printable(report.reason)}")
        confirmed = "not compared" if report.confirmed is None else f"confirmed to {report.confirmed}"
        click.echo(
            f"{report.records} records, signed to {report.signed}, outside {confirmed}, unsealed {report.unsealed}"
        )
        for note in report.notes:
            click.echo(f"note: {_printable(note)}")
    if report.outcome is not Outcome.OK:
        sys.exit(report.outcome.value)


@main.command()
@click.argument("db", type=_FILE)
@click.argument("seq", type=click.IntRange(min=0))
@click.option("--key", "key_file", type=_FILE, required=True, help="File with the log's vkey line.")
def prove(db: Path, seq: int, key_file: Path) -> None:
    """Print the proof of record SEQ (c2sp.org/tlog-proof), checked first."""
    from audit.keys import read_verify_key
    from audit.reader import prove as prove_record

    with _explained():
        click.echo(prove_record(db, seq, read_verify_key(key_file))[1].text(), nl=False)


@main.command()
@click.argument("db", type=_FILE)
def checkpoint(db: Path) -> None:
    """Print the newest checkpoint, to be kept where the operator cannot reach it."""
    from audit.reader import read_checkpoint

    with _explained():
        click.echo(read_checkpoint(db), nl=False)


def _moment(value: str) -> int:
    """Milliseconds since 1970 from an RFC 3339 time (no offset: UTC) or from a number of them."""
    if value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter(f"`{value}` is no time such as 2026-01-31T12:00:00Z") from error
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _span(value: str) -> tuple[int, int | None]:
    """The first and last seq of `A..B`, `A..`, `..B` or `A`."""
    first, dots, last = value.partition("..")
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in (first or "0", last or "0")):
        raise click.BadParameter(f"`{value}` is no range such as 10..20")
    start = int(first or "0")
    return start, int(last) if last else None if dots else start


@main.command("list")
@click.argument("db", type=_FILE)
@click.option("--since", type=_moment, metavar="TIME", help="Not before this time.")
@click.option("--until", type=_moment, metavar="TIME", help="Before this time.")
@click.option("--kind")
@click.option("--session")
@click.option("--agent")
@click.option("--call-id")
@click.option("--ref", type=click.IntRange(min=0), help="Refers to this record.")
@click.option("--seq", "span", type=_span, metavar="A..B", default="0..", help="Records A to B.")
@click.option("--limit", type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="One record a line.")
def list_records(
    db: Path,
    *,
    since: int | None,
    until: int | None,
    kind: str | None,
    session: str | None,
    agent: str | None,
    call_id: str | None,
    ref: int | None,
    span: tuple[int, int | None],
    limit: int | None,
    as_json: bool,
) -> None:
    """List records of DB as it holds them; only `verify` shows that they are what was signed."""
    from dataclasses import asdict

    from audit.query import Filter, select

    where = Filter(
        start=span[0],
        stop=None if span[1] is None else span[1] + 1,
        since=since,
        until=until,
        kind=kind,
        session=session,
        agent=agent,
        call_id=call_id,
        ref=ref,
        limit=limit,
    )
    with _explained():
        for record in select(db, where):
            one = record.envelope
            if as_json:
                click.echo(json.dumps({**asdict(one), "leaf_hash": record.leaf_hash.hex()}))
                continue
            moment = datetime.fromtimestamp(min(one.time, 253402300799999) / 1000, UTC)
            ref_text = "" if one.ref is None else f" -> {one.ref}"
            click.echo(
                f"{one.seq:>8}  {moment.isoformat(timespec='milliseconds')}  {one.kind + ref_text:<20}  "
                f"{one.session or '-'}  {one.agent or '-'}  {one.call_id or '-'}"
            )


def _printable(text: str) -> str:
    """A record may hold bytes that steer a terminal; they are shown, not sent."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


if __name__ == "__main__":
    main(prog_name="audit")
