"""JSON: the record's envelope and `leaf_hash`, the stored hash in hex. ASCII only, so that nothing steers a terminal.

For the exact bytes of a leaf, which its hash is made of, export a bundle.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, Final

from audit.entry import Envelope
from audit.query import Record

_NAMES: Final = [field.name for field in fields(Envelope)]


def as_dict(record: Record) -> dict[str, Any]:
    """The envelope's members and `leaf_hash`."""
    value: dict[str, Any] = {name: getattr(record.envelope, name) for name in _NAMES}
    value["leaf_hash"] = record.leaf_hash.hex()
    return value


def lines(records: Iterable[Record]) -> Iterator[str]:
    """One object a line (jsonlines.org)."""
    for record in records:
        yield json.dumps(as_dict(record)) + "\n"


def array(records: Iterable[Record]) -> Iterator[str]:
    """One array, one record a line."""
    lead = "[\n"
    for record in records:
        yield lead + json.dumps(as_dict(record))
        lead = ",\n"
    yield ("[" if lead == "[\n" else "\n") + "]\n"
