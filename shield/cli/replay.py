"""Recorded decisions made actions again, as far as the record holds them.

A record has no arguments in clear: it has a salted commitment and a view from which secrets are taken and which is cut.
An action that is built from the view again is the recorded one if its commitment says so (that takes the log's private
key), and most likely if it has the recorded length and nothing in the view was cut or taken out. Whatever else the
decision was made of is not in the record: files, the session so far, the workspace, the sandbox. The replay takes what
is there now, for both policies alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from audit.errors import AuditError, PrivateError
from audit.private import MasterKey, commitment, load_master, open_private
from audit.query import Filter, Record, select
from shield.actions.request import make_action
from shield.canonical import parse
from shield.cli.comparison import Judgement
from shield.errors import InputError, StateError
from shield.types import Action, ActionRequest, Decision, Tier

__all__ = ["Fidelity", "Past", "recorded"]

_CUT = "…"
_REDACTED = "[redacted"


class Fidelity(StrEnum):
    """How surely the action is the recorded one. `redacted`: secrets were taken out of it; `lost`: it is not there."""

    EXACT = "exact"
    LIKELY = "likely"
    REDACTED = "redacted"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One recorded decision. `request` is None where it is lost; `time` is unix milliseconds."""

    seq: int
    time: int
    type: str
    agent: str
    decision: Judgement
    fidelity: Fidelity
    request: ActionRequest | None = None


def recorded(log: Path, private: Path | None, last: int | None = None) -> Iterator[Past]:
    """The decisions of a log, oldest first; with `last` the newest so many.

    Raises:
        StateError: the log or its private key cannot be read.
    """
    try:
        master = load_master(private) if private is not None else None
        where = Filter(kind="decision", limit=last, reverse=last is not None)
        found = select(log, where)
        for record in found if last is None else reversed(list(found)):
            try:
                yield _past(record, log, master)
            except (LookupError, TypeError, ValueError):
                raise StateError(f"record {record.envelope.seq} of `{log}` is no decision of Shield's") from None
    except AuditError as error:
        raise StateError(str(error)) from None


def _past(record: Record, log: Path, master: MasterKey | None) -> Past:
    envelope = record.envelope
    body = cast(Mapping[str, Any], envelope.body)
    action, fidelity = _action(body, envelope.seq, log, master)
    request = None
    if action is not None:
        request = ActionRequest(id=str(envelope.seq), action=action, min_tier=Tier(body["min_tier"]))
    return Past(
        seq=envelope.seq,
        time=envelope.time,
        type=body["type"],
        agent=envelope.agent or "agent",
        decision=Judgement(decision=Decision(body["decision"]), need=Tier(body["need"]), rule=body["rule"]),
        fidelity=fidelity,
        request=request,
    )


def _action(body: Mapping[str, Any], seq: int, log: Path, master: MasterKey | None) -> tuple[Action | None, Fidelity]:
    args = body["args"]
    built = _made(body["type"], args["view"], body["cwd"])
    if master is not None:
        try:
            kept = open_private(log, seq, master)
        except PrivateError:
            kept = None
        if kept is not None:
            found = [built]
            if kept.content:
                whole = cast(Mapping[str, Any], parse(kept.content))
                found.append(_made(whole["type"], whole["payload"], whole["cwd"]))
            for action in found:
                if action is not None and commitment(kept.salt, action.canonical) == args["commit"]:
                    return action, Fidelity.EXACT
            if kept.content and found[-1] is not None:
                return found[-1], Fidelity.REDACTED
            return None, Fidelity.LOST
    whole_view = built is not None and len(built.canonical) == args["bytes"] and not _marked(body)
    return (built, Fidelity.LIKELY) if whole_view else (None, Fidelity.LOST)


def _made(name: str, payload: Mapping[str, Any], cwd: str | None) -> Action | None:
    try:
        return make_action(name, payload, cwd)
    except InputError:
        return None


def _marked(body: Mapping[str, Any]) -> bool:
    """Whether something in the view, or the `cwd`, may have been cut or taken out."""

    def marked(value: object) -> bool:
        if isinstance(value, str):
            return _CUT in value or _REDACTED in value
        if isinstance(value, Mapping):
            return any(marked(key) or marked(item) for key, item in value.items()) or "..." in value
        return isinstance(value, list) and any(marked(item) for item in value)

    return marked(body["args"]["view"]) or marked(body["cwd"])
