"""How records are written out: one module a format, each a function from records to pieces of text.

What each field becomes stands in docs/reference/audit-formats.md. Only the table is made for a terminal: the others
carry every character of a record.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from importlib import import_module
from typing import Final, Protocol

from audit.query import Record

__all__ = ["Format", "Render", "renderer"]


class Format(StrEnum):
    """The formats there are; the values are the names on the command line."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    OCSF = "ocsf"
    CEF = "cef"


class Render(Protocol):
    """Turns records into text, piece by piece, in constant memory; pieces end where a reader may be shown them."""

    def __call__(self, records: Iterable[Record]) -> Iterator[str]: ...


_HOME: Final = {
    Format.JSON: ("json_lines", "array"),
    Format.JSONL: ("json_lines", "lines"),
    Format.CSV: ("comma", "lines"),
    Format.OCSF: ("ocsf", "lines"),
    Format.CEF: ("cef", "lines"),
}


def renderer(wanted: Format, *, width: int = 100, colour: bool = False) -> Render:
    """The function that writes `wanted`. `width` in columns and `colour` matter to the table only."""
    if wanted is Format.TABLE:
        from audit.formats.table import Table

        return Table(width=width, colour=colour)
    module, name = _HOME[wanted]
    render: Render = getattr(import_module(f"audit.formats.{module}"), name)
    return render
