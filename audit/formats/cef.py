r"""CEF:0 (ArcSight Common Event Format, revision 16 and later): one line a record.

In the header `\` and `|` are escaped, in an extension's value `\`, `=` and line breaks. CEF has no way to write other
control characters and many receivers split lines at them: these become `\\u001b`, the six characters.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from audit.known import Known, summary
from audit.query import Record

_SEVERITY: Final = {"ALLOW": 1, "ESCALATE": 5, "BLOCK": 6, "refused": 6, "rejected": 6, "gap": 8}
_QUIET: Final = 2
# what CEF cannot escape, and what some receiver takes for the end of a line
_CONTROL = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")


def lines(records: Iterable[Record]) -> Iterator[str]:
    """One event a line."""
    for record in records:
        yield _line(record)


def _line(record: Record) -> str:
    one, known = record.envelope, Known.of(record.envelope.body)
    said = known.decision or one.kind
    head = (
        *(
            "audit",
            "log",
            str(one.v),
            one.kind if known.rule is None else known.rule,
            summary(one.body, known) or one.kind,
        ),
        str(_SEVERITY.get(said, _QUIET)),
    )
    extension: tuple[tuple[str, object], ...] = (
        ("rt", one.time),
        ("externalId", one.seq),
        ("deviceExternalId", one.log),
        ("cat", one.kind),
        ("act", known.decision),
        ("suser", one.agent),
        ("outcome", known.status or known.state),
        ("reason", known.reason),
        ("filePath", None if known.view is None else known.view.get("path")),
        ("request", None if known.view is None else known.view.get("url")),
        *_labelled("cs1", "session", one.session),
        *_labelled("cs2", "callId", one.call_id),
        *_labelled("cs3", "rule", known.rule),
        *_labelled("cs4", "type", known.type),
        *_labelled("cs5", "view", None if known.view is None else json.dumps(known.view, ensure_ascii=False)),
        *_labelled("cs6", "leafHash", record.leaf_hash.hex()),
        *_labelled("cn1", "tier", known.tier),
        *_labelled("cn2", "ref", one.ref),
        *_labelled("cn3", "exitCode", known.exit_code),
        ("in", known.bytes),
    )
    said_all = " ".join(f"{name}={_value(str(value))}" for name, value in extension if isinstance(value, str | int))
    return f"CEF:0|{'|'.join(map(_header, head))}|{said_all}\n"


def _labelled(key: str, label: str, value: object) -> tuple[tuple[str, object], ...]:
    return () if value is None else ((key, value), (f"{key}Label", label))


def _header(text: str) -> str:
    # a header knows no line break
    return _plain(text).replace("\\", "\\\\").replace("|", "\\|").replace("\r", " ").replace("\n", " ")


def _value(text: str) -> str:
    return _plain(text).replace("\\", "\\\\").replace("=", "\\=").replace("\r", "\\r").replace("\n", "\\n")


def _plain(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
