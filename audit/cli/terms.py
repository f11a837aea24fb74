"""What the commands share: errors that end them, filters, output, times, ranges, and text that cannot steer a terminal.

Exit codes: 0 all is well, 1 tampered, 2 cannot tell. Whoever closes the pipe of a list has seen enough: no error.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import click

from audit.errors import AuditError, LogDamagedError, LogUnprovenError, SignatureError
from audit.plain import printable, rfc3339

if TYPE_CHECKING:
    from audit.formats import Format, Render

__all__ = [
    "FILE",
    "SEQ",
    "SHOWN",
    "explained",
    "fail",
    "filtered",
    "format_option",
    "key_option",
    "moment",
    "on_terminal",
    "printable",
    "render_for",
    "rfc3339",
    "screen",
    "span",
    "streaming",
    "write",
]

FILE: Final = click.Path(path_type=Path, dir_okay=False)


class _Number(click.IntRange):
    name = "number of a record"  # click's own words for what it is not: `valid integer range`


SEQ: Final = _Number(min=0, max=2**53 - 1)
key_option = click.option("--key", "key_file", type=FILE, required=True, help="File with the log's vkey line.")


@contextmanager
def explained() -> Iterator[None]:
    """End the command with the exit code that an error means."""
    try:
        yield
        sys.stdout.flush()  # what cannot be written must show here and not when Python ends
    except AuditError as error:
        fail(error)
    except (KeyboardInterrupt, EOFError, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(2)
    except OSError as error:
        what = "write the output" if error.filename is None else f"read `{error.filename}`"
        click.echo(f"cannot {what}: {error.strerror or error}", err=True)
        sys.exit(2)


@contextmanager
def streaming() -> Iterator[None]:
    """As `explained`, for a command whose output may be cut short: a closed pipe and Ctrl-C end it well."""
    with explained():
        try:
            yield
            sys.stdout.flush()
        except (BrokenPipeError, KeyboardInterrupt):
            pass


def fail(error: AuditError) -> NoReturn:
    """Say the error and exit: 1 tampered, 2 cannot tell."""
    click.echo(printable(str(error)), err=True)
    tampered = isinstance(error, LogDamagedError | SignatureError) and not isinstance(error, LogUnprovenError)
    sys.exit(1 if tampered else 2)


def moment(value: str) -> int:
    """Milliseconds since 1970 from an RFC 3339 time (no offset: UTC) or from a number of them."""
    if value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter(f"`{value}` is no time such as 2026-01-31T12:00:00Z") from error
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def span(value: str) -> tuple[int, int | None]:
    """The first and last seq of `A..B`, `A..`, `..B` or `A`."""
    first, dots, last = value.partition("..")
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in (first or "0", last or "0")):
        raise click.BadParameter(f"`{value}` is no range such as 10..20")
    start = int(first or "0")
    if last and int(last) < start:
        raise click.BadParameter(f"`{value}` is empty: it ends before it begins")
    return start, int(last) if last else None if dots else start


# --- filters ---------------------------------------------------------------------------------------------------------

_DECISION: Final = click.Choice(["ALLOW", "BLOCK", "ESCALATE"], case_sensitive=False)
_FILTERS: Final = (
    click.option("--since", type=moment, metavar="TIME", help="Not before this time."),
    click.option("--until", type=moment, metavar="TIME", help="Before this time."),
    click.option("--seq", "span", type=span, metavar="A..B", default="0..", help="Records A to B."),
    click.option("--kind", multiple=True, help="Of this kind; may be given again."),
    click.option("--decision", type=_DECISION, metavar="NAME", help="ALLOW, BLOCK or ESCALATE."),
    click.option("--type", "type", help="Action of this type."),
    click.option("--tier", type=click.IntRange(min=0), metavar="N", help="Decided at this tier."),
    click.option("--rule", help="Decided by this rule."),
    click.option("--session", help="Of this session."),
    click.option("--agent", help="Of this agent."),
    click.option("--call-id", help="Of this call."),
    click.option("--ref", type=SEQ, metavar="SEQ", help="Refers to this record."),
    click.option("--grep", metavar="TEXT", help="Holds this text, in whatever case."),
)
_CUTS: Final = (
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many."),
    click.option("--reverse", is_flag=True, help="Newest first."),
)


def filtered(*, cut: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options for which records: the command gets them as one `where`, a `Filter`. `cut`: also how many, and order."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*, span: tuple[int, int | None], kind: tuple[str, ...], **rest: Any) -> None:
            from audit.query import Filter

            names = set(Filter.__slots__)
            where = Filter(
                start=span[0],
                stop=None if span[1] is None else span[1] + 1,
                kind=kind or None,
                **{name: rest.pop(name) for name in list(rest) if name in names},
            )
            command(where=where, **rest)

        for option in reversed((*_FILTERS, *(_CUTS if cut else ()))):
            run = option(run)
        return run

    return decorate


# --- output ----------------------------------------------------------------------------------------------------------


SHOWN: Final = "table on a terminal, else jsonl"


def format_option(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--format` and `--json`: the command gets `form`, a `Format`, or None where nothing was asked for."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*, form: str | None, as_json: bool, **rest: Any) -> None:
            from audit.formats import Format

            command(form=Format.JSONL if as_json else None if form is None else Format(form), **rest)

        names = click.Choice(["table", "json", "jsonl", "csv", "ocsf", "cef"])
        run = click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")(run)
        return click.option("--format", "form", type=names, help=f"Default: {default}.")(run)

    return decorate


def on_terminal(stream: TextIO) -> bool:
    """Whether a person reads the stream."""
    return stream.isatty()


def render_for(form: "Format | None") -> "Render":
    """The format's function for standard output; on a terminal nothing that a record holds is sent as it is."""
    from audit.formats import Format, renderer

    terminal = on_terminal(sys.stdout)
    if form is None:
        form = Format.TABLE if terminal else Format.JSONL
    if form is not Format.TABLE:
        render = renderer(form)
        return (lambda records: map(_tamed, render(records))) if terminal else render
    width, colour = screen()
    return renderer(form, width=width, colour=colour)


def screen() -> tuple[int, bool]:
    """How many columns there are, and whether colours may be used (not where `NO_COLOR` is set or no terminal is)."""
    from rich.console import Console

    console = Console()
    return shutil.get_terminal_size().columns, console.color_system is not None and not console.no_color


def _tamed(piece: str) -> str:
    return "".join(char if char.isprintable() or char in "\r\n" else printable(char) for char in piece)


def write(pieces: Iterable[str], *, at_once: bool = False) -> None:
    """Write pieces to standard output, without delay if `at_once` or where a person reads it."""
    out = sys.stdout
    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    at_once = at_once or on_terminal(out)
    for piece in pieces:
        out.write(piece)
        if at_once:
            out.flush()
