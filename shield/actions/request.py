"""The door: bytes of one or many requests become ActionRequests, or an InputError that says where and what to do."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from shield.actions.registry import canonical_name
from shield.canonical import MAX_DEPTH, MAX_NODES, canonicalise, digest, parse
from shield.errors import InputError, Reason
from shield.regex import regex
from shield.types import Action, ActionRequest, Json, Tier
from shield.ulid import new_ulid

__all__ = ["MAX_BATCH", "Proposal", "make_action", "parse_batch", "parse_proposal", "parse_request", "read_proposal"]

MAX_BATCH = 100  # DESIGN 6: actions in one batch
_MAX_TYPE = 256

_KEYS = frozenset({"id", "type", "payload", "cwd", "session", "tool_call_id", "min_tier", "intent"})
_NAME = regex(r"[A-Za-z0-9._:-]{1,64}")
_ID = regex(r"[!-~](?:[ -~]{0,126}[!-~])?")
_CONTROL = regex(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A request that was read, before its session says what an absent `cwd` means."""

    id: str
    type: str
    payload: Mapping[str, Json]
    cwd: str | None
    session: str | None
    tool_call_id: str | None
    min_tier: Tier
    intent: str | None

    def request(self, default_cwd: str | None) -> ActionRequest:
        """The request with its action in canonical bytes; `default_cwd` stands for an absent `cwd`."""
        cwd = self.cwd if self.cwd is not None else default_cwd
        return ActionRequest(
            id=self.id,
            action=make_action(self.type, self.payload, cwd),
            session=self.session,
            tool_call_id=self.tool_call_id,
            min_tier=self.min_tier,
            intent=self.intent,
        )


def parse_request(raw: bytes, *, default_cwd: str | None = None) -> ActionRequest:
    """One ActionRequest from its JSON bytes. Raises InputError; nothing is judged then."""
    return parse_proposal(raw).request(default_cwd)


def parse_proposal(raw: bytes) -> Proposal:
    """One request without the default `cwd` applied. Raises InputError."""
    return read_proposal(parse(raw))


def parse_batch(raw: bytes) -> tuple[Proposal, ...]:
    """The requests of `{"actions":[…]}`. Raises InputError if any one of them cannot be read."""
    body = parse(raw, max_depth=MAX_DEPTH + 2, max_nodes=MAX_NODES * MAX_BATCH + 2)
    if not isinstance(body, dict) or set(body) != {"actions"} or not isinstance(body["actions"], list):
        raise InputError('a batch is `{"actions":[…]}`', pointer="")
    actions = body["actions"]
    if not 1 <= len(actions) <= MAX_BATCH:
        raise InputError(f"a batch has 1 to {MAX_BATCH} actions, this one {len(actions)}", pointer="/actions")
    return tuple(read_proposal(item, pointer=f"/actions/{index}") for index, item in enumerate(actions))


def make_action(name: str, payload: Mapping[str, Json], cwd: str | None) -> Action:
    """The action of these parts; its payload is the value read back from its canonical bytes. Raises InputError."""
    # INVARIANT: facts, rules and executor see what the hashed bytes say, not what was sent
    canonical, read_back = canonicalise({"type": canonical_name(name), "payload": payload, "cwd": cwd})
    value = cast(dict[str, Any], read_back)
    return Action(
        type=value["type"],
        payload=value["payload"],
        cwd=value["cwd"],
        canonical=canonical,
        hash=digest(canonical),
    )


def read_proposal(body: Json, *, pointer: str = "") -> Proposal:
    """Check one parsed request against the closed set of keys. Raises InputError with a JSON pointer."""
    if not isinstance(body, dict):
        raise InputError("an action request is a JSON object", pointer=pointer)
    for key in body:
        if key not in _KEYS:
            raise InputError(
                f"the key `{key[:64]}` is not known here; the keys are {', '.join(sorted(_KEYS))}",
                reason=Reason.INPUT_KEY,
                pointer=f"{pointer}/{key[:64].replace('~', '~0').replace('/', '~1')}",
            )
    name = body.get("type")
    if not isinstance(name, str) or not name or len(name) > _MAX_TYPE or _CONTROL.search(name):
        raise InputError("`type` names the action, such as `read_file`", pointer=f"{pointer}/type")
    payload = body.get("payload")
    if not isinstance(payload, dict):
        raise InputError("`payload` is a JSON object", reason=Reason.INPUT_PAYLOAD, pointer=f"{pointer}/payload")
    return Proposal(
        id=_id(body.get("id"), pointer),
        type=name,
        payload=payload,
        cwd=_cwd(body.get("cwd"), pointer),
        session=_name(body, "session", pointer),
        tool_call_id=_name(body, "tool_call_id", pointer),
        min_tier=_min_tier(body.get("min_tier"), pointer),
        intent=_intent(body.get("intent"), pointer),
    )


def _id(value: Json, pointer: str) -> str:
    if value is None:
        return new_ulid(time.time_ns() // 1_000_000)
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InputError("`id` is 1 to 128 printable ASCII characters", pointer=f"{pointer}/id")
    return value


def _cwd(value: Json, pointer: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise InputError("`cwd` is an absolute path", pointer=f"{pointer}/cwd")
    return value


def _name(body: Mapping[str, Json], key: str, pointer: str) -> str | None:
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InputError(f"`{key}` matches [A-Za-z0-9._:-]{{1,64}}", pointer=f"{pointer}/{key}")
    return value


def _min_tier(value: Json, pointer: str) -> Tier:
    if value is None:
        return Tier.POLICY
    if type(value) is not int or not 0 <= value <= 3:
        raise InputError("`min_tier` is 0, 1, 2 or 3", pointer=f"{pointer}/min_tier")
    return Tier(value)


def _intent(value: Json, pointer: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > 4096:
        raise InputError("`intent` is a string of at most 4096 characters", pointer=f"{pointer}/intent")
    return value
