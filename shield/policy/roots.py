"""What a condition may name: the CEL types of the action and of its facts, as `shield.types` declares them.

`ROOTS` is the order of the tuple that conditions are asked with; `payload` and the element of an allow rule follow it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from shield.actions.fields import Kind
from shield.actions.registry import ActionType, lookup, names
from shield.policy.cel.schema import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    ListOf,
    MapObject,
    MapOf,
    Object,
    Schema,
    SetOf,
    Type,
)
from shield.policy.cel.times import Timestamp
from shield.policy.rule import Grant
from shield.types import Access, Action, Dynamic, Facts, IpClass, Operation, Origin, RunsCode

__all__ = ["NAMES", "ROOTS", "ActionRoot", "environment", "schema_for"]


class ActionRoot(NamedTuple):
    """`action` in conditions. `server` is None for what is no `mcp:` tool. A tuple, since one is made for each call."""

    type: str
    operations: frozenset[Operation]
    server: str | None
    tool: str


def _enum(values: type[StrEnum]) -> EnumOf:
    return EnumOf(frozenset(member.value for member in values))


def _object(name: str, /, **fields: Type | Field) -> Object:
    declared = {key: kind if isinstance(kind, Field) else Field(kind) for key, kind in fields.items()}
    return Object(name, MappingProxyType(declared))


_STRINGS = ListOf(STRING)
_OPTIONAL_STRING = Field(STRING, optional=True)
_OPTIONAL_INT = Field(INT, optional=True)

_ACTION = _object("action", type=STRING, operations=SetOf(_enum(Operation)), server=_OPTIONAL_STRING, tool=STRING)
_PATH = _object(
    "path",
    raw=STRING,
    resolved=_OPTIONAL_STRING,
    access=_enum(Access),
    inside_workspace=BOOL,
    exists=BOOL,
    symlink=BOOL,
    recursive=BOOL,
    categories=SetOf(STRING),
    covers=SetOf(STRING),
    source=STRING,
)
_REDIRECT = _object("redirect", op=STRING, target=_OPTIONAL_STRING, fd=_OPTIONAL_INT)
_COMMAND = _object(
    "command",
    name=STRING,
    program=_OPTIONAL_STRING,
    origin=_enum(Origin),
    argv=_STRINGS,
    flags=_STRINGS,
    assignments=MapOf(STRING, STRING),
    redirects=ListOf(_REDIRECT),
    via=_STRINGS,
    operations=SetOf(_enum(Operation)),
    runs_code=_enum(RunsCode),
    dynamic=_enum(Dynamic),
)
_HOST = _object("host", url=STRING, scheme=STRING, host=STRING, port=_OPTIONAL_INT, ip_class=_enum(IpClass))
_SECRET = _object("secret", kind=STRING, where=STRING, start=INT, end=INT)
_TEXT = _object("text", role=STRING, where=STRING, layer=STRING, text=STRING)
_RESULT = _object("result", path=STRING, sha256=STRING, bytes=INT, text=_OPTIONAL_STRING)
# `labels` is left out: information flow does not exist yet, and a rule about it must not be silently false.
_SESSION = _object(
    "session",
    counts=MapOf(STRING, INT, default=0, keys=frozenset(names())),
    written=_STRINGS,
    approved=_STRINGS,
)

ROOTS: Final[Mapping[str, Type]] = MappingProxyType(
    {
        "action": _ACTION,
        "paths": ListOf(_PATH),
        "commands": ListOf(_COMMAND),
        "shell": _object("shell", parsed=BOOL),
        "hosts": ListOf(_HOST),
        "recipients": _STRINGS,
        "secrets": ListOf(_SECRET),
        "text": ListOf(_TEXT),
        "result": ListOf(_RESULT),
        "session": _SESSION,
        "malformed": BOOL,
        "agent": STRING,
        "workspace": STRING,
        "now": TIMESTAMP,
    }
)
_ELEMENTS: Mapping[Grant, Type] = MappingProxyType(
    {Grant.PATH: _PATH, Grant.COMMAND: _COMMAND, Grant.HOST: _HOST, Grant.RECIPIENT: STRING}
)
# Of a rule without `actions:`: nobody knows which fields there are.
UNTYPED_PAYLOAD: Final = MapObject(
    "payload",
    MappingProxyType({}),
    without="its fields are those of the action types that the rule's key `actions:` names: add it",
)
# Every name that some condition may use.
NAMES: Final = frozenset((*ROOTS, "payload", *(grant.value for grant in _ELEMENTS)))
_KINDS: Mapping[Kind, Type] = MappingProxyType(
    {
        Kind.STRING: STRING,
        Kind.STRINGS: DYN,
        Kind.BOOLEAN: BOOL,
        Kind.INTEGER: INT,
        Kind.OBJECT: DYN,
        Kind.ANY: DYN,
    }
)


def schema_for(actions: Sequence[str] | None, grants: Grant | None, lists: Mapping[str, Sequence[str]]) -> Schema:
    """The names of a rule's condition: `ROOTS`, then `payload`, then the element of what the rule grants."""
    roots = dict(ROOTS)
    roots["payload"] = _payload(tuple(lookup(name) for name in actions) if actions is not None else None)
    if grants is not None and grants in _ELEMENTS:
        roots[grants.value] = _ELEMENTS[grants]
    return Schema(roots=MappingProxyType(roots), lists=lists)


def environment(
    action: Action, kind: ActionType, facts: Facts, *, agent: str, workspace: str, now: datetime | None
) -> tuple[object, ...]:
    """The values of `ROOTS` and `payload`, in the order of the schema. `now` None: no condition that is asked reads it.

    Raises:
        CelError: `now` has no time zone.
    """
    root = ActionRoot(type=action.type, operations=facts.operations, server=kind.server, tool=kind.tool)
    return (
        root,
        facts.paths,
        facts.commands,
        facts.shell,
        facts.hosts,
        facts.recipients,
        facts.secrets,
        facts.text,
        facts.result,
        facts.session,
        facts.malformed,
        agent,
        workspace,
        Timestamp.of(now) if now is not None else None,
        action.payload,
    )


def _payload(kinds: tuple[ActionType, ...] | None) -> MapObject:
    """Fields of the given types. One that some of them lack, or that may be left out, needs `has()`."""
    if kinds is None:
        return UNTYPED_PAYLOAD
    fields: dict[str, Field] = {}
    for name in dict.fromkeys(name for kind in kinds for name in kind.fields):
        declared = [kind.fields[name] for kind in kinds if name in kind.fields]
        types = {_KINDS[field.kind] for field in declared}
        always = all((name,) in kind.targets for kind in kinds)
        fields[name] = Field(types.pop() if len(types) == 1 else DYN, optional=not always)
    return MapObject("payload", MappingProxyType(fields))
