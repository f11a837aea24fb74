"""CSV as in RFC 4180, UTF-8: fixed columns, and no cell that a spreadsheet would take for a formula.

A cell that begins with `=`, `+`, `-`, `@`, a tab or a line break gets a `'` before it (OWASP, CSV Injection; the
full-width forms of the four are formulas to some spreadsheets, too).
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from operator import attrgetter
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
_VIEW: Final = COLUMNS.index("view")
_envelope: Final = attrgetter(*COLUMNS[2:7])
_known: Final = attrgetter(*COLUMNS[7:-1])


def lines(records: Iterable[Record]) -> Iterator[str]:
    """A line of names, then one line a record."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    yield out.getvalue()
    for record in records:
        out.seek(0)
        out.truncate()
        writer.writerow([_cell(value) for value in _values(record)])
        yield out.getvalue()


def _values(record: Record) -> list[object]:
    """What stands in the columns, in their order."""
    one, known = record.envelope, Known.of(record.envelope.body)
    values = [one.seq, rfc3339(one.time), *_envelope(one), *_known(known), record.leaf_hash.hex()]
    if known.view is not None:
        values[_VIEW] = json.dumps(known.view, ensure_ascii=False)
    return values


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
