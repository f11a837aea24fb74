"""One labelled text, as training and reports see it."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["KINDS", "WRITTEN", "WRITTEN_HARD", "WRITTEN_PAYLOADS", "Row", "read_rows", "write_rows"]

KINDS = ("prose", "tool_result", "command", "code", "url")
WRITTEN = "written"  # the source of texts by writers of whom training has read nothing
WRITTEN_HARD = "written-hard"  # the family of those that look like attacks and are none
WRITTEN_PAYLOADS = "written-payloads"  # the family of their calls, messages and records


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`label` is 1 for an attack. `family` is what is left out together: one bank, one public source."""

    text: str
    label: int
    kind: str
    family: str
    source: str = "generated"


def write_rows(path: Path, rows: Iterable[Row]) -> int:
    """One JSON object a line; the number of lines. `path` is there when all of them are."""
    count, beside = 0, path.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
            count += 1
    os.replace(beside, path)
    return count


def read_rows(path: Path) -> Iterator[Row]:
    """Raises ValueError for a line that is no row."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Row(**json.loads(line))
