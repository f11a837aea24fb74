"""CSV as in RFC 4180, UTF-8: fixed columns, and no cell that a spreadsheet would take for a formula.

A cell that begins with `=`, `+`, `-`, `@`, a tab or a line break gets a `'` before it (OWASP, CSV Injection; the
full-width forms of the four are formulas to some spreadsheets, too).
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Final

from audit.known import Known
from audit.plain import rfc3339
from audit.query import Record

COLUMNS: Final = (
    *("seq", "time", "kind", "ref", "session", "agent", "call_id"),
    *("decision", "tier", "need", "type", "rule", "reason", "view", "cwd", "intent", "policy"),
    *("status", "exit_code", "duration_us", "bytes", "state", "answered_by", "note", "count", "leaf_hash"),
)
FORMULA: Final = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_ENVELOPE: Final = frozenset({"seq", "kind", "ref", "session", "agent", "call_id"})


def lines(records: Iterable[Record]) -> Iterator[str]:
    """A line of names, then one line a record."""
    yield _line(list(COLUMNS))
    for record in records:
        known = Known.of(record.envelope.body)
        yield _line([_cell(_value(record, known, column)) for column in COLUMNS])


def _value(record: Record, known: Known, column: str) -> object:
    if column in _ENVELOPE:
        return getattr(record.envelope, column)
    if column == "time":
        return rfc3339(record.envelope.time)
    if column == "leaf_hash":
        return record.leaf_hash.hex()
    if column == "view":
        return None if known.view is None else json.dumps(known.view, ensure_ascii=False)
    return getattr(known, column)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _line(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()
