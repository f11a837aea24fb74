"""A small world for the tests of conditions: declared facts and values of them."""

from dataclasses import dataclass
from enum import StrEnum

from shield.policy.cel import (
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
)


class Access(StrEnum):
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    raw: str = "x"
    resolved: str | None = None
    access: Access = Access.READ
    inside: bool = True
    categories: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    type: str = "read_file"
    server: str | None = None


PATH = Object(
    "path",
    {
        "raw": Field(STRING),
        "resolved": Field(STRING, optional=True),
        "access": Field(EnumOf(frozenset(Access))),
        "inside": Field(BOOL),
        "categories": Field(SetOf(STRING)),
    },
)
SCHEMA = Schema(
    roots={
        "action": Object("action", {"type": Field(STRING), "server": Field(STRING, optional=True)}),
        "payload": MapObject(
            "payload",
            {
                "path": Field(STRING),
                "command": Field(STRING, optional=True),
                "lines": Field(ListOf(INT), optional=True),
                "extra": Field(DYN, optional=True),
            },
        ),
        "paths": ListOf(PATH),
        "counts": MapOf(STRING, INT),
        "operations": SetOf(EnumOf(frozenset({"read", "write"}))),
        "now": TIMESTAMP,
    },
    lists={"readers": ("cat", "head"), "none": ()},
)


def env(**values: object) -> tuple[object, ...]:
    """The roots of SCHEMA; what is not named is empty."""
    empty: dict[str, object] = {
        "action": Action(),
        "payload": {"path": "x"},
        "paths": (),
        "counts": {},
        "operations": frozenset(),
        "now": None,
    }
    return SCHEMA.bind({**empty, **values})
