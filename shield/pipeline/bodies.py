"""What the log says of each step: the `body` of every record kind. No argument in clear, no secret, no float.

Arguments appear as a salted commitment, SHA-256(salt || canonical action), and as a redacted view that is cut before
it is hashed into the log.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from shield.canonical import MAX_SAFE_INTEGER, encode
from shield.facts.secrets import redact
from shield.pipeline.judge import Judged
from shield.pipeline.redacted import Known, Spot
from shield.regex import regex
from shield.tiers.settle import Settled
from shield.types import Access, Action, ActionRequest, Approval, Facts, Json

__all__ = ["SALT_BYTES", "approval_body", "commitment", "decision_body", "touched", "view"]

SALT_BYTES = 32
_VIEW_TEXT = 200  # code points of one string
_VIEW_ITEMS = 20  # of one object or list
_VIEW_BYTES = 6_000  # of the whole view: a record has 16 KiB
_EVIDENCE_BYTES = 2_000  # of all lines of evidence
_FACTS_BYTES = 1_500  # of all that is said of the facts
_FACTS_ITEMS = 8  # of one list of them
_MORE_BYTES = 24  # of `… N more`
_TOUCHES = {
    Access.READ: "reads",
    Access.LIST: "reads",
    Access.WRITE: "writes",
    Access.DELETE: "deletes",
}
_PLAIN = regex(r"[ !#-\[\]-~]*")
_KEY_TEXT = 32  # characters of a key where only keys are shown: each takes at most six bytes


def commitment(content: bytes, salt: bytes) -> str:
    """The hex commitment to some bytes; who has the salt can open it, nobody can guess it."""
    return hashlib.sha256(salt + content).hexdigest()


def view(action: Action, known: Known) -> dict[str, Json]:
    """The payload for a reader of the log: secrets redacted, strings and lists cut, at most some kilobytes."""
    shown = _view(dict(action.payload), Spot(known), depth=6)
    # an action this small has no view that is too large, however much is redacted or escaped in it
    if len(action.canonical) > _VIEW_BYTES // 8 and len(encode(shown, max_nodes=1_000_000)) > _VIEW_BYTES:
        shown = {_key(key)[:_KEY_TEXT]: "…" for key in list(action.payload)[:_VIEW_ITEMS]}
    return shown if isinstance(shown, dict) else {}


def decision_body(
    request: ActionRequest,
    settled: Settled,
    judged: Judged,
    *,
    evaluation: str,
    approval: str | None,
    expires_at: int | None,
    evidence: Sequence[str],
    salt: bytes,
    state: str | None,
    env: str | None,
    permit: str | None,
    known: Known,
    kept: bytes = b"",
) -> dict[str, Json]:
    """Kind `decision`. `approval` is the question it led to, `permit` the jti that it will mint, if any, `known` the
    secrets in it, `kept` what is sealed beside the record."""
    operations: list[Json] = [*sorted(operation.value for operation in judged.facts.operations)]
    by = settled.by
    # in the order in which they are recorded, so that there is little to sort
    return {
        "approval": approval,
        "args": {
            "bytes": len(request.action.canonical),
            "canon": "shield-jcs-1",
            "commit": commitment(request.action.canonical, salt),
            **({"kept": commitment(kept, salt)} if kept else {}),
            "view": view(request.action, known),
        },
        "cwd": None if request.action.cwd is None else _text(request.action.cwd),
        "decision": settled.decision.value,
        "env": env,
        "evaluation": evaluation,
        "evidence": _evidence(evidence),
        "expires_at": expires_at,
        "facts": touched(judged.facts, known),
        # the agent chose these, and may have put anything into them
        "id": _text(request.id),
        "intent": None if request.intent is None else _text(request.intent),
        "latency_us": dict(judged.took_us),
        "min_tier": int(request.min_tier),
        "need": int(settled.need),
        "operations": operations,
        "permit": permit,
        "policy": judged.policy,
        "reason": _text(by.reason),  # a workspace may have written it, and the rule's name
        "rule": _text(by.rule),
        "state": state,
        "tier": int(by.tier),
        "tool_call_id": None if request.tool_call_id is None else _text(request.tool_call_id),
        "type": _text(request.action.type),
    }


def touched(facts: Facts, known: Known) -> dict[str, Json]:
    """What would run, be read, written or deleted, and be sent to, in few words, for a reader of the log.

    Lists that would be empty are left out; `… N more` ends one that was cut.
    """
    found: dict[str, dict[str, None]] = {"runs": {}, "writes": {}, "deletes": {}, "sends_to": {}, "reads": {}}
    for command in facts.commands:
        found["runs"][command.name] = None
    for path in facts.paths:
        word = _TOUCHES.get(path.access)
        if word is not None:
            found[word][path.raw if path.resolved is None else path.resolved] = None
    for host in facts.hosts:
        found["sends_to"][host.host if host.port is None else f"{host.host}:{host.port}"] = None
    for recipient in facts.recipients:
        found["sends_to"][recipient] = None
    shown: dict[str, Json] = {}
    left = _FACTS_BYTES
    for word, names in found.items():
        if names:
            shown[word], left = _named(names, known, left - len(word) - 6)
    return dict(sorted(shown.items()))


def _named(names: Iterable[str], known: Known, left: int) -> tuple[list[Json], int]:
    """As many names as fit into `left` bytes, and what is left then."""
    all_names = list(names)
    shown: list[Json] = []
    for name in all_names[:_FACTS_ITEMS]:
        # a link may lead to a name that is no UTF-8
        text = _text(name if name.isascii() else name.encode("utf-8", "backslashreplace").decode())
        if known.shared(name):
            text = "[redacted]"
        # quotes and a comma; only what is escaped or no ASCII has to be written to be measured
        size = len(text) + 3 if _PLAIN.fullmatch(text) else len(encode(text)) + 1
        if size > left - _MORE_BYTES:
            break
        shown.append(text)
        left -= size
    if len(shown) < len(all_names):
        shown.append(f"… {len(all_names) - len(shown)} more")
        left -= _MORE_BYTES
    return shown, left


def approval_body(approval: Approval) -> dict[str, Json]:
    """Kind `approval`: a question was put, answered or ran out of time."""
    return {
        "approval": approval.id,
        "evaluation": approval.evaluation,
        "state": approval.state.value,
        "rule": _text(approval.rule),
        "scopes": [scope.value for scope in approval.scopes],
        "answered_by": approval.answered_by,
        "note": None if approval.note is None else _text(approval.note),
        "expires_at": approval.expires_at,
    }


def _evidence(lines: Sequence[str]) -> list[Json]:
    """As many lines as fit; a workspace's own texts are among them."""
    shown: list[Json] = []
    for line in lines[:16]:
        shown.append(_text(line))
        if len(encode(shown)) > _EVIDENCE_BYTES:
            return [*shown[:-1], "…"]
    return shown


def _view(value: Json, spot: Spot, *, depth: int) -> Json:
    if isinstance(value, str):
        return _cut(spot.clean(value))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return _cut(spot.clean(repr(value)))
    if isinstance(value, int):
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else _cut(spot.clean(str(value)))
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())
        shown: dict[str, Json] = {
            _key(key): _view(item, spot.under(value, key), depth=depth - 1) for key, item in items[:_VIEW_ITEMS]
        }
        if len(items) > _VIEW_ITEMS:
            shown["..."] = f"{len(items) - _VIEW_ITEMS} more"
        return shown
    return _view_list(value, spot, depth)


def _view_list(value: Sequence[Json], spot: Spot, depth: int) -> Json:
    shown = [_view(item, spot.at(value, index), depth=depth - 1) for index, item in enumerate(value[:_VIEW_ITEMS])]
    if len(value) > _VIEW_ITEMS:
        shown.append(f"… {len(value) - _VIEW_ITEMS} more")
    return shown


def _text(text: str) -> str:
    # redact first, cut second: a secret cut in two is no longer recognised
    return _cut(redact(text)[0])


def _key(key: str) -> str:
    # a record's keys are ASCII
    return _text(key).encode("ascii", "backslashreplace").decode()


def _cut(text: str) -> str:
    return text if len(text) <= _VIEW_TEXT else f"{text[:_VIEW_TEXT]}… {len(text)} characters"
