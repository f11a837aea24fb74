"""What the commands share: errors that end them, times, ranges, and text that cannot steer a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn

import click

from audit.errors import AuditError, LogDamagedError, SignatureError

FILE: Final = click.Path(path_type=Path, dir_okay=False)
key_option = click.option("--key", "key_file", type=FILE, required=True, help="File with the log's vkey line.")


@contextmanager
def explained() -> Iterator[None]:
    """End the command with the exit code that an error means."""
    try:
        yield
    except AuditError as error:
        fail(error)
    except OSError as error:
        click.echo(f"cannot read `{error.filename}`: {error.strerror}", err=True)
        sys.exit(2)


def fail(error: AuditError) -> NoReturn:
    """Say the error and exit: 1 tampered, 2 cannot tell."""
    click.echo(str(error), err=True)
    sys.exit(1 if isinstance(error, LogDamagedError | SignatureError) else 2)


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
    return start, int(last) if last else None if dots else start


def rfc3339(time_ms: int) -> str:
    """A record's time as RFC 3339 UTC with milliseconds; what no date can be is shown as the last one there is."""
    found = datetime.fromtimestamp(min(time_ms, 253402300799999) / 1000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def printable(text: str) -> str:
    """A record may hold bytes that steer a terminal; they are shown, not sent."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
