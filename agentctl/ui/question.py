"""A question to a person, as lines: what would be run, to the byte, who claims what, and what Shield knows of it.

INVARIANT: two actions with different canonical bytes never give the same lines, and no line of the agent's begins as
one of ours does.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from agentctl.ui.exact import exact, width
from shield import canonical
from shield.errors import InputError
from shield.types import Approval, Json

__all__ = ["COLUMNS", "WIDEST", "question"]

COLUMNS: Final = 78  # of a line, where nobody says how wide the terminal is
WIDEST: Final = 118  # the eye loses the beginning of the next line in longer ones
_LEAST: Final = 24
_PLAIN: Final = re.compile("[A-Za-z][A-Za-z0-9_]{0,63}")
_KIND: Final = re.compile("[a-z]+(?:_[a-z]+)*")
_OURS: Final = frozenset({"in", "hash"})  # lines of ours that begin with a single word
_REASON_MAX: Final = 1000
_NEWLINE: Final = "\n"
_COMPARED_MAX: Final = 250_000  # rows times rows: comparing takes that many steps


def question(approval: Approval, columns: int = COLUMNS, *, most: int | None = None) -> list[str]:
    """The whole question, each line at most `columns` wide; `most` of them and one where there are more.

    Then no more is worked out than that takes: an agent that sends much must not use up the person's time.
    """
    width_ = max(columns, _LEAST)
    room = None if most is None else (most + 1) * width_  # characters that make more lines than that, whatever they are
    pieces = (piece for line in _lines(approval, room) for piece in _folded(line, width_))
    return list(islice(pieces, None if most is None else most + 1))


def _lines(approval: Approval, room: int | None) -> Iterator[str]:
    request = approval.request
    payload = request.get("payload")
    fields: Mapping[str, Json] = payload if isinstance(payload, dict) else {"payload": payload}
    kind = str(request.get("type"))
    asked = kind.replace("_", " ") if _KIND.fullmatch(kind) else json.dumps(exact(kind), ensure_ascii=False)
    yield f"── the agent asks to {asked} ──"
    old, new = fields.get("old"), fields.get("new")
    if kind == "edit_file" and isinstance(old, str) and isinstance(new, str):
        yield "the change:"
        yield from _diff(old[:room], new[:room])
        fields = {name: value for name, value in fields.items() if name not in ("old", "new")}
    for name, value in fields.items():
        yield from _field(name[:room], value, room)
    cwd = request.get("cwd")
    yield "in no directory" if cwd is None else f"in: {exact(str(cwd)[:room])}"
    yield f"why it is asked: {exact(approval.reason[:_REASON_MAX])}"
    intent = request.get("intent")
    if isinstance(intent, str) and intent:
        yield f"the agent says (unverified): {exact(intent[:_REASON_MAX])}"
    yield from _facts(approval.facts)
    yield f"hash: {_hash(request)}"


def _hash(request: Mapping[str, Json]) -> str:
    """Of the canonical bytes of what is shown: what permit, receipt and log name."""
    try:
        action = {name: request.get(name) for name in ("type", "payload", "cwd")}
        return canonical.digest(canonical.encode(action))
    except InputError:
        return "none, this is no action"


def _field(name: str, value: Json, room: int | None) -> Iterator[str]:
    """INVARIANT: text and other values never look the same: what is no text says what it is."""
    shown = name if _PLAIN.fullmatch(name) and name not in _OURS else json.dumps(exact(name), ensure_ascii=False)
    if not isinstance(value, str):
        yield f"{shown} ({_sort(value)}): {exact(json.dumps(value, ensure_ascii=False)[:room])}"
        return
    rows = value[:room].split(_NEWLINE)
    if len(rows) == 1:
        yield f"{shown}: {exact(rows[0])}"
        return
    yield f"{shown}:"
    yield from (f"  | {exact(row)}" for row in rows)


def _sort(value: Json) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "yes or no"
        case int() | float():
            return "number"
        case list():
            return "list"
        case _:
            return "object"


def _diff(old: str, new: str) -> Iterator[str]:
    """Both texts whole, what is taken away and what comes instead marked."""
    before, after = old.split(_NEWLINE), new.split(_NEWLINE)
    if len(before) * len(after) > _COMPARED_MAX:
        yield from (f"  - {exact(row)}" for row in before)
        yield from (f"  + {exact(row)}" for row in after)
        return
    for tag, start, end, at, to in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (f"    {exact(row)}" for row in before[start:end])
        else:
            yield from (f"  - {exact(row)}" for row in before[start:end])
            yield from (f"  + {exact(row)}" for row in after[at:to])


def _folded(line: str, columns: int) -> list[str]:
    """A line in pieces that the terminal does not wrap.

    INVARIANT: every piece but the first is marked: padding cannot push text to where a line of ours would begin.
    """
    pieces, left = [""], columns
    for char in line:
        size = width(char)
        if size > left:
            pieces.append("  … ")
            left = columns - 4
        pieces[-1] += char
        left -= size
    return pieces


def _facts(facts: Mapping[str, Json]) -> Iterator[str]:
    for command in _objects(facts.get("commands")):
        name = exact(str(command.get("program") or command.get("name")))
        origin, code = (exact(str(command.get(key))) for key in ("origin", "runs_code"))
        yield f"would run: {name} (from {origin}, code: {code})"
    for path in _objects(facts.get("paths")):
        marks = ", ".join(exact(str(mark)) for mark in _items(path.get("categories")))
        where = "" if path.get("inside_workspace") else " OUTSIDE the workspace"
        resolved = exact(str(path.get("resolved") or path.get("raw")))
        yield f"would {exact(str(path.get('access')))}: {resolved}{where}{f' [{marks}]' if marks else ''}"
    for host in _objects(facts.get("hosts")):
        port, kind = (exact(str(host.get(name))) for name in ("port", "ip_class"))
        yield f"would talk to: {exact(str(host.get('host')))} port {port} ({kind})"
    for recipient in _items(facts.get("recipients")):
        yield f"would write to: {exact(str(recipient))}"
    for secret in _objects(facts.get("secrets")):
        yield f"holds a secret: {exact(str(secret.get('kind')))} at {exact(str(secret.get('where')))}"
    for unknown in _items(facts.get("unknown")):
        yield f"could not be established: {exact(str(unknown))}"


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    for item in _items(value):
        if isinstance(item, dict):
            yield item
